#include "format/container_manifest.h"

#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>

namespace colibri {

std::string_view to_string(TensorLayout layout) {
    switch (layout) {
        case TensorLayout::tile16: return "tile16";
        case TensorLayout::vector: return "vector";
        case TensorLayout::key_up: return "key_up";
        case TensorLayout::key_up_scales: return "key_up_scales";
        case TensorLayout::value_up: return "value_up";
    }
    return {};
}

WeightFormat key_up_format(WeightFormat stored) {
    switch (stored.kind) {
        case WeightKind::f32:
        case WeightKind::bf16: return stored;
        case WeightKind::fp8: return {.kind = WeightKind::fp8, .group = 1};
        case WeightKind::int8:
        case WeightKind::int4:
        case WeightKind::int2: return {.kind = WeightKind::int8, .group = 1};
    }
    return stored;
}

uint64_t key_up_stride_bytes(WeightFormat stored, uint32_t rows, uint32_t columns) {
    // Every kind lies as [block][column][16 rows].
    const WeightKind kind = key_up_format(stored).kind;
    const uint64_t cell = kind == WeightKind::f32 ? 4 : kind == WeightKind::bf16 ? 2 : 1;
    return round_up(uint64_t(ceil_div(rows, kTileRows)) * kTileRows * columns * cell, kDenseAlign);
}

uint64_t value_up_stride_bytes(const TileShape& head) {
    return round_up(head.total_bytes(), kDenseAlign);
}

uint64_t ContainerTensor::size_bytes() const {
    switch (layout) {
        case TensorLayout::tile16: return round_up(shape().total_bytes(), kDenseAlign);
        case TensorLayout::vector: return uint64_t(rows) * sizeof(float);
        case TensorLayout::key_up: return heads * key_up_stride_bytes(format, rows, columns);
        case TensorLayout::key_up_scales:
            return round_up(heads * uint64_t(ceil_div(rows, kTileRows)) * columns * sizeof(float),
                            kDenseAlign);
        case TensorLayout::value_up: return heads * value_up_stride_bytes(shape());
    }
    return 0;
}

ExtentLayout extent_layout(const std::array<TileShape, 3>& parts) {
    ExtentLayout layout;
    uint64_t offset = 0;
    for (size_t part = 0; part < 3; ++part) {
        layout.offsets[part] = offset;
        offset += round_up(parts[part].total_bytes(), kDenseAlign);
    }
    layout.size_bytes = round_up(offset, kExtentAlign);
    return layout;
}

std::string expert_tensor_name(uint32_t layer, uint32_t expert) {
    return fmt::format("layers.{}.experts.{}", layer, expert);
}

uint64_t ContainerManifest::expert_count() const {
    uint64_t count = 0;
    for (const ContainerExperts& layer : experts) count += layer.count;
    return count;
}

std::string data_file_header(const ContainerManifest& manifest, uint32_t file) {
    nlohmann::ordered_json header = {{"__metadata__",
                                      {{"format", "colibri"},
                                       {"container", manifest.identity},
                                       {"file", manifest.files[file].name}}}};
    uint64_t at = 0;
    const auto add = [&](const std::string& name, const char* dtype, uint64_t count,
                         uint64_t size_bytes) {
        header[name] = {
            {"dtype", dtype}, {"shape", {count}}, {"data_offsets", {at, at + size_bytes}}};
        at += size_bytes;
    };
    for (const ContainerTensor& tensor : manifest.tensors) {
        if (tensor.file != file) continue;
        const uint64_t bytes = tensor.size_bytes();
        const bool floats = tensor.layout == TensorLayout::vector;
        add(tensor.name, floats ? "F32" : "U8", floats ? tensor.rows : bytes, bytes);
    }
    for (const ContainerExperts& layer : manifest.experts) {
        if (layer.file != file) continue;
        const uint64_t bytes = extent_layout(layer.parts).size_bytes;
        for (uint32_t e = 0; e < layer.count; ++e)
            add(expert_tensor_name(layer.layer, e), "U8", bytes, bytes);
    }
    std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    text.resize(round_up(text.size() + 8, size_t(kExtentAlign)) - 8, ' ');
    std::string bytes(8, '\0');
    for (size_t i = 0; i < 8; ++i) bytes[i] = char(uint8_t(uint64_t(text.size()) >> (8 * i)));
    return bytes + text;
}

// ---- colibri.sums

namespace {

constexpr std::string_view kSumsMagic = "COLISUMS";
constexpr size_t kSumsHeadBytes = 8 + 4 + 4 + 16 + 8 + 8;

void put(std::string& out, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) out += char(uint8_t(value >> (8 * i)));
}
void put(std::string& out, const Digest128& digest) {
    put(out, digest.low, 8);
    put(out, digest.high, 8);
}
uint64_t get(std::string_view bytes, size_t at, size_t count) {
    uint64_t value = 0;
    for (size_t i = 0; i < count; ++i) value |= uint64_t(uint8_t(bytes[at + i])) << (8 * i);
    return value;
}
Digest128 get_digest(std::string_view bytes, size_t at) {
    return {.low = get(bytes, at, 8), .high = get(bytes, at + 8, 8)};
}

}  // namespace

std::string checksum_table_bytes(const ChecksumTable& table) {
    std::string out(kSumsMagic);
    put(out, kContainerVersion, 4);
    put(out, 0, 4);
    put(out, digest_from_hex(table.identity).value_or(Digest128{}));
    put(out, table.tensors.size(), 8);
    put(out, table.experts.size(), 8);
    for (const Digest128& digest : table.tensors) put(out, digest);
    for (const auto& parts : table.experts)
        for (const Digest128& digest : parts) put(out, digest);
    put(out, xxh3_128(std::string_view(out)));
    return out;
}

Result<ChecksumTable> parse_checksum_table(std::string_view bytes, uint64_t tensor_count,
                                           uint64_t expert_count, const std::string& path) {
    const auto corrupt = [&](const std::string& what) {
        return fail(
            ErrorKind::corrupt,
            fmt::format("{}: {}; copy the container again or run coli convert again", path, what));
    };
    if (bytes.size() < kSumsHeadBytes + 16 || !bytes.starts_with(kSumsMagic))
        return corrupt(
            fmt::format("found {} bytes that do not begin with {}, expected a checksum "
                        "table of at least {} bytes",
                        bytes.size(), kSumsMagic, kSumsHeadBytes + 16));
    const uint64_t version = get(bytes, 8, 4);
    if (version != kContainerVersion)
        return fail(ErrorKind::unsupported,
                    fmt::format("{}: version {} of the checksum table, supported is {}", path,
                                version, kContainerVersion));
    if (xxh3_128(bytes.substr(0, bytes.size() - 16)) != get_digest(bytes, bytes.size() - 16))
        return corrupt("its own checksum does not match its bytes");
    const uint64_t tensors = get(bytes, 32, 8);
    const uint64_t experts = get(bytes, 40, 8);
    const uint64_t entries = (bytes.size() - kSumsHeadBytes - 16) / 16;
    if (tensors != tensor_count || experts != expert_count || tensors > entries ||
        experts > entries || kSumsHeadBytes + 16 * (tensors + 2 * experts + 1) != bytes.size())
        return corrupt(
            fmt::format("found {} bytes for {} tensors and {} experts, expected {} and "
                        "{} as the manifest has them",
                        bytes.size(), tensors, experts, tensor_count, expert_count));
    ChecksumTable table;
    table.identity = to_hex(get_digest(bytes, 16));
    size_t at = kSumsHeadBytes;
    for (uint64_t i = 0; i < tensors; ++i, at += 16) table.tensors.push_back(get_digest(bytes, at));
    for (uint64_t i = 0; i < experts; ++i, at += 32)
        table.experts.push_back({get_digest(bytes, at), get_digest(bytes, at + 16)});
    return table;
}

}  // namespace colibri

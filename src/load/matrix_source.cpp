#include "load/matrix_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>

#include "format/format_stamp.h"
#include "tensor/retile.h"

namespace colibri {

namespace {

constexpr uint32_t kFp8Block = 128;
// Group widths that the existing engine probes, in its order; the first that explains the number of
// scales counts.
constexpr std::array<uint32_t, 8> kForeignGroups{16, 32, 48, 64, 96, 128, 192, 256};

uint64_t row_bytes_of(Coding coding, uint64_t columns) {
    switch (coding) {
        case Coding::f32: return columns * 4;
        case Coding::f16:
        case Coding::bf16: return columns * 2;
        case Coding::f8_e4m3:
        case Coding::int8: return columns;
        case Coding::int4: return ceil_div(columns, uint64_t(2));
        case Coding::int2: return ceil_div(columns, uint64_t(4));
    }
    return 0;
}

WeightKind kind_of(Coding coding) {
    switch (coding) {
        case Coding::f32:
        case Coding::f16: return WeightKind::f32;
        case Coding::bf16: return WeightKind::bf16;
        case Coding::f8_e4m3: return WeightKind::fp8;
        case Coding::int8: return WeightKind::int8;
        case Coding::int4:
        case Coding::int2: return WeightKind::int4;
    }
    return WeightKind::f32;
}

std::optional<Coding> float_coding(DType type) {
    switch (type) {
        case DType::f32: return Coding::f32;
        case DType::f16: return Coding::f16;
        case DType::bf16: return Coding::bf16;
        case DType::f8_e4m3: return Coding::f8_e4m3;
        case DType::f8_e8m0:
        case DType::u8:
        case DType::i8:
        case DType::i32:
        case DType::i64: return std::nullopt;
    }
    return std::nullopt;
}

auto wrong_shape(const Checkpoint& checkpoint, const TensorInfo& tensor,
                 const std::string& expected) {
    return fail(ErrorKind::corrupt,
                fmt::format("{}: shape [{}] {}, expected {}: the file does not belong to this "
                            "config.json or is damaged",
                            checkpoint.where(tensor), fmt::join(tensor.shape, ", "),
                            to_string(tensor.dtype), expected));
}

Result<MatrixSource> finish_fp8(const Checkpoint& checkpoint, MatrixSource source, uint32_t rows,
                                uint32_t columns) {
    const std::string scale_name = source.name + "_scale_inv";
    source.scales = checkpoint.find(scale_name);
    if (source.scales == nullptr)
        return fail(ErrorKind::corrupt,
                    fmt::format("{}: F8_E4M3 without its scales: tensor {} is missing",
                                checkpoint.where(*source.data), scale_name));
    source.scale_groups = ceil_div(columns, kFp8Block);
    source.scale_row_divisor = kFp8Block;
    const std::vector<uint64_t> want{ceil_div(rows, kFp8Block), source.scale_groups};
    const DType type = source.scales->dtype;
    if (source.scales->shape != want ||
        (type != DType::f32 && type != DType::bf16 && type != DType::f8_e8m0))
        return wrong_shape(checkpoint, *source.scales,
                           fmt::format("[{}] F32", fmt::join(want, ", ")));
    source.shape = {
        .format = {.kind = WeightKind::fp8, .group = kFp8Block}, .rows = rows, .columns = columns};
    return source;
}

struct Candidate {
    Coding coding;
    std::string_view name;
    uint32_t group;  // 0: one scale per row
};

// Every format of the existing engine whose byte counts agree with this tensor and its scales.
std::vector<Candidate> foreign_candidates(uint64_t weight_bytes, uint64_t scales, uint64_t rows,
                                          uint64_t columns) {
    std::vector<Candidate> found;
    const auto fits = [&](Coding coding) {
        return weight_bytes == rows * row_bytes_of(coding, columns);
    };
    if (scales == rows) {
        if (fits(Coding::int8)) found.push_back({Coding::int8, "int8-row", 0});
        if (fits(Coding::int4)) found.push_back({Coding::int4, "int4-row", 0});
        if (fits(Coding::int2)) found.push_back({Coding::int2, "int2-row", 0});
    } else if (scales % rows == 0 && fits(Coding::int4)) {
        for (const uint32_t group : kForeignGroups)
            if (scales / rows == ceil_div(columns, uint64_t(group))) {
                found.push_back({Coding::int4, "int4-grouped", group});
                break;
            }
    }
    return found;
}

Result<MatrixSource> finish_foreign(const Checkpoint& checkpoint, MatrixSource source,
                                    uint32_t rows, uint32_t columns) {
    const TensorInfo& data = *source.data;
    const std::string scale_name = source.name + ".qs";
    source.scales = checkpoint.find(scale_name);
    if (source.scales == nullptr)
        return fail(ErrorKind::corrupt,
                    fmt::format("{}: {} weights without scales: tensor {} is missing",
                                checkpoint.where(data), to_string(data.dtype), scale_name));
    if (source.scales->dtype != DType::f32)
        return wrong_shape(checkpoint, *source.scales, "F32 scales");
    const uint64_t scales = source.scales->size_bytes / sizeof(float);
    std::vector<Candidate> found = foreign_candidates(data.size_bytes, scales, rows, columns);
    if (found.size() > 1)
        if (const auto stamp = format_stamp(checkpoint, data))
            std::erase_if(found, [&](const Candidate& c) { return c.name != *stamp; });
    if (found.empty())
        return fail(ErrorKind::corrupt,
                    fmt::format("{}: {} bytes with {} scales match no format for a [{}, {}] matrix "
                                "(int8-row {}, int4-row {}, "
                                "int2-row {} bytes with {} scales, or int4 with scales per group)",
                                checkpoint.where(data), data.size_bytes, scales, rows, columns,
                                rows * row_bytes_of(Coding::int8, columns),
                                rows * row_bytes_of(Coding::int4, columns),
                                rows * row_bytes_of(Coding::int2, columns), rows));
    if (found.size() > 1)
        return fail(ErrorKind::corrupt,
                    fmt::format("{}: its byte count fits both {} and {}, and the file has no "
                                "colibri.fmt stamp that decides",
                                checkpoint.where(data), found[0].name, found[1].name));
    const Candidate& format = found.front();
    source.coding = format.coding;
    source.row_bytes = row_bytes_of(format.coding, columns);
    source.scale_groups = uint32_t(scales / rows);
    source.shape = {.format = {.kind = kind_of(format.coding), .group = format.group},
                    .rows = rows,
                    .columns = columns};
    return source;
}

}  // namespace

Result<MatrixSource> find_stored(const Checkpoint& checkpoint, std::string_view name,
                                 TensorLayout layout, uint32_t rows, uint32_t columns,
                                 uint32_t heads) {
    MatrixSource source;
    source.name = name;
    source.stored = true;
    source.data = checkpoint.find(name);
    const auto index = checkpoint.container()->find(name);
    if (source.data == nullptr || !index)
        return fail(ErrorKind::not_found,
                    fmt::format("{}: tensor {} is missing (expected [{}, {}])",
                                checkpoint.directory(), name, rows, columns));
    const ContainerTensor& tensor = checkpoint.container()->manifest().tensors[*index];
    if (tensor.layout != layout || tensor.rows != rows || tensor.columns != columns ||
        tensor.heads != heads)
        return fail(
            ErrorKind::corrupt,
            fmt::format("{}: {} of {} x [{}, {}], expected {} of {} x [{}, {}] as "
                        "config.json has it",
                        checkpoint.where(*source.data), to_string(tensor.layout), tensor.heads,
                        tensor.rows, tensor.columns, to_string(layout), heads, rows, columns));
    source.shape = tensor.shape();
    return source;
}

Result<MatrixSource> find_matrix(const Checkpoint& checkpoint, std::string_view name, uint32_t rows,
                                 uint32_t columns, bool padded_rows) {
    if (checkpoint.container() != nullptr)
        return find_stored(checkpoint, name, TensorLayout::tile16, rows, columns);
    MatrixSource source;
    source.name = name;
    source.data = checkpoint.find(name);
    if (source.data == nullptr)
        return fail(ErrorKind::not_found,
                    fmt::format("{}: tensor {} is missing (expected [{}, {}])",
                                checkpoint.directory(), name, rows, columns));
    const TensorInfo& data = *source.data;
    if (data.dtype == DType::u8 || data.dtype == DType::i8)
        return finish_foreign(checkpoint, std::move(source), rows, columns);
    const std::vector<uint64_t> want{rows, columns};
    const auto coding = float_coding(data.dtype);
    const bool padded = padded_rows && data.shape.size() == 2 && data.shape[0] > rows &&
                        data.shape[1] == columns && data.dtype != DType::f8_e4m3;
    if ((data.shape != want && !padded) || !coding)
        return wrong_shape(
            checkpoint, data,
            fmt::format("[{}, {}] F32, BF16, F16, F8_E4M3 or U8 with scales", rows, columns));
    source.coding = *coding;
    source.row_bytes = row_bytes_of(*coding, columns);
    if (*coding == Coding::f8_e4m3) return finish_fp8(checkpoint, std::move(source), rows, columns);
    source.shape = {.format = {.kind = kind_of(*coding)}, .rows = rows, .columns = columns};
    return source;
}

Result<MatrixSource> find_fused_matrix(const Checkpoint& checkpoint, std::string_view name,
                                       uint32_t experts, uint32_t expert, uint32_t fused_rows,
                                       uint32_t first_row, uint32_t rows, uint32_t columns) {
    MatrixSource source;
    source.name = name;
    source.data = checkpoint.find(name);
    if (source.data == nullptr)
        return fail(ErrorKind::not_found,
                    fmt::format("{}: tensor {} is missing", checkpoint.directory(), name));
    const std::vector<uint64_t> want{experts, fused_rows, columns};
    const auto coding = float_coding(source.data->dtype);
    if (source.data->shape != want || !coding || *coding == Coding::f8_e4m3)
        return wrong_shape(
            checkpoint, *source.data,
            fmt::format("[{}, {}, {}] F32, BF16 or F16", experts, fused_rows, columns));
    source.coding = *coding;
    source.row_bytes = row_bytes_of(*coding, columns);
    source.data_begin = (uint64_t(expert) * fused_rows + first_row) * source.row_bytes;
    source.shape = {.format = {.kind = kind_of(*coding)}, .rows = rows, .columns = columns};
    return source;
}

Result<MatrixSource> find_merged_matrix(const Checkpoint& checkpoint, std::string_view weight_name,
                                        std::string_view scale_name, uint32_t part, uint32_t hidden,
                                        uint32_t dim) {
    MatrixSource source;
    source.name = weight_name;
    source.data = checkpoint.find(weight_name);
    source.scales = checkpoint.find(scale_name);
    if (source.data == nullptr || source.scales == nullptr)
        return fail(ErrorKind::not_found,
                    fmt::format("{}: tensor {} is missing", checkpoint.directory(),
                                source.data == nullptr ? weight_name : scale_name));
    const uint64_t matrix = uint64_t(hidden) * dim;
    const uint64_t scales = 2 * uint64_t(hidden) + dim;
    const bool bytes = source.data->dtype == DType::i8 || source.data->dtype == DType::u8;
    if (!bytes || source.data->size_bytes != 3 * matrix)
        return wrong_shape(checkpoint, *source.data, fmt::format("[{}] I8", 3 * matrix));
    if (source.scales->dtype != DType::f32 || source.scales->size_bytes != scales * sizeof(float))
        return wrong_shape(checkpoint, *source.scales, fmt::format("[{}] F32", scales));
    const bool down = part == 2;
    source.coding = Coding::int8;
    source.row_bytes = down ? hidden : dim;
    source.data_begin = part * matrix;
    source.scales_begin = uint64_t(part) * hidden;
    source.scale_groups = 1;
    source.shape = {.format = {.kind = WeightKind::int8},
                    .rows = down ? dim : hidden,
                    .columns = down ? hidden : dim};
    return source;
}

Result<std::vector<float>> read_scales(const Checkpoint& checkpoint, const MatrixSource& source) {
    std::vector<float> scales(source.scale_count());
    if (scales.empty()) return scales;
    const TensorInfo& tensor = *source.scales;
    const uint32_t element = size_bytes(tensor.dtype);
    std::vector<std::byte> raw(scales.size() * element);
    TRY_STATUS(checkpoint.read(tensor, source.scales_begin * element, raw));
    for (size_t i = 0; i < scales.size(); ++i) {
        const std::byte* at = raw.data() + i * element;
        if (tensor.dtype == DType::f32) {
            std::memcpy(&scales[i], at, sizeof(float));
        } else if (tensor.dtype == DType::bf16) {
            uint16_t bits = 0;
            std::memcpy(&bits, at, sizeof bits);
            scales[i] = bf16_to_f32(bits);
        } else {
            scales[i] = f8_e8m0_to_f32(uint8_t(*at));
        }
        if (!std::isfinite(scales[i]))
            return fail(ErrorKind::corrupt,
                        fmt::format("{}: scale {} is not a finite number", checkpoint.where(tensor),
                                    source.scales_begin + i));
    }
    return scales;
}

Status retile_data(const MatrixSource& source, std::span<const std::byte> raw, uint32_t block_begin,
                   uint32_t block_end, std::byte* out) {
    switch (source.coding) {
        case Coding::f32:
            return retile_float(source.shape, DType::f32, raw, block_begin, block_end, out);
        case Coding::f16:
            return retile_float(source.shape, DType::f16, raw, block_begin, block_end, out);
        case Coding::bf16:
            return retile_float(source.shape, DType::bf16, raw, block_begin, block_end, out);
        case Coding::f8_e4m3: return retile_fp8(source.shape, raw, block_begin, block_end, out);
        case Coding::int8: return retile_int8(source.shape, raw, block_begin, block_end, out);
        case Coding::int4: return retile_int4(source.shape, 4, raw, block_begin, block_end, out);
        case Coding::int2:
            if (source.shape.format.kind == WeightKind::int2)
                return retile_int2(source.shape, raw, block_begin, block_end, out);
            return retile_int4(source.shape, 2, raw, block_begin, block_end, out);
    }
    return {};
}

Status retile_all_scales(const MatrixSource& source, std::span<const float> scales,
                         uint32_t first_row, std::byte* out) {
    if (source.scales == nullptr) return {};
    return retile_scales(source.shape, scales, source.scale_groups, first_row,
                         source.scale_row_divisor, out);
}

}  // namespace colibri

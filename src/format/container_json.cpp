// colibri.json to and from its struct.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "format/container_manifest.h"
#include "format/limits.h"
#include "format/safetensors.h"
#include "tensor/format_names.h"

namespace colibri {

namespace {

using Json = nlohmann::json;

constexpr size_t kManifestDepthMax = 16;
constexpr uint64_t kExpertsMax = uint64_t(1) << 24;
// No matrix of any model comes near; products of two stay far below 2^64.
constexpr uint64_t kSideMax = uint64_t(1) << 28;
constexpr uint64_t kHeadsMax = 1U << 16;
constexpr uint64_t kTensorBytesMax = uint64_t(1) << 50;
constexpr uint64_t kFileBytesMax = uint64_t(1) << 56;

constexpr std::string_view kManifestSelfKey = "\"manifest_xxh3\": \"";

// Depth and duplicate keys, before a tree is built.
struct Watcher {
    std::vector<std::set<std::string>> keys;
    std::string problem;

    bool operator()(int depth, Json::parse_event_t event, Json& value) {
        if (size_t(depth) > kManifestDepthMax && problem.empty())
            problem = fmt::format("nested deeper than {} levels", kManifestDepthMax);
        if (event == Json::parse_event_t::object_start) keys.emplace_back();
        if (event == Json::parse_event_t::object_end && !keys.empty()) keys.pop_back();
        if (event == Json::parse_event_t::key && !keys.empty() &&
            !keys.back().insert(value.get<std::string>()).second && problem.empty())
            problem = fmt::format("key \"{:.200}\" appears twice", value.get<std::string>());
        return problem.empty();
    }
};

class ManifestReader {
public:
    ManifestReader(const Json& root, const std::string& path) : root_(root), path_(path) {}

    Result<ContainerManifest> run();

private:
    [[nodiscard]] tl::unexpected<Error> corrupt(const std::string& where,
                                                const std::string& what) const {
        return fail(ErrorKind::corrupt, fmt::format("{}: {}: {}", path_, where, what));
    }
    [[nodiscard]] tl::unexpected<Error> unsupported(const std::string& where,
                                                    const std::string& what) const {
        return fail(ErrorKind::unsupported,
                    fmt::format("{}: {}: {}; a newer colibri may read it", path_, where, what));
    }
    Result<const Json*> member(const Json& object, const char* key, const std::string& where) const;
    Result<uint64_t> number(const Json& object, const char* key, uint64_t least, uint64_t most,
                            const std::string& where) const;
    Result<std::string> text(const Json& object, const char* key, const std::string& where,
                             size_t bytes_max = kNameBytesMax) const;
    Result<std::string> file_name(const Json& object, const std::string& where) const;
    Result<const Json*> array(const Json& object, const char* key, size_t count_max,
                              const std::string& where) const;
    Result<Digest128> digest(const Json& object, const char* key, const std::string& where) const;
    Result<Sha256> sha(const Json& object, const std::string& where) const;
    Result<WeightFormat> format(const Json& object, const std::string& where) const;
    Status only(const Json& object, std::initializer_list<std::string_view> known,
                const std::string& where) const;

    Status versions();
    Status sources();
    Status files();
    Status tensors();
    Status experts();
    Result<TileShape> part(const Json& entry, const char* key, const std::string& where) const;
    Status check_sizes() const;

    const Json& root_;
    const std::string& path_;
    bool newer_ = false;  // written for a later version that this one may still read
    ContainerManifest out_;
};

Result<const Json*> ManifestReader::member(const Json& object, const char* key,
                                           const std::string& where) const {
    if (!object.is_object())
        return corrupt(where, fmt::format("found {}, expected an object", object.type_name()));
    const auto found = object.find(key);
    if (found == object.end()) return corrupt(where, fmt::format("\"{}\" is missing", key));
    return &*found;
}

Result<uint64_t> ManifestReader::number(const Json& object, const char* key, uint64_t least,
                                        uint64_t most, const std::string& where) const {
    TRY(const Json* value, member(object, key, where));
    if (!value->is_number_unsigned() || value->get<uint64_t>() < least ||
        value->get<uint64_t>() > most)
        return corrupt(
            where + "." + key,
            fmt::format("found {:.60}, expected a whole number from {} to {}",
                        value->dump(-1, ' ', true, Json::error_handler_t::replace), least, most));
    return value->get<uint64_t>();
}

Result<std::string> ManifestReader::text(const Json& object, const char* key,
                                         const std::string& where, size_t bytes_max) const {
    TRY(const Json* value, member(object, key, where));
    if (!value->is_string() || value->get_ref<const std::string&>().size() > bytes_max)
        return corrupt(where + "." + key,
                       fmt::format("found {}, expected a string of at most {} bytes",
                                   value->type_name(), bytes_max));
    return value->get<std::string>();
}

// Plain names: a manifest must not lead out of its directory.
Result<std::string> ManifestReader::file_name(const Json& object, const std::string& where) const {
    TRY(std::string name, text(object, "name", where));
    if (name.empty() || name.starts_with('.') ||
        name.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos)
        return corrupt(where + ".name",
                       fmt::format("found \"{:.200}\", expected the plain name of a file", name));
    return name;
}

Result<const Json*> ManifestReader::array(const Json& object, const char* key, size_t count_max,
                                          const std::string& where) const {
    TRY(const Json* value, member(object, key, where));
    if (!value->is_array() || value->size() > count_max)
        return corrupt(where + "." + key,
                       fmt::format("found {}, expected a list of at most {} entries",
                                   value->is_array() ? fmt::format("{} entries", value->size())
                                                     : std::string(value->type_name()),
                                   count_max));
    return value;
}

Result<Digest128> ManifestReader::digest(const Json& object, const char* key,
                                         const std::string& where) const {
    TRY(const std::string hex, text(object, key, where));
    const auto value = digest_from_hex(hex);
    if (!value)
        return corrupt(where + "." + key,
                       fmt::format("found \"{:.80}\", expected 32 hexadecimal digits", hex));
    return *value;
}

Result<Sha256> ManifestReader::sha(const Json& object, const std::string& where) const {
    TRY(const std::string hex, text(object, "sha256", where));
    const auto value = sha256_from_hex(hex);
    if (!value)
        return corrupt(where + ".sha256",
                       fmt::format("found \"{:.80}\", expected 64 hexadecimal digits", hex));
    return *value;
}

Result<WeightFormat> ManifestReader::format(const Json& object, const std::string& where) const {
    TRY(const std::string name, text(object, "format", where));
    const auto found = parse_weight_format(name);
    if (!found)
        return unsupported(where + ".format",
                           fmt::format("weight format \"{:.80}\" is not known to this build, which "
                                       "reads f32, bf16, fp8-gN, int8-row, int8-gN, int4-row, "
                                       "int4-gN, int2-row and int2-gN",
                                       name));
    const bool scaled = is_integer(found->kind) || found->kind == WeightKind::fp8;
    TRY(const std::string scales, text(object, "scales", where));
    WeightFormat out = *found;
    if (scaled && scales == to_string(ScaleType::f16)) out.scales = ScaleType::f16;
    if (scales != (scaled ? to_string(out.scales) : "none"))
        return unsupported(where + ".scales",
                           fmt::format("scales \"{:.80}\" for {} weights, supported: {}", scales,
                                       name, scaled ? "f32, f16" : "none"));
    return out;
}

// What this version does not define is refused; what a later one added beyond it may be ignored.
Status ManifestReader::only(const Json& object, std::initializer_list<std::string_view> known,
                            const std::string& where) const {
    if (newer_ || !object.is_object()) return {};
    for (const auto& [key, value] : object.items())
        if (std::find(known.begin(), known.end(), key) == known.end())
            return unsupported(where, fmt::format("member \"{:.200}\" is not part of version {}",
                                                  key, kContainerVersion));
    return {};
}

Status ManifestReader::versions() {
    TRY(const std::string kind, text(root_, "format", "manifest"));
    if (kind != "colibri-container")
        return corrupt("format",
                       fmt::format("found \"{:.80}\", expected \"colibri-container\"", kind));
    TRY(const uint64_t version, number(root_, "version", 1, UINT32_MAX, "manifest"));
    TRY(const uint64_t reader, number(root_, "min_reader_version", 1, UINT32_MAX, "manifest"));
    TRY(out_.writer, text(root_, "writer", "manifest"));
    if (reader > kContainerVersion)
        return unsupported("min_reader_version",
                           fmt::format("version {}, written by {:.80}, needs a reader of version "
                                       "{}; this build reads version {}",
                                       version, out_.writer, reader, kContainerVersion));
    newer_ = version > kContainerVersion;
    return only(
        root_,
        {"format", "version", "min_reader_version", "writer", "identity", "source", "parameters",
         "checksums", "files", "side_files", "tensors", "experts", "manifest_xxh3"},
        "manifest");
}

Status ManifestReader::sources() {
    TRY(const Digest128 identity, digest(root_, "identity", "manifest"));
    out_.identity = to_hex(identity);
    TRY(const Json* source, member(root_, "source", "manifest"));
    TRY(out_.source, text(*source, "name", "source"));
    TRY(const Digest128 source_id, digest(*source, "identity", "source"));
    out_.source_id = to_hex(source_id);
    TRY(out_.parameters, text(root_, "parameters", "manifest", 64 * kNameBytesMax));
    TRY(const Json* sums, member(root_, "checksums", "manifest"));
    TRY(out_.checksum_bytes, number(*sums, "size", 0, kManifestBytesMax * 16, "checksums"));
    TRY(out_.checksum_digest, digest(*sums, "xxh3", "checksums"));
    TRY_STATUS(only(*source, {"name", "identity"}, "source"));
    return only(*sums, {"size", "xxh3"}, "checksums");
}

Status ManifestReader::files() {
    std::set<std::string> names{kManifestFileName, kChecksumFileName};
    const auto once = [&](const std::string& name, const std::string& where) -> Status {
        if (names.insert(name).second) return {};
        return corrupt(where, fmt::format("file {} is named twice", name));
    };
    TRY(const Json* list, array(root_, "files", kFilesMax, "manifest"));
    for (size_t i = 0; i < list->size(); ++i) {
        const Json& entry = (*list)[i];
        const std::string where = fmt::format("files[{}]", i);
        ContainerFile file;
        TRY(file.name, file_name(entry, where));
        TRY_STATUS(once(file.name, where));
        TRY(file.size_bytes, number(entry, "size", kExtentAlign, kFileBytesMax, where));
        TRY(file.sha256, sha(entry, where));
        TRY(file.header, digest(entry, "header_xxh3", where));
        TRY(const uint64_t draft, number(entry, "draft", 0, 1, where));
        file.draft = draft != 0;
        TRY_STATUS(only(entry, {"name", "size", "sha256", "header_xxh3", "draft"}, where));
        out_.files.push_back(std::move(file));
    }
    TRY(const Json* sides, array(root_, "side_files", kFilesMax, "manifest"));
    for (size_t i = 0; i < sides->size(); ++i) {
        const Json& entry = (*sides)[i];
        const std::string where = fmt::format("side_files[{}]", i);
        ContainerSideFile file;
        TRY(file.name, file_name(entry, where));
        TRY_STATUS(once(file.name, where));
        TRY(file.size_bytes, number(entry, "size", 0, kFileBytesMax, where));
        TRY(file.sha256, sha(entry, where));
        TRY_STATUS(only(entry, {"name", "size", "sha256"}, where));
        out_.side_files.push_back(std::move(file));
    }
    return {};
}

std::optional<TensorLayout> layout_from(const std::string& name) {
    for (const TensorLayout layout :
         {TensorLayout::tile16, TensorLayout::vector, TensorLayout::key_up,
          TensorLayout::key_up_scales, TensorLayout::value_up})
        if (to_string(layout) == name) return layout;
    return std::nullopt;
}

Status ManifestReader::tensors() {
    TRY(const Json* list, array(root_, "tensors", kTensorsPerFileMax, "manifest"));
    std::set<std::string_view> names;
    out_.tensors.reserve(list->size());
    for (size_t i = 0; i < list->size(); ++i) {
        const Json& entry = (*list)[i];
        const std::string where = fmt::format("tensors[{}]", i);
        ContainerTensor tensor;
        TRY(tensor.name, text(entry, "name", where));
        TRY(const uint64_t file, number(entry, "file", 0, out_.files.size(), where));
        tensor.file = uint32_t(file);
        TRY(const std::string layout, text(entry, "layout", where));
        const auto known = layout_from(layout);
        if (!known)
            return unsupported(where + ".layout",
                               fmt::format("layout \"{:.80}\" of tensor {} is not known to this "
                                           "build, which reads tile16, vector, key_up, "
                                           "key_up_scales and value_up",
                                           layout, tensor.name));
        tensor.layout = *known;
        TRY(tensor.format, format(entry, where));
        TRY(const uint64_t rows, number(entry, "rows", 1, kSideMax, where));
        TRY(const uint64_t columns, number(entry, "columns", 1, kSideMax, where));
        TRY(const uint64_t heads, number(entry, "heads", 1, kHeadsMax, where));
        tensor.rows = uint32_t(rows);
        tensor.columns = uint32_t(columns);
        tensor.heads = uint32_t(heads);
        TRY_STATUS(only(entry,
                        {"name", "file", "layout", "format", "scales", "rows", "columns", "heads"},
                        where));
        if (file >= out_.files.size())
            return corrupt(where, fmt::format("file {} of {}", file, out_.files.size()));
        if (tensor.layout == TensorLayout::vector &&
            (columns != 1 || tensor.format != WeightFormat{}))
            return corrupt(where, "a vector that is not one column of f32");
        if (heads != 1 &&
            (tensor.layout == TensorLayout::tile16 || tensor.layout == TensorLayout::vector))
            return corrupt(where, fmt::format("{} heads of layout {}, expected 1: tensor {}", heads,
                                              layout, tensor.name));
        // Bounded before it is multiplied by the heads.
        if (uint64_t(rows) * columns > kTensorBytesMax / 64 / heads)
            return corrupt(where,
                           fmt::format("{} x [{}, {}] is beyond any model", heads, rows, columns));
        out_.tensors.push_back(std::move(tensor));
        if (!names.insert(out_.tensors.back().name).second)
            return corrupt(where,
                           fmt::format("tensor {} is named twice", out_.tensors.back().name));
        if (i > 0 && out_.tensors[i - 1].file > out_.tensors[i].file)
            return corrupt(where, "tensors are not in the order of the files");
    }
    return {};
}

Result<TileShape> ManifestReader::part(const Json& entry, const char* key,
                                       const std::string& where) const {
    TRY(const Json* value, member(entry, key, where));
    const std::string here = where + "." + key;
    TileShape shape;
    TRY(shape.format, format(*value, here));
    TRY(const uint64_t rows, number(*value, "rows", 1, kSideMax, here));
    TRY(const uint64_t columns, number(*value, "columns", 1, kSideMax, here));
    if (rows * columns > kTensorBytesMax / 64)
        return corrupt(here, fmt::format("[{}, {}] is beyond any model", rows, columns));
    shape.rows = uint32_t(rows);
    shape.columns = uint32_t(columns);
    TRY_STATUS(only(*value, {"format", "scales", "rows", "columns"}, here));
    return shape;
}

Status ManifestReader::experts() {
    TRY(const Json* list, array(root_, "experts", kFilesMax, "manifest"));
    uint64_t total = 0;
    std::set<uint32_t> layers;
    for (size_t i = 0; i < list->size(); ++i) {
        const Json& entry = (*list)[i];
        const std::string where = fmt::format("experts[{}]", i);
        ContainerExperts layer;
        TRY(const uint64_t index, number(entry, "layer", 0, kHeadsMax, where));
        TRY(const uint64_t file, number(entry, "file", 0, out_.files.size(), where));
        TRY(const uint64_t count, number(entry, "count", 1, kExpertsMax, where));
        layer.layer = uint32_t(index);
        layer.file = uint32_t(file);
        layer.count = uint32_t(count);
        total += count;
        if (file >= out_.files.size() || total > kExpertsMax)
            return corrupt(where, fmt::format("file {} of {}, {} experts so far", file,
                                              out_.files.size(), total));
        if (!layers.insert(layer.layer).second)
            return corrupt(where, fmt::format("layer {} appears twice", index));
        if (i > 0 && out_.experts.back().file > layer.file)
            return corrupt(where, "layers are not in the order of the files");
        TRY(layer.parts[0], part(entry, "gate", where));
        TRY(layer.parts[1], part(entry, "up", where));
        TRY(layer.parts[2], part(entry, "down", where));
        TRY_STATUS(only(entry, {"layer", "file", "count", "gate", "up", "down"}, where));
        out_.experts.push_back(layer);
    }
    return {};
}

Result<ContainerManifest> ManifestReader::run() {
    TRY_STATUS(versions());
    TRY_STATUS(sources());
    TRY_STATUS(files());
    TRY_STATUS(tensors());
    TRY_STATUS(experts());
    return std::move(out_);
}

nlohmann::ordered_json format_json(WeightFormat format) {
    const bool scaled = is_integer(format.kind) || format.kind == WeightKind::fp8;
    return {{"format", to_string(format)},
            {"scales", std::string(scaled ? to_string(format.scales) : "none")}};
}

nlohmann::ordered_json part_json(const TileShape& shape) {
    nlohmann::ordered_json out = format_json(shape.format);
    out["rows"] = shape.rows;
    out["columns"] = shape.columns;
    return out;
}

}  // namespace

Result<ContainerManifest> parse_manifest(std::string_view text, const std::string& path) {
    if (text.size() > kManifestBytesMax)
        return fail(ErrorKind::corrupt, fmt::format("{}: {} bytes, expected at most {}", path,
                                                    text.size(), kManifestBytesMax));
    Watcher watcher;
    const Json root = Json::parse(
        text.begin(), text.end(),
        [&](int depth, Json::parse_event_t event, Json& value) {
            return watcher(depth, event, value);
        },
        /*allow_exceptions=*/false);
    if (!watcher.problem.empty())
        return fail(ErrorKind::corrupt, fmt::format("{}: {}", path, watcher.problem));
    if (!root.is_object())
        return fail(ErrorKind::corrupt,
                    fmt::format("{}: not a JSON object: the file is damaged or cut short", path));
    ManifestReader reader(root, path);
    TRY(ContainerManifest manifest, reader.run());
    // After the versions: a later one may hash differently.
    if (!self_digest_matches(text, kManifestSelfKey))
        return fail(ErrorKind::corrupt,
                    fmt::format("{}: its own checksum (manifest_xxh3) does not match: the file was "
                                "altered or damaged; copy it again or run coli convert again",
                                path));
    return manifest;
}

std::string manifest_text(const ContainerManifest& manifest) {
    using Out = nlohmann::ordered_json;
    Out files = Out::array(), sides = Out::array(), tensors = Out::array(), experts = Out::array();
    for (const ContainerFile& file : manifest.files)
        files.push_back({{"name", file.name},
                         {"size", file.size_bytes},
                         {"sha256", to_hex(file.sha256)},
                         {"header_xxh3", to_hex(file.header)},
                         {"draft", file.draft ? 1 : 0}});
    for (const ContainerSideFile& file : manifest.side_files)
        sides.push_back(
            {{"name", file.name}, {"size", file.size_bytes}, {"sha256", to_hex(file.sha256)}});
    for (const ContainerTensor& tensor : manifest.tensors) {
        Out entry = {{"name", tensor.name},
                     {"file", tensor.file},
                     {"layout", std::string(to_string(tensor.layout))}};
        entry.update(format_json(tensor.format));
        entry["rows"] = tensor.rows;
        entry["columns"] = tensor.columns;
        entry["heads"] = tensor.heads;
        tensors.push_back(std::move(entry));
    }
    for (const ContainerExperts& layer : manifest.experts)
        experts.push_back({{"layer", layer.layer},
                           {"file", layer.file},
                           {"count", layer.count},
                           {"gate", part_json(layer.parts[0])},
                           {"up", part_json(layer.parts[1])},
                           {"down", part_json(layer.parts[2])}});
    const Out root = {
        {"format", "colibri-container"},
        {"version", kContainerVersion},
        {"min_reader_version", 1},
        {"writer", manifest.writer},
        {"identity", manifest.identity},
        {"source", {{"name", manifest.source}, {"identity", manifest.source_id}}},
        {"parameters", manifest.parameters},
        {"checksums",
         {{"size", manifest.checksum_bytes}, {"xxh3", to_hex(manifest.checksum_digest)}}},
        {"files", files},
        {"side_files", sides},
        {"tensors", tensors},
        {"experts", experts},
        {"manifest_xxh3", std::string(kZeroDigest)}};
    std::string text = root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
    write_self_digest(text, kManifestSelfKey);
    return text;
}

}  // namespace colibri

#include "format/container.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/check.h"
#include "format/shard_set.h"

namespace colibri {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kChunkBytes = 4 << 20;
constexpr const char* kConfigName = "config.json";
constexpr std::string_view kCopyAgain = "copy the container again or run coli convert again";

// A stored tensor as the manifest implies it.
struct Expected {
    std::string name;
    DType dtype = DType::u8;
    uint64_t elements = 0;
    uint64_t size_bytes = 0;
};

std::vector<Expected> expected_tensors(const ContainerManifest& manifest, uint32_t file) {
    std::vector<Expected> out;
    for (const ContainerTensor& tensor : manifest.tensors) {
        if (tensor.file != file) continue;
        const bool floats = tensor.layout == TensorLayout::vector;
        const uint64_t bytes = tensor.size_bytes();
        out.push_back({.name = tensor.name,
                       .dtype = floats ? DType::f32 : DType::u8,
                       .elements = floats ? tensor.rows : bytes,
                       .size_bytes = bytes});
    }
    for (const ContainerExperts& layer : manifest.experts) {
        if (layer.file != file) continue;
        const uint64_t bytes = extent_layout(layer.parts).size_bytes;
        for (uint32_t e = 0; e < layer.count; ++e)
            out.push_back({.name = expert_tensor_name(layer.layer, e),
                           .elements = bytes,
                           .size_bytes = bytes});
    }
    return out;
}

// One after the other from the aligned beginning of the data, and nothing else.
Status check_header(const ContainerManifest& manifest, uint32_t index,
                    const SafetensorsHeader& header, const std::string& path) {
    const auto corrupt = [&](const std::string& what) {
        return fail(ErrorKind::corrupt, fmt::format("{}: {}; the file does not belong to this {}",
                                                    path, what, kManifestFileName));
    };
    const std::vector<Expected> expected = expected_tensors(manifest, index);
    if (header.data_begin % kExtentAlign != 0)
        return corrupt(fmt::format("data begins at {}, expected a multiple of {}",
                                   header.data_begin, kExtentAlign));
    if (header.tensors.size() != expected.size())
        return corrupt(
            fmt::format("found {} tensors, expected {}", header.tensors.size(), expected.size()));
    uint64_t at = header.data_begin;
    for (size_t i = 0; i < expected.size(); ++i) {
        const SafetensorsEntry& found = header.tensors[i];
        const Expected& want = expected[i];
        if (found.name != want.name)
            return corrupt(fmt::format("tensor {} is {}, expected {}", i, found.name, want.name));
        if (found.dtype != want.dtype || found.shape != std::vector<uint64_t>{want.elements} ||
            found.offset != at)
            return corrupt(fmt::format("tensor {}: {} [{}] at {}, expected {} [{}] at {}",
                                       found.name, to_string(found.dtype),
                                       fmt::join(found.shape, ", "), found.offset,
                                       to_string(want.dtype), want.elements, at));
        at += want.size_bytes;
    }
    return {};
}

Result<ContainerManifest> read_manifest(const std::string& directory) {
    const std::string path = directory + "/" + kManifestFileName;
    std::error_code error;
    if (!fs::exists(path, error) && fs::exists(directory + "/" + kJournalFileName, error))
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}: a conversion into this directory has not finished; run the "
                                "same coli convert again to complete it",
                                directory));
    TRY(const std::string text, read_file(path, kManifestBytesMax));
    return parse_manifest(text, path);
}

Result<ChecksumTable> read_table(const std::string& directory, const ContainerManifest& manifest) {
    const std::string path = directory + "/" + kChecksumFileName;
    TRY(const std::string bytes, read_file(path, kManifestBytesMax * 16));
    if (bytes.size() != manifest.checksum_bytes)
        return fail(ErrorKind::corrupt,
                    fmt::format("{}: found {} bytes, expected {}; {}", path, bytes.size(),
                                manifest.checksum_bytes, kCopyAgain));
    if (xxh3_128(std::string_view(bytes)) != manifest.checksum_digest)
        return fail(ErrorKind::corrupt,
                    fmt::format("{}: its bytes are not those that {} names: altered, damaged or of "
                                "another container; {}",
                                path, kManifestFileName, kCopyAgain));
    TRY(ChecksumTable table,
        parse_checksum_table(bytes, manifest.tensors.size(), manifest.expert_count(), path));
    if (table.identity != manifest.identity)
        return fail(ErrorKind::corrupt, fmt::format("{}: belongs to container {}, expected {}",
                                                    path, table.identity, manifest.identity));
    return table;
}

Status check_side_file(const std::string& directory, const ContainerSideFile& side) {
    const std::string path = directory + "/" + side.name;
    std::error_code error;
    const uint64_t found = fs::file_size(path, error);
    if (error) return fail(ErrorKind::not_found, fmt::format("{}: {}", path, error.message()));
    if (found != side.size_bytes)
        return fail(ErrorKind::corrupt,
                    fmt::format("{}: found {} bytes, expected {}", path, found, side.size_bytes));
    TRY(const Sha256 digest, sha256_of_file(path));
    if (digest != side.sha256)
        return fail(ErrorKind::corrupt,
                    fmt::format("{}: SHA-256 {}, expected {}: the file was altered or damaged",
                                path, to_hex(digest), to_hex(side.sha256)));
    return {};
}

// The spec is derived from config.json, so it must be the one the tensors were laid out for.
Status check_config(const std::string& directory, const ContainerManifest& manifest) {
    for (const ContainerSideFile& side : manifest.side_files)
        if (side.name == kConfigName) return check_side_file(directory, side);
    return fail(ErrorKind::corrupt, fmt::format("{}/{}: side_files does not name {}", directory,
                                                kManifestFileName, kConfigName));
}

Result<ContainerDataFile> open_data_file(const std::string& path, const ContainerManifest& manifest,
                                         uint32_t index) {
    const ContainerFile& named = manifest.files[index];
    ContainerDataFile out{.index = index};
    TRY(out.file, File::open(path));
    if (out.file->size_bytes() != named.size_bytes)
        return fail(ErrorKind::corrupt,
                    fmt::format("{}: found {} bytes, expected {}: {}; {}", path,
                                out.file->size_bytes(), named.size_bytes,
                                out.file->size_bytes() < named.size_bytes ? "cut short"
                                                                          : "something was added",
                                kCopyAgain));
    TRY(out.header, read_safetensors_header(*out.file));
    std::vector<std::byte> head(out.header.data_begin);
    TRY_STATUS(out.file->read_at(0, head));
    const Digest128 digest = xxh3_128(head);
    if (digest != named.header)
        return fail(
            ErrorKind::corrupt,
            fmt::format("{}: its header (XXH3-128 {}) is not the one that {} names ({}): "
                        "the file is of another container or version, or damaged; {}",
                        path, to_hex(digest), kManifestFileName, to_hex(named.header), kCopyAgain));
    TRY_STATUS(check_header(manifest, index, out.header, path));
    return out;
}

void name_strays(const std::string& directory, const ContainerManifest& manifest,
                 Notices& notices) {
    std::vector<std::string> strays;
    std::error_code error;
    for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        const bool ours = std::any_of(manifest.files.begin(), manifest.files.end(),
                                      [&](const ContainerFile& file) { return file.name == name; });
        if (name.ends_with(".safetensors") && !ours) strays.push_back(name);
    }
    std::sort(strays.begin(), strays.end());
    if (!strays.empty())
        notices.add(fmt::format("{}: not part of the container and not read: {}", directory,
                                fmt::join(strays, ", ")));
}

}  // namespace

Container::Container(ContainerManifest manifest, ChecksumTable table)
    : manifest_(std::move(manifest)), table_(std::move(table)) {
    CHECK(table_.tensors.size() == manifest_.tensors.size());
    CHECK(table_.experts.size() == manifest_.expert_count());
    for (uint32_t i = 0; i < manifest_.tensors.size(); ++i)
        tensors_.emplace(manifest_.tensors[i].name, i);
    uint64_t first = 0;
    for (uint32_t i = 0; i < manifest_.experts.size(); ++i) {
        layers_.emplace(manifest_.experts[i].layer, std::pair(i, first));
        first += manifest_.experts[i].count;
    }
}

std::optional<uint32_t> Container::find(std::string_view tensor) const {
    const auto found = tensors_.find(tensor);
    if (found == tensors_.end()) return std::nullopt;
    return found->second;
}

const ContainerExperts* Container::experts_of(uint32_t layer) const {
    const auto found = layers_.find(layer);
    return found == layers_.end() ? nullptr : &manifest_.experts[found->second.first];
}

std::span<const std::array<Digest128, 2>> Container::expert_digests(uint32_t layer) const {
    const auto found = layers_.find(layer);
    if (found == layers_.end()) return {};
    return std::span(table_.experts)
        .subspan(found->second.second, manifest_.experts[found->second.first].count);
}

bool is_container(const std::string& directory) {
    std::error_code error;
    return fs::exists(directory + "/" + kManifestFileName, error) ||
           fs::exists(directory + "/" + kJournalFileName, error);
}

Result<OpenContainer> open_container(const std::string& directory, Notices& notices,
                                     std::span<const std::string> further) {
    TRY(ContainerManifest manifest, read_manifest(directory));
    TRY(ChecksumTable table, read_table(directory, manifest));
    TRY_STATUS(check_config(directory, manifest));
    OpenContainer out;
    std::vector<std::string> names, missing, missing_draft;
    for (const ContainerFile& file : manifest.files) names.push_back(file.name);
    const std::vector<std::string> directories = joined(directory, further);
    TRY(const std::vector<std::string> paths, find_files(directories, names));
    for (size_t i = 0; i < paths.size(); ++i)
        if (paths[i].empty())
            (manifest.files[i].draft ? missing_draft : missing).push_back(names[i]);
    if (!missing.empty())
        return fail(ErrorKind::not_found,
                    fmt::format("{}: {} of {} files are missing: {}; {}", directory, missing.size(),
                                manifest.files.size(), fmt::join(missing, ", "), kCopyAgain));
    if (!missing_draft.empty())
        notices.add(fmt::format("{}: without its draft layer: {} not found", directory,
                                fmt::join(missing_draft, ", ")));
    for (uint32_t i = 0; i < manifest.files.size(); ++i) {
        // A part of the draft layer is of no use.
        if (manifest.files[i].draft && !missing_draft.empty()) continue;
        TRY(ContainerDataFile file, open_data_file(paths[i], manifest, i));
        out.files.push_back(std::move(file));
    }
    for (const std::string& each : directories) name_strays(each, manifest, notices);
    out.container = std::make_shared<const Container>(std::move(manifest), std::move(table));
    return out;
}

void ExpertCheck::begin(const ContainerExperts& layer, const std::array<Digest128, 2>& expected) {
    layout_ = extent_layout(layer.parts);
    expected_ = expected;
    found_ = {};
    stream_.reset();
    taken_ = 0;
}

void ExpertCheck::take(std::span<const std::byte> bytes) {
    const uint64_t first = layout_.part_bytes()[0];
    if (taken_ < first) {
        const uint64_t now = std::min<uint64_t>(bytes.size(), first - taken_);
        stream_.update(bytes.first(now));
        taken_ += now;
        bytes = bytes.subspan(now);
        if (taken_ < first) return;
        found_[0] = stream_.digest();
        stream_.reset();
    }
    stream_.update(bytes);
    taken_ += bytes.size();
}

Status ExpertCheck::finish() {
    if (taken_ != layout_.size_bytes)
        return fail(ErrorKind::corrupt,
                    fmt::format("found {} bytes, expected {}", taken_, layout_.size_bytes));
    found_[1] = stream_.digest();
    for (size_t i = 0; i < 2; ++i)
        if (found_[i] != expected_[i])
            return fail(ErrorKind::corrupt,
                        fmt::format("the checksum of its {} part is {}, expected {}: the bytes on "
                                    "disk are damaged; coli doctor --deep lists all damage",
                                    i == 0 ? "gate and up" : "down", to_hex(found_[i]),
                                    to_hex(expected_[i])));
    return {};
}

Status check_expert(const ContainerExperts& layer, const std::array<Digest128, 2>& expected,
                    std::span<const std::byte> bytes) {
    ExpertCheck check;
    check.begin(layer, expected);
    check.take(bytes);
    return check.finish();
}

Result<Sha256> sha256_of_file(const std::string& path) {
    TRY(const auto file, File::open(path));
    Sha256Stream stream;
    std::vector<std::byte> chunk(std::min(kChunkBytes, file->size_bytes()));
    for (uint64_t at = 0; at < file->size_bytes(); at += chunk.size()) {
        const auto part =
            std::span(chunk).first(std::min<uint64_t>(chunk.size(), file->size_bytes() - at));
        TRY_STATUS(file->read_at(at, part));
        stream.update(part);
    }
    return stream.finish();
}

namespace {

// Bytes of a file with a digest of their own.
struct Region {
    uint64_t size_bytes = 0;
    Digest128 digest;
    std::string what;
};

// In file order, from the beginning of the data.
std::vector<Region> regions_of(const Container& container, uint32_t file) {
    std::vector<Region> out;
    const ContainerManifest& manifest = container.manifest();
    for (size_t i = 0; i < manifest.tensors.size(); ++i)
        if (manifest.tensors[i].file == file)
            out.push_back({.size_bytes = manifest.tensors[i].size_bytes(),
                           .digest = container.checksums().tensors[i],
                           .what = fmt::format("tensor {}", manifest.tensors[i].name)});
    for (const ContainerExperts& layer : manifest.experts) {
        if (layer.file != file) continue;
        const auto digests = container.expert_digests(layer.layer);
        const auto sizes = extent_layout(layer.parts).part_bytes();
        for (uint32_t e = 0; e < layer.count; ++e)
            for (size_t part = 0; part < 2; ++part)
                out.push_back({.size_bytes = sizes[part],
                               .digest = digests[e][part],
                               .what = fmt::format("expert {} of layer {}, {} part", e, layer.layer,
                                                   part == 0 ? "gate and up" : "down")});
    }
    return out;
}

class DeepCheck {
public:
    DeepCheck(const OpenContainer& opened, const std::function<void(uint64_t, uint64_t)>& progress,
              const CancelToken* cancel)
        : opened_(opened), progress_(progress), cancel_(cancel) {
        for (const ContainerDataFile& file : opened.files) total_ += file.file->size_bytes();
    }

    Result<std::vector<ContainerFinding>> run(const std::string& directory) {
        for (const ContainerSideFile& side : opened_.container->manifest().side_files)
            if (const Status status = check_side_file(directory, side); !status)
                findings_.push_back({side.name, status.error().message});
        for (const ContainerDataFile& file : opened_.files) {
            const Status status = check(file);
            if (!status && status.error().kind == ErrorKind::cancelled)
                return tl::unexpected(status.error());
            if (!status) findings_.push_back({name_of(file), status.error().message});
        }
        return std::move(findings_);
    }

private:
    [[nodiscard]] const std::string& name_of(const ContainerDataFile& file) const {
        return opened_.container->manifest().files[file.index].name;
    }

    Status read(const File& file, uint64_t size_bytes, Sha256Stream& whole, Xxh3Stream* region) {
        while (size_bytes > 0) {
            if (is_cancelled(cancel_)) return fail(ErrorKind::cancelled, "the check was cancelled");
            const auto part = std::span(chunk_).first(std::min(size_bytes, kChunkBytes));
            TRY_STATUS(file.read_at(at_, part));
            whole.update(part);
            if (region != nullptr) region->update(part);
            at_ += part.size();
            size_bytes -= part.size();
            done_ += part.size();
            if (progress_) progress_(done_, total_);
        }
        return {};
    }

    Status check(const ContainerDataFile& file) {
        Sha256Stream whole;
        at_ = 0;
        TRY_STATUS(read(*file.file, file.header.data_begin, whole, nullptr));
        size_t damaged = 0;
        for (const Region& region : regions_of(*opened_.container, file.index)) {
            const uint64_t begin = at_;
            Xxh3Stream stream;
            TRY_STATUS(read(*file.file, region.size_bytes, whole, &stream));
            const Digest128 digest = stream.digest();
            if (digest == region.digest) continue;
            ++damaged;
            findings_.push_back(
                {name_of(file),
                 fmt::format("{} ({} bytes at offset {}): checksum {}, expected {}", region.what,
                             region.size_bytes, begin, to_hex(digest), to_hex(region.digest))});
        }
        const Sha256 digest = whole.finish();
        const ContainerFile& named = opened_.container->manifest().files[file.index];
        if (damaged == 0 && digest != named.sha256)
            findings_.push_back({named.name, fmt::format("SHA-256 {}, expected {}", to_hex(digest),
                                                         to_hex(named.sha256))});
        return {};
    }

    const OpenContainer& opened_;
    const std::function<void(uint64_t, uint64_t)>& progress_;
    const CancelToken* cancel_;
    std::vector<ContainerFinding> findings_;
    std::vector<std::byte> chunk_ = std::vector<std::byte>(kChunkBytes);
    uint64_t at_ = 0, done_ = 0, total_ = 0;
};

}  // namespace

Result<std::vector<ContainerFinding>> verify_container(
    const std::string& directory, bool deep,
    const std::function<void(uint64_t, uint64_t)>& progress, const CancelToken* cancel,
    std::span<const std::string> further) {
    Notices notices;
    const auto opened = open_container(directory, notices, further);
    if (!opened) return std::vector<ContainerFinding>{{"", opened.error().message}};
    if (!deep) return std::vector<ContainerFinding>{};
    return DeepCheck(*opened, progress, cancel).run(directory);
}

}  // namespace colibri

#include "format/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "format/safetensors.h"
#include "format/shard_index.h"
#include "format/shard_set.h"
#include "platform/file.h"

namespace colibri {

struct Checkpoint::Impl {
    std::string directory;
    std::vector<CheckpointFile> files;
    std::string names;  // all tensor names, one after another; TensorInfo::name points in here
    std::vector<TensorInfo> tensors;
    std::string gaps;
    uint64_t data_bytes = 0;
    std::shared_ptr<const Container> container;
};

namespace {

// Moves the headers' tensors into one sorted table that owns every name once.
void fill_table(std::vector<SafetensorsHeader>& headers, std::string& names,
                std::vector<TensorInfo>& tensors) {
    size_t name_bytes = 0, count = 0;
    for (const SafetensorsHeader& header : headers) {
        count += header.tensors.size();
        for (const SafetensorsEntry& entry : header.tensors) name_bytes += entry.name.size();
    }
    names.reserve(name_bytes);  // exact: the views below must not move
    tensors.reserve(count);
    for (uint32_t file = 0; file < headers.size(); ++file) {
        for (SafetensorsEntry& entry : headers[file].tensors) {
            const size_t at = names.size();
            names += entry.name;
            tensors.push_back({.name = std::string_view(names).substr(at, entry.name.size()),
                               .dtype = entry.dtype,
                               .shape = std::move(entry.shape),
                               .file = file,
                               .offset = entry.offset,
                               .size_bytes = entry.size_bytes});
        }
        headers[file] = {};
    }
    std::sort(tensors.begin(), tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
        return a.name != b.name ? a.name < b.name : a.file < b.file;
    });
}

// Every tensor of the index in the file that it says, and no other tensors.
Status check_index(const std::string& index_path, const ShardIndex& index,
                   const std::vector<CheckpointFile>& files,
                   const std::vector<TensorInfo>& tensors) {
    size_t at = 0;
    for (const TensorInfo& tensor : tensors) {
        const std::string holder = file_name_of(files[tensor.file].path);
        if (at < index.tensors.size() && index.tensors[at].first == tensor.name) {
            const std::string& named = index.files[index.tensors[at].second];
            if (named != holder)
                return fail(ErrorKind::corrupt,
                            fmt::format("{}: tensor {} is said to be in {}, but {} holds it",
                                        index_path, tensor.name, named, holder));
            ++at;
            continue;
        }
        if (at < index.tensors.size() && index.tensors[at].first < tensor.name) break;
        return fail(
            ErrorKind::corrupt,
            fmt::format("{}: does not name tensor {}, which {} holds; index and shards are of "
                        "different versions",
                        index_path, tensor.name, holder));
    }
    if (at < index.tensors.size())
        return fail(ErrorKind::corrupt,
                    fmt::format("{}: tensor {} is not in {}, where it should be", index_path,
                                index.tensors[at].first, index.files[index.tensors[at].second]));
    return {};
}

Result<ShardIndex> read_index(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) {
        if (!std::filesystem::is_symlink(path, error)) return ShardIndex{};
        return fail(ErrorKind::not_found, path + ": a dangling link, expected the shard index");
    }
    TRY(const std::string text, read_file(path, kIndexBytesMax));
    return parse_shard_index(text, path);
}

}  // namespace

Result<Checkpoint> Checkpoint::open(const std::string& directory, Notices& notices,
                                    std::span<const std::string> further) {
    auto impl = std::make_shared<Impl>();
    impl->directory = directory;
    if (is_container(directory)) {
        TRY(OpenContainer opened, open_container(directory, notices, further));
        impl->container = std::move(opened.container);
        std::vector<SafetensorsHeader> headers;
        for (ContainerDataFile& file : opened.files) {
            impl->files.push_back({.path = file.file->path(),
                                   .size_bytes = file.file->size_bytes(),
                                   .file = file.file});
            headers.push_back(std::move(file.header));
        }
        fill_table(headers, impl->names, impl->tensors);
        for (const TensorInfo& tensor : impl->tensors) impl->data_bytes += tensor.size_bytes;
        Checkpoint checkpoint;
        checkpoint.impl_ = std::move(impl);
        return checkpoint;
    }
    const std::string index_path = directory + "/" + kIndexFileName;
    TRY(const ShardIndex index, read_index(index_path));
    TRY(ShardSet set, choose_shards(joined(directory, further), index.files, notices));
    impl->gaps = std::move(set.gaps);
    std::vector<SafetensorsHeader> headers;
    for (const std::string& path : set.paths) {
        TRY(std::shared_ptr<const File> file, File::open(path));
        TRY(SafetensorsHeader header, read_safetensors_header(*file));
        impl->files.push_back({.path = file->path(),
                               .size_bytes = file->size_bytes(),
                               .file = file,
                               .metadata = std::move(header.metadata)});
        headers.push_back(std::move(header));
    }
    fill_table(headers, impl->names, impl->tensors);
    for (size_t i = 0; i < impl->tensors.size(); ++i) {
        const TensorInfo& tensor = impl->tensors[i];
        impl->data_bytes += tensor.size_bytes;
        if (i > 0 && impl->tensors[i - 1].name == tensor.name)
            return fail(ErrorKind::corrupt,
                        fmt::format("{}: tensor {} is in {} and again in {}; keep one of the files",
                                    directory, tensor.name,
                                    file_name_of(impl->files[impl->tensors[i - 1].file].path),
                                    file_name_of(impl->files[tensor.file].path)));
    }
    if (set.indexed) {
        TRY_STATUS(check_index(index_path, index, impl->files, impl->tensors));
    }
    Checkpoint checkpoint;
    checkpoint.impl_ = std::move(impl);
    return checkpoint;
}

const std::string& Checkpoint::directory() const {
    return impl_->directory;
}
std::span<const CheckpointFile> Checkpoint::files() const {
    return impl_->files;
}
std::span<const TensorInfo> Checkpoint::tensors() const {
    return impl_->tensors;
}
uint64_t Checkpoint::data_bytes() const {
    return impl_->data_bytes;
}
const std::string& Checkpoint::gaps() const {
    return impl_->gaps;
}
const Container* Checkpoint::container() const {
    return impl_->container.get();
}

const TensorInfo* Checkpoint::find(std::string_view name) const {
    const auto at = std::lower_bound(
        impl_->tensors.begin(), impl_->tensors.end(), name,
        [](const TensorInfo& tensor, std::string_view wanted) { return tensor.name < wanted; });
    return at != impl_->tensors.end() && at->name == name ? &*at : nullptr;
}

std::string Checkpoint::where(const TensorInfo& tensor) const {
    return fmt::format("file {}, tensor {}", impl_->files[tensor.file].path, tensor.name);
}

Status Checkpoint::read(const TensorInfo& tensor, uint64_t begin, std::span<std::byte> out) const {
    if (begin > tensor.size_bytes || out.size() > tensor.size_bytes - begin)
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}: bytes {} to {} wanted, but the tensor has {}", where(tensor),
                                begin, begin + out.size(), tensor.size_bytes));
    Status status = impl_->files[tensor.file].file->read_at(tensor.offset + begin, out);
    if (!status)
        return tl::unexpected(
            std::move(status).error().within(fmt::format("tensor {}", tensor.name)));
    return {};
}

}  // namespace colibri

#include "convert/container_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "format/container.h"

namespace colibri {

namespace {

constexpr uint64_t kReadBackBytes = 4 << 20;
constexpr uint64_t kWritebackBytes = 16 << 20;

// Sizes of everything with a digest in a file, in order; experts in their two parts.
std::vector<uint64_t> region_bytes(const ContainerManifest& manifest, uint32_t file) {
    std::vector<uint64_t> sizes;
    for (const ContainerTensor& tensor : manifest.tensors)
        if (tensor.file == file) sizes.push_back(tensor.size_bytes());
    for (const ContainerExperts& layer : manifest.experts) {
        if (layer.file != file) continue;
        const auto parts = extent_layout(layer.parts).part_bytes();
        for (uint32_t e = 0; e < layer.count; ++e)
            sizes.insert(sizes.end(), parts.begin(), parts.end());
    }
    return sizes;
}

}  // namespace

ContainerWriter::ContainerWriter(std::string directory, ConvertPlan& plan, JournalState state,
                                 Journal journal, uint64_t checkpoint_bytes,
                                 const FaultHook& before)
    : directory_(std::move(directory)),
      plan_(plan),
      files_(std::move(state.files)),
      tensor_counts_(plan.manifest.files.size()),
      journal_(std::move(journal)),
      checkpoint_bytes_(checkpoint_bytes),
      before_(before) {
    files_.resize(plan.manifest.files.size());
    verified_.resize(files_.size());
    for (const ConvertUnit& unit : plan.units) tensor_counts_[unit.file] += unit.tensors;
    for (uint32_t file = 0; file < plan.manifest.files.size(); ++file)
        plan.manifest.files[file].header =
            xxh3_128(std::string_view(data_file_header(plan.manifest, file)));
}

// The digests of what is on disk against those of the journal; leaves sha_ at the end of it.
bool ContainerWriter::read_back(uint32_t file) {
    const JournalFile& known = files_[file];
    const auto opened = File::open(directory_ + "/" + plan_.manifest.files[file].name);
    if (!opened || (*opened)->size_bytes() < known.bytes) return false;
    sha_ = Sha256Stream();
    std::vector<std::byte> chunk(kReadBackBytes);
    uint64_t at = 0;
    const auto region = [&](uint64_t size_bytes, Digest128& digest) {
        Xxh3Stream stream;
        while (size_bytes > 0) {
            const auto part = std::span(chunk).first(std::min(size_bytes, kReadBackBytes));
            if (!(*opened)->read_at(at, part)) return false;
            stream.update(part);
            sha_.update(part);
            at += part.size();
            size_bytes -= part.size();
        }
        digest = stream.digest();
        return true;
    };
    Digest128 found;
    if (!region(data_file_header(plan_.manifest, file).size(), found) ||
        found != plan_.manifest.files[file].header)
        return false;
    const std::vector<uint64_t> sizes = region_bytes(plan_.manifest, file);
    if (known.digests.size() > sizes.size()) return false;
    for (size_t i = 0; i < known.digests.size(); ++i)
        if (!region(sizes[i], found) || found != known.digests[i]) return false;
    return at == known.bytes;
}

Result<uint32_t> ContainerWriter::resume(uint32_t file) {
    JournalFile& known = files_[file];
    ContainerFile& target = plan_.manifest.files[file];
    if (known.tensors == 0) return 0U;
    if (read_back(file)) {
        if (known.sha256) {
            if (known.tensors == tensor_counts_[file] && sha_.finish() == *known.sha256) {
                target.sha256 = *known.sha256;
                target.size_bytes = known.bytes;
                return known.tensors;
            }
        } else {
            if (known.tensors < tensor_counts_[file]) return known.tensors;
            // The crash came between the last checkpoint and the file's own record.
            target.sha256 = sha_.finish();
            target.size_bytes = known.bytes;
            known.sha256 = target.sha256;
            TRY_STATUS(fault("journal"));
            TRY_STATUS(journal_.finished(file, target.sha256));
            return known.tensors;
        }
    }
    // Altered since: begin again.
    known = {};
    TRY_STATUS(fault("journal"));
    TRY_STATUS(journal_.progress(file, 0, 0, {}));
    return 0U;
}

Status ContainerWriter::open(uint32_t file) {
    const JournalFile& known = files_[file];
    const std::string path = directory_ + "/" + plan_.manifest.files[file].name;
    TRY_STATUS(fault("create"));
    tensors_ = known.tensors;
    tensor_end_ = known.bytes;
    fresh_.clear();
    fresh_bytes_ = 0;
    xxh_.reset();
    scales_.clear();
    if (known.tensors > 0) {
        // Also brings sha_ to this point: other files may have been read back in between.
        if (!read_back(file))
            return fail(ErrorKind::io, fmt::format("{}: changed while it was being written", path));
        TRY(output_, OutputFile::open(path, known.bytes));
    } else {
        TRY(output_, OutputFile::open(path, 0));
        sync_directory(directory_);
        sha_ = Sha256Stream();
        const std::string header = data_file_header(plan_.manifest, file);
        TRY_STATUS(write(std::as_bytes(std::span(header))));
        xxh_.reset();
        tensor_end_ = output_.size_bytes();
    }
    open_file_ = file;
    return {};
}

Status ContainerWriter::write(std::span<const std::byte> bytes) {
    TRY_STATUS(fault("write"));
    TRY_STATUS(output_.append(bytes));
    sha_.update(bytes);
    xxh_.update(bytes);
    fresh_bytes_ += bytes.size();
    written_bytes_ += bytes.size();
    return {};
}

void ContainerWriter::end_tensor() {
    fresh_.push_back(xxh_.digest());
    xxh_.reset();
    ++tensors_;
    tensor_end_ = output_.size_bytes();
}

Status ContainerWriter::add(const ConvertUnit& unit, const Produced& produced) {
    if (open_file_ != unit.file) TRY_STATUS(open(unit.file));
    const std::span<const std::byte> bytes(produced.bytes);
    if (unit.kind == ConvertUnit::Kind::experts) {
        // Its digests were taken where the bytes were made.
        TRY_STATUS(write(bytes));
        xxh_.reset();
        fresh_.insert(fresh_.end(), produced.parts.begin(), produced.parts.end());
        ++tensors_;
        tensor_end_ = output_.size_bytes();
    } else if (unit.kind == ConvertUnit::Kind::rows) {
        TRY_STATUS(write(bytes));
        scales_.insert(scales_.end(), produced.scales.begin(), produced.scales.end());
        if (unit.tensors > 0) {
            const TileShape& shape = plan_.dense[unit.item].shape;
            const std::byte zeros[kDenseAlign] = {};
            TRY_STATUS(write(
                std::span(zeros).first(shape.data_bytes() - shape.block_bytes() * shape.blocks())));
            TRY_STATUS(write(scales_));
            TRY_STATUS(write(std::span(zeros).first(shape.scale_bytes() - scales_.size())));
            scales_.clear();
            end_tensor();
        }
    } else {
        uint64_t at = 0;
        for (uint32_t t = 0; t < unit.tensors; ++t) {
            const uint64_t size_bytes =
                plan_.manifest.tensors[plan_.dense[unit.item].first_tensor + t].size_bytes();
            TRY_STATUS(write(bytes.subspan(at, size_bytes)));
            at += size_bytes;
            end_tensor();
        }
    }
    if (tensors_ == tensor_counts_[unit.file]) return finish_file();
    if (fresh_bytes_ >= checkpoint_bytes_ && unit.tensors > 0) return checkpoint();
    if (fresh_bytes_ % kWritebackBytes < bytes.size()) output_.start_writeback();
    return {};
}

Status ContainerWriter::checkpoint() {
    if (!open_file_ || fresh_.empty()) return {};
    const uint32_t file = *open_file_;
    TRY_STATUS(fault("sync"));
    TRY_STATUS(output_.sync());
    TRY_STATUS(fault("journal"));
    TRY_STATUS(journal_.progress(file, tensors_, tensor_end_, fresh_));
    JournalFile& known = files_[file];
    known.tensors = tensors_;
    known.bytes = tensor_end_;
    known.digests.insert(known.digests.end(), fresh_.begin(), fresh_.end());
    fresh_.clear();
    fresh_bytes_ = 0;
    return {};
}

Status ContainerWriter::verify_durable() {
    std::vector<std::byte> chunk(kReadBackBytes);
    for (uint32_t file = 0; file < files_.size(); ++file) {
        const JournalFile& known = files_[file];
        if (verified_[file] == known.digests.size()) continue;
        TRY(const auto opened, File::open(directory_ + "/" + plan_.manifest.files[file].name));
        const std::vector<uint64_t> sizes = region_bytes(plan_.manifest, file);
        uint64_t at = data_file_header(plan_.manifest, file).size();
        for (size_t i = 0; i < verified_[file]; ++i) at += sizes[i];
        drop_from_cache(*opened, at, known.bytes - at);
        for (; verified_[file] < known.digests.size(); ++verified_[file]) {
            Xxh3Stream stream;
            const uint64_t end = at + sizes[verified_[file]];
            for (; at < end; at += std::min(end - at, kReadBackBytes)) {
                const auto part = std::span(chunk).first(std::min(end - at, kReadBackBytes));
                TRY_STATUS(opened->read_at(at, part));
                stream.update(part);
            }
            if (stream.digest() != known.digests[verified_[file]])
                return fail(ErrorKind::corrupt,
                            fmt::format("{}: what was written before offset {} reads back "
                                        "differently: the drive loses data; no source was deleted "
                                        "for it",
                                        opened->path(), end));
        }
    }
    return {};
}

Status ContainerWriter::finish_file() {
    const uint32_t file = *open_file_;
    TRY_STATUS(checkpoint());
    ContainerFile& target = plan_.manifest.files[file];
    target.sha256 = sha_.finish();
    target.size_bytes = output_.size_bytes();
    TRY_STATUS(fault("journal"));
    TRY_STATUS(journal_.finished(file, target.sha256));
    files_[file].sha256 = target.sha256;
    output_ = OutputFile();
    open_file_.reset();
    return {};
}

}  // namespace colibri

#include "platform/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace colibri {

namespace {

tl::unexpected<Error> failed(const std::string& path, std::string_view what, int error) {
    const bool full = error == ENOSPC || error == EDQUOT;
    return fail(full ? ErrorKind::out_of_budget : ErrorKind::io,
                fmt::format("{}: {}: {}{}", path, what, std::generic_category().message(error),
                            full ? "; make room and run the same command again" : ""));
}

}  // namespace

Result<OutputFile> OutputFile::open(const std::string& path, uint64_t keep_bytes, bool exclusive) {
    OutputFile file;
    file.path_ = path;
    file.descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
    if (file.descriptor_ < 0) return failed(path, "cannot create", errno);
    if (exclusive && ::flock(file.descriptor_, LOCK_EX | LOCK_NB) != 0)
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}: in use by another process; let it finish", path));
    struct stat facts{};
    if (::fstat(file.descriptor_, &facts) != 0) return failed(path, "cannot stat", errno);
    if (!S_ISREG(facts.st_mode))
        return fail(ErrorKind::invalid_input, fmt::format("{}: not a regular file", path));
    if (uint64_t(facts.st_size) < keep_bytes)
        return fail(ErrorKind::corrupt, fmt::format("{}: found {} bytes, expected at least {}",
                                                    path, facts.st_size, keep_bytes));
    TRY_STATUS(file.resize(keep_bytes));
    return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_bytes_(other.size_bytes_),
      started_bytes_(other.started_bytes_),
      dropped_bytes_(other.dropped_bytes_) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(size_bytes_, other.size_bytes_);
    std::swap(started_bytes_, other.started_bytes_);
    std::swap(dropped_bytes_, other.dropped_bytes_);
    return *this;
}

OutputFile::~OutputFile() {
    if (descriptor_ >= 0) (void)::close(descriptor_);
}

Status OutputFile::append(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t wrote = ::pwrite(descriptor_, bytes.data(), bytes.size(), off_t(size_bytes_));
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0)
            return failed(path_, fmt::format("write at offset {} failed", size_bytes_),
                          wrote == 0 ? EIO : errno);
        size_bytes_ += uint64_t(wrote);
        bytes = bytes.subspan(size_t(wrote));
    }
    return {};
}

Status OutputFile::sync() {
    if (::fdatasync(descriptor_) != 0) return failed(path_, "fdatasync failed", errno);
    return {};
}

Status OutputFile::resize(uint64_t bytes) {
    if (::ftruncate(descriptor_, off_t(bytes)) != 0) return failed(path_, "cannot resize", errno);
    size_bytes_ = bytes;
    return {};
}

void OutputFile::start_writeback() {
    // Failures do not matter: these are hints.
    (void)::sync_file_range(descriptor_, off64_t(started_bytes_),
                            off64_t(size_bytes_ - started_bytes_), SYNC_FILE_RANGE_WRITE);
    (void)::posix_fadvise(descriptor_, off_t(dropped_bytes_),
                          off_t(started_bytes_ - dropped_bytes_), POSIX_FADV_DONTNEED);
    dropped_bytes_ = started_bytes_;
    started_bytes_ = size_bytes_;
}

void sync_directory(const std::string& directory) {
    const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    (void)::fsync(descriptor);
    (void)::close(descriptor);
}

Result<uint64_t> free_disk_bytes(const std::string& path) {
    struct statvfs facts{};
    if (::statvfs(path.c_str(), &facts) != 0)
        return failed(path, "cannot ask for free space", errno);
    return uint64_t(facts.f_bavail) * facts.f_frsize;
}

void will_read(const File& file, uint64_t offset, uint64_t size_bytes) {
    (void)::posix_fadvise(file.descriptor(), off_t(offset), off_t(size_bytes), POSIX_FADV_WILLNEED);
}

void drop_from_cache(const File& file, uint64_t offset, uint64_t size_bytes) {
    (void)::posix_fadvise(file.descriptor(), off_t(offset), off_t(size_bytes), POSIX_FADV_DONTNEED);
}

}  // namespace colibri

#include "platform/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/aligned_buffer.h"
#include "base/units.h"
#include "platform/read_loop.h"
#include "platform/reader.h"

namespace colibri {

namespace {

std::string errno_text(int error) {
    return std::generic_category().message(error);
}

ErrorKind kind_of(int error) {
    return error == ENOENT || error == ENOTDIR ? ErrorKind::not_found : ErrorKind::io;
}

// Writes everything or says why not.
Status write_all(int descriptor, const std::string& path, std::span<const std::byte> bytes) {
    size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t wrote = ::write(descriptor, bytes.data() + done, bytes.size() - done);
        if (wrote > 0) {
            done += size_t(wrote);
        } else if (wrote < 0 && errno != EINTR) {
            return fail(ErrorKind::io, fmt::format("{}: write failed after {} of {} bytes: {}",
                                                   path, done, bytes.size(), errno_text(errno)));
        }
    }
    if (::fsync(descriptor) != 0)
        return fail(ErrorKind::io, fmt::format("{}: fsync failed: {}", path, errno_text(errno)));
    return {};
}

// The rename itself is durable only once its directory is. Some file systems refuse to sync a
// directory; the new file is in place all the same.
void sync_directory_of(const std::string& path) {
    const size_t slash = path.rfind('/');
    const std::string directory = slash == std::string::npos ? "."
                                  : slash == 0               ? "/"
                                                             : path.substr(0, slash);
    const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    (void)::fsync(descriptor);
    (void)::close(descriptor);
}

// The same file again, for direct reads; -1 when one is refused. Through /proc, so that it is the
// same file even if the path names another one by now.
int open_direct(int descriptor) {
    const std::string self = fmt::format("/proc/self/fd/{}", descriptor);
    const int direct = ::open(self.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_DIRECT);
    if (direct < 0) return -1;
    // Some file systems accept the flag and refuse the read.
    const auto block = AlignedBuffer::allocate(kDirectBlockBytes);
    ssize_t got = -1;
    if (block) do
            got = ::pread(direct, block->data(), kDirectBlockBytes, 0);
        while (got < 0 && errno == EINTR);
    // An I/O error is no refusal: whoever reads this block will hear of it.
    if (block && (got >= 0 || errno == EIO)) return direct;
    (void)::close(direct);
    return -1;
}

}  // namespace

Result<std::shared_ptr<const File>> File::open(const std::string& path) {
    // O_NONBLOCK keeps a named pipe from blocking the open; it has no effect on a regular file.
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        const int error = errno;
        return fail(kind_of(error), fmt::format("{}: cannot open: {}", path, errno_text(error)));
    }
    std::shared_ptr<File> file(new File());
    file->path_ = path;
    file->descriptor_ = descriptor;
    struct stat facts{};
    if (::fstat(descriptor, &facts) != 0)
        return fail(ErrorKind::io, fmt::format("{}: cannot stat: {}", path, errno_text(errno)));
    if (!S_ISREG(facts.st_mode))
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}: found a {}, expected a regular file", path,
                                S_ISDIR(facts.st_mode) ? "directory" : "pipe, socket or device"));
    file->size_bytes_ = uint64_t(facts.st_size);
    file->device_ = facts.st_dev;
    file->inode_ = facts.st_ino;
    file->written_s_ = facts.st_mtim.tv_sec;
    file->written_ns_ = facts.st_mtim.tv_nsec;
    return std::shared_ptr<const File>(std::move(file));
}

File::~File() {
    if (direct_descriptor_ >= 0) (void)::close(direct_descriptor_);
    if (descriptor_ >= 0) (void)::close(descriptor_);
}

FileChange File::change() const {
    struct stat facts{};
    if (::fstat(descriptor_, &facts) != 0) return FileChange::none;
    if (uint64_t(facts.st_size) < size_bytes_) return FileChange::truncated;
    if (uint64_t(facts.st_size) != size_bytes_ || facts.st_mtim.tv_sec != written_s_ ||
        facts.st_mtim.tv_nsec != written_ns_)
        return FileChange::rewritten;
    if (::stat(path_.c_str(), &facts) != 0)
        return errno == ENOENT || errno == ENOTDIR ? FileChange::missing : FileChange::none;
    return uint64_t(facts.st_dev) == device_ && facts.st_ino == inode_ ? FileChange::none
                                                                       : FileChange::replaced;
}

Status File::check_unchanged() const {
    switch (change()) {
        case FileChange::none:
        case FileChange::missing:
        case FileChange::replaced: return {};
        case FileChange::truncated: {
            struct stat facts{};
            (void)::fstat(descriptor_, &facts);
            return fail(ErrorKind::corrupt,
                        fmt::format("{}: the file was cut while it was in use: found {} bytes, "
                                    "expected {}; restore it, then restart",
                                    path_, facts.st_size, size_bytes_));
        }
        case FileChange::rewritten:
            return fail(ErrorKind::corrupt,
                        fmt::format("{}: the file was written to while it was in use, so that what "
                                    "was read may be old bytes and new ones mixed; restart when "
                                    "the file is as it should be",
                                    path_));
    }
    return {};
}

int File::direct_descriptor() const {
    std::call_once(direct_once_, [this] { direct_descriptor_ = open_direct(descriptor_); });
    return direct_refused_.load(std::memory_order_relaxed) ? -1 : direct_descriptor_;
}

void File::expect_random_reads() const {
    std::call_once(random_once_,
                   [this] { (void)::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_RANDOM); });
}

Status File::read_at(uint64_t offset, std::span<std::byte> out) const {
    if (offset > size_bytes_ || out.size() > size_bytes_ - offset)
        return fail(ErrorKind::corrupt,
                    fmt::format("{}: {} bytes wanted at offset {}, but the file has {} bytes",
                                path_, out.size(), offset, size_bytes_));
    const ReadOutcome outcome = read_fully(
        [this](std::byte* into, size_t size_bytes, uint64_t at) {
            return ::pread(descriptor_, into, size_bytes, off_t(at));
        },
        offset, out);
    if (outcome.error != 0)
        return fail(ErrorKind::io,
                    fmt::format("{}: read of {} bytes at offset {} failed: {}", path_, out.size(),
                                offset + outcome.read_bytes, errno_text(outcome.error)));
    if (outcome.read_bytes < out.size())
        return fail(
            ErrorKind::corrupt,
            fmt::format("{}: the file ended at offset {} while {} bytes from offset {} were "
                        "read; it had {} bytes when it was opened",
                        path_, offset + outcome.read_bytes, out.size(), offset, size_bytes_));
    return {};
}

Result<std::string> read_file(const std::string& path, uint64_t limit_bytes) {
    TRY(const std::shared_ptr<const File> file, File::open(path));
    if (file->size_bytes() > limit_bytes)
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}: {} ({} bytes) is too large for this kind of file, expected at "
                                "most {} ({} bytes)",
                                path, format_bytes(file->size_bytes()), file->size_bytes(),
                                format_bytes(limit_bytes), limit_bytes));
    std::string text(file->size_bytes(), '\0');
    TRY_STATUS(file->read_at(0, std::as_writable_bytes(std::span(text))));
    return text;
}

Status write_file_atomic(const std::string& path, std::span<const std::byte> bytes) {
    // The process id keeps two processes apart; O_EXCL keeps two threads apart.
    std::string temporary;
    int descriptor = -1;
    for (int attempt = 0; attempt < 16 && descriptor < 0; ++attempt) {
        temporary = fmt::format("{}.{}.{}.tmp", path, ::getpid(), attempt);
        descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (descriptor < 0 && errno != EEXIST) break;
    }
    if (descriptor < 0)
        return fail(kind_of(errno),
                    fmt::format("{}: cannot create: {}", temporary, errno_text(errno)));
    Status written = write_all(descriptor, temporary, bytes);
    const bool closed = ::close(descriptor) == 0;
    if (!written || !closed) {
        const int error = errno;
        (void)::unlink(temporary.c_str());
        if (!written) return written;
        return fail(ErrorKind::io,
                    fmt::format("{}: close failed: {}", temporary, errno_text(error)));
    }
    if (std::rename(temporary.c_str(), path.c_str()) != 0) {
        const int error = errno;
        (void)::unlink(temporary.c_str());
        return fail(ErrorKind::io, fmt::format("{}: cannot replace by {}: {}", path, temporary,
                                               errno_text(error)));
    }
    sync_directory_of(path);
    return {};
}

}  // namespace colibri

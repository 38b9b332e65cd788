// Files: positioned reads, whole-file reads, atomic replacement.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "base/error.h"

namespace colibri {

// What has become of a file since it was opened.
enum class FileChange : uint8_t {
    none,
    missing,    // no file has its path any more; what is open has the old bytes
    replaced,   // another file has its path; what is open has the old bytes
    truncated,  // it is shorter than it was
    rewritten,  // it was written to: what is read may be old bytes or new ones
};

// A file open for reading. Thread-safe: reads are positioned and keep no cursor.
class File {
public:
    // Errors: not_found, io; invalid_input when the path is not a regular file.
    [[nodiscard]] static Result<std::shared_ptr<const File>> open(const std::string& path);
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File();

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] uint64_t size_bytes() const { return size_bytes_; }  // at open
    [[nodiscard]] int descriptor() const { return descriptor_; }

    // Compares the file with what it was at open: inode, size, time of the last write. Three system
    // calls at most; a path that cannot be looked at counts as unchanged.
    [[nodiscard]] FileChange change() const;
    // Errors: corrupt when the file was truncated or rewritten, saying so and what to do.
    [[nodiscard]] Status check_unchanged() const;

    // For reads of whole blocks past the page cache: the same file, opened again with O_DIRECT and
    // tried with one block on the first call. -1 when the file system refuses such reads.
    [[nodiscard]] int direct_descriptor() const;
    // A direct read was refused after all: direct_descriptor() is -1 from now on.
    void refuse_direct() const { direct_refused_.store(true, std::memory_order_relaxed); }

    // Reads through the page cache will come in no order: from now on the system fetches what is
    // asked for and nothing beside it.
    void expect_random_reads() const;

    // Fills `out` from `offset`; continues short reads, retries EINTR and EAGAIN, retries EIO once.
    // Errors: io (path, offset, errno text); corrupt when the file ends inside the range.
    [[nodiscard]] Status read_at(uint64_t offset, std::span<std::byte> out) const;

private:
    File() = default;
    std::string path_;
    uint64_t size_bytes_ = 0;
    uint64_t device_ = 0, inode_ = 0;
    int64_t written_s_ = 0, written_ns_ = 0;  // at open
    int descriptor_ = -1;
    mutable std::once_flag direct_once_;
    mutable int direct_descriptor_ = -1;
    mutable std::atomic<bool> direct_refused_{false};
    mutable std::once_flag random_once_;
};

// The part of `path` after its last slash.
[[nodiscard]] inline std::string file_name_of(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

// A whole small file. Errors as File; invalid_input when it is larger than `limit_bytes`, naming
// both sizes.
[[nodiscard]] Result<std::string> read_file(const std::string& path, uint64_t limit_bytes);

// Writes beside `path`, fsyncs, renames over it: readers see the old bytes or the new ones. Errors:
// io.
[[nodiscard]] Status write_file_atomic(const std::string& path, std::span<const std::byte> bytes);

}  // namespace colibri

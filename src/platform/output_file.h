// Files written from front to end, durable at points that the writer chooses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"
#include "platform/file.h"

namespace colibri {

// One thread. Errors of every function: out_of_budget when the drive is full (errno ENOSPC,
// EDQUOT), io otherwise, naming path, offset and errno text.
class OutputFile {
public:
    // Opens or creates `path` and keeps its first `keep_bytes`, which must be there (corrupt
    // otherwise). `exclusive`: fails with invalid_input while another process has it open so.
    [[nodiscard]] static Result<OutputFile> open(const std::string& path, uint64_t keep_bytes,
                                                 bool exclusive = false);
    OutputFile() = default;
    OutputFile(OutputFile&& other) noexcept;
    OutputFile& operator=(OutputFile&& other) noexcept;
    ~OutputFile();

    [[nodiscard]] uint64_t size_bytes() const { return size_bytes_; }
    [[nodiscard]] Status append(std::span<const std::byte> bytes);
    // What was appended survives a crash once this has returned.
    [[nodiscard]] Status sync();
    // Cuts the file to its first `bytes`, or extends it by a hole.
    [[nodiscard]] Status resize(uint64_t bytes);
    // Starts writing what was appended, without waiting; and lets go of what has been written
    // before, so that a long job does not fill the page cache.
    void start_writeback();

private:
    std::string path_;
    int descriptor_ = -1;
    uint64_t size_bytes_ = 0;
    uint64_t started_bytes_ = 0, dropped_bytes_ = 0;
};

// Makes names created in or removed from a directory durable, where the filesystem can.
void sync_directory(const std::string& directory);

// What a user may still write to the filesystem that holds `path`. Errors: io.
[[nodiscard]] Result<uint64_t> free_disk_bytes(const std::string& path);

// Hints for a range that is read once: fetch it soon; it will not be needed again.
void will_read(const File& file, uint64_t offset, uint64_t size_bytes);
void drop_from_cache(const File& file, uint64_t offset, uint64_t size_bytes);

}  // namespace colibri

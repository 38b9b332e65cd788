// How fast a drive delivers bytes of given files: plainly, as other tools measure it, and through
// the readers that experts come through.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/cancel.h"
#include "base/error.h"
#include "platform/file.h"
#include "platform/reader.h"

namespace colibri {

struct ReadPattern {
    bool sequential = false;   // else at random multiples of block_bytes
    uint64_t block_bytes = 0;  // of one read; a multiple of kDirectBlockBytes
    // Reads go to places all over this much memory, one after the other, as a cache's slots are
    // filled; 0: to the same few places again and again, which the processor's cache holds.
    uint64_t memory_bytes = 0;
    uint32_t depth = 8;  // reads under way
    double seconds = 2;
    uint64_t seed = 1;  // of the random places
    // Instead of all that: these places of the first file, over and over from `first` on.
    std::span<const uint64_t> offsets;
    size_t first = 0;
    const CancelToken* cancel = nullptr;
};

struct ReadSpeed {
    double bytes_per_second = 0;
    double reads_per_second = 0;
    uint64_t reads = 0;
    double latency_us_median = 0;  // of one read
    double latency_us_p99 = 0;
};

// `depth` threads, each in one direct pread of a whole block at a time: what fio's psync engine
// does. Falls back to reads through the page cache where direct ones are refused. Sequential reads
// begin at the start of the first file and begin there again at the end of the last. Errors:
// invalid_input when no file holds a block; io; cancelled; out_of_budget.
[[nodiscard]] Result<ReadSpeed> measure_raw(std::span<const std::shared_ptr<const File>> files,
                                            const ReadPattern& pattern);

// The same places through a reader of these options, `depth` requests of one block under way.
[[nodiscard]] Result<ReadSpeed> measure_reader(std::span<const std::shared_ptr<const File>> files,
                                               const ReadPattern& pattern,
                                               const ReaderOptions& options);

// A look at a drive that people wait for.
inline constexpr double kDriveLook_s = 0.5;
// Memory for measurements that a cache of slots is compared with: more than a processor's cache.
inline constexpr uint64_t kColdMemoryBytes = 128 * 1024 * 1024;

// Random reads of blocks of about `block_bytes`, a few under way: what a moment's measurement says
// of the drive. `memory_bytes` as in ReadPattern. Errors as measure_raw.
[[nodiscard]] Result<double> measure_random_reads(
    std::span<const std::shared_ptr<const File>> files, uint64_t block_bytes, double seconds,
    uint64_t memory_bytes);

// Drops what the page cache holds of a file, as far as the system allows.
void drop_page_cache(const File& file);

}  // namespace colibri

// How fast this machine moves bytes, measured in a moment.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/error.h"
#include "platform/file.h"

namespace colibri {

// Plain reads of memory by `threads` threads, bytes per second, in about a fifth of a second.
// Errors: out_of_budget.
[[nodiscard]] Result<double> measure_memory_speed(uint32_t threads);

// Reads of `block_bytes` at random places of `files`, a few at a time and past the page cache where
// the file system allows it, bytes per second, for `seconds`. Errors: io; out_of_budget;
// invalid_input when no file holds a block.
struct DriveSpeed {
    double bytes_per_s = 0;
    bool direct = false;
};
[[nodiscard]] Result<DriveSpeed> measure_drive_speed(
    const std::vector<std::shared_ptr<const File>>& files, uint64_t block_bytes, double seconds);

}  // namespace colibri

// The loop around a positioned read call: short reads are continued, interruptions retried.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/function_ref.h"

namespace colibri {

// pread's contract: bytes read, 0 at the end of the file, or -1 with errno set.
using ReadCall = FunctionRef<ssize_t(std::byte* into, size_t size_bytes, uint64_t offset)>;

// EAGAIN on a regular file passes within milliseconds or means a broken file system.
inline constexpr uint32_t kAgainRetriesMax = 1000;  // a millisecond apart
inline constexpr uint32_t kIoRetriesMax = 1;

struct ReadOutcome {
    size_t read_bytes = 0;  // less than asked for: the file ended, or `error` stopped the loop
    int error = 0;          // an errno value, 0 when none
};

// Fills `out` from `offset`. EINTR is retried at once, EAGAIN after a pause for up to a second, EIO
// once: a flaky link often answers the second time, a dead disk must not hang the caller.
[[nodiscard]] ReadOutcome read_fully(ReadCall call, uint64_t offset, std::span<std::byte> out);

}  // namespace colibri

// How fast this machine's memory delivers bytes, measured in a moment.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace colibri {

// Plain reads of memory by `threads` threads, bytes per second, in about a fifth of a second.
// Errors: out_of_budget.
[[nodiscard]] Result<double> measure_memory_speed(uint32_t threads);

}  // namespace colibri

// How the system's scheduler treats a thread.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace colibri {

// What a thread of readers or of the store touches of its stack, for plans of memory.
inline constexpr uint64_t kThreadStackBytes = 16 * kKiB;

// For threads that mostly wait and then have little to do, such as handing the next read to a
// drive: the calling thread gets the processor sooner when it wakes while other threads compute on
// every core. Needs no rights. Does nothing where the system cannot (Linux before 6.12,
// a sandbox that forbids the call).
void prefer_short_slices();

}  // namespace colibri

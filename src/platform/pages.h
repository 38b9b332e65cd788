// Memory that a buffer keeps its addresses for, but not its pages.
#pragma once

#include <cstddef>
#include <span>

namespace colibri {

// Gives the whole pages within `memory`, part of an AlignedBuffer, back to the system: the resident
// set falls, the bytes become zeros. Nobody may use them meanwhile.
void release_pages(std::span<std::byte> memory);

// They are about to be used again: as pages are by default in a large buffer.
void reclaim_pages(std::span<std::byte> memory);

}  // namespace colibri

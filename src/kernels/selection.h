// Selections by value with ties to the lower index: positions for sparse attention, experts, the
// greedy token.
//
// One order for all of them: NaN below -infinity, -0 equal to +0, otherwise the order of the
// values; of equal values the one with the lower index wins. Nothing here allocates; all functions
// are pure.
#pragma once

#include <cstdint>
#include <span>

namespace colibri {

// Writes the indices of the k largest scores, ascending, to `out` (size at least min(k,
// scores.size())) and returns how many, min(k, scores.size()). Linear time whatever the values
// (radix selection); 8 KiB of stack.
uint32_t select_top(std::span<const float> scores, uint32_t k, std::span<uint32_t> out);

// The same result for few scores or a small k (routers): time scores.size() * k at worst, usually
// scores.size().
uint32_t top_k_ids(std::span<const float> scores, uint32_t k, std::span<uint32_t> out);

// Index of the largest score; `scores` is not empty.
[[nodiscard]] uint32_t argmax(std::span<const float> scores);

}  // namespace colibri

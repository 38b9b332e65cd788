// Loops over register tiles, unrolled by the front end: with constant indices from the start, every
// element of a tile array becomes a register. (Unrolled later, GCC 12 keeps a copy of the array in
// memory.)
#pragma once

#include <type_traits>
#include <utility>

// On a lambda given to unroll.
#define COLIBRI_STEP __attribute__((always_inline))

namespace colibri::generic {

// step(std::integral_constant<int, 0>), ..., step(std::integral_constant<int, kCount - 1>).
template <int kCount, class Step>
[[gnu::always_inline]] static inline void unroll(Step step) {
    [&]<int... kIndex>(std::integer_sequence<int, kIndex...>) COLIBRI_STEP {
        (step(std::integral_constant<int, kIndex>{}), ...);
    }(std::make_integer_sequence<int, kCount>{});
}

}  // namespace colibri::generic

// Activation quantization, written once for every instruction set (S = its Simd).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

namespace colibri::generic {

template <class S>
COLIBRI_SIMD typename S::Float load_some(const float* x, uint32_t count) {
    return count >= S::kLanes ? S::load(x) : S::load_tail(x, count);
}

// Largest magnitude, or a negative number if a value is not finite: for magnitudes the order of the
// bits is the order of the numbers, and infinities and NaNs come last.
template <class S>
COLIBRI_SIMD float largest_magnitude(const float* x, uint32_t count) {
    typename S::Int largest = S::zero_int();
    for (uint32_t k = 0; k < count; k += S::kLanes)
        largest = S::max_int(largest, S::bits_of(S::abs(load_some<S>(x + k, count - k))));
    if (S::any(S::greater_int(largest, S::broadcast_int(0x7F7FFFFF)))) return -1.0F;
    return S::reduce_max(S::float_of(largest));
}

template <class S>
bool quantize(const float* x, uint32_t columns, uint32_t group, uint32_t padded_columns,
              int8_t* values, float* scales, int32_t* sums) {
    for (uint32_t begin = 0, g = 0; begin < columns; begin += group, ++g) {
        const uint32_t count = columns - begin < group ? columns - begin : group;
        const float absmax = largest_magnitude<S>(x + begin, count);
        if (absmax < 0) return false;
        const bool is_zero = absmax < kQuantizeZero;
        const typename S::Float inv = S::broadcast(is_zero ? 0.0F : 127.0F / absmax);
        scales[g] = is_zero ? 0.0F : absmax / 127.0F;
        typename S::Int sum = S::zero_int();
        for (uint32_t k = 0; k < count; k += S::kLanes) {
            const uint32_t left = count - k;
            typename S::Int q = S::to_int(S::mul(load_some<S>(x + begin + k, left), inv));
            q = S::max_int(S::min_int(q, S::broadcast_int(127)), S::broadcast_int(-127));
            sum = S::add_int(sum, q);
            int8_t* out = values + begin + k;
            if (left >= S::kLanes) {
                S::store_int8(out, q);
            } else {
                int8_t tail[S::kLanes];
                S::store_int8(tail, q);
                for (uint32_t i = 0; i < left; ++i) out[i] = tail[i];
            }
        }
        sums[g] = S::reduce_add_int(sum);
    }
    for (uint32_t k = columns; k < padded_columns; ++k) values[k] = 0;
    return true;
}

}  // namespace colibri::generic

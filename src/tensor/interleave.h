// Transposes of small tiles in registers, with the compiler's portable vector types (16 bytes:
// every CPU has them).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace colibri {

using Bytes16 = uint8_t __attribute__((vector_size(16)));
using Words8 = uint16_t __attribute__((vector_size(16)));
using Dwords4 = uint32_t __attribute__((vector_size(16)));
using Qwords2 = uint64_t __attribute__((vector_size(16)));

template <class V>
[[nodiscard]] inline V load_vector(const void* p) {
    V v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
template <class V>
inline void store_vector(void* p, V v) {
    std::memcpy(p, &v, sizeof v);
}

// The first and the second half of a[0] b[0] a[1] b[1] ...
inline Bytes16 interleave_low(Bytes16 a, Bytes16 b) {
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
inline Bytes16 interleave_high(Bytes16 a, Bytes16 b) {
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                   31);
}
inline Words8 interleave_low(Words8 a, Words8 b) {
    return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}
inline Words8 interleave_high(Words8 a, Words8 b) {
    return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}
inline Dwords4 interleave_low(Dwords4 a, Dwords4 b) {
    return __builtin_shufflevector(a, b, 0, 4, 1, 5);
}
inline Dwords4 interleave_high(Dwords4 a, Dwords4 b) {
    return __builtin_shufflevector(a, b, 2, 6, 3, 7);
}

// Square tile, as many rows as a vector has lanes: log2 rounds of interleaving row i with row i +
// rows / 2.
template <class V, int kRows>
inline void transpose(V (&tile)[kRows]) {
    static_assert(sizeof(V) / sizeof(V{}[0]) == size_t(kRows));
    for (int round = 1; round < kRows; round *= 2) {
        V next[kRows];
        for (int i = 0; i < kRows / 2; ++i) {
            next[2 * i] = interleave_low(tile[i], tile[i + kRows / 2]);
            next[2 * i + 1] = interleave_high(tile[i], tile[i + kRows / 2]);
        }
        for (int i = 0; i < kRows; ++i) tile[i] = next[i];
    }
}

}  // namespace colibri

// Sixteen float lanes as one zmm register. avx2/simd.h and neon/simd.h define the same primitives
// with the same results, so that the algorithms in kernels/generic are written once and compiled
// once per instruction set.
//
// Included only by the .cpp files of this folder. Those may use no inline function that another
// folder's code may use too (std algorithms, fmt): the linker keeps one copy, and it must not be
// the one with wide instructions.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

// GCC 12 reports its own _mm512_undefined_* helpers.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#define COLIBRI_SIMD [[gnu::always_inline]] static inline

namespace colibri::avx512 {

struct Simd {
    using Float = __m512;    // 16 floats
    using Int = __m512i;     // 16 int32; also 64 bytes
    using Mask = __mmask16;  // one bit per lane
    static constexpr uint32_t kLanes = 16;
    static constexpr uint32_t kRegisters = 32;          // vector registers of the machine
    static constexpr uint32_t kRegistersPerVector = 1;  // registers that one Float takes

    // --- floats: memory ---
    COLIBRI_SIMD Float load(const float* p) { return _mm512_loadu_ps(p); }
    COLIBRI_SIMD void store(float* p, Float v) { _mm512_storeu_ps(p, v); }
    // The first `count` lanes (0 to 16); the others load as 0 and are not touched in memory.
    COLIBRI_SIMD Float load_tail(const float* p, uint32_t count) {
        return _mm512_maskz_loadu_ps(tail_mask(count), p);
    }
    COLIBRI_SIMD void store_tail(float* p, Float v, uint32_t count) {
        _mm512_mask_storeu_ps(p, tail_mask(count), v);
    }
    COLIBRI_SIMD Float broadcast(float x) { return _mm512_set1_ps(x); }
    COLIBRI_SIMD Float zero() { return _mm512_setzero_ps(); }

    // --- floats: arithmetic, each correctly rounded ---
    COLIBRI_SIMD Float add(Float a, Float b) { return _mm512_add_ps(a, b); }
    COLIBRI_SIMD Float sub(Float a, Float b) { return _mm512_sub_ps(a, b); }
    COLIBRI_SIMD Float mul(Float a, Float b) { return _mm512_mul_ps(a, b); }
    COLIBRI_SIMD Float div(Float a, Float b) { return _mm512_div_ps(a, b); }
    COLIBRI_SIMD Float sqrt(Float a) { return _mm512_sqrt_ps(a); }
    COLIBRI_SIMD Float fma(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }
    // a > b ? a : b and a < b ? a : b, literally (b when either is NaN or both are zeros).
    COLIBRI_SIMD Float max(Float a, Float b) { return _mm512_max_ps(a, b); }
    COLIBRI_SIMD Float min(Float a, Float b) { return _mm512_min_ps(a, b); }
    COLIBRI_SIMD Float abs(Float a) { return _mm512_abs_ps(a); }
    COLIBRI_SIMD Float negate(Float a) {
        return float_of(_mm512_xor_si512(bits_of(a), _mm512_set1_epi32(int32_t(0x80000000U))));
    }
    // a * 2^n for whole n within [-254, 254], rounded once, subnormal results included.
    COLIBRI_SIMD Float times_power_of_two(Float a, Float n) { return _mm512_scalef_ps(a, n); }
    // To the nearest integer, ties to even, as a float.
    COLIBRI_SIMD Float round_even(Float a) {
        return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    }

    // --- comparisons (false when a NaN takes part) and selection ---
    COLIBRI_SIMD Mask less(Float a, Float b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
    COLIBRI_SIMD Mask less_equal(Float a, Float b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
    COLIBRI_SIMD Mask greater(Float a, Float b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
    COLIBRI_SIMD Mask equal(Float a, Float b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
    COLIBRI_SIMD Mask greater_int(Int a, Int b) { return _mm512_cmpgt_epi32_mask(a, b); }
    COLIBRI_SIMD Mask equal_int(Int a, Int b) { return _mm512_cmpeq_epi32_mask(a, b); }
    COLIBRI_SIMD Mask mask_or(Mask a, Mask b) { return Mask(a | b); }
    COLIBRI_SIMD Mask mask_and(Mask a, Mask b) { return Mask(a & b); }
    COLIBRI_SIMD bool any(Mask m) { return m != 0; }
    // mask ? a : b
    COLIBRI_SIMD Float select(Mask m, Float a, Float b) { return _mm512_mask_blend_ps(m, b, a); }
    COLIBRI_SIMD Int select_int(Mask m, Int a, Int b) { return _mm512_mask_blend_epi32(m, b, a); }

    // --- int32 lanes ---
    COLIBRI_SIMD Int load_int(const void* p) { return _mm512_loadu_si512(p); }
    COLIBRI_SIMD void store_int(void* p, Int v) { _mm512_storeu_si512(p, v); }
    COLIBRI_SIMD Int broadcast_int(int32_t x) { return _mm512_set1_epi32(x); }
    COLIBRI_SIMD Int zero_int() { return _mm512_setzero_si512(); }
    COLIBRI_SIMD Int add_int(Int a, Int b) { return _mm512_add_epi32(a, b); }
    COLIBRI_SIMD Int sub_int(Int a, Int b) { return _mm512_sub_epi32(a, b); }
    COLIBRI_SIMD Int mul_int(Int a, Int b) { return _mm512_mullo_epi32(a, b); }
    COLIBRI_SIMD Int max_int(Int a, Int b) { return _mm512_max_epi32(a, b); }
    COLIBRI_SIMD Int min_int(Int a, Int b) { return _mm512_min_epi32(a, b); }
    COLIBRI_SIMD Int and_bits(Int a, Int b) { return _mm512_and_si512(a, b); }
    COLIBRI_SIMD Int or_bits(Int a, Int b) { return _mm512_or_si512(a, b); }
    COLIBRI_SIMD Int xor_bits(Int a, Int b) { return _mm512_xor_si512(a, b); }
    template <int N>
    COLIBRI_SIMD Int shift_left(Int a) {
        return _mm512_slli_epi32(a, N);
    }
    template <int N>
    COLIBRI_SIMD Int shift_right(Int a) {  // zeros come in
        return _mm512_srli_epi32(a, N);
    }
    template <int N>
    COLIBRI_SIMD Int shift_right_signed(Int a) {
        return _mm512_srai_epi32(a, N);
    }

    // --- conversions ---
    COLIBRI_SIMD Float to_float(Int a) { return _mm512_cvtepi32_ps(a); }
    COLIBRI_SIMD Int to_int(Float a) { return _mm512_cvtps_epi32(a); }  // ties to even, |a| < 2^31
    COLIBRI_SIMD Int bits_of(Float a) { return _mm512_castps_si512(a); }
    COLIBRI_SIMD Float float_of(Int bits) { return _mm512_castsi512_ps(bits); }
    COLIBRI_SIMD Float load_f16(const void* p) {
        return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
    }
    COLIBRI_SIMD Float load_bf16(const void* p) {
        const __m256i raw = _mm256_loadu_si256(static_cast<const __m256i*>(p));
        return float_of(_mm512_slli_epi32(_mm512_cvtepu16_epi32(raw), 16));
    }
    COLIBRI_SIMD Float load_int8(const void* p) {
        return to_float(_mm512_cvtepi8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p))));
    }
    // F8_E4M3 codes times 2^-8, exactly; the NaN codes do not occur in matrices and come out as
    // +-480 * 2^-8. The code's bits, moved to where binary16 has them, read as that binary16
    // number.
    COLIBRI_SIMD Float load_fp8_scaled(const void* p) {
        const __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128(static_cast<const __m128i*>(p)));
        const __m256i half =
            _mm256_and_si256(_mm256_slli_epi16(wide, 7), _mm256_set1_epi16(int16_t(0xBFFF)));
        return _mm512_cvtph_ps(half);
    }
    COLIBRI_SIMD Float load_fp8(const void* p) {
        return mul(load_fp8_scaled(p), broadcast(256.0F));
    }
    // Sixteen int32, each within int8, as bytes.
    COLIBRI_SIMD void store_int8(int8_t* p, Int v) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(v));
    }

    // --- across lanes ---
    // The numeric contract's tree: l[i] += l[i+8], then +4, +2, +1.
    COLIBRI_SIMD float reduce_add(Float v) {
        const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
        __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
        four = _mm_add_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
    }
    COLIBRI_SIMD float reduce_max(Float v) {
        const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
        __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
        four = _mm_max_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
    }
    COLIBRI_SIMD int32_t reduce_add_int(Int v) {
        const __m256i eight =
            _mm256_add_epi32(_mm512_castsi512_si256(v), _mm512_extracti32x8_epi32(v, 1));
        __m128i four =
            _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
        four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4E));
        four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0xB1));
        return _mm_cvtsi128_si32(four);
    }
    // (x[0], x[1]), (x[2], x[3]), ... of 32 floats apart into evens and odds, and back.
    COLIBRI_SIMD void load_pairs(const float* p, Float& even, Float& odd) {
        const Float a = load(p);
        const Float b = load(p + 16);
        const Int evens =
            _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        const Int odds =
            _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
        even = _mm512_permutex2var_ps(a, evens, b);
        odd = _mm512_permutex2var_ps(a, odds, b);
    }
    COLIBRI_SIMD void store_pairs(float* p, Float even, Float odd) {
        const Int low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        const Int high =
            _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
        store(p, _mm512_permutex2var_ps(even, low, odd));
        store(p + 16, _mm512_permutex2var_ps(even, high, odd));
    }

    // Sixteen vectors as the rows of a square: rows[i][j] and rows[j][i] change places.
    COLIBRI_SIMD void transpose(Float (&rows)[16]) {
        Float pairs[16];  // two rows woven
#pragma GCC unroll 8
        for (int i = 0; i < 16; i += 2) {
            pairs[i] = _mm512_unpacklo_ps(rows[i], rows[i + 1]);
            pairs[i + 1] = _mm512_unpackhi_ps(rows[i], rows[i + 1]);
        }
        Float quads[16];  // quads[4i + c]: of four rows, column c of every group of four
#pragma GCC unroll 4
        for (int i = 0; i < 16; i += 4) {
            quads[i] = unpack_low(pairs[i], pairs[i + 2]);
            quads[i + 1] = unpack_high(pairs[i], pairs[i + 2]);
            quads[i + 2] = unpack_low(pairs[i + 1], pairs[i + 3]);
            quads[i + 3] = unpack_high(pairs[i + 1], pairs[i + 3]);
        }
#pragma GCC unroll 4
        for (int c = 0; c < 4; ++c) {
            const Float even_low = _mm512_shuffle_f32x4(quads[c], quads[4 + c], 0x88);
            const Float odd_low = _mm512_shuffle_f32x4(quads[c], quads[4 + c], 0xDD);
            const Float even_high = _mm512_shuffle_f32x4(quads[8 + c], quads[12 + c], 0x88);
            const Float odd_high = _mm512_shuffle_f32x4(quads[8 + c], quads[12 + c], 0xDD);
            rows[c] = _mm512_shuffle_f32x4(even_low, even_high, 0x88);
            rows[4 + c] = _mm512_shuffle_f32x4(odd_low, odd_high, 0x88);
            rows[8 + c] = _mm512_shuffle_f32x4(even_low, even_high, 0xDD);
            rows[12 + c] = _mm512_shuffle_f32x4(odd_low, odd_high, 0xDD);
        }
    }

    // --- integer dot products: lane i adds the products of its four bytes ---
    using Bytes = __m512i;
    // A quad of activations in every lane.
    COLIBRI_SIMD Bytes broadcast_quad(const int8_t* p) {
        int32_t quad = 0;
        std::memcpy(&quad, p, sizeof quad);
        return _mm512_set1_epi32(quad);
    }
    // The instruction multiplies unsigned by signed bytes, so weights are read as w + 128 and the
    // caller starts each sum at -kInt8Offset * (sum of the activations).
    static constexpr int32_t kInt8Offset = 128;
    COLIBRI_SIMD Bytes load_int8_weights(const std::byte* p) {
        return _mm512_xor_si512(load_int(p), _mm512_set1_epi8(int8_t(0x80)));
    }
    COLIBRI_SIMD Int dot_int8(Int sum, Bytes weights, Bytes activations) {
        return dot(sum, weights, activations);
    }
    // Parts of bytes (unpack: part kPart, kBits wide), 0 to 15, by activations; a Partial holds
    // kPartialProducts of them before it must be added to a sum.
    using Partial = Int;
    static constexpr uint32_t kPartialProducts = 1U << 16;
    template <int kBits, int kPart>
    COLIBRI_SIMD Bytes unpack(Bytes v) {
        const Bytes mask = _mm512_set1_epi8((1 << kBits) - 1);
        return _mm512_and_si512(kPart == 0 ? v : _mm512_srli_epi16(v, kBits * kPart), mask);
    }
    COLIBRI_SIMD Partial zero_partial() { return zero_int(); }
    COLIBRI_SIMD Partial dot_nibbles(Partial partial, Bytes nibbles, Bytes activations) {
        return dot(partial, nibbles, activations);
    }
    COLIBRI_SIMD Int add_partial(Int sum, Partial partial) { return add_int(sum, partial); }

    // Eight lanes, with what a vector that is at most half full needs.
    struct Narrow {
        using Float = __m256;
        static constexpr uint32_t kLanes = 8;
        COLIBRI_SIMD Float load(const float* p) { return _mm256_loadu_ps(p); }
        COLIBRI_SIMD void store(float* p, Float v) { _mm256_storeu_ps(p, v); }
        COLIBRI_SIMD Float broadcast(float x) { return _mm256_set1_ps(x); }
        COLIBRI_SIMD Float zero() { return _mm256_setzero_ps(); }
        COLIBRI_SIMD Float mul(Float a, Float b) { return _mm256_mul_ps(a, b); }
        COLIBRI_SIMD Float fma(Float a, Float b, Float c) { return _mm256_fmadd_ps(a, b, c); }
    };

private:
    // As an instruction, because GCC 12 keeps tiles of sums in memory when the intrinsic changes
    // their element type.
    COLIBRI_SIMD Int dot(Int sum, Bytes unsigned_bytes, Bytes signed_bytes) {
        asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(unsigned_bytes), "v"(signed_bytes));
        return sum;
    }
    COLIBRI_SIMD Float unpack_low(Float a, Float b) {
        return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
    }
    COLIBRI_SIMD Float unpack_high(Float a, Float b) {
        return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
    }
    COLIBRI_SIMD Mask tail_mask(uint32_t count) { return Mask((1U << count) - 1U); }
};

}  // namespace colibri::avx512

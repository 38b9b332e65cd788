// Sixteen float lanes as two ymm registers. The primitives and their contracts are those of
// avx512/simd.h.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#define COLIBRI_SIMD [[gnu::always_inline]] static inline

namespace colibri::avx2 {

// Needs AVX2, FMA and F16C.
struct Simd {
    struct Float {
        __m256 lo, hi;
    };
    struct Int {
        __m256i lo, hi;
    };
    struct Mask {
        __m256 lo, hi;
    };
    static constexpr uint32_t kLanes = 16;
    static constexpr uint32_t kRegisters = 16;
    static constexpr uint32_t kRegistersPerVector = 2;

    // --- floats: memory ---
    COLIBRI_SIMD Float load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
    COLIBRI_SIMD void store(float* p, Float v) {
        _mm256_storeu_ps(p, v.lo);
        _mm256_storeu_ps(p + 8, v.hi);
    }
    COLIBRI_SIMD Float load_tail(const float* p, uint32_t count) {
        const Int mask = tail_mask(count);
        return {_mm256_maskload_ps(p, mask.lo), _mm256_maskload_ps(p + 8, mask.hi)};
    }
    COLIBRI_SIMD void store_tail(float* p, Float v, uint32_t count) {
        const Int mask = tail_mask(count);
        _mm256_maskstore_ps(p, mask.lo, v.lo);
        _mm256_maskstore_ps(p + 8, mask.hi, v.hi);
    }
    COLIBRI_SIMD Float broadcast(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
    COLIBRI_SIMD Float zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }

    // --- floats: arithmetic ---
    COLIBRI_SIMD Float add(Float a, Float b) {
        return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)};
    }
    COLIBRI_SIMD Float sub(Float a, Float b) {
        return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)};
    }
    COLIBRI_SIMD Float mul(Float a, Float b) {
        return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)};
    }
    COLIBRI_SIMD Float div(Float a, Float b) {
        return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)};
    }
    COLIBRI_SIMD Float sqrt(Float a) { return {_mm256_sqrt_ps(a.lo), _mm256_sqrt_ps(a.hi)}; }
    COLIBRI_SIMD Float fma(Float a, Float b, Float c) {
        return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
    }
    COLIBRI_SIMD Float max(Float a, Float b) {
        return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)};
    }
    COLIBRI_SIMD Float min(Float a, Float b) {
        return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)};
    }
    COLIBRI_SIMD Float abs(Float a) {
        return float_of(and_bits(bits_of(a), broadcast_int(0x7FFFFFFF)));
    }
    COLIBRI_SIMD Float negate(Float a) {
        return float_of(xor_bits(bits_of(a), broadcast_int(int32_t(0x80000000U))));
    }
    COLIBRI_SIMD Float times_power_of_two(Float a, Float n) {
        // Two exact powers: only the second product rounds.
        const Int exponent = to_int(n);
        const Int half = shift_right_signed<1>(exponent);
        const Int bias = broadcast_int(127);
        const Float low = float_of(shift_left<23>(add_int(half, bias)));
        const Float high = float_of(shift_left<23>(add_int(sub_int(exponent, half), bias)));
        return mul(mul(a, low), high);
    }
    COLIBRI_SIMD Float round_even(Float a) {
        constexpr int kMode = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
        return {_mm256_round_ps(a.lo, kMode), _mm256_round_ps(a.hi, kMode)};
    }

    // --- comparisons and selection ---
    COLIBRI_SIMD Mask less(Float a, Float b) {
        return {_mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ)};
    }
    COLIBRI_SIMD Mask less_equal(Float a, Float b) {
        return {_mm256_cmp_ps(a.lo, b.lo, _CMP_LE_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_LE_OQ)};
    }
    COLIBRI_SIMD Mask greater(Float a, Float b) {
        return {_mm256_cmp_ps(a.lo, b.lo, _CMP_GT_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_GT_OQ)};
    }
    COLIBRI_SIMD Mask equal(Float a, Float b) {
        return {_mm256_cmp_ps(a.lo, b.lo, _CMP_EQ_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_EQ_OQ)};
    }
    COLIBRI_SIMD Mask greater_int(Int a, Int b) {
        return mask_of({_mm256_cmpgt_epi32(a.lo, b.lo), _mm256_cmpgt_epi32(a.hi, b.hi)});
    }
    COLIBRI_SIMD Mask equal_int(Int a, Int b) {
        return mask_of({_mm256_cmpeq_epi32(a.lo, b.lo), _mm256_cmpeq_epi32(a.hi, b.hi)});
    }
    COLIBRI_SIMD Mask mask_or(Mask a, Mask b) {
        return {_mm256_or_ps(a.lo, b.lo), _mm256_or_ps(a.hi, b.hi)};
    }
    COLIBRI_SIMD Mask mask_and(Mask a, Mask b) {
        return {_mm256_and_ps(a.lo, b.lo), _mm256_and_ps(a.hi, b.hi)};
    }
    COLIBRI_SIMD bool any(Mask m) { return _mm256_movemask_ps(_mm256_or_ps(m.lo, m.hi)) != 0; }
    COLIBRI_SIMD Float select(Mask m, Float a, Float b) {
        return {_mm256_blendv_ps(b.lo, a.lo, m.lo), _mm256_blendv_ps(b.hi, a.hi, m.hi)};
    }
    COLIBRI_SIMD Int select_int(Mask m, Int a, Int b) {
        return bits_of(select(m, float_of(a), float_of(b)));
    }

    // --- int32 lanes ---
    COLIBRI_SIMD Int load_int(const void* p) {
        const auto* q = static_cast<const __m256i*>(p);
        return {_mm256_loadu_si256(q), _mm256_loadu_si256(q + 1)};
    }
    COLIBRI_SIMD void store_int(void* p, Int v) {
        auto* q = static_cast<__m256i*>(p);
        _mm256_storeu_si256(q, v.lo);
        _mm256_storeu_si256(q + 1, v.hi);
    }
    COLIBRI_SIMD Int broadcast_int(int32_t x) {
        return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)};
    }
    COLIBRI_SIMD Int zero_int() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
    COLIBRI_SIMD Int add_int(Int a, Int b) {
        return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)};
    }
    COLIBRI_SIMD Int sub_int(Int a, Int b) {
        return {_mm256_sub_epi32(a.lo, b.lo), _mm256_sub_epi32(a.hi, b.hi)};
    }
    COLIBRI_SIMD Int mul_int(Int a, Int b) {
        return {_mm256_mullo_epi32(a.lo, b.lo), _mm256_mullo_epi32(a.hi, b.hi)};
    }
    COLIBRI_SIMD Int max_int(Int a, Int b) {
        return {_mm256_max_epi32(a.lo, b.lo), _mm256_max_epi32(a.hi, b.hi)};
    }
    COLIBRI_SIMD Int min_int(Int a, Int b) {
        return {_mm256_min_epi32(a.lo, b.lo), _mm256_min_epi32(a.hi, b.hi)};
    }
    COLIBRI_SIMD Int and_bits(Int a, Int b) {
        return {_mm256_and_si256(a.lo, b.lo), _mm256_and_si256(a.hi, b.hi)};
    }
    COLIBRI_SIMD Int or_bits(Int a, Int b) {
        return {_mm256_or_si256(a.lo, b.lo), _mm256_or_si256(a.hi, b.hi)};
    }
    COLIBRI_SIMD Int xor_bits(Int a, Int b) {
        return {_mm256_xor_si256(a.lo, b.lo), _mm256_xor_si256(a.hi, b.hi)};
    }
    template <int N>
    COLIBRI_SIMD Int shift_left(Int a) {
        return {_mm256_slli_epi32(a.lo, N), _mm256_slli_epi32(a.hi, N)};
    }
    template <int N>
    COLIBRI_SIMD Int shift_right(Int a) {
        return {_mm256_srli_epi32(a.lo, N), _mm256_srli_epi32(a.hi, N)};
    }
    template <int N>
    COLIBRI_SIMD Int shift_right_signed(Int a) {
        return {_mm256_srai_epi32(a.lo, N), _mm256_srai_epi32(a.hi, N)};
    }

    // --- conversions ---
    COLIBRI_SIMD Float to_float(Int a) {
        return {_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)};
    }
    COLIBRI_SIMD Int to_int(Float a) {
        return {_mm256_cvtps_epi32(a.lo), _mm256_cvtps_epi32(a.hi)};
    }
    COLIBRI_SIMD Int bits_of(Float a) {
        return {_mm256_castps_si256(a.lo), _mm256_castps_si256(a.hi)};
    }
    COLIBRI_SIMD Float float_of(Int bits) {
        return {_mm256_castsi256_ps(bits.lo), _mm256_castsi256_ps(bits.hi)};
    }
    COLIBRI_SIMD Float load_f16(const void* p) {
        const auto* q = static_cast<const __m128i*>(p);
        return {_mm256_cvtph_ps(_mm_loadu_si128(q)), _mm256_cvtph_ps(_mm_loadu_si128(q + 1))};
    }
    COLIBRI_SIMD Float load_bf16(const void* p) {
        const auto* q = static_cast<const __m128i*>(p);
        return float_of(shift_left<16>({_mm256_cvtepu16_epi32(_mm_loadu_si128(q)),
                                        _mm256_cvtepu16_epi32(_mm_loadu_si128(q + 1))}));
    }
    COLIBRI_SIMD Float load_int8(const void* p) {
        const auto* q = static_cast<const char*>(p);
        return to_float(
            {_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(q))),
             _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(q + 8)))});
    }
    COLIBRI_SIMD Float load_fp8_scaled(const void* p) {
        const __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128(static_cast<const __m128i*>(p)));
        const __m256i half =
            _mm256_and_si256(_mm256_slli_epi16(wide, 7), _mm256_set1_epi16(int16_t(0xBFFF)));
        return {_mm256_cvtph_ps(_mm256_castsi256_si128(half)),
                _mm256_cvtph_ps(_mm256_extracti128_si256(half, 1))};
    }
    COLIBRI_SIMD Float load_fp8(const void* p) {
        return mul(load_fp8_scaled(p), broadcast(256.0F));
    }
    COLIBRI_SIMD void store_int8(int8_t* p, Int v) {
        const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(v.lo, v.hi), 0xD8);
        const __m128i bytes =
            _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
    }

    // --- across lanes ---
    COLIBRI_SIMD float reduce_add(Float v) {
        const __m256 eight = _mm256_add_ps(v.lo, v.hi);
        __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
        four = _mm_add_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
    }
    COLIBRI_SIMD float reduce_max(Float v) {
        const __m256 eight = _mm256_max_ps(v.lo, v.hi);
        __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
        four = _mm_max_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
    }
    COLIBRI_SIMD int32_t reduce_add_int(Int v) {
        const __m256i eight = _mm256_add_epi32(v.lo, v.hi);
        __m128i four =
            _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
        four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4E));
        four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0xB1));
        return _mm_cvtsi128_si32(four);
    }
    COLIBRI_SIMD void load_pairs(const float* p, Float& even, Float& odd) {
        const Float a = load(p);
        const Float b = load(p + 16);
        even = {unzip<0x88>(a.lo, a.hi), unzip<0x88>(b.lo, b.hi)};
        odd = {unzip<0xDD>(a.lo, a.hi), unzip<0xDD>(b.lo, b.hi)};
    }
    COLIBRI_SIMD void store_pairs(float* p, Float even, Float odd) {
        store(p, zip(even.lo, odd.lo));
        store(p + 16, zip(even.hi, odd.hi));
    }

    COLIBRI_SIMD void transpose(Float (&rows)[16]) {
        __m256 block[8];
#pragma GCC unroll 8
        for (int i = 0; i < 8; ++i) block[i] = rows[i].lo;
        transpose_block(block);
        __m256 other[8];
#pragma GCC unroll 8
        for (int i = 0; i < 8; ++i) other[i] = rows[8 + i].lo;
        transpose_block(other);
        __m256 above[8];
#pragma GCC unroll 8
        for (int i = 0; i < 8; ++i) above[i] = rows[i].hi;
#pragma GCC unroll 8
        for (int i = 0; i < 8; ++i) rows[i] = {block[i], other[i]};
        transpose_block(above);
#pragma GCC unroll 8
        for (int i = 0; i < 8; ++i) block[i] = rows[8 + i].hi;
        transpose_block(block);
#pragma GCC unroll 8
        for (int i = 0; i < 8; ++i) rows[8 + i] = {above[i], block[i]};
    }

    // --- integer dot products ---
    using Bytes = Int;
    COLIBRI_SIMD Bytes broadcast_quad(const int8_t* p) {
        int32_t quad = 0;
        std::memcpy(&quad, p, sizeof quad);
        return broadcast_int(quad);
    }
    // Signed bytes as they are: |w| by sign(a, w). Pairs of products stay within 2 * 128 * 127 <
    // 2^15.
    static constexpr int32_t kInt8Offset = 0;
    COLIBRI_SIMD Bytes load_int8_weights(const std::byte* p) { return load_int(p); }
    COLIBRI_SIMD Int dot_int8(Int sum, Bytes weights, Bytes activations) {
        return {dot_half(sum.lo, weights.lo, activations.lo),
                dot_half(sum.hi, weights.hi, activations.hi)};
    }
    // A Partial is 32 int16 sums of two products, each within 2 * 15 * 127 = 3810.
    using Partial = Int;
    static constexpr uint32_t kPartialProducts = 8;
    // Part kPart of every byte, kBits wide.
    template <int kBits, int kPart>
    COLIBRI_SIMD Bytes unpack(Bytes v) {
        const Int mask = broadcast_int(0x01010101 * ((1 << kBits) - 1));
        if constexpr (kPart == 0) return and_bits(v, mask);
        return and_bits(shift_right<kBits * kPart>(v), mask);
    }
    COLIBRI_SIMD Partial zero_partial() { return zero_int(); }
    COLIBRI_SIMD Partial dot_nibbles(Partial partial, Bytes nibbles, Bytes activations) {
        return {_mm256_add_epi16(partial.lo, _mm256_maddubs_epi16(nibbles.lo, activations.lo)),
                _mm256_add_epi16(partial.hi, _mm256_maddubs_epi16(nibbles.hi, activations.hi))};
    }
    COLIBRI_SIMD Int add_partial(Int sum, Partial partial) {
        const __m256i ones = _mm256_set1_epi16(1);
        return {_mm256_add_epi32(sum.lo, _mm256_madd_epi16(partial.lo, ones)),
                _mm256_add_epi32(sum.hi, _mm256_madd_epi16(partial.hi, ones))};
    }

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
    COLIBRI_SIMD __m256 weave(__m256 a, __m256 b, bool high) {
        const __m256d x = _mm256_castps_pd(a);
        const __m256d y = _mm256_castps_pd(b);
        return _mm256_castpd_ps(high ? _mm256_unpackhi_pd(x, y) : _mm256_unpacklo_pd(x, y));
    }
    // Eight rows of eight.
    COLIBRI_SIMD void transpose_block(__m256 (&rows)[8]) {
        __m256 pairs[8];
#pragma GCC unroll 4
        for (int i = 0; i < 8; i += 2) {
            pairs[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
            pairs[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
        }
        __m256 quads[8];
#pragma GCC unroll 2
        for (int i = 0; i < 8; i += 4) {
            quads[i] = weave(pairs[i], pairs[i + 2], false);
            quads[i + 1] = weave(pairs[i], pairs[i + 2], true);
            quads[i + 2] = weave(pairs[i + 1], pairs[i + 3], false);
            quads[i + 3] = weave(pairs[i + 1], pairs[i + 3], true);
        }
#pragma GCC unroll 4
        for (int c = 0; c < 4; ++c) {
            rows[c] = _mm256_permute2f128_ps(quads[c], quads[4 + c], 0x20);
            rows[4 + c] = _mm256_permute2f128_ps(quads[c], quads[4 + c], 0x31);
        }
    }
    COLIBRI_SIMD Mask mask_of(Int v) {
        return {_mm256_castsi256_ps(v.lo), _mm256_castsi256_ps(v.hi)};
    }
    COLIBRI_SIMD Int tail_mask(uint32_t count) {
        const __m256i limit = _mm256_set1_epi32(int32_t(count));
        return {_mm256_cmpgt_epi32(limit, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)),
                _mm256_cmpgt_epi32(limit, _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15))};
    }
    template <int kSelection>
    COLIBRI_SIMD __m256 unzip(__m256 a, __m256 b) {
        const __m256d mixed = _mm256_castps_pd(_mm256_shuffle_ps(a, b, kSelection));
        return _mm256_castpd_ps(_mm256_permute4x64_pd(mixed, 0xD8));
    }
    COLIBRI_SIMD Float zip(__m256 even, __m256 odd) {
        const __m256 a = _mm256_unpacklo_ps(even, odd);
        const __m256 b = _mm256_unpackhi_ps(even, odd);
        return {_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31)};
    }
    COLIBRI_SIMD __m256i dot_half(__m256i sum, __m256i weights, __m256i activations) {
        const __m256i pairs =
            _mm256_maddubs_epi16(_mm256_abs_epi8(weights), _mm256_sign_epi8(activations, weights));
        return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    }
};

}  // namespace colibri::avx2

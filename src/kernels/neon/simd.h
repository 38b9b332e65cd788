// Sixteen float lanes as four q registers. The primitives and their contracts are those of
// avx512/simd.h.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#define COLIBRI_SIMD [[gnu::always_inline]] static inline

namespace colibri::neon {

// Needs the AArch64 baseline only.
struct Simd {
    struct Float {
        float32x4_t a, b, c, d;
    };
    struct Int {
        int32x4_t a, b, c, d;
    };
    struct Mask {
        uint32x4_t a, b, c, d;
    };
    static constexpr uint32_t kLanes = 16;
    static constexpr uint32_t kRegisters = 32;
    static constexpr uint32_t kRegistersPerVector = 4;

    // --- floats: memory ---
    COLIBRI_SIMD Float load(const float* p) {
        return {vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)};
    }
    COLIBRI_SIMD void store(float* p, Float v) {
        vst1q_f32(p, v.a);
        vst1q_f32(p + 4, v.b);
        vst1q_f32(p + 8, v.c);
        vst1q_f32(p + 12, v.d);
    }
    COLIBRI_SIMD Float load_tail(const float* p, uint32_t count) {
        float lanes[kLanes] = {};
        std::memcpy(lanes, p, count * sizeof(float));
        return load(lanes);
    }
    COLIBRI_SIMD void store_tail(float* p, Float v, uint32_t count) {
        float lanes[kLanes];
        store(lanes, v);
        std::memcpy(p, lanes, count * sizeof(float));
    }
    COLIBRI_SIMD Float broadcast(float x) {
        const float32x4_t v = vdupq_n_f32(x);
        return {v, v, v, v};
    }
    COLIBRI_SIMD Float zero() { return broadcast(0.0F); }

    // --- floats: arithmetic ---
    COLIBRI_SIMD Float add(Float x, Float y) {
        return {vaddq_f32(x.a, y.a), vaddq_f32(x.b, y.b), vaddq_f32(x.c, y.c), vaddq_f32(x.d, y.d)};
    }
    COLIBRI_SIMD Float sub(Float x, Float y) {
        return {vsubq_f32(x.a, y.a), vsubq_f32(x.b, y.b), vsubq_f32(x.c, y.c), vsubq_f32(x.d, y.d)};
    }
    COLIBRI_SIMD Float mul(Float x, Float y) {
        return {vmulq_f32(x.a, y.a), vmulq_f32(x.b, y.b), vmulq_f32(x.c, y.c), vmulq_f32(x.d, y.d)};
    }
    COLIBRI_SIMD Float div(Float x, Float y) {
        return {vdivq_f32(x.a, y.a), vdivq_f32(x.b, y.b), vdivq_f32(x.c, y.c), vdivq_f32(x.d, y.d)};
    }
    COLIBRI_SIMD Float sqrt(Float x) {
        return {vsqrtq_f32(x.a), vsqrtq_f32(x.b), vsqrtq_f32(x.c), vsqrtq_f32(x.d)};
    }
    COLIBRI_SIMD Float fma(Float x, Float y, Float z) {
        return {vfmaq_f32(z.a, x.a, y.a), vfmaq_f32(z.b, x.b, y.b), vfmaq_f32(z.c, x.c, y.c),
                vfmaq_f32(z.d, x.d, y.d)};
    }
    // vmaxq_f32 treats NaN and signed zeros otherwise than the contract.
    COLIBRI_SIMD Float max(Float x, Float y) { return select(greater(x, y), x, y); }
    COLIBRI_SIMD Float min(Float x, Float y) { return select(less(x, y), x, y); }
    COLIBRI_SIMD Float abs(Float x) {
        return {vabsq_f32(x.a), vabsq_f32(x.b), vabsq_f32(x.c), vabsq_f32(x.d)};
    }
    COLIBRI_SIMD Float negate(Float x) {
        return {vnegq_f32(x.a), vnegq_f32(x.b), vnegq_f32(x.c), vnegq_f32(x.d)};
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
    COLIBRI_SIMD Float round_even(Float x) {
        return {vrndnq_f32(x.a), vrndnq_f32(x.b), vrndnq_f32(x.c), vrndnq_f32(x.d)};
    }

    // --- comparisons and selection ---
    COLIBRI_SIMD Mask less(Float x, Float y) {
        return {vcltq_f32(x.a, y.a), vcltq_f32(x.b, y.b), vcltq_f32(x.c, y.c), vcltq_f32(x.d, y.d)};
    }
    COLIBRI_SIMD Mask less_equal(Float x, Float y) {
        return {vcleq_f32(x.a, y.a), vcleq_f32(x.b, y.b), vcleq_f32(x.c, y.c), vcleq_f32(x.d, y.d)};
    }
    COLIBRI_SIMD Mask greater(Float x, Float y) { return less(y, x); }
    COLIBRI_SIMD Mask equal(Float x, Float y) {
        return {vceqq_f32(x.a, y.a), vceqq_f32(x.b, y.b), vceqq_f32(x.c, y.c), vceqq_f32(x.d, y.d)};
    }
    COLIBRI_SIMD Mask greater_int(Int x, Int y) {
        return {vcgtq_s32(x.a, y.a), vcgtq_s32(x.b, y.b), vcgtq_s32(x.c, y.c), vcgtq_s32(x.d, y.d)};
    }
    COLIBRI_SIMD Mask equal_int(Int x, Int y) {
        return {vceqq_s32(x.a, y.a), vceqq_s32(x.b, y.b), vceqq_s32(x.c, y.c), vceqq_s32(x.d, y.d)};
    }
    COLIBRI_SIMD Mask mask_or(Mask x, Mask y) {
        return {vorrq_u32(x.a, y.a), vorrq_u32(x.b, y.b), vorrq_u32(x.c, y.c), vorrq_u32(x.d, y.d)};
    }
    COLIBRI_SIMD Mask mask_and(Mask x, Mask y) {
        return {vandq_u32(x.a, y.a), vandq_u32(x.b, y.b), vandq_u32(x.c, y.c), vandq_u32(x.d, y.d)};
    }
    COLIBRI_SIMD bool any(Mask m) {
        return vmaxvq_u32(vorrq_u32(vorrq_u32(m.a, m.b), vorrq_u32(m.c, m.d))) != 0;
    }
    COLIBRI_SIMD Float select(Mask m, Float x, Float y) {
        return {vbslq_f32(m.a, x.a, y.a), vbslq_f32(m.b, x.b, y.b), vbslq_f32(m.c, x.c, y.c),
                vbslq_f32(m.d, x.d, y.d)};
    }
    COLIBRI_SIMD Int select_int(Mask m, Int x, Int y) {
        return {vbslq_s32(m.a, x.a, y.a), vbslq_s32(m.b, x.b, y.b), vbslq_s32(m.c, x.c, y.c),
                vbslq_s32(m.d, x.d, y.d)};
    }

    // --- int32 lanes ---
    COLIBRI_SIMD Int load_int(const void* p) {
        const auto* q = static_cast<const int8_t*>(p);
        return {vreinterpretq_s32_s8(vld1q_s8(q)), vreinterpretq_s32_s8(vld1q_s8(q + 16)),
                vreinterpretq_s32_s8(vld1q_s8(q + 32)), vreinterpretq_s32_s8(vld1q_s8(q + 48))};
    }
    COLIBRI_SIMD void store_int(void* p, Int v) {
        auto* q = static_cast<int8_t*>(p);
        vst1q_s8(q, vreinterpretq_s8_s32(v.a));
        vst1q_s8(q + 16, vreinterpretq_s8_s32(v.b));
        vst1q_s8(q + 32, vreinterpretq_s8_s32(v.c));
        vst1q_s8(q + 48, vreinterpretq_s8_s32(v.d));
    }
    COLIBRI_SIMD Int broadcast_int(int32_t x) {
        const int32x4_t v = vdupq_n_s32(x);
        return {v, v, v, v};
    }
    COLIBRI_SIMD Int zero_int() { return broadcast_int(0); }
    COLIBRI_SIMD Int add_int(Int x, Int y) {
        return {vaddq_s32(x.a, y.a), vaddq_s32(x.b, y.b), vaddq_s32(x.c, y.c), vaddq_s32(x.d, y.d)};
    }
    COLIBRI_SIMD Int sub_int(Int x, Int y) {
        return {vsubq_s32(x.a, y.a), vsubq_s32(x.b, y.b), vsubq_s32(x.c, y.c), vsubq_s32(x.d, y.d)};
    }
    COLIBRI_SIMD Int mul_int(Int x, Int y) {
        return {vmulq_s32(x.a, y.a), vmulq_s32(x.b, y.b), vmulq_s32(x.c, y.c), vmulq_s32(x.d, y.d)};
    }
    COLIBRI_SIMD Int max_int(Int x, Int y) {
        return {vmaxq_s32(x.a, y.a), vmaxq_s32(x.b, y.b), vmaxq_s32(x.c, y.c), vmaxq_s32(x.d, y.d)};
    }
    COLIBRI_SIMD Int min_int(Int x, Int y) {
        return {vminq_s32(x.a, y.a), vminq_s32(x.b, y.b), vminq_s32(x.c, y.c), vminq_s32(x.d, y.d)};
    }
    COLIBRI_SIMD Int and_bits(Int x, Int y) {
        return {vandq_s32(x.a, y.a), vandq_s32(x.b, y.b), vandq_s32(x.c, y.c), vandq_s32(x.d, y.d)};
    }
    COLIBRI_SIMD Int or_bits(Int x, Int y) {
        return {vorrq_s32(x.a, y.a), vorrq_s32(x.b, y.b), vorrq_s32(x.c, y.c), vorrq_s32(x.d, y.d)};
    }
    COLIBRI_SIMD Int xor_bits(Int x, Int y) {
        return {veorq_s32(x.a, y.a), veorq_s32(x.b, y.b), veorq_s32(x.c, y.c), veorq_s32(x.d, y.d)};
    }
    template <int N>
    COLIBRI_SIMD Int shift_left(Int x) {
        if constexpr (N == 0) return x;
        return {vshlq_n_s32(x.a, N), vshlq_n_s32(x.b, N), vshlq_n_s32(x.c, N), vshlq_n_s32(x.d, N)};
    }
    template <int N>
    COLIBRI_SIMD Int shift_right(Int x) {
        const int32x4_t by = vdupq_n_s32(-N);
        return {shift_unsigned(x.a, by), shift_unsigned(x.b, by), shift_unsigned(x.c, by),
                shift_unsigned(x.d, by)};
    }
    template <int N>
    COLIBRI_SIMD Int shift_right_signed(Int x) {
        const int32x4_t by = vdupq_n_s32(-N);
        return {vshlq_s32(x.a, by), vshlq_s32(x.b, by), vshlq_s32(x.c, by), vshlq_s32(x.d, by)};
    }

    // --- conversions ---
    COLIBRI_SIMD Float to_float(Int x) {
        return {vcvtq_f32_s32(x.a), vcvtq_f32_s32(x.b), vcvtq_f32_s32(x.c), vcvtq_f32_s32(x.d)};
    }
    COLIBRI_SIMD Int to_int(Float x) {
        return {vcvtnq_s32_f32(x.a), vcvtnq_s32_f32(x.b), vcvtnq_s32_f32(x.c), vcvtnq_s32_f32(x.d)};
    }
    COLIBRI_SIMD Int bits_of(Float x) {
        return {vreinterpretq_s32_f32(x.a), vreinterpretq_s32_f32(x.b), vreinterpretq_s32_f32(x.c),
                vreinterpretq_s32_f32(x.d)};
    }
    COLIBRI_SIMD Float float_of(Int x) {
        return {vreinterpretq_f32_s32(x.a), vreinterpretq_f32_s32(x.b), vreinterpretq_f32_s32(x.c),
                vreinterpretq_f32_s32(x.d)};
    }
    COLIBRI_SIMD Float load_f16(const void* p) {
        const float16x8_t lo = vreinterpretq_f16_u16(load_words(p));
        const float16x8_t hi = vreinterpretq_f16_u16(load_words(static_cast<const char*>(p) + 16));
        return {vcvt_f32_f16(vget_low_f16(lo)), vcvt_high_f32_f16(lo),
                vcvt_f32_f16(vget_low_f16(hi)), vcvt_high_f32_f16(hi)};
    }
    COLIBRI_SIMD Float load_bf16(const void* p) {
        const uint16x8_t lo = load_words(p);
        const uint16x8_t hi = load_words(static_cast<const char*>(p) + 16);
        return {from_bf16(vget_low_u16(lo)), from_bf16(vget_high_u16(lo)),
                from_bf16(vget_low_u16(hi)), from_bf16(vget_high_u16(hi))};
    }
    COLIBRI_SIMD Float load_int8(const void* p) {
        const int8x16_t bytes = vld1q_s8(static_cast<const int8_t*>(p));
        const int16x8_t lo = vmovl_s8(vget_low_s8(bytes));
        const int16x8_t hi = vmovl_high_s8(bytes);
        return to_float({vmovl_s16(vget_low_s16(lo)), vmovl_high_s16(lo),
                         vmovl_s16(vget_low_s16(hi)), vmovl_high_s16(hi)});
    }
    COLIBRI_SIMD Float load_fp8_scaled(const void* p) {
        const int8x16_t bytes = vld1q_s8(static_cast<const int8_t*>(p));
        const float16x8_t lo = half_of(vmovl_s8(vget_low_s8(bytes)));
        const float16x8_t hi = half_of(vmovl_high_s8(bytes));
        return {vcvt_f32_f16(vget_low_f16(lo)), vcvt_high_f32_f16(lo),
                vcvt_f32_f16(vget_low_f16(hi)), vcvt_high_f32_f16(hi)};
    }
    COLIBRI_SIMD Float load_fp8(const void* p) {
        return mul(load_fp8_scaled(p), broadcast(256.0F));
    }
    COLIBRI_SIMD void store_int8(int8_t* p, Int v) {
        const int16x8_t lo = vcombine_s16(vqmovn_s32(v.a), vqmovn_s32(v.b));
        const int16x8_t hi = vcombine_s16(vqmovn_s32(v.c), vqmovn_s32(v.d));
        vst1q_s8(p, vcombine_s8(vqmovn_s16(lo), vqmovn_s16(hi)));
    }

    // --- across lanes ---
    COLIBRI_SIMD float reduce_add(Float v) {
        const float32x4_t four = vaddq_f32(vaddq_f32(v.a, v.c), vaddq_f32(v.b, v.d));
        const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
        return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
    }
    COLIBRI_SIMD float reduce_max(Float v) {
        return vmaxvq_f32(vmaxq_f32(vmaxq_f32(v.a, v.c), vmaxq_f32(v.b, v.d)));
    }
    COLIBRI_SIMD int32_t reduce_add_int(Int v) {
        return vaddvq_s32(vaddq_s32(vaddq_s32(v.a, v.b), vaddq_s32(v.c, v.d)));
    }
    COLIBRI_SIMD void load_pairs(const float* p, Float& even, Float& odd) {
        const float32x4x2_t a = vld2q_f32(p);
        const float32x4x2_t b = vld2q_f32(p + 8);
        const float32x4x2_t c = vld2q_f32(p + 16);
        const float32x4x2_t d = vld2q_f32(p + 24);
        even = {a.val[0], b.val[0], c.val[0], d.val[0]};
        odd = {a.val[1], b.val[1], c.val[1], d.val[1]};
    }
    COLIBRI_SIMD void store_pairs(float* p, Float even, Float odd) {
        vst2q_f32(p, float32x4x2_t{{even.a, odd.a}});
        vst2q_f32(p + 8, float32x4x2_t{{even.b, odd.b}});
        vst2q_f32(p + 16, float32x4x2_t{{even.c, odd.c}});
        vst2q_f32(p + 24, float32x4x2_t{{even.d, odd.d}});
    }

    // --- integer dot products ---
    using Bytes = Int;
    COLIBRI_SIMD Bytes broadcast_quad(const int8_t* p) {
        int32_t quad = 0;
        std::memcpy(&quad, p, sizeof quad);
        return broadcast_int(quad);
    }
    static constexpr int32_t kInt8Offset = 0;
    COLIBRI_SIMD Bytes load_int8_weights(const std::byte* p) { return load_int(p); }
    COLIBRI_SIMD Int dot_int8(Int sum, Bytes w, Bytes x) {
        return {dot_quarter(sum.a, w.a, x.a), dot_quarter(sum.b, w.b, x.b),
                dot_quarter(sum.c, w.c, x.c), dot_quarter(sum.d, w.d, x.d)};
    }
    using Partial = Int;
    static constexpr uint32_t kPartialProducts = 1U << 16;
    // Part kPart of every byte, kBits wide.
    template <int kBits, int kPart>
    COLIBRI_SIMD Bytes unpack(Bytes v) {
        const Int mask = broadcast_int(0x01010101 * ((1 << kBits) - 1));
        if constexpr (kPart == 0) return and_bits(v, mask);
        return and_bits(shift_right<kBits * kPart>(v), mask);
    }
    COLIBRI_SIMD Partial zero_partial() { return zero_int(); }
    COLIBRI_SIMD Partial dot_nibbles(Partial partial, Bytes nibbles, Bytes activations) {
        return dot_int8(partial, nibbles, activations);
    }
    COLIBRI_SIMD Int add_partial(Int sum, Partial partial) { return add_int(sum, partial); }

    COLIBRI_SIMD void transpose(Float (&rows)[16]) {
        float cells[kLanes][kLanes];
        for (uint32_t i = 0; i < kLanes; ++i) store(cells[i], rows[i]);
        for (uint32_t j = 0; j < kLanes; ++j) {
            float column[kLanes];
            for (uint32_t i = 0; i < kLanes; ++i) column[i] = cells[i][j];
            rows[j] = load(column);
        }
    }
    struct Narrow {
        struct Float {
            float32x4_t a, b;
        };
        static constexpr uint32_t kLanes = 8;
        COLIBRI_SIMD Float load(const float* p) { return {vld1q_f32(p), vld1q_f32(p + 4)}; }
        COLIBRI_SIMD void store(float* p, Float v) {
            vst1q_f32(p, v.a);
            vst1q_f32(p + 4, v.b);
        }
        COLIBRI_SIMD Float broadcast(float x) {
            const float32x4_t v = vdupq_n_f32(x);
            return {v, v};
        }
        COLIBRI_SIMD Float zero() { return broadcast(0.0F); }
        COLIBRI_SIMD Float mul(Float x, Float y) {
            return {vmulq_f32(x.a, y.a), vmulq_f32(x.b, y.b)};
        }
        COLIBRI_SIMD Float fma(Float x, Float y, Float z) {
            return {vfmaq_f32(z.a, x.a, y.a), vfmaq_f32(z.b, x.b, y.b)};
        }
    };

private:
    COLIBRI_SIMD int32x4_t shift_unsigned(int32x4_t v, int32x4_t by) {
        return vreinterpretq_s32_u32(vshlq_u32(vreinterpretq_u32_s32(v), by));
    }
    COLIBRI_SIMD uint16x8_t load_words(const void* p) {
        return vreinterpretq_u16_u8(vld1q_u8(static_cast<const uint8_t*>(p)));
    }
    COLIBRI_SIMD float32x4_t from_bf16(uint16x4_t bits) {
        return vreinterpretq_f32_u32(vshll_n_u16(bits, 16));
    }
    COLIBRI_SIMD float16x8_t half_of(int16x8_t wide) {
        const int16x8_t bits = vandq_s16(vshlq_n_s16(wide, 7), vdupq_n_s16(int16_t(0xBFFF)));
        return vreinterpretq_f16_s16(bits);
    }
    // Without the optional dot-product instructions: products of 8 bits fit int16 in pairs (2 * 128
    // * 127).
    COLIBRI_SIMD int32x4_t dot_quarter(int32x4_t sum, int32x4_t weights, int32x4_t activations) {
        const int8x16_t w = vreinterpretq_s8_s32(weights);
        const int8x16_t x = vreinterpretq_s8_s32(activations);
        const int16x8_t lo = vmull_s8(vget_low_s8(w), vget_low_s8(x));
        const int16x8_t hi = vmull_high_s8(w, x);
        return vpadalq_s16(sum, vpaddq_s16(lo, hi));
    }
};

}  // namespace colibri::neon

// Norms, activations and element-wise operations over sixteen lanes, written once: each instruction
// set's vector.cpp includes this after its simd.h and instantiates VectorKernels<Simd>. The
// operations and their order are those of reference/vector.cpp.
#pragma once

#include "kernels/generic/exp.inl"
#include "kernels/kernels.h"

namespace colibri {

template <class S>
struct VectorKernels {
    using Float = typename S::Float;
    static constexpr uint32_t kLanes = S::kLanes;

    // f(vector) for every sixteen elements of x, in place or to y; the tail is padded with zeros.
    template <class F>
    COLIBRI_SIMD void map(const float* x, uint32_t count, float* y, F f) {
        uint32_t i = 0;
        for (; i + kLanes <= count; i += kLanes) S::store(y + i, f(S::load(x + i)));
        if (i < count) S::store_tail(y + i, f(S::load_tail(x + i, count - i)), count - i);
    }

    // The same for two inputs.
    template <class F>
    COLIBRI_SIMD void map(const float* x, const float* z, uint32_t count, float* y, F f) {
        uint32_t i = 0;
        for (; i + kLanes <= count; i += kLanes) {
            S::store(y + i, f(S::load(x + i), S::load(z + i)));
        }
        if (i < count) {
            const uint32_t rest = count - i;
            S::store_tail(y + i, f(S::load_tail(x + i, rest), S::load_tail(z + i, rest)), rest);
        }
    }

    // 1 / sqrt(sum / count + eps) in every lane.
    COLIBRI_SIMD Float inverse_root(Float lanes, uint32_t count, float eps) {
        const float mean = S::reduce_add(lanes) / float(count);
        return S::div(S::broadcast(1.0F), S::sqrt(S::broadcast(mean + eps)));
    }

    static void rms_norm(const float* x, const float* weight, uint32_t count, float eps, float* y) {
        Float squares = S::zero();
        uint32_t i = 0;
        for (; i + kLanes <= count; i += kLanes) {
            const Float v = S::load(x + i);
            squares = S::fma(v, v, squares);
        }
        if (i < count) {
            const Float v = S::load_tail(x + i, count - i);
            squares = S::fma(v, v, squares);  // fma(0, 0, lane) leaves the other lanes alone
        }
        const Float inverse = inverse_root(squares, count, eps);
        map(x, weight, count, y, [&](Float v, Float w) { return S::mul(S::mul(v, inverse), w); });
    }

    static void layer_norm(const float* x, const float* weight, const float* bias, uint32_t count,
                           float eps, float* y) {
        Float sums = S::zero();
        uint32_t i = 0;
        for (; i + kLanes <= count; i += kLanes) sums = S::add(sums, S::load(x + i));
        if (i < count) sums = S::add(sums, S::load_tail(x + i, count - i));
        const Float mean = S::broadcast(S::reduce_add(sums) / float(count));
        Float squares = S::zero();
        for (i = 0; i + kLanes <= count; i += kLanes) {
            const Float d = S::sub(S::load(x + i), mean);
            squares = S::fma(d, d, squares);
        }
        const uint32_t rest = count - i;
        if (rest != 0) {
            float lanes[kLanes] = {};  // lanes past the end must add nothing
            S::store_tail(lanes, S::sub(S::load_tail(x + i, rest), mean), rest);
            const Float d = S::load(lanes);
            squares = S::fma(d, d, squares);
        }
        const Float inverse = inverse_root(squares, count, eps);
        const auto normalize = [&](Float v, Float w, Float b) {
            return S::fma(S::mul(S::sub(v, mean), inverse), w, b);
        };
        for (i = 0; i + kLanes <= count; i += kLanes) {
            S::store(y + i, normalize(S::load(x + i), S::load(weight + i), S::load(bias + i)));
        }
        if (rest != 0) {
            const Float last = normalize(S::load_tail(x + i, rest), S::load_tail(weight + i, rest),
                                         S::load_tail(bias + i, rest));
            S::store_tail(y + i, last, rest);
        }
    }

    COLIBRI_SIMD Float sigmoid_of(Float x) {
        const Float one = S::broadcast(1.0F);
        return S::div(one, S::add(one, exp_of<S>(S::negate(x))));
    }

    static void silu_multiply(const float* gate, const float* up, uint32_t count, float* y) {
        map(gate, up, count, y,
            [](Float g, Float u) { return S::mul(S::mul(g, sigmoid_of(g)), u); });
    }
    static void sigmoid(const float* x, uint32_t count, float* y) {
        map(x, count, y, [](Float v) { return sigmoid_of(v); });
    }
    static void exp_shifted(const float* x, float shift, uint32_t count, float* y) {
        const Float lanes = S::broadcast(shift);
        map(x, count, y, [&](Float v) { return exp_of<S>(S::sub(v, lanes)); });
    }

    static float maximum(const float* x, uint32_t count) {
        Float lanes = S::broadcast(-__builtin_inff());
        uint32_t i = 0;
        for (; i + kLanes <= count; i += kLanes) lanes = S::max(S::load(x + i), lanes);
        float best = S::reduce_max(lanes);
        for (; i < count; ++i) best = x[i] > best ? x[i] : best;
        return best + 0.0F;
    }

    static void add_scaled(const float* x, float weight, uint32_t count, float* acc) {
        const Float w = S::broadcast(weight);
        map(x, acc, count, acc, [&](Float v, Float a) { return S::fma(w, v, a); });
    }
    static void add(const float* x, uint32_t count, float* acc) {
        map(x, acc, count, acc, [](Float v, Float a) { return S::add(a, v); });
    }
    static void clamp(float limit, uint32_t count, float* x) {
        const Float low = S::broadcast(-limit);
        const Float high = S::broadcast(limit);
        map(x, count, x, [&](Float v) { return S::min(high, S::max(low, v)); });
    }
    static void scale(float factor, uint32_t count, float* x) {
        const Float f = S::broadcast(factor);
        map(x, count, x, [&](Float v) { return S::mul(v, f); });
    }
    static void divide(float divisor, uint32_t count, float* x) {
        const Float d = S::broadcast(divisor);
        map(x, count, x, [&](Float v) { return S::div(v, d); });
    }

    COLIBRI_SIMD void rotate(Float& a, Float& b, Float c, Float s) {
        const Float x0 = a;
        a = S::fma(x0, c, S::negate(S::mul(b, s)));
        b = S::fma(b, c, S::mul(x0, s));
    }
    COLIBRI_SIMD void rotate_one(float& a, float& b, float c, float s) {
        const float x0 = a;
        a = __builtin_fmaf(x0, c, -(b * s));
        b = __builtin_fmaf(b, c, x0 * s);
    }

    static void rope_adjacent(const float* cos, const float* sin, uint32_t pairs, float* x) {
        uint32_t j = 0;
        for (; j + kLanes <= pairs; j += kLanes) {
            Float even;
            Float odd;
            S::load_pairs(x + 2 * j, even, odd);
            rotate(even, odd, S::load(cos + j), S::load(sin + j));
            S::store_pairs(x + 2 * j, even, odd);
        }
        for (; j < pairs; ++j) rotate_one(x[2 * j], x[2 * j + 1], cos[j], sin[j]);
    }
    static void rope_half(const float* cos, const float* sin, uint32_t pairs, float* x) {
        float* second = x + pairs;
        uint32_t j = 0;
        for (; j + kLanes <= pairs; j += kLanes) {
            Float a = S::load(x + j);
            Float b = S::load(second + j);
            rotate(a, b, S::load(cos + j), S::load(sin + j));
            S::store(x + j, a);
            S::store(second + j, b);
        }
        for (; j < pairs; ++j) rotate_one(x[j], second[j], cos[j], sin[j]);
    }

    static void add_entries(Kernels& table) {
        table.rms_norm = rms_norm;
        table.layer_norm = layer_norm;
        table.silu_multiply = silu_multiply;
        table.sigmoid = sigmoid;
        table.exp_shifted = exp_shifted;
        table.maximum = maximum;
        table.add_scaled = add_scaled;
        table.add = add;
        table.clamp = clamp;
        table.scale = scale;
        table.divide = divide;
        table.rope_adjacent = rope_adjacent;
        table.rope_half = rope_half;
    }
};

}  // namespace colibri

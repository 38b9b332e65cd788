#include <array>
#include <cmath>
#include <limits>

#include "kernels/entries.h"
#include "kernels/math.h"

namespace colibri::reference {

namespace {

using Lanes = std::array<float, 16>;

// The fixed tree over sixteen lanes.
float tree_sum(Lanes lanes) {
    for (int half = 8; half > 0; half /= 2) {
        for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    }
    return lanes[0];
}

void rms_norm(const float* x, const float* weight, uint32_t count, float eps, float* y) {
    Lanes lanes{};
    for (uint32_t i = 0; i < count; ++i) lanes[i % 16] = std::fma(x[i], x[i], lanes[i % 16]);
    const float inverse = 1.0f / std::sqrt(tree_sum(lanes) / float(count) + eps);
    for (uint32_t i = 0; i < count; ++i) y[i] = (x[i] * inverse) * weight[i];
}

void layer_norm(const float* x, const float* weight, const float* bias, uint32_t count, float eps,
                float* y) {
    Lanes sums{};
    for (uint32_t i = 0; i < count; ++i) sums[i % 16] = sums[i % 16] + x[i];
    const float mean = tree_sum(sums) / float(count);
    Lanes squares{};
    for (uint32_t i = 0; i < count; ++i) {
        const float d = x[i] - mean;
        squares[i % 16] = std::fma(d, d, squares[i % 16]);
    }
    const float inverse = 1.0f / std::sqrt(tree_sum(squares) / float(count) + eps);
    for (uint32_t i = 0; i < count; ++i) {
        y[i] = std::fma((x[i] - mean) * inverse, weight[i], bias[i]);
    }
}

void silu_multiply(const float* gate, const float* up, uint32_t count, float* y) {
    for (uint32_t i = 0; i < count; ++i) y[i] = silu_f32(gate[i]) * up[i];
}

void sigmoid(const float* x, uint32_t count, float* y) {
    for (uint32_t i = 0; i < count; ++i) y[i] = sigmoid_f32(x[i]);
}

void exp_shifted(const float* x, float shift, uint32_t count, float* y) {
    for (uint32_t i = 0; i < count; ++i) y[i] = exp_f32(x[i] - shift);
}

float maximum(const float* x, uint32_t count) {
    float best = -std::numeric_limits<float>::infinity();
    for (uint32_t i = 0; i < count; ++i) best = x[i] > best ? x[i] : best;
    return best + 0.0f;
}

void add_scaled(const float* x, float weight, uint32_t count, float* acc) {
    for (uint32_t i = 0; i < count; ++i) acc[i] = std::fma(weight, x[i], acc[i]);
}

void add(const float* x, uint32_t count, float* acc) {
    for (uint32_t i = 0; i < count; ++i) acc[i] = acc[i] + x[i];
}

void clamp(float limit, uint32_t count, float* x) {
    for (uint32_t i = 0; i < count; ++i) {
        const float low = x[i] < -limit ? -limit : x[i];
        x[i] = low > limit ? limit : low;
    }
}

void scale(float factor, uint32_t count, float* x) {
    for (uint32_t i = 0; i < count; ++i) x[i] = x[i] * factor;
}

void divide(float divisor, uint32_t count, float* x) {
    for (uint32_t i = 0; i < count; ++i) x[i] = x[i] / divisor;
}

void rope_adjacent(const float* cos, const float* sin, uint32_t pairs, float* x) {
    for (uint32_t j = 0; j < pairs; ++j) {
        const float x0 = x[2 * j];
        const float x1 = x[2 * j + 1];
        x[2 * j] = std::fma(x0, cos[j], -(x1 * sin[j]));
        x[2 * j + 1] = std::fma(x1, cos[j], x0 * sin[j]);
    }
}

void rope_half(const float* cos, const float* sin, uint32_t pairs, float* x) {
    for (uint32_t j = 0; j < pairs; ++j) {
        const float x0 = x[j];
        const float x1 = x[j + pairs];
        x[j] = std::fma(x0, cos[j], -(x1 * sin[j]));
        x[j + pairs] = std::fma(x1, cos[j], x0 * sin[j]);
    }
}

}  // namespace

void set_vector_entries(Kernels& table) {
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

}  // namespace colibri::reference

#include "convert/quantize.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "base/units.h"
#include "tensor/dtype.h"

namespace colibri {

namespace {

// Eight lanes whatever the instruction set: the order of additions is part of the result.
using Floats8 = float __attribute__((vector_size(32)));
using Ints8 = int32_t __attribute__((vector_size(32)));
using Bytes8 = int8_t __attribute__((vector_size(8)));
constexpr uint32_t kLanes = 8;

// The loops below are compiled for the machine's vectors where the compiler can choose at run time;
// lanes and the order of operations are the same everywhere. Not under sanitizers, which start too
// late for that choice.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COLIBRI_VECTOR_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define COLIBRI_VECTOR_CLONES
#endif
#define COLIBRI_INLINE inline __attribute__((always_inline))

COLIBRI_INLINE Floats8 splat(float value) {
    return Floats8{} + value;
}
COLIBRI_INLINE Floats8 load8(const float* p) {
    Floats8 v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
COLIBRI_INLINE float sum(Floats8 v) {
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}
// Adding and taking away 1.5 * 2^23 rounds to the nearest integer, ties to even, below 2^22.
COLIBRI_INLINE Floats8 round8(Floats8 v) {
    const Floats8 magic = splat(12582912.0F);
    return (v + magic) - magic;
}
COLIBRI_INLINE Floats8 clamp8(Floats8 v, float low, float high) {
    v = v < low ? splat(low) : v;
    return v > high ? splat(high) : v;
}

struct Range {
    float low, high;  // of codes
};

Range range_of(WeightKind kind) {
    switch (kind) {
        case WeightKind::int8: return {-127, 127};
        case WeightKind::int4: return {-8, 7};
        case WeightKind::int2: return {-2, 1};
        case WeightKind::f32:
        case WeightKind::bf16:
        case WeightKind::fp8: break;
    }
    CHECK(false);
}

// A group's values, padded with zeros to whole vectors; weights likewise.
struct Group {
    const float* x;
    const float* weight;  // null: all 1
    uint32_t vectors;
};

// What the scale 1/inverse can reach: sum w x q and sum w q^2 over the rounded q.
struct Fit {
    float xq = 0, qq = 0;
};

COLIBRI_INLINE Fit fit(const Group& group, float inverse, Range range) {
    Floats8 xq{}, qq{};
    const Floats8 factor = splat(inverse);
    for (uint32_t v = 0; v < group.vectors; ++v) {
        const Floats8 x = load8(group.x + v * kLanes);
        const Floats8 q = clamp8(round8(x * factor), range.low, range.high);
        const Floats8 wq = group.weight != nullptr ? q * load8(group.weight + v * kLanes) : q;
        xq += wq * x;
        qq += wq * q;
    }
    return {.xq = sum(xq), .qq = sum(qq)};
}

// The value of largest magnitude, first one of equals; 0 in a group of zeros.
COLIBRI_INLINE float extreme(const Group& group) {
    Floats8 high{}, low{};
    for (uint32_t v = 0; v < group.vectors; ++v) {
        const Floats8 x = load8(group.x + v * kLanes);
        high = x > high ? x : high;
        low = x < low ? x : low;
    }
    float most = 0;
    float least = 0;
    for (uint32_t i = 0; i < kLanes; ++i) {
        most = std::max(most, high[i]);
        least = std::min(least, low[i]);
    }
    return most >= -least ? most : least;
}

float nearest_scale(float x, WeightKind kind) {
    return kind == WeightKind::int2 ? -x / 2 : std::fabs(x) / range_of(kind).high;
}

// Where the search looks: the extreme value becomes code `at`, for `at` from first to last.
struct Candidates {
    float first, step;
    uint32_t count;
};

// Both ends: asymmetric formats reach one code further with the other sign.
Candidates candidates_of(WeightKind kind) {
    if (kind == WeightKind::int2) return {.first = 0.6F, .step = 0.1F, .count = 18};
    return kind == WeightKind::int8 ? Candidates{.first = 124, .step = 1, .count = 6}
                                    : Candidates{.first = 5, .step = 0.2F, .count = 18};
}

// Sum of w x^2.
COLIBRI_INLINE float energy(const Group& group) {
    Floats8 total{};
    for (uint32_t v = 0; v < group.vectors; ++v) {
        const Floats8 x = load8(group.x + v * kLanes);
        total += group.weight != nullptr ? x * x * load8(group.weight + v * kLanes) : x * x;
    }
    return sum(total);
}

// Maximizing xq^2 / qq minimizes the error at the best scale for these q, which is xq / qq. That
// scale makes weights shorter by the share of the error, and products of several such matrices
// shorter still, which costs far more than it saves with few bits; xx / xq keeps their length in
// their own direction.
COLIBRI_INLINE float searched_scale(const Group& group, float x, WeightKind kind) {
    const Range range = range_of(kind);
    const Candidates list = candidates_of(kind);
    float best_scale = nearest_scale(x, kind);
    const Fit start = fit(group, 1 / best_scale, range);
    const float xx = energy(group);
    // Sums of enormous weights overflow, those of minute ones underflow; then the scale stays as it
    // is.
    if (!std::isfinite(start.xq) || !std::isfinite(xx) || xx < 1e-30F) return best_scale;
    double best = start.qq > 0 ? double(start.xq) * start.xq / start.qq : 0;
    if (start.qq > 0 && start.xq != 0) best_scale = xx / start.xq;
    const int signs = range.low == -range.high ? 1 : 2;
    for (int sign = 0; sign < signs; ++sign)
        for (uint32_t i = 0; i < list.count; ++i) {
            const float at = list.first + list.step * float(i);
            const float inverse = (sign == 0 ? at : -at) / x;
            const Fit found = fit(group, inverse, range);
            if (!(found.qq > 0) || !std::isfinite(found.xq)) continue;
            const double gain = double(found.xq) * found.xq / found.qq;
            if (!(gain > best)) continue;
            best = gain;
            best_scale = xx / found.xq;
        }
    return best_scale;
}

COLIBRI_INLINE void round_codes(const Group& group, float scale, Range range, uint32_t count,
                                int8_t* codes) {
    const float inverse = scale == 0 ? 0 : 1 / scale;
    if (!std::isfinite(inverse)) {
        std::fill_n(codes, count, int8_t(0));
        return;
    }
    const Floats8 factor = splat(inverse);
    for (uint32_t v = 0; v < group.vectors; ++v) {
        const Floats8 q =
            clamp8(round8(load8(group.x + v * kLanes) * factor), range.low, range.high);
        const uint32_t used = std::min(kLanes, count - v * kLanes);
        const auto bytes = __builtin_convertvector(__builtin_convertvector(q, Ints8), Bytes8);
        if (used == kLanes)
            std::memcpy(codes + v * kLanes, &bytes, kLanes);
        else
            std::memcpy(codes + v * kLanes, &bytes, used);
    }
}

}  // namespace

COLIBRI_VECTOR_CLONES void quantize_row(const WeightFormat& format, ScaleSearch search,
                                        std::span<const float> x, std::span<const float> importance,
                                        std::span<int8_t> codes, std::span<float> scales) {
    const auto columns = uint32_t(x.size());
    const uint32_t width = format.group != 0 ? format.group : columns;
    CHECK(codes.size() == columns && scales.size() == ceil_div(columns, width));
    CHECK(importance.empty() || importance.size() == columns);
    const Range range = range_of(format.kind);
    std::vector<float> copy;
    for (uint32_t g = 0; g < scales.size(); ++g) {
        const uint32_t first = g * width;
        const uint32_t count = std::min(width, columns - first);
        const uint32_t padded = round_up(count, kLanes);
        Group group{.x = x.data() + first,
                    .weight = importance.empty() ? nullptr : importance.data() + first,
                    .vectors = padded / kLanes};
        if (padded != count) {
            copy.assign(2 * size_t(padded), 0);
            std::copy_n(group.x, count, copy.data());
            group.x = copy.data();
            if (group.weight != nullptr) {
                std::copy_n(group.weight, count, copy.data() + padded);
                group.weight = copy.data() + padded;
            }
        }
        const float most = extreme(group);
        // Below this the reciprocal is no float any more; such weights are nothing.
        const bool zero = std::fabs(most) < 0x1p-100F;
        float scale = zero                            ? 0
                      : search == ScaleSearch::search ? searched_scale(group, most, format.kind)
                                                      : nearest_scale(most, format.kind);
        if (format.scales == ScaleType::f16) scale = f16_to_f32(f32_to_f16(scale));
        scales[g] = scale;
        round_codes(group, scale, range, count, codes.data() + first);
    }
}

namespace {

// Round to nearest, ties to even; |value| <= 448.
uint8_t fp8_code(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const auto sign = uint8_t(bits >> 24 & 0x80);
    const uint32_t magnitude = bits & 0x7FFFFFFF;
    constexpr uint32_t kSmallestNormal = 121U << 23;  // 2^-6
    if (magnitude < kSmallestNormal) {
        // Steps of 2^-9: the float adder rounds.
        const float steps = std::bit_cast<float>(magnitude) * 512.0F + 8388608.0F;
        return uint8_t(sign | (std::bit_cast<uint32_t>(steps) & 0xF));
    }
    const uint32_t rounded = magnitude + 0x7FFFF + (magnitude >> 20 & 1);
    return uint8_t(sign | std::min<uint32_t>((rounded >> 20) - (120U << 3), 0x7E));
}

}  // namespace

void quantize_row_fp8(uint32_t group, std::span<const float> x, std::span<uint8_t> codes,
                      std::span<float> scales) {
    for (size_t first = 0, g = 0; first < x.size(); first += group, ++g) {
        const size_t count = std::min<size_t>(group, x.size() - first);
        float most = 0;
        for (size_t i = 0; i < count; ++i) most = std::max(most, std::fabs(x[first + i]));
        const bool zero = most < 0x1p-100F;
        scales[g] = zero ? 0 : most / 448.0F;
        const float inverse = zero ? 0 : 448.0F / most;
        for (size_t i = 0; i < count; ++i) {
            const float value = std::clamp(x[first + i] * inverse, -448.0F, 448.0F);
            codes[first + i] = fp8_code(value);
        }
    }
}

}  // namespace colibri

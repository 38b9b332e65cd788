// Random inputs and bitwise comparison for this folder's tests.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/rng.h"
#include "kernels/kernels.h"

namespace colibri::testing {

// Every NaN is the same: instruction sets choose payloads and signs differently.
inline bool same_bits(float a, float b) {
    return (a != a && b != b) || std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

// Index of the first difference, or -1.
inline int64_t first_difference(const std::vector<float>& a, const std::vector<float>& b) {
    if (a.size() != b.size()) return int64_t(a.size() < b.size() ? a.size() : b.size());
    for (size_t i = 0; i < a.size(); ++i) {
        if (!same_bits(a[i], b[i])) return int64_t(i);
    }
    return -1;
}

// Uniform in [-scale, scale).
inline std::vector<float> random_values(Rng& rng, size_t count, float scale = 1.0F) {
    std::vector<float> values(count);
    for (float& value : values) value = float(rng.uniform() * 2.0 - 1.0) * scale;
    return values;
}

// Any bit pattern at all, with infinities, NaN, zeros and subnormals often enough to meet.
inline std::vector<float> random_bits(Rng& rng, size_t count) {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    const float specials[] = {0.0F,    -0.0F,   kInf,    -kInf,    std::nanf(""), 0x1p-149F,
                              -1e-40F, 1e-38F,  3.4e38F, -3.4e38F, 88.72F,        -103.9F,
                              -87.5F,  -104.5F, 1.0F,    -1.0F};
    std::vector<float> values(count);
    for (float& value : values) {
        const uint64_t kind = rng.below(8);
        if (kind == 0) {
            value = specials[rng.below(16)];
        } else if (kind < 4) {
            value = std::bit_cast<float>(uint32_t(rng.next()));
        } else {
            value = float(rng.uniform() * 240.0 - 120.0);
        }
    }
    return values;
}

// The twin of every fast version.
inline const Kernels& reference() {
    return *kernels_for(Isa::reference);
}

// The tables to compare with the reference.
inline std::vector<const Kernels*> fast_tables() {
    std::vector<const Kernels*> tables;
    for (const Isa isa : available_isas()) {
        if (isa != Isa::reference) tables.push_back(kernels_for(isa));
    }
    return tables;
}

}  // namespace colibri::testing

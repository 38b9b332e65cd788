#include <algorithm>
#include <cmath>

#include "kernels/entries.h"

namespace colibri::reference {

namespace {

bool quantize(const float* x, uint32_t columns, uint32_t group, uint32_t padded_columns,
              int8_t* values, float* scales, int32_t* sums) {
    for (uint32_t begin = 0, g = 0; begin < columns; begin += group, ++g) {
        const uint32_t end = std::min(columns, begin + group);
        float absmax = 0;
        for (uint32_t k = begin; k < end; ++k) {
            if (!std::isfinite(x[k])) return false;
            absmax = std::max(absmax, std::fabs(x[k]));
        }
        const bool is_zero = absmax < kQuantizeZero;
        const float inv = is_zero ? 0.0F : 127.0F / absmax;
        scales[g] = is_zero ? 0.0F : absmax / 127.0F;
        sums[g] = 0;
        for (uint32_t k = begin; k < end; ++k) {
            const float scaled = is_zero ? 0.0F : std::nearbyint(x[k] * inv);
            const auto value = int32_t(std::clamp(scaled, -127.0F, 127.0F));
            values[k] = int8_t(value);
            sums[g] += value;
        }
    }
    std::fill(values + columns, values + padded_columns, int8_t(0));
    return true;
}

}  // namespace

void set_quantize_entries(Kernels& table) {
    table.quantize = quantize;
}

}  // namespace colibri::reference

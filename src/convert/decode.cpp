#include "convert/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "tensor/dtype.h"

namespace colibri {

namespace {

const std::array<float, 256>& fp8_values() {
    static const std::array<float, 256> kValues = [] {
        std::array<float, 256> out{};
        for (uint32_t code = 0; code < 256; ++code) out[code] = f8_e4m3_to_f32(uint8_t(code));
        return out;
    }();
    return kValues;
}

void decode_codes(Coding coding, const std::byte* row, std::span<float> out) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(row);
    const size_t count = out.size();
    uint16_t half = 0;
    switch (coding) {
        case Coding::f32: std::memcpy(out.data(), row, count * 4); break;
        case Coding::f16:
            for (size_t i = 0; i < count; ++i) {
                std::memcpy(&half, bytes + 2 * i, 2);
                out[i] = f16_to_f32(half);
            }
            break;
        case Coding::bf16:
            for (size_t i = 0; i < count; ++i) {
                std::memcpy(&half, bytes + 2 * i, 2);
                out[i] = std::bit_cast<float>(uint32_t(half) << 16);
            }
            break;
        case Coding::f8_e4m3: {
            const std::array<float, 256>& values = fp8_values();
            for (size_t i = 0; i < count; ++i) out[i] = values[bytes[i]];
            break;
        }
        case Coding::int8:
            for (size_t i = 0; i < count; ++i) out[i] = float(int8_t(bytes[i]));
            break;
        case Coding::int4:
            for (size_t i = 0; i < count; ++i)
                out[i] = float(int(bytes[i / 2] >> (i % 2 * 4) & 15) - 8);
            break;
        case Coding::int2:
            for (size_t i = 0; i < count; ++i)
                out[i] = float(int(bytes[i / 4] >> (i % 4 * 2) & 3) - 2);
            break;
    }
}

}  // namespace

Status decode_row(const MatrixSource& source, std::span<const std::byte> row,
                  std::span<const float> scales, std::span<float> out) {
    decode_codes(source.coding, row.data(), out);
    const size_t group = scales.size() > 1 ? source.shape.group_columns() : out.size();
    for (size_t g = 0; g < scales.size(); ++g) {
        const size_t end = std::min(out.size(), (g + 1) * group);
        for (size_t i = g * group; i < end; ++i) out[i] *= scales[g];
    }
    // One check for all: a sum of absolute values would overflow, bits do not.
    uint32_t worst = 0;
    for (const float value : out)
        worst = std::max(worst, std::bit_cast<uint32_t>(value) & 0x7FFFFFFF);
    if (worst < 0x7F800000) return {};
    for (size_t i = 0; i < out.size(); ++i)
        if (!std::isfinite(out[i]))
            return fail(ErrorKind::corrupt, fmt::format("column {} is not a finite number", i));
    return {};
}

}  // namespace colibri

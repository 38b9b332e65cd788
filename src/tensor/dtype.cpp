#include "tensor/dtype.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace colibri {

namespace {

struct DTypeRow {
    DType type;
    std::string_view name;
    uint32_t size_bytes;
};

constexpr std::array kTypes{
    DTypeRow{DType::f32, "F32", 4},         DTypeRow{DType::bf16, "BF16", 2},
    DTypeRow{DType::f16, "F16", 2},         DTypeRow{DType::f8_e4m3, "F8_E4M3", 1},
    DTypeRow{DType::f8_e8m0, "F8_E8M0", 1}, DTypeRow{DType::u8, "U8", 1},
    DTypeRow{DType::i8, "I8", 1},           DTypeRow{DType::i32, "I32", 4},
    DTypeRow{DType::i64, "I64", 8},
};

// A float with `exponent_bits` and `mantissa_bits` below its sign, all-finite or IEEE, widened
// exactly.
float widen(uint32_t bits, uint32_t exponent_bits, uint32_t mantissa_bits) {
    const uint32_t sign = bits >> (exponent_bits + mantissa_bits);
    const uint32_t exponent = (bits >> mantissa_bits) & ((1U << exponent_bits) - 1);
    const uint32_t mantissa = bits & ((1U << mantissa_bits) - 1);
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const float magnitude = exponent == 0
                                ? std::ldexp(float(mantissa), 1 - bias - int(mantissa_bits))
                                : std::ldexp(float(mantissa | (1U << mantissa_bits)),
                                             int(exponent) - bias - int(mantissa_bits));
    return sign != 0 ? -magnitude : magnitude;
}

}  // namespace

uint32_t size_bytes(DType type) {
    return kTypes[size_t(type)].size_bytes;
}
std::string_view to_string(DType type) {
    return kTypes[size_t(type)].name;
}

std::optional<DType> dtype_from_string(std::string_view name) {
    for (const DTypeRow& row : kTypes)
        if (row.name == name) return row.type;
    return std::nullopt;
}

float bf16_to_f32(uint16_t bits) {
    return std::bit_cast<float>(uint32_t(bits) << 16);
}

float f16_to_f32(uint16_t bits) {
    if ((bits & 0x7C00U) == 0x7C00U) {
        const float inf = std::numeric_limits<float>::infinity();
        if ((bits & 0x3FFU) != 0) return std::numeric_limits<float>::quiet_NaN();
        return (bits & 0x8000U) != 0 ? -inf : inf;
    }
    // The fields of a float whose exponent is 112 too low; one exact product puts that right, also
    // for subnormals.
    const float low = std::bit_cast<float>((bits & 0x8000U) << 16 | (bits & 0x7FFFU) << 13);
    return low * 0x1p112F;
}

float f8_e4m3_to_f32(uint8_t bits) {
    if ((bits & 0x7FU) == 0x7FU) return std::numeric_limits<float>::quiet_NaN();
    return widen(bits, 4, 3);
}

float f8_e8m0_to_f32(uint8_t bits) {
    if (bits == 0xFF) return std::numeric_limits<float>::quiet_NaN();
    return std::ldexp(1.0F, int(bits) - 127);
}

uint16_t f32_to_bf16(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    if (std::isnan(value)) return uint16_t((bits >> 16) | 0x40U);
    return uint16_t((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

uint16_t f32_to_f16(float value) {
    const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    if (std::isnan(value)) return uint16_t(sign | 0x7E00U);
    const float magnitude = std::fabs(value);
    if (magnitude >= 65520.0F) return uint16_t(sign | 0x7C00U);
    // Subnormals are steps of 2^-24: the float adder rounds to them beside 0.5.
    if (magnitude < 0x1p-14F)
        return uint16_t(
            sign | (std::bit_cast<uint32_t>(magnitude + 0.5F) - std::bit_cast<uint32_t>(0.5F)));
    // A rounding up to the next power of two carries into the exponent's field by itself.
    const auto bits = std::bit_cast<uint32_t>(magnitude);
    return uint16_t(sign | (((bits + 0xFFFU + (bits >> 13 & 1U)) >> 13) - (112U << 10)));
}

uint8_t f32_to_f8_e4m3(float value) {
    const uint8_t sign = std::signbit(value) ? 0x80 : 0;
    if (std::isnan(value)) return uint8_t(sign | 0x7FU);
    const float magnitude = std::fabs(value);
    if (magnitude >= 464.0F)
        return uint8_t(sign | 0x7EU);  // saturates at 448, as the finite variant does
    int exponent = 0;
    std::frexp(magnitude, &exponent);
    const int lowest =
        std::max(exponent - 1, -6);  // exponent of the leading bit, subnormals share -6
    const auto steps = uint32_t(std::nearbyint(std::ldexp(magnitude, 3 - lowest)));
    const uint32_t code = steps == 0 ? 0 : (uint32_t(lowest + 6) << 3) + steps;
    return uint8_t(sign | (code > 0x7E ? 0x7E : code));
}

}  // namespace colibri

#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace colibri {
namespace {

// Sign, exponent and fraction of a small float as its standard defines them, in double precision.
double small_float(uint32_t bits, int exponent_bits, int fraction_bits) {
    const uint32_t fraction = bits % (1U << fraction_bits);
    const uint32_t exponent = (bits >> fraction_bits) % (1U << exponent_bits);
    const bool negative = (bits >> (fraction_bits + exponent_bits)) % 2 == 1;
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const double significand = double(fraction) / double(1 << fraction_bits);
    const double value = exponent == 0 ? significand * std::pow(2.0, 1 - bias)
                                       : (1 + significand) * std::pow(2.0, int(exponent) - bias);
    return negative ? -value : value;
}

// Goal: every E4M3 code decodes to the value that its definition gives; only 0x7F and 0xFF are NaN.
// Method: all 256 codes against double-precision arithmetic, signs of zero included; three values
// by hand.
TEST(DType, DecodesAllFp8Codes) {
    for (uint32_t code = 0; code < 256; ++code) {
        const float decoded = f8_e4m3_to_f32(uint8_t(code));
        if (code % 128 == 127) {
            EXPECT_TRUE(std::isnan(decoded)) << code;
            continue;
        }
        EXPECT_EQ(double(decoded), small_float(code, 4, 3)) << code;
        EXPECT_EQ(std::signbit(decoded), code >= 128) << code;
    }
    EXPECT_EQ(f8_e4m3_to_f32(0x7E), 448.0F);
    EXPECT_EQ(f8_e4m3_to_f32(0x01), 0.001953125F);
    EXPECT_EQ(f8_e4m3_to_f32(0xB8), -1.0F);
}

// Goal: encoding to E4M3 rounds to nearest with ties to even, saturates at 448, keeps signs.
// Method: every finite code, every midpoint of neighbors and the floats beside it, both signs.
TEST(DType, EncodesFp8WithTiesToEven) {
    const auto encode = [](float value) { return uint32_t(f32_to_f8_e4m3(value)); };
    for (uint32_t code = 0; code <= 0x7E; ++code) {
        const auto value = float(small_float(code, 4, 3));
        EXPECT_EQ(encode(value), code);
        EXPECT_EQ(encode(-value), code + 128);
        if (code == 0x7E) break;
        const auto middle = float((double(value) + small_float(code + 1, 4, 3)) / 2);
        EXPECT_EQ(encode(middle), code + code % 2) << code;
        EXPECT_EQ(encode(-middle), code + code % 2 + 128) << code;
        EXPECT_EQ(encode(std::nextafter(middle, 0.0F)), code) << code;
        EXPECT_EQ(encode(std::nextafter(middle, 1000.0F)), code + 1) << code;
    }
    EXPECT_EQ(encode(1e30F), 0x7EU);
    EXPECT_EQ(encode(-std::numeric_limits<float>::infinity()), 0xFEU);
    EXPECT_EQ(encode(std::numeric_limits<float>::quiet_NaN()) % 128, 0x7FU);
}

// Goal: binary16 decodes exactly, subnormals, infinities and NaNs included.
// Method: all 65536 codes against double-precision arithmetic.
TEST(DType, DecodesAllHalfCodes) {
    for (uint32_t code = 0; code < 65536; ++code) {
        const float decoded = f16_to_f32(uint16_t(code));
        const uint32_t magnitude = code % 32768;
        if (magnitude > 0x7C00) {
            EXPECT_TRUE(std::isnan(decoded)) << code;
        } else if (magnitude == 0x7C00) {
            EXPECT_TRUE(std::isinf(decoded)) << code;
            EXPECT_EQ(std::signbit(decoded), code >= 32768);
        } else {
            ASSERT_EQ(double(decoded), small_float(code, 5, 10)) << code;
            ASSERT_EQ(std::signbit(decoded), code >= 32768) << code;
        }
    }
}

// Goal: encoding binary16 rounds to nearest, ties to even, and overflows to infinity.
// Method: for every finite code its value, the midpoint to the next one and the floats beside it.
TEST(DType, RoundsHalvesWithTiesToEven) {
    for (uint32_t code = 0; code < 0x7C00; ++code) {
        const float value = f16_to_f32(uint16_t(code));
        const double next = code + 1 < 0x7C00 ? double(f16_to_f32(uint16_t(code + 1))) : 65536.0;
        const auto middle = float((double(value) + next) / 2);
        ASSERT_EQ(f32_to_f16(value), code);
        ASSERT_EQ(f32_to_f16(-value), 0x8000U + code);
        ASSERT_EQ(f32_to_f16(middle), code + code % 2) << code;
        ASSERT_EQ(f32_to_f16(std::nextafter(middle, 0.0F)), code);
        ASSERT_EQ(f32_to_f16(std::nextafter(middle, HUGE_VALF)), code + 1);
    }
    EXPECT_EQ(f32_to_f16(1e9F), 0x7C00U);
    EXPECT_EQ(f32_to_f16(-HUGE_VALF), 0xFC00U);
    EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(std::numeric_limits<float>::quiet_NaN()))));
}

// Goal: bf16 is the upper half of a float: decoding is exact, encoding rounds to nearest, ties to
// even. Method: for a sweep of upper halves, the midpoint to the next one and the floats beside it.
TEST(DType, RoundsBf16WithTiesToEven) {
    for (uint32_t high = 0; high < 0x7F7F; high += 37) {
        const auto value = std::bit_cast<float>(high << 16);
        const auto middle = std::bit_cast<float>((high << 16) + 0x8000U);
        EXPECT_EQ(bf16_to_f32(uint16_t(high)), value);
        EXPECT_EQ(f32_to_bf16(value), high);
        EXPECT_EQ(f32_to_bf16(middle), high + high % 2);
        EXPECT_EQ(f32_to_bf16(std::nextafter(middle, 0.0F)), high);
        EXPECT_EQ(f32_to_bf16(std::nextafter(middle, HUGE_VALF)), high + 1);
        EXPECT_EQ(f32_to_bf16(-middle), 0x8000U + high + high % 2);
    }
    EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::infinity()), 0x7F80U);
    EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::bit_cast<float>(0x7F800001U)))));
}

// Goal: E8M0 is a power of two with bias 127 and one NaN.
// Method: all 256 codes against std::pow.
TEST(DType, DecodesAllScaleExponents) {
    for (uint32_t code = 0; code < 255; ++code)
        EXPECT_EQ(double(f8_e8m0_to_f32(uint8_t(code))), std::pow(2.0, int(code) - 127));
    EXPECT_TRUE(std::isnan(f8_e8m0_to_f32(255)));
}

// Goal: names are those of safetensors headers and round-trip; sizes are right; other names are
// refused. Method: the full list spelled out here.
TEST(DType, NamesAndSizes) {
    struct Row {
        DType type;
        std::string_view name;
        uint32_t bytes;
    };
    const std::vector<Row> rows{
        {DType::f32, "F32", 4},         {DType::bf16, "BF16", 2},       {DType::f16, "F16", 2},
        {DType::f8_e4m3, "F8_E4M3", 1}, {DType::f8_e8m0, "F8_E8M0", 1}, {DType::u8, "U8", 1},
        {DType::i8, "I8", 1},           {DType::i32, "I32", 4},         {DType::i64, "I64", 8}};
    for (const Row& row : rows) {
        EXPECT_EQ(to_string(row.type), row.name);
        EXPECT_EQ(dtype_from_string(row.name), row.type);
        EXPECT_EQ(size_bytes(row.type), row.bytes);
    }
    EXPECT_FALSE(dtype_from_string("F8_E5M2"));
    EXPECT_FALSE(dtype_from_string("f32"));
    EXPECT_FALSE(dtype_from_string(""));
}

}  // namespace
}  // namespace colibri

#include "tensor/retile.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/rng.h"

namespace colibri {
namespace {

std::vector<std::byte> random_bytes(Rng& rng, uint64_t count) {
    std::vector<std::byte> bytes(count);
    for (std::byte& byte : bytes) byte = std::byte(rng.next() & 0xFF);
    return bytes;
}

// A buffer full of a pattern, so that a byte that nobody wrote shows.
AlignedBuffer filled(const TileShape& shape) {
    AlignedBuffer buffer = AlignedBuffer::allocate(shape.total_bytes() + 64).value();
    std::memset(buffer.data(), 0xA5, buffer.size_bytes());
    return buffer;
}

template <class T>
T read_at(const std::byte* data, uint64_t index) {
    T value;
    std::memcpy(&value, data + index * sizeof(T), sizeof(T));
    return value;
}

// Retiles in a few calls, each over a random part of the blocks.
template <class Retile>
void in_parts(Rng& rng, const TileShape& shape, uint64_t row_bytes,
              std::span<const std::byte> source, Retile retile) {
    for (uint32_t begin = 0; begin < shape.blocks();) {
        const auto end = uint32_t(begin + 1 + rng.below(shape.blocks() - begin));
        const uint64_t first = uint64_t(begin) * kTileRows * row_bytes;
        const uint64_t last = std::min<uint64_t>(shape.rows, uint64_t(end) * kTileRows) * row_bytes;
        const Status status = retile(source.subspan(first, last - first), begin, end);
        ASSERT_TRUE(status) << status.error().message;
        begin = end;
    }
}

TileShape random_shape(Rng& rng, WeightKind kind, uint32_t group) {
    return {{kind, group}, uint32_t(1 + rng.below(70)), uint32_t(1 + rng.below(500))};
}

// Goal: float weights of every source type land at [block][column][16 rows], widened exactly,
// padding rows zero. Method: random shapes and finite bit patterns; each cell looked up by the
// layout's definition.
TEST(Retile, PlacesFloats) {
    Rng rng(1);
    struct Case {
        DType source;
        WeightKind kind;
    };
    for (const Case c : {Case{DType::f32, WeightKind::f32}, Case{DType::bf16, WeightKind::f32},
                         Case{DType::f16, WeightKind::f32}, Case{DType::bf16, WeightKind::bf16}})
        for (int round = 0; round < 12; ++round) {
            const TileShape shape = random_shape(rng, c.kind, 0);
            const uint32_t width = size_bytes(c.source);
            auto source = random_bytes(rng, uint64_t(shape.rows) * shape.columns * width);
            for (uint64_t i = width - 1; i < source.size(); i += width)
                source[i] &= std::byte{0xBB};  // no exponent of ones
            const AlignedBuffer out = filled(shape);
            in_parts(rng, shape, uint64_t(shape.columns) * width, source,
                     [&](auto part, uint32_t begin, uint32_t end) {
                         return retile_float(shape, c.source, part, begin, end, out.data());
                     });
            for (uint32_t row = 0; row < shape.blocks() * 16; ++row)
                for (uint32_t k = 0; k < shape.columns; ++k) {
                    const uint64_t from = uint64_t(row) * shape.columns + k;
                    const uint64_t to = (uint64_t(row / 16) * shape.columns + k) * 16 + row % 16;
                    float expected = 0;
                    if (row < shape.rows) {
                        if (c.source == DType::f32) expected = read_at<float>(source.data(), from);
                        if (c.source == DType::bf16)
                            expected = bf16_to_f32(read_at<uint16_t>(source.data(), from));
                        if (c.source == DType::f16)
                            expected = f16_to_f32(read_at<uint16_t>(source.data(), from));
                    }
                    const float found = c.kind == WeightKind::f32
                                            ? read_at<float>(out.data(), to)
                                            : bf16_to_f32(read_at<uint16_t>(out.data(), to));
                    ASSERT_EQ(std::bit_cast<uint32_t>(found), std::bit_cast<uint32_t>(expected))
                        << row << ' ' << k;
                }
        }
}

// Goal: FP8 codes land at [block][column][16 rows], int8 at [block][quad][16 rows][4 columns],
// zeros in the padding. Method: random shapes and bytes; each cell looked up by the layout's
// definition.
TEST(Retile, PlacesBytes) {
    Rng rng(2);
    for (const WeightKind kind : {WeightKind::fp8, WeightKind::int8})
        for (const uint32_t group : {0U, 32U, 128U})
            for (int round = 0; round < 12; ++round) {
                if (kind == WeightKind::fp8 && group == 0) continue;
                const TileShape shape = random_shape(rng, kind, group);
                auto source = random_bytes(rng, uint64_t(shape.rows) * shape.columns);
                if (kind == WeightKind::fp8)
                    for (std::byte& code : source)
                        if ((code & std::byte{0x7F}) == std::byte{0x7F}) code = std::byte{0x11};
                const AlignedBuffer out = filled(shape);
                in_parts(rng, shape, shape.columns, source,
                         [&](auto part, uint32_t begin, uint32_t end) {
                             return kind == WeightKind::fp8
                                        ? retile_fp8(shape, part, begin, end, out.data())
                                        : retile_int8(shape, part, begin, end, out.data());
                         });
                const uint32_t padded = shape.padded_columns();
                for (uint32_t row = 0; row < shape.blocks() * 16; ++row)
                    for (uint32_t k = 0; k < padded; ++k) {
                        const uint64_t quad = uint64_t(row / 16) * (padded / 4) + k / 4;
                        const uint64_t to = kind == WeightKind::fp8
                                                ? (uint64_t(row / 16) * padded + k) * 16 + row % 16
                                                : (quad * 16 + row % 16) * 4 + k % 4;
                        const bool exists = row < shape.rows && k < shape.columns;
                        const std::byte expected =
                            exists ? source[uint64_t(row) * shape.columns + k] : std::byte{0};
                        ASSERT_EQ(out.data()[to], expected) << row << ' ' << k;
                    }
                EXPECT_EQ(out.data()[shape.block_bytes() * shape.blocks()], std::byte{0xA5});
            }
}

// Goal: 4-bit and 2-bit rows land as nibbles value + 8, a group's first half low and its second
// half high. Method: random shapes with tails of every kind; the value of each cell by the
// packing's definition, 8 in the padding.
TEST(Retile, PlacesNibbles) {
    Rng rng(3);
    for (const uint32_t bits : {4U, 2U})
        for (const uint32_t group : {0U, 8U, 16U, 48U, 64U, 128U})
            for (int round = 0; round < 8; ++round) {
                const TileShape shape = random_shape(rng, WeightKind::int4, group);
                const uint32_t per_byte = 8 / bits;
                const uint32_t row_bytes = (shape.columns + per_byte - 1) / per_byte;
                const auto source = random_bytes(rng, uint64_t(shape.rows) * row_bytes);
                const AlignedBuffer out = filled(shape);
                in_parts(rng, shape, row_bytes, source,
                         [&](auto part, uint32_t begin, uint32_t end) {
                             return retile_int4(shape, bits, part, begin, end, out.data());
                         });
                const uint32_t width = group == 0 ? 256 : group;
                const uint32_t padded = shape.padded_columns();
                for (uint32_t row = 0; row < shape.blocks() * 16; ++row)
                    for (uint32_t k = 0; k < padded; ++k) {
                        const uint32_t first = k / width * width;
                        const uint32_t half = std::min(width, padded - first) / 2;
                        const uint32_t place = (k - first) % half;
                        const uint64_t to = uint64_t(row / 16) * padded * 8 + first * 8 +
                                            (place / 4 * 16 + row % 16) * 4 + place % 4;
                        const auto byte = uint32_t(out.data()[to]);
                        const int found = int(k - first < half ? byte % 16 : byte / 16) - 8;
                        int expected = 0;
                        if (row < shape.rows && k < shape.columns) {
                            const auto packed =
                                uint32_t(source[uint64_t(row) * row_bytes + k / per_byte]);
                            const uint32_t code = (packed >> (k % per_byte * bits)) % (1U << bits);
                            expected = int(code) - (bits == 4 ? 8 : 2);
                        }
                        ASSERT_EQ(found, expected)
                            << bits << ' ' << group << ' ' << row << ' ' << k;
                    }
                EXPECT_EQ(out.data()[shape.block_bytes() * shape.blocks()], std::byte{0xA5});
            }
}

// Goal: scales follow the source's grid, also when the matrix begins inside a block of rows;
// padding rows get 0. Method: per-row scales and 128-row blocks with an odd first row, each value
// looked up by the stated formula.
TEST(Retile, PlacesScales) {
    Rng rng(4);
    for (const uint32_t divisor : {1U, 128U})
        for (const uint32_t first_row : {0U, 100U, 575U}) {
            const TileShape shape{{WeightKind::fp8, 128}, 171, 300};
            const uint32_t source_groups = 5;  // wider than the matrix needs
            std::vector<float> source((first_row + 171 + divisor - 1) / divisor * source_groups);
            for (float& scale : source) scale = float(rng.uniform());
            const AlignedBuffer out = filled(shape);
            ASSERT_TRUE(
                retile_scales(shape, source, source_groups, first_row, divisor, out.data()));
            const MatrixView view{shape, out.data()};
            for (uint32_t row = 0; row < shape.blocks() * 16; ++row)
                for (uint32_t g = 0; g < 3; ++g) {
                    const float expected =
                        row < 171 ? source[(first_row + row) / divisor * source_groups + g] : 0.0F;
                    ASSERT_EQ(view.scale((row / 16 * 3 + g) * 16 + row % 16), expected);
                }
        }
}

// Goal: a value that is not finite stops the load and is named by row and column, wherever it
// stands. Method: one bad value at a random cell, for each source type; the message must hold both
// numbers.
TEST(Retile, NamesValuesThatAreNotFinite) {
    Rng rng(5);
    for (const DType type : {DType::f32, DType::bf16, DType::f16, DType::f8_e4m3})
        for (int round = 0; round < 20; ++round) {
            const bool fp8 = type == DType::f8_e4m3;
            const TileShape shape =
                random_shape(rng, fp8 ? WeightKind::fp8 : WeightKind::f32, fp8 ? 128 : 0);
            const uint32_t width = size_bytes(type);
            std::vector<std::byte> source(uint64_t(shape.rows) * shape.columns * width);
            const auto row = uint32_t(rng.below(shape.rows));
            const auto column = uint32_t(rng.below(shape.columns));
            const auto infinity = std::bit_cast<std::array<std::byte, 4>>(
                rng.below(2) == 0 ? std::numeric_limits<float>::infinity()
                                  : -std::numeric_limits<float>::infinity());
            std::byte* cell = source.data() + (uint64_t(row) * shape.columns + column) * width;
            if (type == DType::f32) std::memcpy(cell, infinity.data(), 4);
            if (type == DType::bf16) std::memcpy(cell, infinity.data() + 2, 2);
            if (type == DType::f16) cell[1] = std::byte{0xFC};
            if (fp8) *cell = std::byte(rng.below(2) == 0 ? 0x7F : 0xFF);
            const AlignedBuffer out = filled(shape);
            const Status status =
                fp8 ? retile_fp8(shape, source, 0, shape.blocks(), out.data())
                    : retile_float(shape, type, source, 0, shape.blocks(), out.data());
            ASSERT_FALSE(status);
            EXPECT_EQ(status.error().kind, ErrorKind::corrupt);
            EXPECT_NE(status.error().message.find("row " + std::to_string(row) + ", column " +
                                                  std::to_string(column) + ","),
                      std::string::npos)
                << status.error().message;
        }
}

// Goal: short sources and scales out of range or not finite are refused as corrupt, before any byte
// is read. Method: exactly sized sources minus one byte; a scale grid one row short; a NaN and an
// infinity among scales.
TEST(Retile, RefusesShortSourcesAndBadScales) {
    const TileShape fp8{{WeightKind::fp8, 128}, 20, 130};
    const TileShape int4{{WeightKind::int4, 64}, 20, 129};
    const AlignedBuffer out = filled({{WeightKind::f32, 0}, 20, 130});
    const std::vector<std::byte> bytes(20 * 130 * 4);
    const std::span<const std::byte> source(bytes);
    const auto expect_corrupt = [](const Status& status) {
        ASSERT_FALSE(status);
        EXPECT_EQ(status.error().kind, ErrorKind::corrupt);
    };
    expect_corrupt(retile_fp8(fp8, source.first(20 * 130 - 1), 0, 2, out.data()));
    expect_corrupt(retile_fp8(fp8, source.first(4 * 130 - 1), 1, 2, out.data()));
    EXPECT_TRUE(retile_fp8(fp8, source.first(4 * 130), 1, 2, out.data()));
    expect_corrupt(retile_int4(int4, 4, source.first(20 * 65 - 1), 0, 2, out.data()));
    expect_corrupt(retile_int4(int4, 2, source.first(20 * 33 - 1), 0, 2, out.data()));
    expect_corrupt(retile_int8({{WeightKind::int8, 0}, 20, 130}, {}, 0, 1, out.data()));
    expect_corrupt(retile_float({{WeightKind::f32, 0}, 20, 130}, DType::f32,
                                source.first(20 * 130 * 4 - 1), 0, 2, out.data()));

    std::vector<float> scales(20 * 2, 1.0F);
    EXPECT_TRUE(retile_scales(fp8, scales, 2, 0, 1, out.data()));
    expect_corrupt(retile_scales(fp8, std::span(scales).first(39), 2, 0, 1, out.data()));
    expect_corrupt(retile_scales(fp8, scales, 2, 1, 1, out.data()));
    expect_corrupt(retile_scales(fp8, scales, 1, 0, 1, out.data()));
    scales[39] = std::numeric_limits<float>::quiet_NaN();
    expect_corrupt(retile_scales(fp8, scales, 2, 0, 1, out.data()));
    scales[39] = -std::numeric_limits<float>::infinity();
    expect_corrupt(retile_scales(fp8, scales, 2, 0, 1, out.data()));
}

// Goal: formats have the names that messages and reports use.
// Method: one of each form.
TEST(WeightFormat, Names) {
    EXPECT_EQ(to_string(WeightFormat{WeightKind::int4, 64}), "int4-g64");
    EXPECT_EQ(to_string(WeightFormat{WeightKind::int8, 0}), "int8-row");
    EXPECT_EQ(to_string(WeightFormat{WeightKind::fp8, 128}), "fp8-g128");
    EXPECT_EQ(to_string(WeightFormat{WeightKind::bf16, 0}), "bf16");
    EXPECT_EQ(to_string(WeightFormat{WeightKind::f32, 0}), "f32");
}

// Goal: the sizes that planners and loaders compute are those of the layout's definition.
// Method: byte counts worked out by hand for each kind with a short last group.
TEST(TileShape, Sizes) {
    const TileShape bf16{{WeightKind::bf16, 0}, 33, 5};
    EXPECT_EQ(bf16.blocks(), 3U);
    EXPECT_EQ(bf16.block_bytes(), 5U * 16 * 2);
    EXPECT_EQ(bf16.data_bytes(), 512U);  // 480 rounded up to 64
    EXPECT_EQ(bf16.scale_bytes(), 0U);
    const TileShape row8{{WeightKind::int8, 0}, 16, 259};
    EXPECT_EQ(row8.groups(), 2U);
    EXPECT_EQ(row8.scale_groups(), 1U);
    EXPECT_EQ(row8.padded_columns(), 264U);
    EXPECT_EQ(row8.total_bytes(), 264U * 16 + 64);
    const TileShape int4{{WeightKind::int4, 64}, 17, 70};
    EXPECT_EQ(int4.groups(), 2U);
    EXPECT_EQ(int4.padded_columns(), 72U);
    EXPECT_EQ(int4.block_bytes(), 72U * 8);
    EXPECT_EQ(int4.data_bytes(), 1152U);
    EXPECT_EQ(int4.scale_bytes(), 2U * 2 * 64);
}

}  // namespace
}  // namespace colibri

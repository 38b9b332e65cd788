// Random matrices in both forms, row-major numbers and tile16 bytes, for the tests of the matrix
// products.
#pragma once

#include <cstring>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/rng.h"
#include "kernels/kernels.h"
#include "tensor/dtype.h"
#include "tensor/retile.h"

namespace colibri::testing {

struct TestMatrix {
    TileShape shape;
    std::vector<double> cells;  // [rows, columns], unscaled
    std::vector<float> scales;  // [rows, scale_groups]
    AlignedBuffer tiles;

    [[nodiscard]] MatrixView view() const { return {shape, tiles.data()}; }
    [[nodiscard]] double cell(uint32_t row, uint32_t column) const {
        return cells[uint64_t(row) * shape.columns + column];
    }
    [[nodiscard]] double scale(uint32_t row, uint32_t group) const {
        return shape.scale_groups() == 0
                   ? 1.0
                   : double(scales[uint64_t(row) * shape.scale_groups() + group]);
    }
};

// Source bytes of one row-major cell in the format's own encoding, extremes more often than chance.
inline uint32_t random_code(Rng& rng, WeightKind kind) {
    const uint64_t choice = rng.below(8);
    switch (kind) {
        case WeightKind::f32: {
            float value = float(rng.uniform() * 2 - 1);
            if (choice == 0) value *= 1e20F;
            if (choice == 1) value = std::bit_cast<float>(uint32_t(rng.below(1000)));  // subnormal
            return std::bit_cast<uint32_t>(value);
        }
        case WeightKind::bf16: return f32_to_bf16(float(rng.uniform() * 2 - 1) * 0.1F);
        case WeightKind::fp8: {
            const auto code = uint32_t(rng.below(256));
            return code % 128 == 127 ? 0x3C : code;
        }
        case WeightKind::int8:
            if (choice == 0) return 0x80;  // -128
            if (choice == 1) return 0x7F;
            return uint32_t(rng.below(256));
        case WeightKind::int4: return choice == 0 ? 0 : uint32_t(rng.below(16));
        case WeightKind::int2: return uint32_t(rng.below(4));
    }
    return 0;
}

inline double decode(WeightKind kind, uint32_t code) {
    switch (kind) {
        case WeightKind::f32: return double(std::bit_cast<float>(code));
        case WeightKind::bf16: return double(bf16_to_f32(uint16_t(code)));
        case WeightKind::fp8: return double(f8_e4m3_to_f32(uint8_t(code)));
        case WeightKind::int8: return double(int8_t(code));
        case WeightKind::int4: return double(code) - 8;
        case WeightKind::int2: return double(code) - 2;
    }
    return 0;
}

inline Status retile(const TileShape& shape, std::span<const std::byte> source, std::byte* out) {
    const uint32_t blocks = shape.blocks();
    switch (shape.format.kind) {
        case WeightKind::f32: return retile_float(shape, DType::f32, source, 0, blocks, out);
        case WeightKind::bf16: return retile_float(shape, DType::bf16, source, 0, blocks, out);
        case WeightKind::fp8: return retile_fp8(shape, source, 0, blocks, out);
        case WeightKind::int8: return retile_int8(shape, source, 0, blocks, out);
        case WeightKind::int4: return retile_int4(shape, 4, source, 0, blocks, out);
        case WeightKind::int2: return retile_int2(shape, source, 0, blocks, out);
    }
    return {};
}

// About one row in nine is all zeros.
inline TestMatrix random_matrix(Rng& rng, WeightFormat format, uint32_t rows, uint32_t columns) {
    const TileShape shape{format, rows, columns};
    TestMatrix matrix{.shape = shape,
                      .cells = std::vector<double>(uint64_t(rows) * columns),
                      .scales = std::vector<float>(uint64_t(rows) * shape.scale_groups()),
                      .tiles = AlignedBuffer::allocate(shape.total_bytes() + 64).value()};
    const WeightKind kind = format.kind;
    const uint32_t width = kind == WeightKind::f32 ? 4 : kind == WeightKind::bf16 ? 2 : 1;
    const uint32_t bits = kind == WeightKind::int4 ? 4 : kind == WeightKind::int2 ? 2 : 0;
    const uint32_t row_bytes = bits != 0 ? ceil_div(columns, 8 / bits) : columns * width;
    std::vector<std::byte> source(uint64_t(rows) * row_bytes);
    for (uint32_t r = 0; r < rows; ++r) {
        const bool zero_row = rng.below(9) == 0;
        std::byte* row = source.data() + uint64_t(r) * row_bytes;
        for (uint32_t k = 0; k < columns; ++k) {
            const uint32_t zero = bits == 0 ? 0 : 1U << (bits - 1);
            const uint32_t code = zero_row ? zero : random_code(rng, kind);
            matrix.cells[uint64_t(r) * columns + k] = decode(kind, code);
            if (bits != 0) {
                row[k * bits / 8] |= std::byte(code << (k * bits % 8));
            } else {
                std::memcpy(row + uint64_t(k) * width, &code, width);
            }
        }
    }
    for (float& scale : matrix.scales) {
        scale = float(rng.uniform() * 0.02 + 0.001);
        if (format.scales != ScaleType::f16) continue;
        if (rng.below(4) == 0) scale *= 0x1p-12F;  // subnormal in 16 bits
        scale = f16_to_f32(f32_to_f16(scale));
    }
    TileShape filled = shape;
    Status status = retile(filled, source, matrix.tiles.data());
    if (status)
        status =
            retile_scales(shape, matrix.scales, shape.scale_groups(), 0, 1, matrix.tiles.data());
    matrix.shape.rows = status ? rows : 0;  // a failed retile shows as an empty matrix
    return matrix;
}

// Activation rows; now and then a huge or a subnormal value, or a row of zeros.
inline std::vector<float> random_activations(Rng& rng, uint32_t row_count, uint32_t stride) {
    std::vector<float> values(uint64_t(row_count) * stride);
    for (uint32_t r = 0; r < row_count; ++r) {
        const uint64_t choice = rng.below(10);
        for (uint32_t k = 0; k < stride; ++k) {
            float value = float(rng.uniform() * 2 - 1);
            if (choice == 0) value = 0;
            if (choice == 1 && rng.below(50) == 0) value *= 1e15F;
            if (choice == 2) value *= 0x1p-140F;
            if (choice == 4 && rng.below(60) == 0) value *= 0x1p121F;
            if (choice == 3) value = value < 0 ? -0.75F : 0.75F;  // quantizes to +-127 only
            values[uint64_t(r) * stride + k] = value;
        }
    }
    return values;
}

// Quantized activation rows that own their arrays.
struct TestQuantized {
    std::vector<int8_t> values;
    std::vector<float> scales;
    std::vector<int32_t> sums;
    uint32_t value_stride = 0;
    uint32_t group_stride = 0;

    [[nodiscard]] QuantizedRows rows() const {
        return {values.data(), scales.data(), sums.data(), value_stride, group_stride};
    }
};

inline TestQuantized quantize_rows(const Kernels& table, const TileShape& shape,
                                   const std::vector<float>& x, uint32_t row_count,
                                   uint32_t stride) {
    TestQuantized q;
    q.value_stride = shape.padded_columns() + 5;
    q.group_stride = shape.groups() + 3;
    q.values.assign(uint64_t(row_count) * q.value_stride, 77);
    q.scales.resize(uint64_t(row_count) * q.group_stride);
    q.sums.resize(uint64_t(row_count) * q.group_stride);
    for (uint32_t r = 0; r < row_count; ++r)
        (void)table.quantize(x.data() + uint64_t(r) * stride, shape.columns, shape.group_columns(),
                             shape.padded_columns(), q.values.data() + uint64_t(r) * q.value_stride,
                             q.scales.data() + uint64_t(r) * q.group_stride,
                             q.sums.data() + uint64_t(r) * q.group_stride);
    return q;
}

}  // namespace colibri::testing

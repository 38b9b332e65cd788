// Matrix products as plain loops in the order that the numeric contract fixes: the truth for every
// other table.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/entries.h"
#include "tensor/dtype.h"

namespace colibri::reference {

namespace {

int32_t byte_at(const std::byte* data, uint64_t offset) {
    return int32_t(int8_t(data[offset]));
}

int32_t int8_cell(const std::byte* block, uint32_t lane, uint32_t column) {
    return byte_at(block, (uint64_t(column / 4) * kTileRows + lane) * 4 + column % 4);
}

// A byte holds one column of each half (int4) or quarter (int2) of its group, lowest bits first.
int32_t packed_cell(const TileShape& shape, const std::byte* block, uint32_t lane,
                    uint32_t column) {
    const uint32_t group = shape.group_columns();
    const uint32_t first = column / group * group;
    const uint32_t bits = shape.format.kind == WeightKind::int4 ? 4 : 2;
    const uint32_t parts = 8 / bits;
    const uint32_t part_columns = std::min(group, shape.padded_columns() - first) / parts;
    // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): `column` lies before padded_columns()
    const uint32_t part = (column - first) / part_columns;
    const uint32_t place = (column - first) % part_columns;
    const uint64_t offset = uint64_t(first) / parts * kTileRows +
                            (uint64_t(place / 4) * kTileRows + lane) * 4 + place % 4;
    const uint32_t code = uint32_t(block[offset]) >> (part * bits) & ((1U << bits) - 1);
    return int32_t(code) - (1 << (bits - 1));
}

int32_t integer_cell(const TileShape& shape, const std::byte* block, uint32_t lane,
                     uint32_t column) {
    return shape.format.kind == WeightKind::int8 ? int8_cell(block, lane, column)
                                                 : packed_cell(shape, block, lane, column);
}

// The value of a cell, before any scale.
float cell(const MatrixView& weights, uint32_t block, uint32_t lane, uint32_t column) {
    const TileShape& shape = weights.shape;
    const std::byte* data = weights.data + shape.block_bytes() * block;
    const uint64_t index = uint64_t(column) * kTileRows + lane;
    switch (shape.format.kind) {
        case WeightKind::f32: {
            float value = 0;
            std::memcpy(&value, data + index * 4, sizeof value);
            return value;
        }
        case WeightKind::bf16: {
            uint16_t bits = 0;
            std::memcpy(&bits, data + index * 2, sizeof bits);
            return bf16_to_f32(bits);
        }
        case WeightKind::fp8: return f8_e4m3_to_f32(uint8_t(data[index]));
        case WeightKind::int8:
        case WeightKind::int4:
        case WeightKind::int2: return float(integer_cell(shape, data, lane, column));
    }
    return 0;
}

// One scale per row lies in group 0 whatever the column.
float scale_of(const MatrixView& weights, uint32_t block, uint32_t lane, uint32_t group) {
    const uint32_t groups = weights.shape.scale_groups();
    if (groups == 0) return 1.0F;
    return weights.scale((uint64_t(block) * groups + group) * kTileRows + lane);
}

template <class Output>
void each_output(const MatrixView& weights, uint32_t row_count, OutputRows y, uint32_t block_begin,
                 uint32_t block_end, Output output) {
    for (uint32_t block = block_begin; block < block_end; ++block)
        for (uint32_t lane = 0; lane < kTileRows; ++lane) {
            const uint32_t out = block * kTileRows + lane;
            if (out >= weights.shape.rows) return;
            for (uint32_t row = 0; row < row_count; ++row)
                y.values[uint64_t(row) * y.stride + out] = output(block, lane, row);
        }
}

void float_product(const MatrixView& weights, FloatRows x, uint32_t row_count, OutputRows y,
                   uint32_t block_begin, uint32_t block_end) {
    const uint32_t columns = weights.shape.columns;
    const uint32_t group = weights.shape.format.group != 0 ? weights.shape.format.group : columns;
    each_output(weights, row_count, y, block_begin, block_end,
                [&](uint32_t block, uint32_t lane, uint32_t row) {
                    const float* values = x.values + uint64_t(row) * x.stride;
                    float acc = 0;
                    for (uint32_t begin = 0, g = 0; begin < columns; begin += group, ++g) {
                        const uint32_t end = std::min(columns, begin + group);
                        float p = 0;
                        for (uint32_t k = begin; k < end; ++k)
                            p = std::fma(cell(weights, block, lane, k), values[k], p);
                        acc = std::fma(p, scale_of(weights, block, lane, g), acc);
                    }
                    return acc;
                });
}

void column_scaled(const MatrixView& weights, const float* column_scales, FloatRows x,
                   uint32_t row_count, OutputRows y, uint32_t block_begin, uint32_t block_end) {
    const uint32_t columns = weights.shape.columns;
    const bool is_fp8 = weights.shape.format.kind == WeightKind::fp8;
    each_output(weights, row_count, y, block_begin, block_end,
                [&](uint32_t block, uint32_t lane, uint32_t row) {
                    const float* values = x.values + uint64_t(row) * x.stride;
                    const uint64_t first = uint64_t(block) * columns;
                    float acc = 0;
                    for (uint32_t k = 0; k < columns; ++k) {
                        const uint64_t offset = (first + k) * kTileRows + lane;
                        const float q = is_fp8 ? f8_e4m3_to_f32(uint8_t(weights.data[offset]))
                                               : float(byte_at(weights.data, offset));
                        const float w = q * column_scales[first + k];
                        acc = std::fma(w, values[k], acc);
                    }
                    return acc;
                });
}

void integer_product(const MatrixView& weights, QuantizedRows x, uint32_t row_count, OutputRows y,
                     uint32_t block_begin, uint32_t block_end) {
    const TileShape& shape = weights.shape;
    const bool per_row = shape.format.group == 0;
    const uint32_t group = shape.group_columns();
    each_output(weights, row_count, y, block_begin, block_end,
                [&](uint32_t block, uint32_t lane, uint32_t row) {
                    const std::byte* data = weights.data + shape.block_bytes() * block;
                    const int8_t* values = x.values + uint64_t(row) * x.value_stride;
                    const float* scales = x.scales + uint64_t(row) * x.group_stride;
                    float acc = 0;
                    for (uint32_t g = 0; g < shape.groups(); ++g) {
                        const uint32_t end = std::min(shape.padded_columns(), (g + 1) * group);
                        int32_t isum = 0;
                        for (uint32_t k = g * group; k < end; ++k)
                            isum += integer_cell(shape, data, lane, k) * int32_t(values[k]);
                        const float scale =
                            per_row ? scales[g] : scale_of(weights, block, lane, g) * scales[g];
                        acc = std::fma(float(isum), scale, acc);
                    }
                    return per_row ? acc * scale_of(weights, block, lane, 0) : acc;
                });
}

}  // namespace

void set_float_product_entries(Kernels& table) {
    table.float_product.fill(float_product);
    table.fp8_column_scaled = column_scaled;
    table.int8_column_scaled = column_scaled;
}

void set_integer_product_entries(Kernels& table) {
    for (const WeightKind kind : {WeightKind::int8, WeightKind::int4, WeightKind::int2})
        table.integer_product[size_t(kind)] = integer_product;
}

}  // namespace colibri::reference

// Float path of the matrix products, written once for every instruction set (S = its Simd).
//
// A tile of kBlocks row blocks by kRows activation rows shares each decoded weight vector and each
// broadcast activation; its partial sums are the fma chains of the numeric contract, so tiling
// cannot change a bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/kernels.h"

namespace colibri::generic {

// Four neighboring columns of a block, each as sixteen floats: how a kind stores them.
template <class S, WeightKind kKind, bool kHighNibbles = false>
struct Quad;

template <class S>
struct Quad<S, WeightKind::f32> {
    static constexpr size_t kBytes = 256;
    template <int kColumn>
    COLIBRI_SIMD typename S::Float column(const std::byte* quad) {
        return S::load(reinterpret_cast<const float*>(quad) + kColumn * S::kLanes);
    }
};

template <class S>
struct Quad<S, WeightKind::bf16> {
    static constexpr size_t kBytes = 128;
    template <int kColumn>
    COLIBRI_SIMD typename S::Float column(const std::byte* quad) {
        return S::load_bf16(quad + kColumn * 2 * S::kLanes);
    }
};

template <class S>
struct Quad<S, WeightKind::fp8> {
    static constexpr size_t kBytes = 64;
    template <int kColumn>
    COLIBRI_SIMD typename S::Float column(const std::byte* quad) {
        return S::load_fp8(quad + kColumn * S::kLanes);
    }
};

template <class S>
struct Quad<S, WeightKind::int8> {
    static constexpr size_t kBytes = 64;
    template <int kColumn>
    COLIBRI_SIMD typename S::Float column(const std::byte* quad) {
        const typename S::Int high = S::template shift_left<24 - 8 * kColumn>(S::load_int(quad));
        return S::to_float(S::template shift_right_signed<24>(high));
    }
};

template <class S, bool kHighNibbles>
struct Quad<S, WeightKind::int4, kHighNibbles> {
    static constexpr size_t kBytes = 64;
    template <int kColumn>
    COLIBRI_SIMD typename S::Float column(const std::byte* quad) {
        constexpr int kShift = 8 * kColumn + (kHighNibbles ? 4 : 0);
        const typename S::Int nibble =
            S::and_bits(S::template shift_right<kShift>(S::load_int(quad)), S::broadcast_int(15));
        return S::to_float(S::sub_int(nibble, S::broadcast_int(8)));
    }
};

// int8 stored one byte a cell, in the order of fp8 (column-scaled matrices only).
template <class S>
struct ByteCells {
    static constexpr size_t kBytes = 64;
    template <int kColumn>
    COLIBRI_SIMD typename S::Float column(const std::byte* quad) {
        return S::load_int8(quad + kColumn * S::kLanes);
    }
};

// Neighboring columns that one loop walks.
struct Run {
    const std::byte* weights;  // first quad of the first block
    size_t block_stride;       // bytes from a block to the next
    const float* x;            // the first column's activation of the first row
    size_t x_stride;           // floats from a row to the next
    uint32_t columns;
    const float* column_scales;  // one per column of the first block, or null
    size_t scale_stride;         // floats from a block's column scales to the next block's
};

template <class S, class Q, int kBlocks, int kRows, bool kColumnScales, int kColumn>
COLIBRI_SIMD void add_column(const Run& run, const std::byte* quad, const float* x,
                             const float* scales, typename S::Float (&sums)[kBlocks][kRows]) {
    typename S::Float weights[kBlocks];
#pragma GCC unroll 8
    for (int b = 0; b < kBlocks; ++b) {
        weights[b] = Q::template column<kColumn>(quad + size_t(b) * run.block_stride);
        if constexpr (kColumnScales)
            weights[b] =
                S::mul(weights[b], S::broadcast(scales[size_t(b) * run.scale_stride + kColumn]));
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
        const typename S::Float value = S::broadcast(x[size_t(r) * run.x_stride + kColumn]);
#pragma GCC unroll 8
        for (int b = 0; b < kBlocks; ++b) sums[b][r] = S::fma(weights[b], value, sums[b][r]);
    }
}

// partial[(b * kRows + r) * 16 + lane] continues its chain over the run's columns.
template <class S, class Q, int kBlocks, int kRows, bool kColumnScales>
[[gnu::noinline]] void add_run(const Run& given, float* partial) {
    const Run run = given;
    typename S::Float sums[kBlocks][kRows];
#pragma GCC unroll 8
    for (int b = 0; b < kBlocks; ++b)
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r)
            sums[b][r] = S::load(partial + size_t(b * kRows + r) * S::kLanes);

    const std::byte* quad = run.weights;
    const float* x = run.x;
    const float* scales = run.column_scales;
    for (uint32_t left = run.columns / 4; left != 0; --left) {
        add_column<S, Q, kBlocks, kRows, kColumnScales, 0>(run, quad, x, scales, sums);
        add_column<S, Q, kBlocks, kRows, kColumnScales, 1>(run, quad, x, scales, sums);
        add_column<S, Q, kBlocks, kRows, kColumnScales, 2>(run, quad, x, scales, sums);
        add_column<S, Q, kBlocks, kRows, kColumnScales, 3>(run, quad, x, scales, sums);
        quad += Q::kBytes;
        x += 4;
        if constexpr (kColumnScales) scales += 4;
    }
    const uint32_t tail = run.columns % 4;
    if (tail > 0) add_column<S, Q, kBlocks, kRows, kColumnScales, 0>(run, quad, x, scales, sums);
    if (tail > 1) add_column<S, Q, kBlocks, kRows, kColumnScales, 1>(run, quad, x, scales, sums);
    if (tail > 2) add_column<S, Q, kBlocks, kRows, kColumnScales, 2>(run, quad, x, scales, sums);

#pragma GCC unroll 8
    for (int b = 0; b < kBlocks; ++b)
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r)
            S::store(partial + size_t(b * kRows + r) * S::kLanes, sums[b][r]);
}

// Blocks that a tile of `rows` rows can keep in registers beside its weights and one activation.
template <class S>
constexpr int float_tile_blocks(int rows) {
    const int vectors = int(S::kRegisters / S::kRegistersPerVector);
    if (rows == 1) return vectors >= 32 ? 8 : 4;
    for (const int blocks : {4, 2})
        if (blocks * rows + blocks + 1 <= vectors) return blocks;
    return 1;
}

// A product cut into strips of blocks, so that a strip's weights stay in the cache while all rows
// pass over it.
struct FloatTask {
    const MatrixView* weights;
    const float* column_scales;
    FloatRows x;
    uint32_t row_count;
    OutputRows y;
    uint32_t block_begin;
    uint32_t block_end;
};

template <class S, WeightKind kKind, bool kColumnScales, int kRows>
class FloatTile {
    // Each partial sum of a strip waits in memory between runs; a run is long enough to hide that.
    static constexpr int kBlocks = float_tile_blocks<S>(kRows);
    static constexpr uint32_t kRunColumns = 256;
    // Rows of a power-of-two length would all fall into one set of the first cache; copies with
    // this stride do not.
    static constexpr uint32_t kCopyStride = kRunColumns + 16;
    static constexpr uint32_t kLanes = kTileRows;

public:
    static constexpr uint32_t kStripBlocks = kRows == 1 ? 8 : 4;

    FloatTile(const FloatTask& task, uint32_t row, uint32_t block_begin, uint32_t block_end)
        : task_(task), row_(row), begin_(block_begin), count_(block_end - block_begin) {}

    void compute() {
        const TileShape& shape = task_.weights->shape;
        const uint32_t columns = shape.columns;
        const uint32_t group =
            shape.format.group != 0 && !kColumnScales ? shape.format.group : columns;
        for (uint32_t i = 0; i < count_ * kRows; ++i) S::store(acc_ + i * kLanes, S::zero());
        for (uint32_t begin = 0, g = 0; begin < columns; begin += group, ++g) {
            const uint32_t end = columns - begin < group ? columns : begin + group;
            for (uint32_t i = 0; i < count_ * kRows; ++i)
                S::store(partial_ + i * kLanes, S::zero());
            add_columns(begin, end);
            flush(g);
        }
        store();
    }

private:
    void add_columns(uint32_t begin, uint32_t end) {
        if constexpr (kKind == WeightKind::int4 && !kColumnScales) {
            add_nibble_columns(begin, end);
        } else {
            using Q = std::conditional_t<kKind == WeightKind::int8 && kColumnScales, ByteCells<S>,
                                         Quad<S, kKind>>;
            add_span<Q>(begin, end, size_t(begin) * (Q::kBytes / 4));
        }
    }

    // One scale may cover several groups of nibbles (row formats); each is its low half, then its
    // high half.
    void add_nibble_columns(uint32_t begin, uint32_t end) {
        const TileShape& shape = task_.weights->shape;
        const uint32_t group = shape.group_columns();
        const uint32_t padded = shape.padded_columns();
        for (uint32_t first = begin; first < end; first += group) {
            const uint32_t half = (padded - first < group ? padded - first : group) / 2;
            const uint32_t middle = first + half < end ? first + half : end;
            const uint32_t last = end - first < group ? end : first + group;
            const size_t offset = size_t(first) * kTileRows / 2;
            add_span<Quad<S, WeightKind::int4, false>>(first, middle, offset);
            add_span<Quad<S, WeightKind::int4, true>>(middle, last, offset);
        }
    }

    // Columns [begin, end), stored one after the other from `offset` in each block.
    template <class Q>
    void add_span(uint32_t begin, uint32_t end, size_t offset) {
        const uint32_t step = kRows == 1 ? end - begin : kRunColumns;
        for (uint32_t k = begin; k < end; k += step) {
            const uint32_t columns = end - k < step ? end - k : step;
            const float* x = task_.x.values + size_t(row_) * task_.x.stride + k;
            Run run{.weights = nullptr,
                    .block_stride = block_stride(),
                    .x = x,
                    .x_stride = kCopyStride,
                    .columns = columns,
                    .column_scales = nullptr,
                    .scale_stride = task_.weights->shape.columns};
            if constexpr (kRows > 1) {
                copy_rows(x, columns);
                run.x = copy_;
            }
            for (uint32_t b = 0; b < count_;) {
                run.weights = task_.weights->data + size_t(begin_ + b) * run.block_stride + offset +
                              size_t(k - begin) * (Q::kBytes / 4);
                if constexpr (kColumnScales)
                    run.column_scales =
                        task_.column_scales + size_t(begin_ + b) * run.scale_stride + k;
                float* partial = partial_ + size_t(b) * kRows * kLanes;
                if (count_ - b >= uint32_t(kBlocks)) {
                    add_run<S, Q, kBlocks, kRows, kColumnScales>(run, partial);
                    b += kBlocks;
                } else {
                    add_run<S, Q, 1, kRows, kColumnScales>(run, partial);
                    b += 1;
                }
            }
        }
    }

    [[nodiscard]] size_t block_stride() const {
        if constexpr (kColumnScales) return size_t(task_.weights->shape.columns) * kTileRows;
        return task_.weights->shape.block_bytes();
    }

    void copy_rows(const float* x, uint32_t columns) {
        for (uint32_t r = 0; r < uint32_t(kRows); ++r) {
            const float* from = x + size_t(r) * task_.x.stride;
            float* to = copy_ + r * kCopyStride;
            uint32_t k = 0;
            for (; k + S::kLanes <= columns; k += S::kLanes) S::store(to + k, S::load(from + k));
            if (k < columns) S::store(to + k, S::load_tail(from + k, columns - k));
        }
    }

    void flush(uint32_t group) {
        const MatrixView& weights = *task_.weights;
        const uint32_t groups = kColumnScales ? 0 : weights.shape.scale_groups();
        for (uint32_t b = 0; b < count_; ++b) {
            const size_t place = (size_t(begin_ + b) * groups + group) * kTileRows;
            const auto scale = groups == 0 ? S::broadcast(1.0F) : S::load(weights.scales() + place);
            for (uint32_t r = 0; r < uint32_t(kRows); ++r) {
                const size_t i = size_t(b * kRows + r) * kLanes;
                S::store(acc_ + i, S::fma(S::load(partial_ + i), scale, S::load(acc_ + i)));
            }
        }
    }

    void store() {
        for (uint32_t b = 0; b < count_; ++b) {
            const uint32_t first = (begin_ + b) * kTileRows;
            const uint32_t left = task_.weights->shape.rows - first;
            for (uint32_t r = 0; r < uint32_t(kRows); ++r) {
                float* y = task_.y.values + size_t(row_ + r) * task_.y.stride + first;
                const auto value = S::load(acc_ + size_t(b * kRows + r) * kLanes);
                if (left >= kLanes) {
                    S::store(y, value);
                } else {
                    S::store_tail(y, value, left);
                }
            }
        }
    }

    const FloatTask& task_;
    uint32_t row_;
    uint32_t begin_;
    uint32_t count_;
    alignas(64) float partial_[kStripBlocks * kRows * kLanes];
    alignas(64) float acc_[kStripBlocks * kRows * kLanes];
    alignas(64) float copy_[kRows > 1 ? kRows* kCopyStride : 1];
};

// All whole tiles of kRows rows from `row` on; returns the first row that is left.
template <class S, WeightKind kKind, bool kColumnScales, int kRows>
COLIBRI_SIMD uint32_t float_tiles(const FloatTask& task, uint32_t row, uint32_t begin,
                                  uint32_t end) {
    if constexpr (kRows + 2 <= int(S::kRegisters / S::kRegistersPerVector)) {
        using Tile = FloatTile<S, kKind, kColumnScales, kRows>;
        for (; task.row_count - row >= uint32_t(kRows); row += kRows)
            for (uint32_t b = begin; b < end; b += Tile::kStripBlocks)
                Tile(task, row, b, end - b < Tile::kStripBlocks ? end : b + Tile::kStripBlocks)
                    .compute();
    }
    return row;
}

template <class S, WeightKind kKind, bool kColumnScales>
void float_task(const FloatTask& task) {
    const uint32_t strip = task.row_count == 1 ? 8 : 4;
    for (uint32_t begin = task.block_begin; begin < task.block_end; begin += strip) {
        const uint32_t end = task.block_end - begin < strip ? task.block_end : begin + strip;
        uint32_t row = 0;
        row = float_tiles<S, kKind, kColumnScales, 12>(task, row, begin, end);
        row = float_tiles<S, kKind, kColumnScales, 8>(task, row, begin, end);
        row = float_tiles<S, kKind, kColumnScales, 6>(task, row, begin, end);
        row = float_tiles<S, kKind, kColumnScales, 4>(task, row, begin, end);
        row = float_tiles<S, kKind, kColumnScales, 3>(task, row, begin, end);
        row = float_tiles<S, kKind, kColumnScales, 2>(task, row, begin, end);
        float_tiles<S, kKind, kColumnScales, 1>(task, row, begin, end);
    }
}

template <class S, WeightKind kKind>
void float_product(const MatrixView& weights, FloatRows x, uint32_t row_count, OutputRows y,
                   uint32_t block_begin, uint32_t block_end) {
    float_task<S, kKind, false>({&weights, nullptr, x, row_count, y, block_begin, block_end});
}

template <class S, WeightKind kKind>
void column_scaled_product(const MatrixView& weights, const float* column_scales, FloatRows x,
                           uint32_t row_count, OutputRows y, uint32_t block_begin,
                           uint32_t block_end) {
    float_task<S, kKind, true>({&weights, column_scales, x, row_count, y, block_begin, block_end});
}

}  // namespace colibri::generic

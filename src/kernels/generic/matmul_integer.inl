// Integer path of the matrix products, written once for every instruction set (S = its Simd).
//
// Integer sums of a group are exact, so their order is free; each group's sum then joins its
// output's one float chain.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/generic/scales.h"
#include "kernels/generic/unroll.h"
#include "kernels/kernels.h"

namespace colibri::generic {

template <class S>
constexpr int integer_tile_blocks(int rows) {
    // One row reads every weight once, as two long streams: integer_row(). More rows find the
    // weights in the cache and want them in registers.
    if (rows == 1) return 1;
    return S::kRegisters / S::kRegistersPerVector >= 32 ? 4 : 1;
}

template <class S>
constexpr int kIntegerRowsMax = S::kRegisters / S::kRegistersPerVector >= 32 ? 6 : 4;

struct IntegerTask {
    const MatrixView* weights;
    QuantizedRows x;
    uint32_t row_count;
    OutputRows y;
};

// kBlocks row blocks, `distance` apart, by kRows activation rows.
template <class S, WeightKind kKind, int kBlocks, int kRows>
class IntegerTile {
    using Float = typename S::Float;
    using Int = typename S::Int;
    // Columns that a byte holds.
    static constexpr int kParts = kKind == WeightKind::int4 ? 2 : kKind == WeightKind::int2 ? 4 : 1;
    // What one unit of activation adds to a sum beyond its product with the weight.
    static constexpr int32_t kOffset = kParts == 2 ? 8 : kParts == 4 ? 2 : S::kInt8Offset;
    // Sums side by side for one output, so that one need not wait for the other.
    static constexpr int kChains = kBlocks * kRows == 1 ? 2 : 1;
    // Within the first-level cache: the blocks of a tile are streams too short for the processor's
    // own prefetching. That serves the long streams of one row best when it is left alone.
    static constexpr size_t kAheadBytes = kRows == 1 ? 0 : 256;

public:
    IntegerTile(const IntegerTask& task, uint32_t row, uint32_t block, uint32_t distance)
        : task_(task),
          shape_(task.weights->shape),
          block_(block),
          distance_(distance),
          block_stride_(size_t(shape_.block_bytes()) * distance),
          data_(task.weights->data + size_t(shape_.block_bytes()) * block),
          values_(task.x.values + size_t(row) * task.x.value_stride),
          scales_(task.x.scales + size_t(row) * task.x.group_stride),
          sums_(task.x.sums + size_t(row) * task.x.group_stride),
          y_(task.y.values + size_t(row) * task.y.stride) {}

    void compute() {
        if (shape_.format.group == 0) {
            compute_chain<true>();
        } else {
            compute_chain<false>();
        }
    }

private:
    template <bool kPerRow>
    [[gnu::always_inline]] void compute_chain() const {
        Float acc[kBlocks][kRows];
        each_cell([&](auto b, auto r) COLIBRI_STEP { acc[b][r] = S::zero(); });
        const uint32_t columns = shape_.padded_columns();
        const uint32_t group = shape_.group_columns();
        for (uint32_t begin = 0, g = 0; begin < columns; begin += group, ++g) {
            const uint32_t width = columns - begin < group ? columns - begin : group;
            Int isum[kBlocks][kRows];
            each_cell([&](auto b, auto r) COLIBRI_STEP {
                isum[b][r] = kOffset == 0 ? S::zero_int()
                                          : S::broadcast_int(-kOffset * sums_[group_place(r, g)]);
            });
            if constexpr (kParts > 1) {
                add_packed(begin, width, isum);
            } else {
                add_bytes(begin, width, isum);
            }
            fold<kPerRow>(g, isum, acc);
        }
        each_cell([&](auto b, auto r) COLIBRI_STEP { store<kPerRow>(b, r, acc[b][r]); });
    }

    template <class Step>
    [[gnu::always_inline]] static void each_cell(Step step) {
        unroll<kBlocks>(
            [&](auto b) COLIBRI_STEP { unroll<kRows>([&](auto r) COLIBRI_STEP { step(b, r); }); });
    }

    [[gnu::always_inline]] static void prefetch(const std::byte* weights) {
        if constexpr (kAheadBytes != 0) __builtin_prefetch(weights + kAheadBytes, 0, 3);
    }

    [[gnu::always_inline]] void add_bytes(uint32_t begin, uint32_t width,
                                          Int (&isum)[kBlocks][kRows]) const {
        const std::byte* quad = data_ + size_t(begin) * kTileRows;
        const int8_t* values = values_ + begin;
        uint32_t left = width / 4;
        if constexpr (kChains == 2) {
            Int second[kBlocks][kRows] = {{S::zero_int()}};
            for (; left >= 2; left -= 2) {
                add_quad(quad, values, isum);
                add_quad(quad + 64, values + 4, second);
                quad += 128;
                values += 8;
            }
            isum[0][0] = S::add_int(isum[0][0], second[0][0]);
        }
        for (; left != 0; --left) {
            add_quad(quad, values, isum);
            quad += 64;
            values += 4;
        }
    }

    [[gnu::always_inline]] void add_quad(const std::byte* quad, const int8_t* values,
                                         Int (&isum)[kBlocks][kRows]) const {
        typename S::Bytes weights[kBlocks];
        unroll<kBlocks>([&](auto b) COLIBRI_STEP {
            weights[b] = S::load_int8_weights(quad + size_t(b) * block_stride_);
            prefetch(quad + size_t(b) * block_stride_);
        });
        unroll<kRows>([&](auto r) COLIBRI_STEP {
            const auto activations = S::broadcast_quad(values + value_place(r));
            unroll<kBlocks>([&](auto b) COLIBRI_STEP {
                isum[b][r] = S::dot_int8(isum[b][r], weights[b], activations);
            });
        });
    }

    // [even parts of the bytes, odd parts] or all in the first.
    using Partials = typename S::Partial[kChains][kBlocks][kRows];

    [[gnu::always_inline]] void add_packed(uint32_t begin, uint32_t width,
                                           Int (&isum)[kBlocks][kRows]) const {
        const uint32_t part_columns = width / kParts;
        const std::byte* bytes = data_ + size_t(begin) * kTileRows / kParts;
        const int8_t* values = values_ + begin;
        constexpr uint32_t kStepsMax = S::kPartialProducts / kParts;
        for (uint32_t left = part_columns / 4; left != 0;) {
            const uint32_t steps = left < kStepsMax ? left : kStepsMax;
            left -= steps;
            Partials partial;
            unroll<kChains>([&](auto c) COLIBRI_STEP {
                each_cell([&](auto b, auto r)
                              COLIBRI_STEP { partial[c][b][r] = S::zero_partial(); });
            });
            for (uint32_t i = 0; i < steps; ++i) {
                add_step(bytes, values, part_columns, partial);
                bytes += 64;
                values += 4;
            }
            unroll<kChains>([&](auto c) COLIBRI_STEP {
                each_cell([&](auto b, auto r) COLIBRI_STEP {
                    isum[b][r] = S::add_partial(isum[b][r], partial[c][b][r]);
                });
            });
        }
    }

    // 64 bytes of each block: four columns of each part.
    [[gnu::always_inline]] void add_step(const std::byte* bytes, const int8_t* values,
                                         uint32_t part_columns, Partials& partial) const {
        unroll<kBlocks>([&](auto b) COLIBRI_STEP { prefetch(bytes + size_t(b) * block_stride_); });
        unroll<kParts>([&](auto part) COLIBRI_STEP {
            typename S::Bytes weights[kBlocks];
            unroll<kBlocks>([&](auto b) COLIBRI_STEP {
                weights[b] = S::template unpack<8 / kParts, int(part)>(
                    S::load_int(bytes + size_t(b) * block_stride_));
            });
            add_part(weights, values + uint32_t(part) * part_columns, partial[int(part) % kChains]);
        });
    }

    [[gnu::always_inline]] void add_part(const typename S::Bytes (&weights)[kBlocks],
                                         const int8_t* values,
                                         typename S::Partial (&partial)[kBlocks][kRows]) const {
        unroll<kRows>([&](auto r) COLIBRI_STEP {
            const auto activations = S::broadcast_quad(values + value_place(r));
            unroll<kBlocks>([&](auto b) COLIBRI_STEP {
                partial[b][r] = S::dot_nibbles(partial[b][r], weights[b], activations);
            });
        });
    }

    template <bool kPerRow>
    [[gnu::always_inline]] void fold(uint32_t group, const Int (&isum)[kBlocks][kRows],
                                     Float (&acc)[kBlocks][kRows]) const {
        unroll<kBlocks>([&](auto b) COLIBRI_STEP {
            Float weight_scale = S::zero();
            if constexpr (!kPerRow) weight_scale = scales_at(b, group);
            unroll<kRows>([&](auto r) COLIBRI_STEP {
                Float scale = S::broadcast(scales_[group_place(r, group)]);
                if constexpr (!kPerRow) scale = S::mul(weight_scale, scale);
                acc[b][r] = S::fma(S::to_float(isum[b][r]), scale, acc[b][r]);
            });
        });
    }

    template <bool kPerRow>
    [[gnu::always_inline]] void store(int b, int r, Float value) const {
        const uint32_t first = (block_ + uint32_t(b) * distance_) * kTileRows;
        const uint32_t left = shape_.rows - first;
        if constexpr (kPerRow) value = S::mul(value, scales_at(b, 0));
        float* y = y_ + size_t(r) * task_.y.stride + first;
        if (left >= kTileRows) {
            S::store(y, value);
        } else {
            S::store_tail(y, value, left);
        }
    }

    [[nodiscard]] size_t value_place(int row) const { return size_t(row) * task_.x.value_stride; }
    [[nodiscard]] size_t group_place(int row, uint32_t group) const {
        return size_t(row) * task_.x.group_stride + group;
    }
    [[nodiscard, gnu::always_inline]] Float scales_at(int block, uint32_t group) const {
        const size_t place =
            size_t(block_ + uint32_t(block) * distance_) * shape_.scale_groups() + group;
        return load_scales<S>(task_.weights->scales() + place * kTileRows * shape_.scale_size(),
                              shape_.format.scales);
    }

    const IntegerTask& task_;
    const TileShape& shape_;
    uint32_t block_;
    uint32_t distance_;
    size_t block_stride_;
    const std::byte* data_;
    const int8_t* values_;
    const float* scales_;
    const int32_t* sums_;
    float* y_;
};

template <class S, WeightKind kKind, int kBlocks, int kRows>
[[gnu::noinline]] void integer_tile(const IntegerTask& task, uint32_t row, uint32_t block,
                                    uint32_t distance = 1) {
    IntegerTile<S, kKind, kBlocks, kRows>(task, row, block, distance).compute();
}

// All whole tiles of kRows rows from `row` on; returns the first row that is left.
template <class S, WeightKind kKind, int kRows>
COLIBRI_SIMD uint32_t integer_tiles(const IntegerTask& task, uint32_t row, uint32_t begin,
                                    uint32_t end) {
    if constexpr (kRows <= kIntegerRowsMax<S>) {
        constexpr int kBlocks = integer_tile_blocks<S>(kRows);
        for (; task.row_count - row >= uint32_t(kRows); row += kRows) {
            uint32_t block = begin;
            for (; end - block >= uint32_t(kBlocks); block += kBlocks)
                integer_tile<S, kKind, kBlocks, kRows>(task, row, block);
            for (; block < end; ++block) integer_tile<S, kKind, 1, kRows>(task, row, block);
        }
    }
    return row;
}

// The first half of the blocks and the second, side by side: each half is read from its first byte
// to its last. Two such streams get more out of memory than one or four do.
template <class S, WeightKind kKind>
COLIBRI_SIMD void integer_row(const IntegerTask& task, uint32_t begin, uint32_t end) {
    const uint32_t half = (end - begin) / 2;
    for (uint32_t block = begin; block < begin + half; ++block)
        integer_tile<S, kKind, 2, 1>(task, 0, block, half);
    if ((end - begin) % 2 != 0) integer_tile<S, kKind, 1, 1>(task, 0, end - 1);
}

template <class S, WeightKind kKind>
void integer_product(const MatrixView& weights, QuantizedRows x, uint32_t row_count, OutputRows y,
                     uint32_t block_begin, uint32_t block_end) {
    const IntegerTask task{&weights, x, row_count, y};
    if (row_count == 1) return integer_row<S, kKind>(task, block_begin, block_end);
    // Strips, so that a strip's weights stay in the cache while all rows pass over it.
    constexpr uint32_t kStripBlocks = 8;
    for (uint32_t begin = block_begin; begin < block_end; begin += kStripBlocks) {
        const uint32_t end = block_end - begin < kStripBlocks ? block_end : begin + kStripBlocks;
        uint32_t row = 0;
        row = integer_tiles<S, kKind, 6>(task, row, begin, end);
        row = integer_tiles<S, kKind, 4>(task, row, begin, end);
        row = integer_tiles<S, kKind, 3>(task, row, begin, end);
        row = integer_tiles<S, kKind, 2>(task, row, begin, end);
        integer_tiles<S, kKind, 1>(task, row, begin, end);
    }
}

}  // namespace colibri::generic

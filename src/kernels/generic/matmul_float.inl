// Float path of the matrix products, written once for every instruction set (S = its Simd).
//
// A tile of kBlocks row blocks by kRows activation rows shares each decoded weight vector and each
// broadcast activation; its partial sums are the fma chains of the numeric contract, so tiling
// cannot change a bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/generic/scales.h"
#include "kernels/generic/unroll.h"
#include "kernels/kernels.h"

namespace colibri::generic {

// Four neighboring columns of a block, each as sixteen floats: how a kind stores them.
// kPart: which half or quarter of its group a packed kind is read for.
template <class S, WeightKind kKind, int kPart = 0>
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

// fp8 as 2^-8 of its value, one multiplication less: for activations times 2^8. Both factors are
// exact, so every product is the same, unless the activation overflows (see fits_scaling).
template <class S>
struct ScaledFp8 {
    static constexpr size_t kBytes = 64;
    static constexpr float kActivationFactor = 256.0F;
    template <int kColumn>
    COLIBRI_SIMD typename S::Float column(const std::byte* quad) {
        return S::load_fp8_scaled(quad + kColumn * S::kLanes);
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

template <class S, int kPart>
struct Quad<S, WeightKind::int4, kPart> {
    static constexpr size_t kBytes = 64;
    template <int kColumn>
    COLIBRI_SIMD typename S::Float column(const std::byte* quad) {
        constexpr int kShift = 8 * kColumn + 4 * kPart;
        const typename S::Int nibble =
            S::and_bits(S::template shift_right<kShift>(S::load_int(quad)), S::broadcast_int(15));
        return S::to_float(S::sub_int(nibble, S::broadcast_int(8)));
    }
};

template <class S, int kPart>
struct Quad<S, WeightKind::int2, kPart> {
    static constexpr size_t kBytes = 64;
    template <int kColumn>
    COLIBRI_SIMD typename S::Float column(const std::byte* quad) {
        constexpr int kShift = 8 * kColumn + 2 * kPart;
        const typename S::Int code =
            S::and_bits(S::template shift_right<kShift>(S::load_int(quad)), S::broadcast_int(3));
        return S::to_float(S::sub_int(code, S::broadcast_int(2)));
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

// Activation rows are copied run by run: rows of a power-of-two length would all fall into one set
// of the first cache, copies with this stride do not.
inline constexpr uint32_t kRunColumns = 256;
inline constexpr uint32_t kCopyStride = kRunColumns + 16;

// A few rows wait for memory, not for the multipliers: ask for weights just ahead, on every stream
// of the tile.
inline constexpr int kPrefetchRowsMax = 4;
inline constexpr size_t kPrefetchBytes = 256;

// Neighboring columns that one loop walks, all within one scale group.
struct Run {
    const std::byte* weights = nullptr;  // first quad of the first block
    size_t block_stride = 0;             // bytes from a block to the next
    const float* x = nullptr;            // activations of the first column, rows kCopyStride apart
    uint32_t columns = 0;
    const float* column_scales = nullptr;  // of the first block, or null
    size_t column_scale_stride = 0;     // floats from a block's column scales to the next block's
    bool starts = false;                // the group: chains start at 0
    bool ends = false;                  // the group: chains are scaled and added to acc
    const std::byte* scales = nullptr;  // the group's, for the first block; null means 1
    ScaleType scale_type = ScaleType::f32;
    size_t scale_stride = 0;  // bytes from a block's scales to the next block's
};

template <class S, class Q, int kBlocks, int kRows, bool kColumnScales, int kColumn>
COLIBRI_SIMD void add_column(const Run& run, const std::byte* quad, const float* x,
                             const float* scales, typename S::Float (&sums)[kBlocks][kRows]) {
    typename S::Float weights[kBlocks];
    unroll<kBlocks>([&](auto b) COLIBRI_STEP {
        weights[b] = Q::template column<kColumn>(quad + size_t(b) * run.block_stride);
        if constexpr (kColumnScales)
            weights[b] = S::mul(
                weights[b], S::broadcast(scales[size_t(b) * run.column_scale_stride + kColumn]));
    });
    unroll<kRows>([&](auto r) COLIBRI_STEP {
        const typename S::Float value = S::broadcast(x[size_t(r) * kCopyStride + kColumn]);
        unroll<kBlocks>([&](auto b)
                            COLIBRI_STEP { sums[b][r] = S::fma(weights[b], value, sums[b][r]); });
    });
}

// Chains of all outputs of the tile over the run's columns. partial[(b * kRows + r) * 16 + lane]
// holds them between the runs of a group; acc, laid out alike, is the sum over groups.
template <class S, class Q, int kBlocks, int kRows, bool kColumnScales>
[[gnu::noinline]] void add_run(const Run& given, float* partial, float* acc) {
    const Run run = given;
    typename S::Float sums[kBlocks][kRows];
    unroll<kBlocks>([&](auto b) COLIBRI_STEP {
        unroll<kRows>([&](auto r) COLIBRI_STEP {
            sums[b][r] =
                run.starts ? S::zero() : S::load(partial + size_t(b * kRows + r) * S::kLanes);
        });
    });

    const std::byte* quad = run.weights;
    const float* x = run.x;
    const float* scales = run.column_scales;
    for (uint32_t left = run.columns / 4; left != 0; --left) {
        if constexpr (kRows <= kPrefetchRowsMax) {
            unroll<kBlocks>([&](auto b) COLIBRI_STEP {
                unroll<Q::kBytes / 64>([&](auto line) COLIBRI_STEP {
                    __builtin_prefetch(
                        quad + size_t(b) * run.block_stride + kPrefetchBytes + line * 64, 0, 3);
                });
            });
        }
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

    unroll<kBlocks>([&](auto b) COLIBRI_STEP {
        const auto scale =
            run.scales == nullptr
                ? S::broadcast(1.0F)
                : load_scales<S>(run.scales + size_t(b) * run.scale_stride, run.scale_type);
        unroll<kRows>([&](auto r) COLIBRI_STEP {
            const size_t place = size_t(b * kRows + r) * S::kLanes;
            if (run.ends) {
                S::store(acc + place, S::fma(sums[b][r], scale, S::load(acc + place)));
            } else {
                S::store(partial + place, sums[b][r]);
            }
        });
    });
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

// How the columns of a kind are read; scaled is fp8's alone.
enum class Reading : uint8_t { plain, scaled, column_scaled };

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

template <class S, WeightKind kKind, Reading kReading, int kRows>
class FloatTile {
    static constexpr bool kColumnScales = kReading == Reading::column_scaled;
    static constexpr bool kScaled = kReading == Reading::scaled;
    static constexpr bool kCopies = kRows > 1 || kScaled;
    static constexpr bool kPacked = kKind == WeightKind::int4 || kKind == WeightKind::int2;
    static constexpr uint32_t kParts = kKind == WeightKind::int2 ? 4 : 2;  // of a packed group

    static constexpr int kBlocks = float_tile_blocks<S>(kRows);
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
        for (uint32_t begin = 0; begin < columns; begin += group) {
            group_begin_ = begin;
            group_end_ = columns - begin < group ? columns : begin + group;
            add_group();
            ++group_;
        }
        store();
    }

private:
    void add_group() {
        if constexpr (kPacked && !kColumnScales) {
            add_packed();
        } else {
            using Cells = std::conditional_t<kKind == WeightKind::int8 && kColumnScales,
                                             ByteCells<S>, Quad<S, kKind>>;
            using Q = std::conditional_t<kScaled, ScaledFp8<S>, Cells>;
            add_span<Q>(group_begin_, group_end_, size_t(group_begin_) * (Q::kBytes / 4));
        }
    }

    // One scale may cover several groups of packed columns (row formats); each is its halves or
    // quarters one after the other.
    void add_packed() {
        const TileShape& shape = task_.weights->shape;
        const uint32_t group = shape.group_columns();
        const uint32_t padded = shape.padded_columns();
        const uint32_t end = group_end_;
        for (uint32_t first = group_begin_; first < end; first += group) {
            const uint32_t width = padded - first < group ? padded - first : group;
            const uint32_t last = end - first < group ? end : first + group;
            const size_t offset = size_t(first) * kTileRows / kParts;
            unroll<kParts>([&](auto part) {
                const uint32_t from = first + uint32_t(part) * (width / kParts);
                const uint32_t to = from + width / kParts;
                if (from < last)
                    add_span<Quad<S, kKind, int(part)>>(from, to < last ? to : last, offset);
            });
        }
    }

    // Columns [begin, end), stored one after the other from `offset` in each block.
    template <class Q>
    void add_span(uint32_t begin, uint32_t end, size_t offset) {
        const uint32_t step = kCopies ? kRunColumns : end - begin;
        for (uint32_t k = begin; k < end; k += step) {
            const uint32_t columns = end - k < step ? end - k : step;
            const float* x = task_.x.values + size_t(row_) * task_.x.stride + k;
            if constexpr (kCopies) {
                copy_rows(x, columns);
                x = copy_;
            }
            const size_t place = offset + size_t(k - begin) * (Q::kBytes / 4);
            for (uint32_t b = 0; b < count_;) {
                const Run run = run_at(b, k, columns, x, place);
                float* partial = partial_ + size_t(b) * kRows * kLanes;
                float* acc = acc_ + size_t(b) * kRows * kLanes;
                if (count_ - b >= uint32_t(kBlocks)) {
                    add_run<S, Q, kBlocks, kRows, kColumnScales>(run, partial, acc);
                    b += kBlocks;
                } else {
                    add_run<S, Q, 1, kRows, kColumnScales>(run, partial, acc);
                    b += 1;
                }
            }
        }
    }

    [[nodiscard]] Run run_at(uint32_t b, uint32_t column, uint32_t columns, const float* x,
                             size_t place) const {
        const TileShape& shape = task_.weights->shape;
        Run run{.weights = task_.weights->data + size_t(begin_ + b) * block_stride() + place,
                .block_stride = block_stride(),
                .x = x,
                .columns = columns,
                .starts = column == group_begin_,
                .ends = column + columns == group_end_};
        if constexpr (kColumnScales) {
            run.column_scale_stride = shape.columns;
            run.column_scales = task_.column_scales + size_t(begin_ + b) * shape.columns + column;
        } else if (shape.scale_groups() != 0) {
            const size_t group_bytes = size_t(kTileRows) * shape.scale_size();
            run.scale_type = shape.format.scales;
            run.scale_stride = shape.scale_groups() * group_bytes;
            run.scales = task_.weights->scales() + size_t(begin_ + b) * run.scale_stride +
                         group_ * group_bytes;
        }
        return run;
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
            for (; k + S::kLanes <= columns; k += S::kLanes)
                S::store(to + k, scale(S::load(from + k)));
            if (k < columns) S::store(to + k, scale(S::load_tail(from + k, columns - k)));
        }
    }

    COLIBRI_SIMD typename S::Float scale(typename S::Float x) {
        if constexpr (kScaled) return S::mul(x, S::broadcast(ScaledFp8<S>::kActivationFactor));
        return x;
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
    uint32_t group_ = 0;  // the scale group being added, and its columns
    uint32_t group_begin_ = 0;
    uint32_t group_end_ = 0;
    alignas(64) float partial_[kStripBlocks * kRows * kLanes];
    alignas(64) float acc_[kStripBlocks * kRows * kLanes];
    alignas(64) float copy_[kCopies ? kRows * kCopyStride : 1];
};

// All whole tiles of kRows rows from `row` on; returns the first row that is left.
template <class S, WeightKind kKind, Reading kReading, int kRows>
COLIBRI_SIMD uint32_t float_tiles(const FloatTask& task, uint32_t row, uint32_t begin,
                                  uint32_t end) {
    if constexpr (kRows + 2 <= int(S::kRegisters / S::kRegistersPerVector)) {
        using Tile = FloatTile<S, kKind, kReading, kRows>;
        for (; task.row_count - row >= uint32_t(kRows); row += kRows)
            for (uint32_t b = begin; b < end; b += Tile::kStripBlocks)
                Tile(task, row, b, end - b < Tile::kStripBlocks ? end : b + Tile::kStripBlocks)
                    .compute();
    }
    return row;
}

template <class S, WeightKind kKind, Reading kReading>
void float_task(const FloatTask& task) {
    const uint32_t strip = task.row_count == 1 ? 8 : 4;
    for (uint32_t begin = task.block_begin; begin < task.block_end; begin += strip) {
        const uint32_t end = task.block_end - begin < strip ? task.block_end : begin + strip;
        uint32_t row = 0;
        row = float_tiles<S, kKind, kReading, 12>(task, row, begin, end);
        row = float_tiles<S, kKind, kReading, 8>(task, row, begin, end);
        row = float_tiles<S, kKind, kReading, 6>(task, row, begin, end);
        row = float_tiles<S, kKind, kReading, 4>(task, row, begin, end);
        row = float_tiles<S, kKind, kReading, 3>(task, row, begin, end);
        row = float_tiles<S, kKind, kReading, 2>(task, row, begin, end);
        float_tiles<S, kKind, kReading, 1>(task, row, begin, end);
    }
}

// Whether every activation of the call may be multiplied by 2^8 exactly (NaN and infinity may: they
// stay).
template <class S>
bool fits_scaling(const FloatTask& task) {
    const auto limit = S::broadcast(0x1p119F);
    auto largest = S::zero();
    for (uint32_t row = 0; row < task.row_count; ++row) {
        const float* x = task.x.values + size_t(row) * task.x.stride;
        const uint32_t columns = task.weights->shape.columns;
        uint32_t k = 0;
        for (; k + S::kLanes <= columns; k += S::kLanes)
            largest = S::max(S::abs(S::load(x + k)), largest);
        if (k < columns) largest = S::max(S::abs(S::load_tail(x + k, columns - k)), largest);
    }
    return !S::any(S::greater(largest, limit));
}

// The rare call with an activation beyond the scaled reading's range: the same bits, one row at a
// time.
template <class S>
[[gnu::noinline]] void float_task_unscaled(const FloatTask& task) {
    for (uint32_t begin = task.block_begin; begin < task.block_end; begin += 8) {
        const uint32_t end = task.block_end - begin < 8 ? task.block_end : begin + 8;
        float_tiles<S, WeightKind::fp8, Reading::plain, 1>(task, 0, begin, end);
    }
}

template <class S, WeightKind kKind>
void float_product(const MatrixView& weights, FloatRows x, uint32_t row_count, OutputRows y,
                   uint32_t block_begin, uint32_t block_end) {
    const FloatTask task{&weights, nullptr, x, row_count, y, block_begin, block_end};
    if constexpr (kKind != WeightKind::fp8) {
        float_task<S, kKind, Reading::plain>(task);
    } else if (fits_scaling<S>(task)) {
        float_task<S, kKind, Reading::scaled>(task);
    } else {
        float_task_unscaled<S>(task);
    }
}

template <class S, WeightKind kKind>
void column_scaled_product(const MatrixView& weights, const float* column_scales, FloatRows x,
                           uint32_t row_count, OutputRows y, uint32_t block_begin,
                           uint32_t block_end) {
    float_task<S, kKind, Reading::column_scaled>(
        {&weights, column_scales, x, row_count, y, block_begin, block_end});
}

}  // namespace colibri::generic

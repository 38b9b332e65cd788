#include "blocks/linear.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "tensor/dtype.h"

namespace colibri {

namespace {

// The narrowest group any format has; bounds the number of scales per row.
constexpr uint32_t kSmallestGroup = 16;

// Products are cut so that a part has at least this many multiply-adds: below it a second thread
// costs more than it saves.
constexpr uint64_t kPartWork = 8192;

}  // namespace

bool uses_integer_path(const Compute& compute, const TileShape& shape) {
    return is_integer(shape.format.kind) && !compute.float_activations;
}

uint64_t activation_scratch_bytes(uint64_t rows, uint64_t columns) {
    const uint64_t groups = ceil_div(columns, uint64_t(kSmallestGroup));
    const uint64_t one = scratch_bytes_of<int8_t>(rows * round_up(columns + 8, uint64_t(64))) +
                         scratch_bytes_of<float>(rows * groups) +
                         scratch_bytes_of<int32_t>(rows * groups);
    return 2 * one;
}

Status ActivationRows::quantize_for(Compute& compute, const TileShape& shape) {
    if (!uses_integer_path(compute, shape)) return {};
    CHECK(shape.columns == columns_);
    const uint32_t group = shape.group_columns();
    for (uint32_t i = 0; i < form_count_; ++i)
        if (forms_[i].group == group) return {};
    CHECK(form_count_ < 2);
    const uint32_t padded = shape.padded_columns();
    const uint32_t stride = round_up(padded, 64U);
    const uint32_t groups = shape.groups();
    auto* values = compute.scratch.take<int8_t>(uint64_t(row_count_) * stride);
    auto* scales = compute.scratch.take<float>(uint64_t(row_count_) * groups);
    auto* sums = compute.scratch.take<int32_t>(uint64_t(row_count_) * groups);
    std::atomic<bool> finite{true};
    const auto rows = [&](uint32_t begin, uint32_t end) {
        for (uint32_t r = begin; r < end; ++r)
            if (!compute.kernels.quantize(rows_.values + uint64_t(r) * rows_.stride, columns_,
                                          group, padded, values + uint64_t(r) * stride,
                                          scales + uint64_t(r) * groups,
                                          sums + uint64_t(r) * groups))
                finite.store(false, std::memory_order_relaxed);
    };
    if (uint64_t(row_count_) * columns_ < kPartWork)
        rows(0, row_count_);
    else
        compute.pool.split(row_count_, 1, rows);
    if (!finite.load())
        return fail(ErrorKind::invalid_input,
                    "an activation is not a finite number: the weights overflow in this model or "
                    "are damaged");
    forms_[form_count_++] = {.group = group,
                             .padded_columns = padded,
                             .rows = {.values = values,
                                      .scales = scales,
                                      .sums = sums,
                                      .value_stride = stride,
                                      .group_stride = groups}};
    return {};
}

const QuantizedRows& ActivationRows::quantized(const TileShape& shape) const {
    for (uint32_t i = 0; i < form_count_; ++i)
        if (forms_[i].group == shape.group_columns()) return forms_[i].rows;
    CHECK(false);
}

void multiply_blocks(const Compute& compute, const MatrixView& w, const ActivationRows& x,
                     OutputRows y, uint32_t block_begin, uint32_t block_end) {
    const Kernels& k = compute.kernels;
    if (uses_integer_path(compute, w.shape)) {
        const auto product = k.integer_product[size_t(w.shape.format.kind)];
        product(w, x.quantized(w.shape), x.row_count(), y, block_begin, block_end);
    } else {
        k.float_product[size_t(w.shape.format.kind)](w, x.floats(), x.row_count(), y, block_begin,
                                                     block_end);
    }
}

Status multiply(Compute& compute, const MatrixView& w, ActivationRows& x, OutputRows y) {
    const Product product{.weights = w, .y = y};
    return multiply_all(compute, {&product, 1}, x);
}

Status multiply_all(Compute& compute, std::span<const Product> products, ActivationRows& x) {
    uint32_t blocks = 0;
    for (const Product& p : products) {
        if (compute.observer != nullptr)
            compute.observer->input(p.weights.data, x.floats(), x.row_count(), x.columns());
        TRY_STATUS(x.quantize_for(compute, p.weights.shape));
        blocks += p.weights.shape.blocks();
    }
    const auto part = [&](uint32_t begin, uint32_t end) {
        for (const Product& p : products) {
            const uint32_t own = p.weights.shape.blocks();
            if (begin < own) multiply_blocks(compute, p.weights, x, p.y, begin, std::min(own, end));
            if (end <= own) return;
            begin = begin > own ? begin - own : 0;
            end -= own;
        }
    };
    const uint64_t work = uint64_t(blocks) * kTileRows * x.columns() * x.row_count();
    if (work < 2 * kPartWork)
        part(0, blocks);
    else
        compute.pool.split(blocks, 1, part);
    return {};
}

void multiply_float(Compute& compute, const MatrixView& w, FloatRows x, uint32_t row_count,
                    OutputRows y) {
    const auto product = compute.kernels.float_product[size_t(w.shape.format.kind)];
    const uint64_t work = uint64_t(w.shape.rows) * w.shape.columns * row_count;
    if (work < 2 * kPartWork)
        product(w, x, row_count, y, 0, w.shape.blocks());
    else
        compute.pool.split(w.shape.blocks(), 1, [&](uint32_t begin, uint32_t end) {
            product(w, x, row_count, y, begin, end);
        });
}

void gather_row(const MatrixView& w, uint32_t row, float* out) {
    const TileShape& s = w.shape;
    const uint32_t block = row / kTileRows;
    const uint32_t lane = row % kTileRows;
    const std::byte* data = w.data + block * s.block_bytes();
    const auto scale = [&](uint32_t column) {
        const uint32_t group = s.scale_groups() == 1 ? 0 : column / s.group_columns();
        return w.scale((uint64_t(block) * s.scale_groups() + group) * kTileRows + lane);
    };
    const auto* bytes = reinterpret_cast<const uint8_t*>(data);
    for (uint32_t c = 0; c < s.columns; ++c) {
        const uint64_t cell = uint64_t(c) * kTileRows + lane;
        switch (s.format.kind) {
            case WeightKind::f32: std::memcpy(out + c, bytes + cell * 4, 4); break;
            case WeightKind::bf16: {
                uint16_t bits = 0;
                std::memcpy(&bits, bytes + cell * 2, 2);
                out[c] = bf16_to_f32(bits);
                break;
            }
            case WeightKind::fp8: out[c] = f8_e4m3_to_f32(bytes[cell]) * scale(c); break;
            case WeightKind::int8:
                out[c] = float(int8_t(bytes[(uint64_t(c / 4) * kTileRows + lane) * 4 + c % 4])) *
                         scale(c);
                break;
            case WeightKind::int4:
            case WeightKind::int2: {
                const uint32_t bits = s.format.kind == WeightKind::int4 ? 4 : 2;
                const uint32_t parts = 8 / bits;
                const uint32_t group = s.group_columns();
                const uint32_t g = c / group;
                const uint32_t width = std::min(group, s.padded_columns() - g * group);
                const uint32_t part = (c - g * group) / (width / parts);
                const uint32_t q = (c - g * group) % (width / parts);
                const uint64_t at = uint64_t(g) * group * kTileRows / parts +
                                    (uint64_t(q / 4) * kTileRows + lane) * 4 + q % 4;
                const uint32_t code = bytes[at] >> (part * bits) & ((1U << bits) - 1);
                out[c] = float(int(code) - (1 << (bits - 1))) * scale(c);
                break;
            }
        }
    }
}

}  // namespace colibri

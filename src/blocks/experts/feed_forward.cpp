#include "blocks/experts/feed_forward.h"

#include <algorithm>
#include <new>

#include "blocks/linear.h"

namespace colibri {

namespace {

constexpr uint32_t kChunkRows = 64;

void observe(const Compute& compute, const ExpertBatch& b, const ActivationRows& x, bool down) {
    InputObserver& observer = *compute.observer;
    if (b.routed) {
        observer.expert_input(b.layer, b.expert, down, x.floats(), x.row_count(), x.columns());
    } else if (down) {
        observer.input(b.weights.down.data, x.floats(), x.row_count(), x.columns());
    } else {
        observer.input(b.weights.gate.data, x.floats(), x.row_count(), x.columns());
        observer.input(b.weights.up.data, x.floats(), x.row_count(), x.columns());
    }
}

}  // namespace

uint64_t feed_forward_scratch_bytes(uint32_t dim, uint32_t hidden, uint32_t rows) {
    return expert_batches_scratch_bytes(dim, hidden, std::min(rows, kChunkRows), 1);
}

Status feed_forward(Compute& compute, const FeedForwardWeights& weights, FloatRows x,
                    uint32_t row_count, OutputRows out) {
    for (uint32_t begin = 0; begin < row_count; begin += kChunkRows) {
        const ExpertBatch batch{.weights = weights,
                                .x = {x.values + uint64_t(begin) * x.stride, x.stride},
                                .row_count = std::min(kChunkRows, row_count - begin),
                                .out = {out.values + uint64_t(begin) * out.stride, out.stride}};
        TRY_STATUS(expert_batches(compute, {&batch, 1}));
    }
    return {};
}

uint64_t expert_batches_scratch_bytes(uint32_t dim, uint32_t hidden, uint32_t total_rows,
                                      uint32_t batches) {
    const uint64_t padding =
        uint64_t(batches) * 2 *
        (activation_scratch_bytes(1, dim) + activation_scratch_bytes(1, hidden));
    return 2 * scratch_bytes_of<float>(uint64_t(total_rows) * hidden) + padding +
           activation_scratch_bytes(total_rows, dim) +
           activation_scratch_bytes(total_rows, hidden) +
           2 * scratch_bytes_of<ActivationRows>(batches);
}

Status expert_batches(Compute& compute, std::span<const ExpertBatch> batches) {
    if (batches.empty()) return {};
    const ScratchScope scope(compute.scratch);
    const auto count = uint32_t(batches.size());
    const uint32_t hidden = batches[0].weights.gate.shape.rows;
    const uint32_t dim = batches[0].weights.gate.shape.columns;
    uint32_t total_rows = 0;
    for (const ExpertBatch& b : batches) total_rows += b.row_count;
    auto* gate = compute.scratch.take<float>(uint64_t(total_rows) * hidden);
    auto* up = compute.scratch.take<float>(uint64_t(total_rows) * hidden);
    auto* inputs = compute.scratch.take<ActivationRows>(count);
    auto* middles = compute.scratch.take<ActivationRows>(count);
    auto* first_rows = compute.scratch.take<uint32_t>(count);
    uint32_t row = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const ExpertBatch& b = batches[i];
        new (&inputs[i]) ActivationRows(b.x, b.row_count, dim);
        new (&middles[i])
            ActivationRows({gate + uint64_t(row) * hidden, hidden}, b.row_count, hidden);
        if (compute.observer != nullptr) observe(compute, b, inputs[i], false);
        if (i > 0 && b.row_count == batches[i - 1].row_count &&
            b.x.values == batches[i - 1].x.values && b.x.stride == batches[i - 1].x.stride)
            inputs[i] = inputs[i - 1];  // with the forms that it has already
        TRY_STATUS(inputs[i].quantize_for(compute, b.weights.gate.shape));
        TRY_STATUS(inputs[i].quantize_for(compute, b.weights.up.shape));
        first_rows[i] = row;
        row += b.row_count;
    }
    // Units are row blocks of gate and up of all experts: [expert][gate blocks, up blocks].
    const uint32_t hidden_blocks = batches[0].weights.gate.shape.blocks();
    compute.pool.split(count * 2 * hidden_blocks, 1, [&](uint32_t begin, uint32_t end) {
        while (begin < end) {
            const uint32_t matrix = begin / hidden_blocks;
            const uint32_t from = begin % hidden_blocks;
            const uint32_t to = std::min(hidden_blocks, from + (end - begin));
            const ExpertBatch& b = batches[matrix / 2];
            const bool is_up = matrix % 2 == 1;
            float* y = (is_up ? up : gate) + uint64_t(first_rows[matrix / 2]) * hidden;
            multiply_blocks(compute, is_up ? b.weights.up : b.weights.gate, inputs[matrix / 2],
                            {y, hidden}, from, to);
            begin += to - from;
        }
    });
    const auto activate = [&](uint32_t begin, uint32_t end) {
        for (uint32_t r = begin; r < end; ++r)
            compute.kernels.silu_multiply(gate + uint64_t(r) * hidden, up + uint64_t(r) * hidden,
                                          hidden, gate + uint64_t(r) * hidden);
    };
    if (uint64_t(total_rows) * hidden < 4096)
        activate(0, total_rows);
    else
        compute.pool.split(total_rows, 1, activate);
    for (uint32_t i = 0; i < count; ++i) {
        if (compute.observer != nullptr) observe(compute, batches[i], middles[i], true);
        TRY_STATUS(middles[i].quantize_for(compute, batches[i].weights.down.shape));
    }
    const uint32_t dim_blocks = batches[0].weights.down.shape.blocks();
    compute.pool.split(count * dim_blocks, 1, [&](uint32_t begin, uint32_t end) {
        while (begin < end) {
            const uint32_t expert = begin / dim_blocks;
            const uint32_t from = begin % dim_blocks;
            const uint32_t to = std::min(dim_blocks, from + (end - begin));
            multiply_blocks(compute, batches[expert].weights.down, middles[expert],
                            batches[expert].out, from, to);
            begin += to - from;
        }
    });
    return {};
}

}  // namespace colibri

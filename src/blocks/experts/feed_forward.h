// down(silu(gate x) * up x): dense layers, shared experts, and groups of routed experts.
#pragma once

#include <cstdint>
#include <span>

#include "base/error.h"
#include "blocks/compute.h"
#include "load/weights.h"

namespace colibri {

// Scratch for `rows` rows of a feed-forward of dim -> hidden -> dim.
[[nodiscard]] uint64_t feed_forward_scratch_bytes(uint32_t dim, uint32_t hidden, uint32_t rows);

// All rows of x [row_count][dim] through one set of weights; out is overwritten.
// Errors: invalid_input when an activation is not finite.
[[nodiscard]] Status feed_forward(Compute& compute, const FeedForwardWeights& weights, FloatRows x,
                                  uint32_t row_count, OutputRows out);

// Some rows for one of several experts that run together.
struct ExpertBatch {
    FeedForwardWeights weights;
    FloatRows x;  // gathered rows
    uint32_t row_count = 0;
    OutputRows out;  // [row_count][dim], overwritten
    // Of a routed expert, as in ExpertId; for observers.
    bool routed = false;
    uint32_t layer = 0, expert = 0;
};

[[nodiscard]] uint64_t expert_batches_scratch_bytes(uint32_t dim, uint32_t hidden,
                                                    uint32_t total_rows, uint32_t batches);

// Several small feed-forwards of equal shape in three parallel regions instead of three each.
[[nodiscard]] Status expert_batches(Compute& compute, std::span<const ExpertBatch> batches);

}  // namespace colibri

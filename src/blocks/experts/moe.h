// Mixture of experts: route, stream the chosen experts, add up in a fixed order.
#pragma once

#include <cstdint>

#include "base/cancel.h"
#include "base/error.h"
#include "blocks/compute.h"
#include "load/weights.h"
#include "model/spec.h"
#include "store/expert_store.h"

namespace colibri {

// Slices of at most this many rows take resident experts first and buffer their outputs; longer
// ones consume experts in ascending id, which lets outputs accumulate directly.
inline constexpr uint32_t kDecodeRowsMax = 8;

struct MoeBlock {
    const MoeFeedForward& spec;
    const MoeWeights& weights;
    uint32_t layer = 0;  // as in ExpertId
    uint32_t dim = 0;
};

// Routes of the rows, kept for traces: ids ascending per row.
struct RoutedRows {
    uint32_t* ids = nullptr;   // [rows][top_k]
    float* weights = nullptr;  // [rows][top_k]
};

[[nodiscard]] uint64_t moe_scratch_bytes(const MoeFeedForward& spec, uint32_t dim, uint32_t rows);

// out[row] = sum over chosen experts in ascending id of weight * expert(h), then + shared expert.
// `routes` points to arrays of the caller. Errors: of the store (io, corrupt, cancelled), or
// non-finite activations; then the stream is closed.
[[nodiscard]] Status moe_forward(Compute& compute, ExpertStore& store, const MoeBlock& block,
                                 FloatRows h, uint32_t row_count, RoutedRows routes,
                                 const CancelToken* cancel, OutputRows out);

}  // namespace colibri

// Mixture of experts: route, stream the chosen experts, add up in a fixed order.
#pragma once

#include <cstdint>

#include "base/cancel.h"
#include "base/error.h"
#include "base/function_ref.h"
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

// Moments of moe_forward that its caller may use.
struct MoeHooks {
    // The router has chosen; the routes may still be changed (ids ascending, unique in a row).
    FunctionRef<void(RoutedRows routes)> routed;
    // Reads of what is missing are under way, nothing has been computed yet.
    FunctionRef<void()> reading;
};

[[nodiscard]] uint64_t moe_scratch_bytes(const MoeFeedForward& spec, uint32_t dim, uint32_t rows);

// out[row] = sum over chosen experts in ascending id of weight * expert(h), then + shared expert.
// `routes` points to arrays of the caller. Errors: of the store (io, corrupt, cancelled), or
// non-finite activations; then the stream is closed.
[[nodiscard]] Status moe_forward(Compute& compute, ExpertStore& store, const MoeBlock& block,
                                 FloatRows h, uint32_t row_count, RoutedRows routes,
                                 const CancelToken* cancel, const MoeHooks& hooks, OutputRows out);

// What the router alone makes of these rows. Errors: non-finite activations.
[[nodiscard]] Status choose_experts(Compute& compute, const MoeBlock& block, FloatRows h,
                                    uint32_t row_count, RoutedRows routes);
[[nodiscard]] uint64_t choose_experts_scratch_bytes(const MoeFeedForward& spec, uint32_t rows);

}  // namespace colibri

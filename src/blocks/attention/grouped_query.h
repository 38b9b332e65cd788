// Grouped-query attention over all earlier positions (specs olmoe section 3; MHA is the case of one
// query head per key head).
#pragma once

#include <cstdint>

#include "base/error.h"
#include "blocks/compute.h"
#include "blocks/layer_state.h"
#include "kernels/rope_table.h"
#include "load/weights.h"
#include "model/spec.h"

namespace colibri {

struct GroupedQueryBlock {
    const GroupedQueryAttention& spec;
    const GroupedQueryWeights& weights;
    uint32_t dim = 0;
    const RopeTable& rope;
};

[[nodiscard]] LayerStateShape grouped_query_state_shape(const GroupedQueryAttention& spec);

[[nodiscard]] uint64_t grouped_query_scratch_bytes(const GroupedQueryAttention& spec, uint32_t dim,
                                                   uint32_t rows, uint32_t context,
                                                   uint32_t threads);

// Rows h[row_count][dim] (normed) at positions first_position...: writes keys (after norm and
// rotation) and values to `state`, the block's output to `out`. Errors: invalid_input when an
// activation is not finite.
[[nodiscard]] Status grouped_query_attention(Compute& compute, const GroupedQueryBlock& block,
                                             FloatRows h, uint32_t row_count,
                                             uint32_t first_position, LayerState state,
                                             OutputRows out);

}  // namespace colibri

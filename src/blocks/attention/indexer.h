// The DSA key indexer: scores all past keys for a query row and keeps the best (specs
// glm_moe_dsa 3.5).
#pragma once

#include <cstdint>

#include "base/error.h"
#include "blocks/attention/selection_set.h"
#include "blocks/compute.h"
#include "blocks/layer_state.h"
#include "blocks/linear.h"
#include "kernels/rope_table.h"
#include "load/weights.h"
#include "model/spec.h"

namespace colibri {

struct IndexerBlock {
    const KeyIndexer& spec;
    const IndexerWeights& weights;
    const RopeTable& rope;
};

[[nodiscard]] uint64_t select_keys_scratch_bytes(const KeyIndexer& spec, uint32_t rows,
                                                 uint32_t context, uint32_t threads);

// `input`: the layer's normed rows, `query_latent`: the normed query latents, `key_raw`
// [rows][head_dims]: wk times input (overwritten). Stores the rows' index keys in `state`, then
// fills `selections` for rows at first_position...; rows with at most top_keys positions before and
// at them keep everything, without scoring. Takes scratch without releasing it.
[[nodiscard]] Status select_keys(Compute& compute, const IndexerBlock& block, FloatRows input,
                                 ActivationRows& query_latent, float* key_raw,
                                 uint32_t first_position, LayerState state, uint32_t context,
                                 SelectionSet selections);

}  // namespace colibri

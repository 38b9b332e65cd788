// Multi-head latent attention in its absorbed form, with or without a key indexer (specs
// glm_moe_dsa 3.3 to 3.6).
#pragma once

#include <cstdint>

#include "base/error.h"
#include "blocks/attention/selection_set.h"
#include "blocks/compute.h"
#include "blocks/layer_state.h"
#include "kernels/rope_table.h"
#include "load/weights.h"
#include "model/spec.h"

namespace colibri {

struct LatentBlock {
    const LatentAttention& spec;
    const LatentWeights& weights;
    uint32_t dim = 0;
    const RopeTable& rope;
    const RopeTable& index_rope;
};

// What a state must keep per position for this block. `indexer_present`: the checkpoint has the
// indexer's tensors.
[[nodiscard]] LayerStateShape latent_state_shape(const LatentAttention& spec, bool indexer_present);

// Scratch for a slice of `rows` rows and sequences of up to `context` positions. `sparse`:
// selections are made or shared, so that a row attends to at most top_keys positions.
[[nodiscard]] uint64_t latent_scratch_bytes(const LatentAttention& spec, uint32_t dim,
                                            uint32_t rows, uint32_t context, bool sparse,
                                            uint32_t threads);

// Rows h[row_count][dim] (normed) at positions first_position...: writes their latents and index
// keys to `state` and the block's output to `out`. An owner of an indexer fills `selections`; the
// others read it. Errors: invalid_input when an activation is not finite.
[[nodiscard]] Status latent_attention(Compute& compute, const LatentBlock& block, FloatRows h,
                                      uint32_t row_count, uint32_t first_position, LayerState state,
                                      SelectionSet selections, OutputRows out);

}  // namespace colibri

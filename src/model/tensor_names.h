// Tensor names by role: the table through which load/ finds a family's weights.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/spec.h"

namespace colibri {

enum class TensorRole : uint8_t {
    embedding,
    final_norm,
    head,  // of the model; the layer is ignored
    first_norm,
    second_norm,  // of a layer's sublayers
    query_a,
    query_a_norm,
    query_b,
    kv_a,
    kv_a_norm,
    kv_b,  // MLA
    query,
    key,
    value,
    query_norm,
    key_norm,  // GQA; query also MLA without query LoRA
    output,
    index_query,
    index_key,
    index_gate,
    index_key_norm,
    index_key_norm_bias,
    router,
    router_bias,
    gate,
    up,
    down,  // dense feed-forward
    shared_gate,
    shared_up,
    shared_down,
    draft_embedding_norm,
    draft_hidden_norm,
    draft_projection,
    draft_head_norm,
    draft_embedding_alias,
    draft_head_alias,  // copies of the main ones that some checkpoints carry
};

class TensorNames {
public:
    explicit TensorNames(const ModelSpec& spec);

    // `layer` is the index in tensor names (Layer::index).
    [[nodiscard]] std::string of(TensorRole role, uint32_t layer) const;

    // Routed experts. part: 0 gate, 1 up, 2 down.
    [[nodiscard]] std::string expert(uint32_t layer, uint32_t expert, uint32_t part) const;
    // [experts, 2 * hidden, dim], gate rows first, and [experts, dim, hidden].
    [[nodiscard]] std::string fused_gate_up(uint32_t layer) const;
    [[nodiscard]] std::string fused_down(uint32_t layer) const;
    // gate, up and down flattened into one int8 tensor, with row scales in the same order.
    [[nodiscard]] std::string merged_expert(uint32_t layer, uint32_t expert) const;
    [[nodiscard]] std::string merged_expert_scales(uint32_t layer, uint32_t expert) const;

private:
    std::string prefix_;  // "model."
};

}  // namespace colibri

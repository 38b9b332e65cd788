#include "model/tensor_names.h"

#include <fmt/format.h>

#include <array>

namespace colibri {

namespace {

// Within a layer; every family so far shares these names.
std::string_view layer_suffix(TensorRole role) {
    switch (role) {
        case TensorRole::embedding: return "embed_tokens.weight";
        case TensorRole::final_norm: return "norm.weight";
        case TensorRole::head: return "lm_head.weight";
        case TensorRole::first_norm: return "input_layernorm.weight";
        case TensorRole::second_norm: return "post_attention_layernorm.weight";
        case TensorRole::query_a: return "self_attn.q_a_proj.weight";
        case TensorRole::query_a_norm: return "self_attn.q_a_layernorm.weight";
        case TensorRole::query_b: return "self_attn.q_b_proj.weight";
        case TensorRole::kv_a: return "self_attn.kv_a_proj_with_mqa.weight";
        case TensorRole::kv_a_norm: return "self_attn.kv_a_layernorm.weight";
        case TensorRole::kv_b: return "self_attn.kv_b_proj.weight";
        case TensorRole::query: return "self_attn.q_proj.weight";
        case TensorRole::key: return "self_attn.k_proj.weight";
        case TensorRole::value: return "self_attn.v_proj.weight";
        case TensorRole::query_norm: return "self_attn.q_norm.weight";
        case TensorRole::key_norm: return "self_attn.k_norm.weight";
        case TensorRole::output: return "self_attn.o_proj.weight";
        case TensorRole::index_query: return "self_attn.indexer.wq_b.weight";
        case TensorRole::index_key: return "self_attn.indexer.wk.weight";
        case TensorRole::index_gate: return "self_attn.indexer.weights_proj.weight";
        case TensorRole::index_key_norm: return "self_attn.indexer.k_norm.weight";
        case TensorRole::index_key_norm_bias: return "self_attn.indexer.k_norm.bias";
        case TensorRole::router: return "mlp.gate.weight";
        case TensorRole::router_bias: return "mlp.gate.e_score_correction_bias";
        case TensorRole::gate: return "mlp.gate_proj.weight";
        case TensorRole::up: return "mlp.up_proj.weight";
        case TensorRole::down: return "mlp.down_proj.weight";
        case TensorRole::shared_gate: return "mlp.shared_experts.gate_proj.weight";
        case TensorRole::shared_up: return "mlp.shared_experts.up_proj.weight";
        case TensorRole::shared_down: return "mlp.shared_experts.down_proj.weight";
        case TensorRole::draft_embedding_norm: return "enorm.weight";
        case TensorRole::draft_hidden_norm: return "hnorm.weight";
        case TensorRole::draft_projection: return "eh_proj.weight";
        case TensorRole::draft_head_norm: return "shared_head.norm.weight";
        case TensorRole::draft_embedding_alias: return "embed_tokens.weight";
        case TensorRole::draft_head_alias: return "shared_head.head.weight";
    }
    return {};
}

constexpr std::array<std::string_view, 3> kExpertParts{"gate_proj", "up_proj", "down_proj"};

}  // namespace

TensorNames::TensorNames(const ModelSpec&) : prefix_("model.") {}

std::string TensorNames::of(TensorRole role, uint32_t layer) const {
    const std::string_view suffix = layer_suffix(role);
    if (role == TensorRole::head) return std::string(suffix);
    if (role == TensorRole::embedding || role == TensorRole::final_norm)
        return fmt::format("{}{}", prefix_, suffix);
    return fmt::format("{}layers.{}.{}", prefix_, layer, suffix);
}

std::string TensorNames::expert(uint32_t layer, uint32_t expert, uint32_t part) const {
    return fmt::format("{}layers.{}.mlp.experts.{}.{}.weight", prefix_, layer, expert,
                       kExpertParts[part]);
}

std::string TensorNames::fused_gate_up(uint32_t layer) const {
    return fmt::format("{}layers.{}.mlp.experts.gate_up_proj", prefix_, layer);
}

std::string TensorNames::fused_down(uint32_t layer) const {
    return fmt::format("{}layers.{}.mlp.experts.down_proj", prefix_, layer);
}

std::string TensorNames::merged_expert(uint32_t layer, uint32_t expert) const {
    return fmt::format("{}layers.{}.mlp.experts.{}.merged_weight", prefix_, layer, expert);
}

std::string TensorNames::merged_expert_scales(uint32_t layer, uint32_t expert) const {
    return fmt::format("{}layers.{}.mlp.experts.{}.qs", prefix_, layer, expert);
}

}  // namespace colibri

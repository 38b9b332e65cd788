// Random checkpoints with a real architecture, for tests and measurements that need a format or a
// size that no fixture has: GLM in every stored form that the loader reads, OLMoE in two.
//
// Weights look like N(0, 1/sqrt(inputs)), so that activations stay around 1 and routing is spread.
// They are pieces of a block of random codes, drawn anew for every row, so that gigabytes are
// written at the speed of the drive; no more than one tensor row and the header of one file are in
// memory. The same shape and seed give the same bytes.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "tests/support/synthetic_writer.h"

namespace colibri::synthetic {

struct GlmShape {
    uint32_t dim = 192, vocab = 200;
    uint32_t heads = 4, q_rank = 64, kv_rank = 64, nope = 24, rope = 8, value = 32;
    uint32_t dense_hidden = 256, expert_hidden = 64;
    uint32_t dense_layers = 1;
    uint32_t experts = 16, top_k = 4, shared = 1, groups = 1, groups_kept = 1;
    uint32_t index_heads = 4, index_dims = 16, index_topk = 24;
    std::string indexers =
        "FFSFS";  // one letter a layer: F owns an indexer, S shares the one before
    bool draft = true;
    uint32_t context = 2048;
    uint64_t seed = 1;
    uint64_t file_bytes_max = uint64_t(1900) << 20;
    [[nodiscard]] uint32_t layers() const { return uint32_t(indexers.size()); }
};

struct OlmoeShape {
    uint32_t dim = 128, vocab = 200, heads = 4, kv_heads = 2, expert_hidden = 64;
    uint32_t layers = 4, experts = 16, top_k = 4;
    bool clip = true;
    bool merged_int8 = false;  // experts as `merged_weight`; the rest bf16
    uint32_t context = 2048;
    uint64_t seed = 1;
    uint64_t file_bytes_max = uint64_t(1900) << 20;
};

namespace detail {

inline std::string glm_config(const GlmShape& s, Format format) {
    nlohmann::ordered_json types = nlohmann::ordered_json::array();
    for (const char letter : s.indexers) types.push_back(letter == 'F' ? "full" : "shared");
    nlohmann::ordered_json config = {
        {"architectures", {"GlmMoeDsaForCausalLM"}},
        {"model_type", "glm_moe_dsa"},
        {"dtype", "bfloat16"},
        {"vocab_size", s.vocab},
        {"hidden_size", s.dim},
        {"intermediate_size", s.dense_hidden},
        {"moe_intermediate_size", s.expert_hidden},
        {"num_hidden_layers", s.layers()},
        {"num_nextn_predict_layers", s.draft ? 1 : 0},
        {"first_k_dense_replace", s.dense_layers},
        {"moe_layer_freq", 1},
        {"num_attention_heads", s.heads},
        {"q_lora_rank", s.q_rank},
        {"kv_lora_rank", s.kv_rank},
        {"qk_nope_head_dim", s.nope},
        {"qk_rope_head_dim", s.rope},
        {"v_head_dim", s.value},
        {"n_routed_experts", s.experts},
        {"num_experts_per_tok", s.top_k},
        {"n_shared_experts", s.shared},
        {"n_group", s.groups},
        {"topk_group", s.groups_kept},
        {"norm_topk_prob", true},
        {"routed_scaling_factor", 2.5},
        {"scoring_func", "sigmoid"},
        {"topk_method", "noaux_tc"},
        {"rms_norm_eps", 1e-5},
        {"hidden_act", "silu"},
        {"attention_bias", false},
        {"tie_word_embeddings", false},
        {"rope_parameters", {{"rope_theta", 10000.0}, {"rope_type", "default"}}},
        {"rope_interleave", true},
        {"indexer_rope_interleave", true},
        {"max_position_embeddings", s.context},
        {"index_topk", s.index_topk},
        {"index_n_heads", s.index_heads},
        {"index_head_dim", s.index_dims},
        {"indexer_types", types},
        {"eos_token_id", {1, 2}},
        {"pad_token_id", 1}};
    if (format == Format::fp8)
        config["quantization_config"] = {
            {"quant_method", "fp8"},
            {"fmt", "e4m3"},
            {"activation_scheme", "dynamic"},
            {"weight_block_size", {128, 128}},
            {"modules_to_not_convert", {"lm_head", "model.embed_tokens"}}};
    return config.dump(1) + "\n";
}

// The tensors of a GLM layer; the draft layer is the one after the last.
class GlmLayers {
public:
    GlmLayers(Writer& writer, const GlmShape& shape, Format format)
        : w_(writer),
          s_(shape),
          format_(format),
          container_(format != Format::f32 && format != Format::bf16 && format != Format::fp8),
          half_(format == Format::bf16 || format == Format::fp8) {}

    void layer(uint32_t index) {
        const bool draft = index == s_.layers();
        const std::string prefix = fmt::format("model.layers.{}.", index);
        const int series = draft && container_ ? 1 : 0;
        const Format format = series == 1 ? Format::int8_row : format_;
        norm(prefix + "input_layernorm.weight", s_.dim, series);
        norm(prefix + "post_attention_layernorm.weight", s_.dim, series);
        attention(prefix + "self_attn.", format, series);
        if (draft ? !container_ : s_.indexers[index] == 'F') indexer(prefix + "self_attn.indexer.");
        if (index < s_.dense_layers)
            feed_forward(prefix + "mlp.", s_.dense_hidden, format, series);
        else
            experts(prefix + "mlp.", format, series);
        if (!draft) return;
        norm(prefix + "enorm.weight", s_.dim, series);
        norm(prefix + "hnorm.weight", s_.dim, series);
        w_.matrix(prefix + "eh_proj.weight", s_.dim, 2 * s_.dim, format, 1, series);
        norm(prefix + "shared_head.norm.weight", s_.dim, series);
    }

    void ends() {
        const Format format = container_               ? Format::int8_row
                              : format_ == Format::fp8 ? Format::bf16
                                                       : format_;
        w_.matrix("model.embed_tokens.weight", s_.vocab, s_.dim, format, std::sqrt(double(s_.dim)));
        w_.matrix("lm_head.weight", s_.vocab, s_.dim, format, 2);
        norm("model.norm.weight", s_.dim, 0);
    }

private:
    void norm(const std::string& name, uint32_t count, int series) {
        w_.vector(name, count, 1, 0.1, half_, series);
    }

    void attention(const std::string& prefix, Format format, int series) {
        w_.matrix(prefix + "q_a_proj.weight", s_.q_rank, s_.dim, format, 1, series);
        norm(prefix + "q_a_layernorm.weight", s_.q_rank, series);
        w_.matrix(prefix + "q_b_proj.weight", s_.heads * (s_.nope + s_.rope), s_.q_rank, format,
                  1.5, series);
        w_.matrix(prefix + "kv_a_proj_with_mqa.weight", s_.kv_rank + s_.rope, s_.dim, format, 1,
                  series);
        norm(prefix + "kv_a_layernorm.weight", s_.kv_rank, series);
        w_.matrix(prefix + "kv_b_proj.weight", s_.heads * (s_.nope + s_.value), s_.kv_rank, format,
                  1.5, series);
        w_.matrix(prefix + "o_proj.weight", s_.dim, s_.heads * s_.value, format, 1.5, series);
    }

    void indexer(const std::string& prefix) {
        const int series = container_ ? 2 : 0;
        const Format format = container_ ? Format::int8_row : format_;
        w_.matrix(prefix + "wq_b.weight", s_.index_heads * s_.index_dims, s_.q_rank, format, 1,
                  series);
        w_.matrix(prefix + "wk.weight", s_.index_dims, s_.dim, format, 1, series);
        w_.matrix(prefix + "weights_proj.weight", s_.index_heads, s_.dim,
                  format == Format::fp8 ? Format::bf16 : format, 1, series);
        norm(prefix + "k_norm.weight", s_.index_dims, series);
        w_.vector(prefix + "k_norm.bias", s_.index_dims, 0, 0.1, half_, series);
    }

    void feed_forward(const std::string& prefix, uint32_t hidden, Format format, int series) {
        w_.matrix(prefix + "gate_proj.weight", hidden, s_.dim, format, 1, series);
        w_.matrix(prefix + "up_proj.weight", hidden, s_.dim, format, 1, series);
        w_.matrix(prefix + "down_proj.weight", s_.dim, hidden, format, 1.5, series);
    }

    void experts(const std::string& prefix, Format format, int series) {
        w_.matrix(prefix + "gate.weight", s_.experts, s_.dim, half_ ? Format::bf16 : Format::f32, 1,
                  series);
        w_.vector(prefix + "gate.e_score_correction_bias", s_.experts, 0, 0.1, false, series);
        if (s_.shared > 0)
            feed_forward(prefix + "shared_experts.", s_.expert_hidden * s_.shared, format, series);
        for (uint32_t e = 0; e < s_.experts; ++e)
            feed_forward(fmt::format("{}experts.{}.", prefix, e), s_.expert_hidden, format, series);
    }

    Writer& w_;
    const GlmShape& s_;
    Format format_;
    bool container_, half_;
};

}  // namespace detail

// config.json and the safetensors files in `directory`, which exists. Errors: io.
inline Status write_glm(const std::string& directory, const GlmShape& shape, Format format) {
    detail::Writer writer(directory, shape.seed, shape.file_bytes_max);
    detail::GlmLayers layers(writer, shape, format);
    layers.ends();
    for (uint32_t i = 0; i < shape.layers() + (shape.draft ? 1 : 0); ++i) layers.layer(i);
    TRY_STATUS(writer.write_text("config.json", detail::glm_config(shape, format)));
    const bool plain = format == Format::f32 || format == Format::bf16 || format == Format::fp8;
    return writer.write({plain ? "model-" : "out-", "out-mtp-", "out-idx-"}, plain);
}

inline Status write_olmoe(const std::string& directory, const OlmoeShape& s) {
    detail::Writer w(directory, s.seed, s.file_bytes_max);
    const uint32_t head_dims = s.dim / s.heads;
    const uint32_t keys = s.kv_heads * head_dims;
    const Format format = Format::bf16;
    w.matrix("model.embed_tokens.weight", s.vocab, s.dim, format, std::sqrt(double(s.dim)));
    w.matrix("lm_head.weight", s.vocab, s.dim, format, 2);
    w.vector("model.norm.weight", s.dim, 1, 0.1, true);
    for (uint32_t i = 0; i < s.layers; ++i) {
        const std::string prefix = fmt::format("model.layers.{}.", i);
        w.vector(prefix + "input_layernorm.weight", s.dim, 1, 0.1, true);
        w.vector(prefix + "post_attention_layernorm.weight", s.dim, 1, 0.1, true);
        w.matrix(prefix + "self_attn.q_proj.weight", s.dim, s.dim, format, 1);
        w.matrix(prefix + "self_attn.k_proj.weight", keys, s.dim, format, 1);
        w.matrix(prefix + "self_attn.v_proj.weight", keys, s.dim, format, 1);
        w.matrix(prefix + "self_attn.o_proj.weight", s.dim, s.dim, format, 1.5);
        w.vector(prefix + "self_attn.q_norm.weight", s.dim, 1, 0.1, true);
        w.vector(prefix + "self_attn.k_norm.weight", keys, 1, 0.1, true);
        w.matrix(prefix + "mlp.gate.weight", s.experts, s.dim, format, 1.5);
        for (uint32_t e = 0; e < s.experts; ++e) {
            const std::string expert = fmt::format("{}mlp.experts.{}", prefix, e);
            if (s.merged_int8) {
                w.merged(expert, s.expert_hidden, s.dim);
                continue;
            }
            w.matrix(expert + ".gate_proj.weight", s.expert_hidden, s.dim, format, 1);
            w.matrix(expert + ".up_proj.weight", s.expert_hidden, s.dim, format, 1);
            w.matrix(expert + ".down_proj.weight", s.dim, s.expert_hidden, format, 3);
        }
    }
    nlohmann::ordered_json config = {
        {"architectures", {"OlmoeForCausalLM"}},
        {"model_type", "olmoe"},
        {"dtype", "bfloat16"},
        {"vocab_size", s.vocab},
        {"hidden_size", s.dim},
        {"intermediate_size", s.expert_hidden},
        {"num_hidden_layers", s.layers},
        {"num_attention_heads", s.heads},
        {"num_key_value_heads", s.kv_heads},
        {"num_experts", s.experts},
        {"num_experts_per_tok", s.top_k},
        {"norm_topk_prob", false},
        {"rms_norm_eps", 1e-5},
        {"hidden_act", "silu"},
        {"attention_bias", false},
        {"tie_word_embeddings", false},
        {"rope_parameters", {{"rope_theta", 10000.0}, {"rope_type", "default"}}},
        {"max_position_embeddings", s.context},
        {"eos_token_id", 1},
        {"pad_token_id", 1}};
    if (s.clip) config["clip_qkv"] = 2.0;
    TRY_STATUS(w.write_text("config.json", config.dump(1) + "\n"));
    return w.write({"model-", "", ""}, true);
}

}  // namespace colibri::synthetic

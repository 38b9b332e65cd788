// For tests: the published configs from their documented values, and what a config becomes.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/registry.h"
#include "model/spec.h"

namespace colibri {

using TestJson = nlohmann::ordered_json;

// The published file of GLM-5.2, from its documented values.
inline TestJson glm52() {
    TestJson json = TestJson::parse(
        R"({ "architectures": ["GlmMoeDsaForCausalLM"], "model_type": "glm_moe_dsa", "dtype":
        "bfloat16", "vocab_size": 154880, "hidden_size": 6144, "num_hidden_layers": 78,
        "num_nextn_predict_layers": 1, "num_attention_heads": 64, "num_key_value_heads": 64,
        "q_lora_rank": 2048, "kv_lora_rank": 512, "qk_nope_head_dim": 192, "qk_rope_head_dim":
        64, "qk_head_dim": 256, "v_head_dim": 256, "head_dim": 192, "intermediate_size": 12288,
        "moe_intermediate_size": 2048, "first_k_dense_replace": 3, "moe_layer_freq": 1,
        "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "n_group": 1,
        "topk_group": 1, "norm_topk_prob": true, "routed_scaling_factor": 2.5, "scoring_func":
        "sigmoid", "topk_method": "noaux_tc", "moe_router_dtype": "float32", "rms_norm_eps":
        1e-5, "hidden_act": "silu", "attention_bias": false, "attention_dropout": 0.0,
        "tie_word_embeddings": false, "initializer_range": 0.02, "rope_parameters":
        {"rope_theta": 8000000, "rope_type": "default"}, "rope_interleave": true,
        "indexer_rope_interleave": true, "max_position_embeddings": 1048576, "index_topk": 2048,
        "index_n_heads": 32, "index_head_dim": 128, "index_topk_freq": 4,
        "index_skip_topk_offset": 3, "index_topk_pattern": null,
        "index_share_for_mtp_iteration": true, "eos_token_id": [154820, 154827, 154829],
        "pad_token_id": 154820, "ep_size": 1, "pretraining_tp": 1, "use_cache": true})");
    for (int i = 0; i < 78; ++i) {
        json["mlp_layer_types"].push_back(i < 3 ? "dense" : "sparse");
        json["indexer_types"].push_back(i < 3 || i % 4 == 2 ? "full" : "shared");
    }
    return json;
}

inline TestJson olmoe() {
    return TestJson::parse(
        R"({ "architectures": ["OlmoeForCausalLM"], "model_type": "olmoe", "hidden_size": 2048,
        "num_hidden_layers": 16, "num_attention_heads": 16, "num_key_value_heads": 16,
        "intermediate_size": 1024, "num_experts": 64, "num_experts_per_tok": 8,
        "norm_topk_prob": false, "vocab_size": 50304, "max_position_embeddings": 4096,
        "rope_theta": 10000.0, "rope_scaling": null, "rms_norm_eps": 1e-5, "hidden_act": "silu",
        "attention_bias": false, "clip_qkv": null, "tie_word_embeddings": false, "pad_token_id":
        1, "eos_token_id": 50279, "router_aux_loss_coef": 0.01, "output_router_logits": false,
        "torch_dtype": "bfloat16"})");
}

struct Parsed {
    Result<ModelSpec> spec = fail(ErrorKind::io, "");
    std::vector<std::string> notices;
};

inline Parsed parse_text(const std::string& text) {
    Notices notices;
    const auto config = Config::parse(text, "config.json");
    Parsed parsed;
    parsed.spec = config ? spec_from_config(*config, notices)
                         : Result<ModelSpec>(tl::unexpected(config.error()));
    parsed.notices = notices.take();
    return parsed;
}
inline Parsed parse(const TestJson& json) {
    return parse_text(json.dump());
}

inline std::string golden(const std::string& name) {
    return COLIBRI_SOURCE_DIR "/tests/golden/" + name;
}
inline std::string slurp(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

inline void expect_refused(const TestJson& json, ErrorKind kind, const std::string& what) {
    const Parsed parsed = parse(json);
    ASSERT_FALSE(parsed.spec) << what;
    EXPECT_EQ(parsed.spec.error().kind, kind) << parsed.spec.error().message;
    EXPECT_THAT(parsed.spec.error().message,
                ::testing::AllOf(::testing::HasSubstr("config.json"), ::testing::HasSubstr(what)));
}

inline const LatentAttention& latent(const ModelSpec& spec, size_t layer) {
    return std::get<LatentAttention>(spec.layers[layer].sublayers[0].body);
}
// The layers that own an indexer.
inline std::vector<uint32_t> owners(const ModelSpec& spec) {
    std::vector<uint32_t> list;
    for (const Layer& layer : spec.layers)
        if (latent(spec, layer.index).indexer->owned) list.push_back(layer.index);
    return list;
}

}  // namespace colibri

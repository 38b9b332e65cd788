// OLMoE. Full attention whose queries and keys are normalized over their whole width, experts
// behind a softmax router.
#include <fmt/format.h>

#include <cmath>

#include "model/families/common.h"
#include "model/families/families.h"

namespace colibri {

namespace {

constexpr uint32_t kLayersMax = 4096;
constexpr uint32_t kHeadsMax = 4096;
constexpr uint32_t kExpertsMax = 65535;

Result<GroupedQueryAttention> read_attention(const Config& config, uint32_t dim) {
    GroupedQueryAttention a;
    TRY(a.heads, config.count("num_attention_heads", 1, kHeadsMax));
    TRY(a.kv_heads, config.count_or("num_key_value_heads", a.heads, 1, kHeadsMax));
    if (a.heads % a.kv_heads != 0)
        return inconsistent(config, "num_key_value_heads",
                            fmt::format("a divisor of num_attention_heads ({})", a.heads));
    if (dim % a.heads != 0)
        return inconsistent(config, "num_attention_heads",
                            fmt::format("a divisor of hidden_size ({})", dim));
    a.head_dims = a.value_dims = dim / a.heads;
    TRY(const uint32_t head_dims, config.count_or("head_dim", a.head_dims));
    if (head_dims != a.head_dims)
        return inconsistent(config, "head_dim",
                            fmt::format("hidden_size / num_attention_heads = {}", a.head_dims));
    TRY(a.rope, plain_rope(config, a.head_dims, RopePairing::half_split));
    a.qk_norm = GroupedQueryAttention::QkNorm::full_width;
    TRY(a.qk_norm_kind, rms_norm(config, "rms_norm_eps", 1e-5));
    if (config.has("clip_qkv")) {
        TRY(const double clip, config.number("clip_qkv"));
        if (!(clip > 0.0 && clip < 1e30))
            return config.wrong("clip_qkv", "null or a number above 0");
        a.clip_qkv = float(clip);
    }
    a.score_factor = float(1.0 / std::sqrt(double(a.head_dims)));
    return a;
}

Result<MoeFeedForward> read_moe(const Config& config, uint32_t dim) {
    Router router{.score = RouterScore::softmax};
    TRY(router.experts, config.count("num_experts", 1, kExpertsMax));
    TRY(router.top_k, config.count("num_experts_per_tok", 1, kExpertsMax));
    if (router.top_k > router.experts)
        return inconsistent(config, "num_experts_per_tok",
                            fmt::format("at most num_experts ({})", router.experts));
    TRY(router.renormalize, config.flag_or("norm_topk_prob", false));
    TRY(const uint32_t hidden, config.count("intermediate_size"));
    TRY_STATUS(check_matrix(config, "an expert", hidden, dim));
    return MoeFeedForward{.router = router, .expert = {.input = dim, .hidden = hidden}};
}

}  // namespace

Result<ModelSpec> olmoe_spec(const Config& config, Notices& notices) {
    ModelSpec spec{.family = "olmoe"};
    TRY_STATUS(check_common_maths(config));
    TRY(spec.dim, config.count("hidden_size"));
    TRY(spec.vocab, config.count("vocab_size"));
    TRY_STATUS(check_matrix(config, "the embedding", spec.vocab, spec.dim));
    TRY(const uint32_t layers, config.count("num_hidden_layers", 1, kLayersMax));
    TRY(spec.context_max, config.count_or("max_position_embeddings", 4096));
    TRY(spec.tied_head, config.flag_or("tie_word_embeddings", false));
    TRY(const GroupedQueryAttention attention, read_attention(config, spec.dim));
    TRY_STATUS(check_matrix(config, "q_proj", spec.dim, spec.dim));
    TRY(const MoeFeedForward moe, read_moe(config, spec.dim));
    spec.final_norm = attention.qk_norm_kind;
    for (uint32_t i = 0; i < layers; ++i)
        spec.layers.push_back(
            {.index = i,
             .sublayers = {
                 {.norm_name = "input_layernorm", .norm = spec.final_norm, .body = attention},
                 {.norm_name = "post_attention_layernorm", .norm = spec.final_norm, .body = moe}}});
    TRY_STATUS(read_token_ids(config, notices, spec));
    return spec;
}

}  // namespace colibri

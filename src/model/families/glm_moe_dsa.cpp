// GLM-5.x. Latent attention in every layer; some layers own a key indexer, the others use the
// selection of the nearest owner before them; the first layers are dense, the rest are experts
// behind a sigmoid router.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/families/common.h"
#include "model/families/families.h"

namespace colibri {

namespace {

constexpr uint32_t kLayersMax = 4096;
constexpr uint32_t kHeadsMax = 4096;
constexpr uint32_t kHeadDimsMax = 65536;
constexpr uint32_t kExpertsMax = 65535;

// What every layer has in common.
struct Parts {
    LatentAttention attention;
    KeyIndexer indexer;
    Norm norm;
    DenseFeedForward dense;
    MoeFeedForward moe;
};

Result<LatentAttention> read_attention(const Config& config, uint32_t dim) {
    LatentAttention a;
    TRY(a.heads, config.count("num_attention_heads", 1, kHeadsMax));
    TRY(a.q_rank, config.count("q_lora_rank"));
    TRY(a.kv_rank, config.count("kv_lora_rank"));
    TRY(a.nope_dims, config.count("qk_nope_head_dim", 1, kHeadDimsMax));
    TRY(const uint32_t rope_dims, config.count("qk_rope_head_dim", 2, kHeadDimsMax));
    TRY(a.value_dims, config.count("v_head_dim", 1, kHeadDimsMax));
    // Older exports had no such switch; published weights are interleaved.
    TRY(const bool interleaved, config.flag_or("rope_interleave", true));
    TRY(a.rope, plain_rope(config, rope_dims,
                           interleaved ? RopePairing::adjacent : RopePairing::half_split));
    TRY(const uint32_t head_dims, config.count_or("qk_head_dim", a.nope_dims + rope_dims));
    if (head_dims != a.nope_dims + rope_dims)
        return inconsistent(
            config, "qk_head_dim",
            fmt::format("qk_nope_head_dim + qk_rope_head_dim = {}", a.nope_dims + rope_dims));
    // transformers' class default, with which published outputs were computed; other engines pass
    // rms_norm_eps.
    TRY(a.lora_norm, rms_norm(config, "lora_norm_eps", 1e-6));
    a.score_factor = float(1.0 / std::sqrt(double(head_dims)));
    TRY_STATUS(check_matrix(config, "q_b_proj", uint64_t(a.heads) * head_dims, a.q_rank));
    TRY_STATUS(check_matrix(config, "q_a_proj", a.q_rank, dim));
    TRY_STATUS(check_matrix(config, "kv_a_proj_with_mqa", uint64_t(a.kv_rank) + rope_dims, dim));
    TRY_STATUS(check_matrix(config, "kv_b_proj", uint64_t(a.heads) * (a.nope_dims + a.value_dims),
                            a.kv_rank));
    TRY_STATUS(check_matrix(config, "o_proj", dim, uint64_t(a.heads) * a.value_dims));
    // Neither has a meaning here: every head has its own keys, and the sizes of a head are given
    // above.
    config.ignore({"num_key_value_heads", "head_dim"});
    return a;
}

Result<KeyIndexer> read_indexer(const Config& config, const LatentAttention& attention,
                                uint32_t dim) {
    KeyIndexer indexer;
    TRY(indexer.heads, config.count("index_n_heads", 1, kHeadsMax));
    TRY(indexer.head_dims, config.count("index_head_dim", 1, kHeadDimsMax));
    TRY(indexer.top_keys, config.count_or("index_topk", 2048));
    if (attention.rope.dims > indexer.head_dims)
        return inconsistent(config, "index_head_dim",
                            fmt::format("at least qk_rope_head_dim ({})", attention.rope.dims));
    TRY(const bool interleaved, config.flag_or("indexer_rope_interleave", true));
    TRY(const bool relu, config.flag_or("indexer_relu", true));
    if (!relu) return config.wrong("indexer_relu", "true", ErrorKind::unsupported);
    indexer.rope = attention.rope;
    indexer.rope.pairing = interleaved ? RopePairing::adjacent : RopePairing::half_split;
    TRY_STATUS(check_matrix(config, "indexer.wq_b", uint64_t(indexer.heads) * indexer.head_dims,
                            attention.q_rank));
    TRY_STATUS(check_matrix(config, "indexer.wk", indexer.head_dims, dim));
    return indexer;
}

// The derivation that files without indexer_types need.
Result<std::vector<bool>> derived_owners(const Config& config, uint32_t layers) {
    std::vector<bool> owners(layers);
    if (config.has("index_topk_pattern")) {
        TRY(const std::string pattern, config.text("index_topk_pattern"));
        config.ignore({"index_topk_freq", "index_skip_topk_offset"});
        if (pattern.size() != layers || pattern.find_first_not_of("FS") != std::string::npos)
            return config.wrong("index_topk_pattern",
                                fmt::format("{} letters F or S (num_hidden_layers)", layers));
        for (uint32_t i = 0; i < layers; ++i) owners[i] = pattern[i] == 'F';
        return owners;
    }
    TRY(uint32_t every, config.count_or("index_topk_freq", 1, 0));
    TRY(const uint32_t offset, config.count_or("index_skip_topk_offset", 2, 0));
    every = std::max(every, 1U);
    for (uint32_t i = 0; i < layers; ++i)
        owners[i] = std::max(int64_t(i) - int64_t(offset) + 1, int64_t(0)) % every == 0;
    return owners;
}

// Which layers own an indexer.
Result<std::vector<bool>> read_owners(const Config& config, uint32_t layers) {
    std::vector<bool> owners;
    std::string_view source = "the derived schedule of indexers";
    if (config.has("indexer_types") || config.is_list("index_topk_pattern")) {
        const std::string_view key =
            config.has("indexer_types") ? "indexer_types" : "index_topk_pattern";
        config.ignore({"index_topk_pattern", "index_topk_freq", "index_skip_topk_offset"});
        TRY(const auto types, layer_list(config, key, layers, {"full", "shared", "F", "S"}));
        for (const std::string& type : types) owners.push_back(type == "full" || type == "F");
        source = key;
    } else {
        TRY(owners, derived_owners(config, layers));
    }
    if (!owners[0])
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}: {} makes layer 0 share an indexer, but there is no layer "
                                "before it; expected full",
                                config.file(), source));
    return owners;
}

Result<Router> read_router(const Config& config) {
    Router router{.score = RouterScore::sigmoid, .selection_bias = true};
    for (const auto& [key, known] :
         {std::pair{"scoring_func", "sigmoid"}, {"topk_method", "noaux_tc"}}) {
        TRY(const std::string value, config.text_or(key, known));
        if (value != known)
            return config.wrong(key, fmt::format("\"{}\"", known), ErrorKind::unsupported);
    }
    TRY(router.experts, config.count("n_routed_experts", 1, kExpertsMax));
    TRY(router.top_k, config.count("num_experts_per_tok", 1, kExpertsMax));
    if (router.top_k > router.experts)
        return inconsistent(config, "num_experts_per_tok",
                            fmt::format("at most n_routed_experts ({})", router.experts));
    TRY(router.groups, config.count_or("n_group", 1));
    TRY(router.groups_kept, config.count_or("topk_group", 1));
    if (router.experts % router.groups != 0)
        return inconsistent(config, "n_group",
                            fmt::format("a divisor of n_routed_experts ({})", router.experts));
    const uint32_t group_size = router.experts / router.groups;
    // A group is scored by its two best experts.
    if (router.groups > 1 && group_size < 2)
        return inconsistent(config, "n_group",
                            fmt::format("at least 2 experts in a group of {}", router.experts));
    if (router.groups_kept > router.groups)
        return inconsistent(config, "topk_group",
                            fmt::format("at most n_group ({})", router.groups));
    if (uint64_t(router.groups_kept) * group_size < router.top_k)
        return inconsistent(config, "num_experts_per_tok",
                            fmt::format("at most the {} experts of {} groups",
                                        router.groups_kept * group_size, router.groups_kept));
    TRY(router.renormalize, config.flag_or("norm_topk_prob", true));
    router.epsilon = router.renormalize ? 1e-20F : 0.0F;
    TRY(const double scale, config.number_or("routed_scaling_factor", 1.0));
    if (!(scale > 0.0 && scale < 1e6))
        return config.wrong("routed_scaling_factor", "a number above 0");
    router.scale = float(scale);
    return router;
}

Result<MoeFeedForward> read_moe(const Config& config, uint32_t dim) {
    MoeFeedForward moe;
    TRY(const Router router, read_router(config));
    moe.router = router;
    TRY(const uint32_t hidden, config.count("moe_intermediate_size"));
    TRY_STATUS(check_matrix(config, "an expert", hidden, dim));
    moe.expert = {.input = dim, .hidden = hidden};
    TRY(const uint32_t shared, config.count_or("n_shared_experts", 0, 0, kExpertsMax));
    TRY_STATUS(check_matrix(config, "the shared experts", uint64_t(hidden) * shared, dim));
    if (shared != 0) moe.shared = Expert{.input = dim, .hidden = hidden * shared};
    return moe;
}

// Which layers are mixtures of experts.
Result<std::vector<bool>> read_sparse(const Config& config, uint32_t layers) {
    TRY(const auto types, layer_list(config, "mlp_layer_types", layers, {"dense", "sparse"}));
    std::vector<bool> sparse(layers);
    if (!types.empty()) {
        config.ignore({"first_k_dense_replace", "moe_layer_freq"});
        for (uint32_t i = 0; i < layers; ++i) sparse[i] = types[i] == "sparse";
        return sparse;
    }
    TRY(const uint32_t dense, config.count("first_k_dense_replace", 0));
    TRY(const uint32_t every, config.count_or("moe_layer_freq", 1));
    for (uint32_t i = 0; i < layers; ++i) sparse[i] = i >= dense && i % every == 0;
    return sparse;
}

Result<Parts> read_parts(const Config& config, uint32_t dim) {
    Parts parts;
    TRY(parts.attention, read_attention(config, dim));
    TRY(parts.indexer, read_indexer(config, parts.attention, dim));
    TRY(parts.norm, rms_norm(config, "rms_norm_eps", 1e-5));
    TRY(parts.moe, read_moe(config, dim));
    TRY(const uint32_t dense_hidden, config.count("intermediate_size"));
    TRY_STATUS(check_matrix(config, "a dense layer", dense_hidden, dim));
    parts.dense.expert = {.input = dim, .hidden = dense_hidden};
    return parts;
}

Layer make_layer(const Parts& parts, uint32_t index, bool owns_indexer, bool sparse) {
    LatentAttention attention = parts.attention;
    attention.indexer = parts.indexer;
    attention.indexer->owned = owns_indexer;
    Body feed_forward = sparse ? Body(parts.moe) : Body(parts.dense);
    return {
        .index = index,
        .sublayers = {
            {.norm_name = "input_layernorm", .norm = parts.norm, .body = attention},
            {.norm_name = "post_attention_layernorm", .norm = parts.norm, .body = feed_forward}}};
}

}  // namespace

Result<ModelSpec> glm_moe_dsa_spec(const Config& config, Notices& notices) {
    ModelSpec spec{.family = "glm_moe_dsa"};
    TRY_STATUS(check_common_maths(config));
    TRY(spec.dim, config.count("hidden_size"));
    TRY(spec.vocab, config.count("vocab_size"));
    TRY_STATUS(check_matrix(config, "the embedding", spec.vocab, spec.dim));
    TRY(const uint32_t layers, config.count("num_hidden_layers", 1, kLayersMax));
    TRY(const uint32_t draft_layers, config.count_or("num_nextn_predict_layers", 0, 0, kLayersMax));
    TRY(spec.context_max, config.count_or("max_position_embeddings", 202752));
    TRY(spec.tied_head, config.flag_or("tie_word_embeddings", false));
    TRY_STATUS(layer_list(config, "layer_types", layers, {"indexed_attention"}));
    TRY(const Parts parts, read_parts(config, spec.dim));
    TRY(const std::vector<bool> owners, read_owners(config, layers));
    TRY(const std::vector<bool> sparse, read_sparse(config, layers));
    for (uint32_t i = 0; i < layers; ++i)
        spec.layers.push_back(make_layer(parts, i, owners[i], sparse[i]));
    spec.final_norm = parts.norm;
    TRY(const bool share_index, config.flag_or("index_share_for_mtp_iteration", false));
    TRY_STATUS(check_matrix(config, "eh_proj", spec.dim, 2 * uint64_t(spec.dim)));
    if (draft_layers != 0)
        spec.draft = DraftHead{.layer = make_layer(parts, layers, true, true),
                               .norm = parts.norm,
                               .share_index_in_round = share_index};
    if (draft_layers > 1)
        notices.add(fmt::format(
            "{}: num_nextn_predict_layers is {}; the first draft layer is used, which changes "
            "the speed of speculation and no answer",
            config.file(), draft_layers));
    TRY_STATUS(read_token_ids(config, notices, spec));
    return spec;
}

}  // namespace colibri

#include "model/spec.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/registry.h"
#include "model/tensor_needs.h"

namespace colibri {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::ordered_json;

// The published file of GLM-5.2, from its documented values.
Json glm52() {
    Json json = Json::parse(R"({
        "architectures": ["GlmMoeDsaForCausalLM"], "model_type": "glm_moe_dsa", "dtype": "bfloat16",
        "vocab_size": 154880, "hidden_size": 6144, "num_hidden_layers": 78, "num_nextn_predict_layers": 1,
        "num_attention_heads": 64, "num_key_value_heads": 64, "q_lora_rank": 2048, "kv_lora_rank": 512,
        "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "qk_head_dim": 256, "v_head_dim": 256, "head_dim": 192,
        "intermediate_size": 12288, "moe_intermediate_size": 2048, "first_k_dense_replace": 3, "moe_layer_freq": 1,
        "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "n_group": 1, "topk_group": 1,
        "norm_topk_prob": true, "routed_scaling_factor": 2.5, "scoring_func": "sigmoid", "topk_method": "noaux_tc",
        "moe_router_dtype": "float32", "rms_norm_eps": 1e-5, "hidden_act": "silu", "attention_bias": false,
        "attention_dropout": 0.0, "tie_word_embeddings": false, "initializer_range": 0.02,
        "rope_parameters": {"rope_theta": 8000000, "rope_type": "default"}, "rope_interleave": true,
        "indexer_rope_interleave": true, "max_position_embeddings": 1048576, "index_topk": 2048,
        "index_n_heads": 32, "index_head_dim": 128, "index_topk_freq": 4, "index_skip_topk_offset": 3,
        "index_topk_pattern": null, "index_share_for_mtp_iteration": true,
        "eos_token_id": [154820, 154827, 154829], "pad_token_id": 154820, "ep_size": 1, "pretraining_tp": 1,
        "use_cache": true})");
    for (int i = 0; i < 78; ++i) {
        json["mlp_layer_types"].push_back(i < 3 ? "dense" : "sparse");
        json["indexer_types"].push_back(i < 3 || i % 4 == 2 ? "full" : "shared");
    }
    return json;
}

Json olmoe() {
    return Json::parse(R"({
        "architectures": ["OlmoeForCausalLM"], "model_type": "olmoe", "hidden_size": 2048, "num_hidden_layers": 16,
        "num_attention_heads": 16, "num_key_value_heads": 16, "intermediate_size": 1024, "num_experts": 64,
        "num_experts_per_tok": 8, "norm_topk_prob": false, "vocab_size": 50304, "max_position_embeddings": 4096,
        "rope_theta": 10000.0, "rope_scaling": null, "rms_norm_eps": 1e-5, "hidden_act": "silu",
        "attention_bias": false, "clip_qkv": null, "tie_word_embeddings": false, "pad_token_id": 1,
        "eos_token_id": 50279, "router_aux_loss_coef": 0.01, "output_router_logits": false,
        "torch_dtype": "bfloat16"})");
}

struct Parsed {
    Result<ModelSpec> spec = fail(ErrorKind::io, "");
    std::vector<std::string> notices;
};

Parsed parse_text(const std::string& text) {
    Notices notices;
    const auto config = Config::parse(text, "config.json");
    Parsed parsed;
    parsed.spec = config ? spec_from_config(*config, notices)
                         : Result<ModelSpec>(tl::unexpected(config.error()));
    parsed.notices = notices.take();
    return parsed;
}
Parsed parse(const Json& json) {
    return parse_text(json.dump());
}

std::string golden(const std::string& name) {
    return COLIBRI_SOURCE_DIR "/tests/golden/" + name;
}
std::string slurp(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

void expect_refused(const Json& json, ErrorKind kind, const std::string& what) {
    const Parsed parsed = parse(json);
    ASSERT_FALSE(parsed.spec) << what;
    EXPECT_EQ(parsed.spec.error().kind, kind) << parsed.spec.error().message;
    EXPECT_THAT(parsed.spec.error().message, AllOf(HasSubstr("config.json"), HasSubstr(what)));
}

const LatentAttention& latent(const ModelSpec& spec, size_t layer) {
    return std::get<LatentAttention>(spec.layers[layer].sublayers[0].body);
}
std::vector<uint32_t> owners(const ModelSpec& spec) {
    std::vector<uint32_t> list;
    for (const Layer& layer : spec.layers)
        if (latent(spec, layer.index).indexer->owned) list.push_back(layer.index);
    return list;
}
const std::vector<uint32_t> kGlm52Owners{0,  1,  2,  6,  10, 14, 18, 22, 26, 30, 34,
                                         38, 42, 46, 50, 54, 58, 62, 66, 70, 74};

TEST(GlmSpec, Glm52IsWhatTheSpecificationSays) {
    // Goal: every published value arrives where it belongs.
    // Method: the documented config; fields compared with the documented numbers.
    const Parsed parsed = parse(glm52());
    ASSERT_TRUE(parsed.spec) << parsed.spec.error().message;
    EXPECT_THAT(parsed.notices, IsEmpty());
    const ModelSpec& spec = *parsed.spec;
    EXPECT_EQ(spec.dim, 6144U);
    EXPECT_EQ(spec.vocab, 154880U);
    EXPECT_EQ(spec.context_max, 1048576U);
    EXPECT_FALSE(spec.tied_head);
    ASSERT_EQ(spec.layers.size(), 78U);
    EXPECT_THAT(spec.eos_ids, ElementsAre(154820, 154827, 154829));
    EXPECT_EQ(spec.pad_id, 154820);
    EXPECT_FALSE(spec.bos_id);
    EXPECT_EQ(owners(spec), kGlm52Owners);
    for (size_t i = 0; i < 78; ++i) {
        EXPECT_EQ(spec.layers[i].index, i);
        EXPECT_EQ(std::holds_alternative<DenseFeedForward>(spec.layers[i].sublayers[1].body),
                  i < 3);
    }
    const LatentAttention& a = latent(spec, 40);
    EXPECT_EQ(std::tuple(a.heads, a.q_rank, a.kv_rank, a.nope_dims, a.value_dims, a.rope.dims),
              std::tuple(64U, 2048U, 512U, 192U, 256U, 64U));
    EXPECT_EQ(a.rope.theta, 8e6);
    EXPECT_EQ(a.rope.pairing, RopePairing::adjacent);
    EXPECT_EQ(a.score_factor, 0.0625F);
    EXPECT_EQ(a.lora_norm.eps, 1e-6F);
    EXPECT_EQ(std::tuple(a.indexer->heads, a.indexer->head_dims, a.indexer->top_keys,
                         a.indexer->rope.dims),
              std::tuple(32U, 128U, 2048U, 64U));
    EXPECT_EQ(a.indexer->key_norm.kind, NormKind::layer);
    const auto& moe = std::get<MoeFeedForward>(spec.layers[3].sublayers[1].body);
    const auto& router = std::get<Router>(moe.router);
    EXPECT_EQ(std::tuple(router.experts, router.top_k, router.groups), std::tuple(256U, 8U, 1U));
    EXPECT_TRUE(router.selection_bias && router.renormalize &&
                router.score == RouterScore::sigmoid);
    EXPECT_EQ(router.scale, 2.5F);
    EXPECT_EQ(router.epsilon, 1e-20F);
    EXPECT_EQ(moe.expert.hidden, 2048U);
    EXPECT_EQ(moe.shared->hidden, 2048U);
    ASSERT_TRUE(spec.draft);
    EXPECT_EQ(spec.draft->layer.index, 78U);
    EXPECT_TRUE(spec.draft->share_index_in_round);
    EXPECT_TRUE(std::get<LatentAttention>(spec.draft->layer.sublayers[0].body).indexer->owned);
    EXPECT_TRUE(std::holds_alternative<MoeFeedForward>(spec.draft->layer.sublayers[1].body));
}

TEST(GlmSpec, ParameterCountsAreThePublishedOnes) {
    // Goal: shapes derived from the spec reproduce the published sizes to the parameter.
    // Method: GLM-5.2 and GLM-5 (every layer owns an indexer) against the specification's
    // section 1.4.
    const ParameterCounts counts = count_parameters(*parse(glm52()).spec);
    EXPECT_EQ(counts.main, 743'377'000'704U);
    EXPECT_EQ(counts.draft, 9'952'920'320U);
    EXPECT_EQ(counts.total(), 753'329'921'024U);
    EXPECT_EQ(counts.routed_main, 724'775'731'200U);
    EXPECT_EQ(counts.routed_main + counts.routed_draft, 734'439'407'616U);
    EXPECT_EQ(counts.active, 41'250'511'104U);
    EXPECT_EQ(counts.embedding, 951'582'720U);
    EXPECT_EQ(counts.routed_experts_main, 19'200U);
    Json glm5 = glm52();
    for (const char* key :
         {"indexer_types", "index_topk_freq", "index_skip_topk_offset", "index_topk_pattern",
          "index_share_for_mtp_iteration", "mlp_layer_types", "rope_parameters"})
        glm5.erase(key);
    glm5["rope_theta"] = 1e6;
    glm5["head_dim"] = 64;
    glm5["max_position_embeddings"] = 202752;
    const Parsed parsed = parse(glm5);
    ASSERT_TRUE(parsed.spec) << parsed.spec.error().message;
    EXPECT_THAT(parsed.notices, IsEmpty());
    EXPECT_EQ(owners(*parsed.spec).size(), 78U);
    EXPECT_EQ(latent(*parsed.spec, 0).rope.theta, 1e6);
    EXPECT_FALSE(parsed.spec->draft->share_index_in_round);
    EXPECT_EQ(count_parameters(*parsed.spec).total(), 753'864'119'552U);
}

TEST(GlmSpec, TensorCountIsThePublishedOne) {
    // Goal: needs plus routed experts are exactly the published 59,585 tensors.
    // Method: count needs and add three tensors per expert of 76 layers.
    const ModelSpec spec = *parse(glm52()).spec;
    EXPECT_EQ(tensor_needs(spec).size() + size_t(3) * 256 * 76, 59'585U);
    const ModelSpec small = *parse(olmoe()).spec;
    EXPECT_EQ(tensor_needs(small).size() + size_t(3) * 64 * 16, 3'219U);
}

TEST(GlmSpec, TheScheduleCanBeGivenInFourWays) {
    // Goal: list, derivation by frequency, pattern string and pattern list give the same 21 layers.
    // Method: GLM-5.2 with the list taken away and the others put in; an explicit list wins over
    // the rest.
    Json json = glm52();
    json.erase("indexer_types");
    EXPECT_EQ(owners(*parse(json).spec), kGlm52Owners);
    std::string pattern;
    for (int i = 0; i < 78; ++i) pattern += i < 3 || i % 4 == 2 ? 'F' : 'S';
    json["index_topk_pattern"] = pattern;
    json["index_topk_freq"] = 7;
    EXPECT_EQ(owners(*parse(json).spec), kGlm52Owners);
    json["index_topk_pattern"] = glm52()["indexer_types"];
    EXPECT_EQ(owners(*parse(json).spec), kGlm52Owners);
    json = glm52();
    json["index_topk_pattern"] = std::string(78, 'F');
    EXPECT_EQ(owners(*parse(json).spec), kGlm52Owners);
    json.erase("indexer_types");
    json["index_topk_pattern"] = nullptr;
    json["index_topk_freq"] = nullptr;
    EXPECT_EQ(owners(*parse(json).spec).size(), 78U);
    json["index_topk_freq"] = 0;
    EXPECT_EQ(owners(*parse(json).spec).size(), 78U);
}

TEST(GlmSpec, BothDialectsAndDefaults) {
    // Goal: the older spellings and absent optional keys mean what the specification says.
    // Method: one change after another on GLM-5.2.
    const auto changed = [](const std::function<void(Json&)>& change) {
        Json json = glm52();
        change(json);
        const Parsed parsed = parse(json);
        EXPECT_TRUE(parsed.spec) << parsed.spec.error().message;
        EXPECT_THAT(parsed.notices, IsEmpty());
        return *parsed.spec;
    };
    ModelSpec spec = changed([](Json& j) {
        j.erase("rope_parameters");
        j["rope_theta"] = 1e6;
        j["rope_scaling"] = nullptr;
        j["torch_dtype"] = "bfloat16";
        j.erase("dtype");
        j["eos_token_id"] = 154820;
    });
    EXPECT_EQ(latent(spec, 0).rope.theta, 1e6);
    EXPECT_THAT(spec.eos_ids, ElementsAre(154820));
    spec = changed([](Json& j) { j["rope_theta"] = 5; });  // the explicit parameters win
    EXPECT_EQ(latent(spec, 0).rope.theta, 8e6);
    spec = changed([](Json& j) {
        for (const char* key :
             {"scoring_func", "topk_method", "moe_layer_freq", "num_nextn_predict_layers",
              "rope_interleave", "indexer_rope_interleave", "mlp_layer_types", "n_group",
              "topk_group", "max_position_embeddings", "eos_token_id", "pad_token_id"})
            j.erase(key);
    });
    EXPECT_FALSE(spec.draft);
    EXPECT_EQ(latent(spec, 0).rope.pairing, RopePairing::adjacent);
    EXPECT_EQ(latent(spec, 0).indexer->rope.pairing, RopePairing::adjacent);
    EXPECT_EQ(spec.context_max, 202752U);
    EXPECT_TRUE(spec.eos_ids.empty());
    spec = changed([](Json& j) {
        j["rope_interleave"] = false;
        j["indexer_rope_interleave"] = false;
        j["lora_norm_eps"] = 1e-5;
        j["moe_layer_freq"] = 2;
        j.erase("mlp_layer_types");
        j["n_shared_experts"] = 0;
    });
    EXPECT_EQ(latent(spec, 0).rope.pairing, RopePairing::half_split);
    EXPECT_EQ(latent(spec, 0).indexer->rope.pairing, RopePairing::half_split);
    EXPECT_EQ(latent(spec, 0).lora_norm.eps, 1e-5F);
    EXPECT_TRUE(std::holds_alternative<DenseFeedForward>(spec.layers[5].sublayers[1].body));
    EXPECT_FALSE(std::get<MoeFeedForward>(spec.layers[4].sublayers[1].body).shared);
}

TEST(GlmSpec, MissingRequiredKeysAreNamed) {
    // Goal: F7: each required key, dropped in turn, is named; so is one written as a string.
    // Method: the list of required keys on GLM-5.2.
    for (const char* key :
         {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "q_lora_rank",
          "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "intermediate_size",
          "moe_intermediate_size", "n_routed_experts", "num_experts_per_tok", "index_n_heads",
          "index_head_dim"}) {
        Json json = glm52();
        json.erase(key);
        expect_refused(json, ErrorKind::invalid_input,
                       fmt::format("{} is missing, expected an integer", key));
        json[key] = glm52()[key].dump();
        expect_refused(json, ErrorKind::invalid_input,
                       fmt::format("{} is {}, expected an integer", key, json[key].dump()));
        for (const Json& bad :
             {Json(-1), Json(0), Json(1.5), Json(4294967296), Json(true), Json::array()}) {
            json[key] = bad;
            expect_refused(json, ErrorKind::invalid_input,
                           fmt::format("{} is {}, expected an integer", key, bad.dump()));
        }
    }
    Json json = glm52();
    json.erase("rope_parameters");
    expect_refused(json, ErrorKind::invalid_input, "rope_theta is missing");
    json = glm52();
    json.erase("mlp_layer_types");
    json.erase("first_k_dense_replace");
    expect_refused(json, ErrorKind::invalid_input, "first_k_dense_replace is missing");
}

TEST(GlmSpec, ContradictoryFieldsAreRefused) {
    // Goal: F10: fields are compared with each other before anything uses them.
    // Method: one inconsistent pair after another.
    const std::tuple<const char*, Json, const char*> cases[] = {
        {"qk_head_dim", 192, "qk_nope_head_dim + qk_rope_head_dim = 256"},
        {"qk_rope_head_dim", 63, "63 elements of a head are rotated"},
        {"qk_rope_head_dim", 62, "qk_head_dim is 256"},
        {"num_experts_per_tok", 257, "at most n_routed_experts (256)"},
        {"n_group", 7, "a divisor of n_routed_experts"},
        {"n_group", 256, "at least 2 experts in a group"},
        {"topk_group", 2, "at most n_group (1)"},
        {"index_head_dim", 32, "at least qk_rope_head_dim (64)"},
        {"indexer_types", Json::array({"full"}), "indexer_types has 1 entries, expected 78"},
        {"mlp_layer_types", Json::array({"dense"}), "mlp_layer_types has 1 entries, expected 78"},
        {"num_hidden_layers", 77, "entries, expected 77"},
        {"layer_types", Json::array({"indexed_attention"}), "layer_types has 1 entries"},
        {"num_attention_heads", 5000, "an integer from 1 to 4096"},
        {"hidden_size", 2147483647, "the embedding would have"},
        {"rms_norm_eps", 0, "a number between 0 and 1"},
        {"routed_scaling_factor", -1, "a number above 0"},
        {"eos_token_id", "154820", "a token id or a list"},
        {"eos_token_id", Json::array({1, -2}), "a token id or a list"},
        {"eos_token_id", Json::array({1, nullptr}), "a token id or a list"},
        {"pad_token_id", Json::array({1, 2}), "one token id"},
        {"norm_topk_prob", "true", "true or false"},
        {"rope_parameters", 5, "an object"},
    };
    for (const auto& [key, value, what] : cases) {
        Json json = glm52();
        json[key] = value;
        expect_refused(json, ErrorKind::invalid_input, what);
    }
    Json json = glm52();
    json["n_group"] = 64;
    json["topk_group"] = 1;
    expect_refused(json, ErrorKind::invalid_input, "at most the 4 experts of 1 groups");
    json = glm52();
    json["indexer_types"][0] = "shared";
    expect_refused(json, ErrorKind::invalid_input, "layer 0 share an indexer");
    json.erase("indexer_types");
    json["index_topk_pattern"] = "S" + std::string(77, 'F');
    expect_refused(json, ErrorKind::invalid_input, "layer 0 share an indexer");
    json["index_topk_pattern"] = "FFX";
    expect_refused(json, ErrorKind::invalid_input, "78 letters F or S");
}

TEST(GlmSpec, UnknownValuesThatChangeTheMathsAreUnsupported) {
    // Goal: a value that this engine does not compute is an error with its name, never ignored.
    // Method: one such value after another.
    const std::tuple<const char*, Json, const char*> cases[] = {
        {"hidden_act", "gelu", "hidden_act is \"gelu\", expected \"silu\""},
        {"scoring_func", "softmax", "scoring_func is \"softmax\", expected \"sigmoid\""},
        {"topk_method", "greedy", "topk_method"},
        {"attention_bias", true, "attention_bias is true, expected false"},
        {"mlp_bias", true, "mlp_bias is true"},
        {"indexer_relu", false, "indexer_relu is false"},
        {"rope_parameters",
         {{"rope_type", "yarn"}, {"rope_theta", 1e6}},
         "rope_parameters.rope_type is \"yarn\""},
        {"rope_parameters", {{"rope_theta", 1e6}, {"factor", 4}}, "rope_parameters.factor is 4"},
        {"rope_parameters",
         {{"rope_theta", 1e6}, {"partial_rotary_factor", 0.5}},
         "partial_rotary_factor is 0.5"},
        {"rope_scaling", {{"type", "yarn"}, {"factor", 40}}, "rope_scaling"},
        {"quantization_config",
         {{"quant_method", "awq"}},
         "quantization_config.quant_method is \"awq\""},
        {"quantization_config",
         {{"quant_method", "fp8"}, {"weight_block_size", {64, 64}}},
         "weight_block_size is [64,64]"},
        {"quantization_config", {{"quant_method", "fp8"}}, "weight_block_size is missing"},
        {"quantization_config",
         {{"quant_method", "fp8"}, {"fmt", "e5m2"}, {"weight_block_size", {128, 128}}},
         "quantization_config.fmt is \"e5m2\""},
        {"dtype", "int4", "dtype is \"int4\""},
    };
    for (const auto& [key, value, what] : cases) {
        Json json = glm52();
        json[key] = value;
        expect_refused(json, ErrorKind::unsupported, what);
    }
    Json json = glm52();
    json["layer_types"] = Json(std::vector<std::string>(78, "indexed_attention"));
    EXPECT_TRUE(parse(json).spec);
    json["layer_types"][5] = "sliding_attention";
    expect_refused(json, ErrorKind::unsupported, "layer_types[5] is \"sliding_attention\"");
    json = glm52();
    json["mlp_layer_types"][77] = "hash";
    expect_refused(json, ErrorKind::unsupported, "mlp_layer_types[77] is \"hash\"");
}

TEST(GlmSpec, UnknownKeysAreNamedOnce) {
    // Goal: a key that nobody knows is reported, also inside a section; known neutral ones are not.
    // Method: three unknown keys among neutral ones; a hundred more are cut.
    Json json = glm52();
    json["new_gadget"] = 7;
    json["rope_parameters"]["twist"] = 1;
    json["use_cache"] = false;
    json["quantization_config"] = {
        {"quant_method", "fp8"},           {"fmt", "e4m3"},
        {"activation_scheme", "dynamic"},  {"weight_block_size", {128, 128}},
        {"modules_to_not_convert", {"x"}}, {"odd", {{"a", 1}}}};
    const Parsed parsed = parse(json);
    ASSERT_TRUE(parsed.spec) << parsed.spec.error().message;
    EXPECT_THAT(
        parsed.notices,
        ElementsAre("config.json: unknown keys are ignored: rope_parameters.twist, new_gadget, "
                    "quantization_config.odd"));
    for (int i = 0; i < 100; ++i) json[fmt::format("key_{}", i)] = i;
    EXPECT_THAT(parse(json).notices, ElementsAre(HasSubstr("and 83 more")));
}

TEST(GlmSpec, OddCountsAreNotHardWired) {
    // Goal: F25: variants with another top-k or number of experts make a spec.
    // Method: top-k 1, 4, 6 and all; 132 and 7 experts.
    for (const uint32_t experts : {132U, 7U, 256U})
        for (const uint32_t top_k : {1U, 4U, 6U, experts}) {
            Json json = glm52();
            json["n_routed_experts"] = experts;
            json["num_experts_per_tok"] = top_k;
            const Parsed parsed = parse(json);
            ASSERT_TRUE(parsed.spec) << parsed.spec.error().message;
            const auto& router = std::get<Router>(
                std::get<MoeFeedForward>(parsed.spec->layers[3].sublayers[1].body).router);
            EXPECT_EQ(router.experts, experts);
            EXPECT_EQ(router.top_k, top_k);
        }
}

TEST(GlmSpec, SeveralDraftLayersUseTheFirst) {
    // Goal: more than one draft layer is no reason to refuse: drafts never change an answer.
    // Method: num_nextn_predict_layers 3; tensors of the later ones are recognized.
    Json json = glm52();
    json["num_nextn_predict_layers"] = 3;
    const Parsed parsed = parse(json);
    ASSERT_TRUE(parsed.spec);
    EXPECT_THAT(
        parsed.notices,
        ElementsAre(HasSubstr("num_nextn_predict_layers is 3; the first draft layer is used")));
    EXPECT_EQ(classify_extra(*parsed.spec, "model.layers.79.enorm.weight"),
              ExtraTensor::later_draft_layer);
    EXPECT_EQ(classify_extra(*parsed.spec, "model.layers.78.embed_tokens.weight"),
              ExtraTensor::draft_copy);
    EXPECT_EQ(classify_extra(*parsed.spec, "model.layers.3.self_attn.indexer.wk.weight"),
              ExtraTensor::shared_layer_indexer);
    EXPECT_EQ(classify_extra(*parsed.spec, "model.layers.2.self_attn.indexer.other"),
              ExtraTensor::unknown);
    EXPECT_EQ(classify_extra(*parsed.spec, "model.layers.0.self_attn.rotary_emb.inv_freq"),
              ExtraTensor::rotary_table);
    EXPECT_EQ(classify_extra(*parsed.spec, "vision.patch.weight"), ExtraTensor::unknown);
    EXPECT_EQ(classify_extra(*parsed.spec, "model.layers.x"), ExtraTensor::unknown);
}

TEST(GlmSpec, IdsOutsideTheVocabularyAreDropped) {
    // Goal: an id that no logit has cannot stop or start anything and is said to be ignored.
    // Method: one end id beyond the vocabulary, padding -1.
    Json json = glm52();
    json["eos_token_id"] = {154820, 200000};
    json["pad_token_id"] = -1;
    const Parsed parsed = parse(json);
    ASSERT_TRUE(parsed.spec) << parsed.spec.error().message;
    EXPECT_THAT(parsed.spec->eos_ids, ElementsAre(154820));
    EXPECT_FALSE(parsed.spec->pad_id);
    EXPECT_THAT(parsed.notices,
                ElementsAre(HasSubstr("eos_token_id 200000 is outside the vocabulary")));
}

TEST(OlmoeSpec, IsWhatTheSpecificationSays) {
    // Goal: every published value arrives, and shapes reproduce the documented sizes.
    // Method: the documented config and parameter counts.
    const Parsed parsed = parse(olmoe());
    ASSERT_TRUE(parsed.spec) << parsed.spec.error().message;
    EXPECT_THAT(parsed.notices, IsEmpty());
    const ModelSpec& spec = *parsed.spec;
    const auto& a = std::get<GroupedQueryAttention>(spec.layers[15].sublayers[0].body);
    EXPECT_EQ(std::tuple(a.heads, a.kv_heads, a.head_dims, a.value_dims, a.rope.dims),
              std::tuple(16U, 16U, 128U, 128U, 128U));
    EXPECT_EQ(a.qk_norm, GroupedQueryAttention::QkNorm::full_width);
    EXPECT_EQ(a.rope.pairing, RopePairing::half_split);
    EXPECT_FALSE(a.clip_qkv);
    EXPECT_EQ(a.score_factor, float(1 / std::sqrt(128.0)));
    const auto& moe = std::get<MoeFeedForward>(spec.layers[0].sublayers[1].body);
    const auto& router = std::get<Router>(moe.router);
    EXPECT_TRUE(!router.renormalize && !router.selection_bias &&
                router.score == RouterScore::softmax);
    EXPECT_EQ(std::tuple(router.experts, router.top_k, moe.expert.hidden),
              std::tuple(64U, 8U, 1024U));
    EXPECT_FALSE(moe.shared);
    const ParameterCounts counts = count_parameters(spec);
    EXPECT_EQ(counts.total(), 6'919'161'856U);
    EXPECT_EQ(counts.active, 1'282'017'280U);
    EXPECT_EQ(counts.active - counts.embedding, 1'178'994'688U);
}

TEST(OlmoeSpec, ContradictionsAndOptions) {
    // Goal: the family's own checks and switches.
    // Method: one change after another.
    const std::tuple<const char*, Json, const char*> cases[] = {
        {"num_key_value_heads", 3, "a divisor of num_attention_heads (16)"},
        {"num_attention_heads", 48, "a divisor of hidden_size (2048)"},
        {"hidden_size", 2050, "a divisor of hidden_size (2050)"},
        {"head_dim", 64, "hidden_size / num_attention_heads = 128"},
        {"num_experts_per_tok", 65, "at most num_experts (64)"},
        {"clip_qkv", 0, "null or a number above 0"},
        {"clip_qkv", "8", "a number"},
        {"rope_theta", nullptr, "rope_theta is missing"},
        {"hidden_size", 16, "1 elements of a head are rotated"},
    };
    for (const auto& [key, value, what] : cases) {
        Json json = olmoe();
        json[key] = value;
        expect_refused(json, ErrorKind::invalid_input, what);
    }
    Json json = olmoe();
    json["clip_qkv"] = 8.0;
    json["norm_topk_prob"] = true;
    json["tie_word_embeddings"] = true;
    json["num_key_value_heads"] = 4;
    json.erase("rms_norm_eps");
    const ModelSpec spec = *parse(json).spec;
    const auto& a = std::get<GroupedQueryAttention>(spec.layers[0].sublayers[0].body);
    EXPECT_EQ(a.clip_qkv, 8.0F);
    EXPECT_EQ(a.kv_heads, 4U);
    EXPECT_EQ(a.qk_norm_kind.eps, 1e-5F);
    EXPECT_TRUE(std::get<Router>(std::get<MoeFeedForward>(spec.layers[0].sublayers[1].body).router)
                    .renormalize);
    EXPECT_EQ(
        std::get<Router>(std::get<MoeFeedForward>(spec.layers[0].sublayers[1].body).router).epsilon,
        0.0F);
    EXPECT_EQ(classify_extra(spec, "lm_head.weight"), ExtraTensor::tied_head);
}

TEST(Registry, UnknownFamiliesListTheSupportedOnes) {
    // Goal: F20: another family never ends in a foreign field's error.
    // Method: unknown, missing and non-string model_type; a dense GLM that shares an alias.
    for (const Json& type : {Json("qwen9"), Json(nullptr), Json("glm")}) {
        Json json = {{"model_type", type}, {"hidden_size", 64}};
        expect_refused(json, ErrorKind::unsupported,
                       "expected one of glm_moe_dsa, glm5_moe, glm, olmoe");
    }
    expect_refused({{"model_type", 5}}, ErrorKind::invalid_input,
                   "model_type is 5, expected a string");
    for (const char* alias : {"glm5_moe", "glm"}) {
        Json json = glm52();
        json["model_type"] = alias;
        EXPECT_EQ(parse(json).spec->family, "glm_moe_dsa");
    }
}

// Tensors of a checkpoint by the test's own reading: name -> shape.
std::map<std::string, std::vector<uint64_t>> shapes_on_disk(const std::string& directory) {
    std::map<std::string, std::vector<uint64_t>> shapes;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        const std::string name = entry.path().filename().string();
        if (!name.ends_with(".safetensors") || name.starts_with("oracle")) continue;
        const std::string bytes = slurp(entry.path().string());
        uint64_t header_bytes = 0;
        for (int i = 7; i >= 0; --i) header_bytes = header_bytes << 8 | uint8_t(bytes[size_t(i)]);
        const auto header = nlohmann::json::parse(bytes.substr(8, header_bytes));
        for (const auto& [tensor, info] : header.items())
            if (tensor != "__metadata__")
                shapes[tensor] = info["shape"].get<std::vector<uint64_t>>();
    }
    return shapes;
}

void add_expert_shapes(const ModelSpec& spec, const Layer& layer,
                       std::map<std::string, std::vector<uint64_t>>& out) {
    const auto* moe = std::get_if<MoeFeedForward>(&layer.sublayers[1].body);
    if (moe == nullptr) return;
    const TensorNames names(spec);
    for (uint32_t e = 0; e < std::get<Router>(moe->router).experts; ++e)
        for (uint32_t part = 0; part < 3; ++part) {
            const uint64_t hidden = moe->expert.hidden, input = moe->expert.input;
            out[names.expert(layer.index, e, part)] =
                part == 2 ? std::vector{input, hidden} : std::vector{hidden, input};
        }
}

TEST(TensorNeeds, AreExactlyWhatTheFixturesHold) {
    // Goal: names and shapes derived from the spec are those on disk: nothing is missing, nothing
    // is unexplained. Method: fixtures with float and FP8 tensors; needs and experts against
    // headers, FP8 scales taken out.
    for (const char* name :
         {"glm_short", "glm_sparse", "glm_odd", "glm_mtp", "glm_fp8", "olmoe", "olmoe_clip"}) {
        const Parsed parsed = parse_text(slurp(golden(name) + "/config.json"));
        ASSERT_TRUE(parsed.spec) << parsed.spec.error().message;
        std::map<std::string, std::vector<uint64_t>> expected;
        for (const TensorNeed& need : tensor_needs(*parsed.spec))
            expected[need.name] = need.columns == 0
                                      ? std::vector<uint64_t>{need.rows}
                                      : std::vector<uint64_t>{need.rows, need.columns};
        for (const Layer& layer : parsed.spec->layers)
            add_expert_shapes(*parsed.spec, layer, expected);
        if (parsed.spec->draft)
            add_expert_shapes(*parsed.spec, parsed.spec->draft->layer, expected);
        auto found = shapes_on_disk(golden(name));
        std::erase_if(found, [](const auto& entry) { return entry.first.ends_with("_scale_inv"); });
        EXPECT_EQ(found, expected) << name;
    }
}

TEST(TensorNeeds, ContainersHoldTheNamesOrTheirMergedForms) {
    // Goal: the existing engine's containers are covered by the needs, their scales and the merged
    // names. Method: every tensor of the four containers; what is lacking may only be the draft
    // layer's indexer.
    for (const char* name :
         {"glm_out_int4row", "glm_out_int4g64", "glm_out_int2row", "olmoe_out_int8"}) {
        const ModelSpec spec = *parse_text(slurp(golden(name) + "/config.json")).spec;
        const TensorNames names(spec);
        std::map<std::string, std::vector<uint64_t>> known;
        auto found = shapes_on_disk(golden(name));
        for (const TensorNeed& need : tensor_needs(spec)) {
            known[need.name] = {};
            EXPECT_TRUE(found.contains(need.name) || need.group == TensorGroup::draft_indexer)
                << need.name;
        }
        for (const Layer& layer : spec.layers) {
            add_expert_shapes(spec, layer, known);
            for (uint32_t e = 0; e < 16; ++e) {
                known[names.merged_expert(layer.index, e)] = {};
                known[names.merged_expert_scales(layer.index, e)] = {};
            }
        }
        if (spec.draft) add_expert_shapes(spec, spec.draft->layer, known);
        for (const auto& [tensor, shape] : found) {
            const bool scale = tensor.ends_with(".qs");
            EXPECT_TRUE(known.contains(tensor) ||
                        (scale && known.contains(tensor.substr(0, tensor.size() - 3))))
                << tensor;
        }
    }
}

TEST(Fixtures, EveryConfigMakesASpecWithoutNotices) {
    // Goal: the configs of all fixtures and of the bundled model are understood completely.
    // Method: parse each; no error and no unknown key.
    std::vector<std::string> paths{COLIBRI_SOURCE_DIR "/models/nano"};
    for (const char* name :
         {"glm_short", "glm_sparse", "glm_odd", "glm_mtp", "glm_fp8", "glm_out_int4row",
          "glm_out_int4g64", "glm_out_int2row", "olmoe", "olmoe_clip", "olmoe_out_int8"})
        paths.push_back(golden(name));
    for (const std::string& path : paths) {
        const Parsed parsed = parse_text(slurp(path + "/config.json"));
        ASSERT_TRUE(parsed.spec) << path << ": " << parsed.spec.error().message;
        EXPECT_THAT(parsed.notices, IsEmpty()) << path;
    }
    const ModelSpec odd = *parse_text(slurp(golden("glm_odd") + "/config.json")).spec;
    EXPECT_THAT(owners(odd), ElementsAre(0, 1, 2, 6));
    const auto& router =
        std::get<Router>(std::get<MoeFeedForward>(odd.layers[6].sublayers[1].body).router);
    EXPECT_EQ(std::tuple(router.groups, router.groups_kept, router.renormalize, router.scale),
              std::tuple(3U, 2U, false, 1.3F));
}

TEST(Describe, FitsOnePageAndNamesTheArchitecture) {
    // Goal: `info --spec` shows sizes, kinds and schedules on one page.
    // Method: GLM-5.2 and OLMoE; lines, widths, and the facts a reader looks for.
    const std::string glm = describe(*parse(glm52()).spec);
    for (const char* part :
         {"78 layers, width 6144", "743.38 B", "41.25 B active", "64 heads, keys 192 + 64 rotary",
          "keeps the best 2048", "8 of 256 experts by sigmoid + selection bias", "x 2.5",
          "owned by 21 layers: 0-2, 6, 10, 14", "layers 3-77", "layers 0-2", "theta 8e+06",
          "layer 78 drafts", "154820, 154827, 154829"})
        EXPECT_THAT(glm, HasSubstr(part));
    EXPECT_LE(std::count(glm.begin(), glm.end(), '\n'), 40);
    const std::string small = describe(*parse(olmoe()).spec);
    for (const char* part :
         {"16 query heads", "QK norm over the full width", "weights as scored", "half-split"})
        EXPECT_THAT(small, HasSubstr(part));
    EXPECT_THAT(small, testing::Not(HasSubstr("indexer")));
}

}  // namespace
}  // namespace colibri

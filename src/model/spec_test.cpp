#include "model/spec.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "model/tensor_needs.h"
#include "model/test_configs.h"

namespace colibri {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = TestJson;

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

}  // namespace
}  // namespace colibri

#include "model/families/families.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "model/tensor_needs.h"
#include "model/test_configs.h"

namespace colibri {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = TestJson;

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

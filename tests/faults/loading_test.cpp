// Broken copies of the model fixtures, through the whole way from directory to first logits: each
// ends in an error that names file and tensor, none in an answer.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "format/test_safetensors.h"
#include "model/config.h"
#include "model/registry.h"
#include "model/tensor_needs.h"
#include "platform/test_tree.h"
#include "runtime/model.h"

namespace colibri {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint64_t kBudgetBytes = uint64_t(1) << 30;

// A copy of a fixture that a test may break. Single files are rewritten as a whole; an index is
// dropped, so that shards may lose and gain tensors.
class BrokenModel {
public:
    explicit BrokenModel(const std::string& fixture) : directory_(tree_.path("model")) {
        copy_model(std::string(COLIBRI_SOURCE_DIR "/tests/golden/") + fixture, directory_);
        fs::remove(directory_ + "/model.safetensors.index.json");
    }
    [[nodiscard]] std::string path(const std::string& name) const {
        return directory_ + "/" + name;
    }

    // The file that holds `tensor`, rewritten after `change`.
    void edit(const std::string& tensor,
              const std::function<void(TestSafetensors&)>& change) const {
        for (const auto& entry : fs::directory_iterator(directory_)) {
            if (entry.path().extension() != ".safetensors") continue;
            TestSafetensors file = TestSafetensors::load(entry.path().string());
            if (!file.has(tensor)) continue;
            change(file);
            test_write(entry.path().string(), file.bytes());
            return;
        }
        FAIL() << "no file holds " << tensor;
    }
    void erase(const std::string& tensor) const {
        edit(tensor, [&](TestSafetensors& file) { file.erase(tensor); });
    }
    void edit_config(const std::function<void(nlohmann::ordered_json&)>& change) const {
        auto config = nlohmann::ordered_json::parse(test_read(path("config.json")));
        change(config);
        test_write(path("config.json"), config.dump());
    }
    [[nodiscard]] ModelSpec spec() const {
        Notices ignored;
        return *spec_from_config(*Config::parse(test_read(path("config.json")), "config.json"),
                                 ignored);
    }

    [[nodiscard]] ModelOptions options() const {
        return {.directory = directory_,
                .ram_budget_bytes = kBudgetBytes,
                .context = 64,
                .float_activations = true,
                .threads = 1,
                .draft_head = true,
                .dense_attention = dense_attention};
    }
    // Binding only: no tensor data is read.
    [[nodiscard]] Status bind() {
        const auto plan = Model::plan_only(options(), notices);
        if (!plan) return tl::unexpected(plan.error());
        return {};
    }
    // Everything resident is read, and every expert that these tokens need.
    [[nodiscard]] Status run() {
        auto model = Model::open(options(), notices);
        if (!model) return tl::unexpected(model.error());
        std::vector<int32_t> tokens;
        for (int32_t t = 3; t < 100; t += 2) tokens.push_back(t);
        SequenceState state = (*model)->new_state();
        return (*model)->forward(state, tokens, {});
    }

    Notices notices;
    bool dense_attention = false;

private:
    TestTree tree_;
    std::string directory_;
};

void expect_refused(const Status& status, const std::string& what, const std::string& also = "") {
    ASSERT_FALSE(status) << what << " " << also;
    EXPECT_TRUE(status.error().kind == ErrorKind::corrupt ||
                status.error().kind == ErrorKind::not_found ||
                status.error().kind == ErrorKind::unsupported ||
                status.error().kind == ErrorKind::out_of_budget)
        << status.error().message;
    EXPECT_THAT(status.error().message, AllOf(HasSubstr(what), HasSubstr(also)));
}

TEST(LoadingFaults, HealthyCopiesLoad) {
    // Goal: the harness itself breaks nothing.
    // Method: every layout, copied and rewritten without a change.
    for (const auto& [fixture, tensor] : {std::pair{"glm_mtp", "model.norm.weight"},
                                          {"glm_fp8", "model.norm.weight"},
                                          {"glm_out_int4g64", "model.norm.weight"},
                                          {"olmoe_out_int8", "model.norm.weight"},
                                          {"olmoe_clip", "model.norm.weight"}}) {
        BrokenModel model(fixture);
        model.edit(tensor, [](TestSafetensors&) {});
        const Status status = model.run();
        EXPECT_TRUE(status) << fixture << ": " << status.error().message;
    }
}

TEST(LoadingFaults, EveryTensorThatIsMissingIsNamed) {
    // Goal: F2: no required tensor can be missing unnoticed; optional groups are whole or absent.
    // Method: each tensor of the MTP fixture but most experts, removed in turn.
    const ModelSpec spec = BrokenModel("glm_mtp").spec();
    const TensorNames names(spec);
    std::vector<std::pair<std::string, bool>>
        cases;  // name, whether its absence switches a feature off
    for (const TensorNeed& need : tensor_needs(spec))
        cases.emplace_back(need.name, need.role == TensorRole::draft_projection);
    for (const uint32_t layer : {1U, 4U, spec.draft->layer.index})
        for (uint32_t part = 0; part < 3; ++part)
            cases.emplace_back(names.expert(layer, 15, part), false);
    for (const auto& [name, optional] : cases) {
        BrokenModel model("glm_mtp");
        model.erase(name);
        const Status status = model.bind();
        if (optional)
            EXPECT_TRUE(status) << name;
        else
            expect_refused(status, name);
    }
}

TEST(LoadingFaults, ALayersIndexerAloneMayNotBeMissing) {
    // Goal: indexers are an optional group: none at all is a smaller model, one of several is
    // damage. Method: all five tensors of one layer's indexer removed, then those of all layers.
    const ModelSpec spec = BrokenModel("glm_mtp").spec();
    BrokenModel one("glm_mtp"), all("glm_mtp");
    for (const TensorNeed& need : tensor_needs(spec)) {
        if (need.group != TensorGroup::indexer) continue;
        all.erase(need.name);
        if (need.layer == 1) one.erase(need.name);
    }
    expect_refused(one.bind(), "model.layers.1.self_attn.indexer.");
    expect_refused(all.bind(), "no indexer tensors", "10 positions");
    all.dense_attention = true;
    EXPECT_TRUE(all.bind());
}

TEST(LoadingFaults, MissingContainerFilesAreNamed) {
    // Goal: F2 for the existing engine's containers, whose names do not say how many there are.
    // Method: each out- file removed in turn; the draft and indexer files are optional.
    for (const char* name : {"out-00000.safetensors", "out-00001.safetensors"}) {
        BrokenModel model("glm_out_int4row");
        fs::remove(model.path(name));
        expect_refused(model.bind(), "is missing",
                       std::string(name) == "out-00000.safetensors"
                           ? "the numbering lacks out-00000"
                           : "model.");
    }
    for (const char* name : {"out-mtp-00000.safetensors", "out-idx-00000.safetensors"}) {
        BrokenModel model("glm_out_int4row");
        fs::remove(model.path(name));
        model.dense_attention = true;
        const Status status = model.bind();
        EXPECT_TRUE(status) << name << ": " << status.error().message;
    }
}

TEST(LoadingFaults, SmallerTensorsAreRefusedAndPaddedOnesLoad) {
    // Goal: F9: global tensors are compared with the config; rows that only pad the vocabulary are
    // fine. Method: one row less and one row more in embedding, head and final norm.
    for (const char* name : {"model.embed_tokens.weight", "lm_head.weight", "model.norm.weight"})
        for (const int change : {-1, 1}) {
            BrokenModel model("glm_mtp");
            model.edit(name, [&](TestSafetensors& file) {
                TestTensor& tensor = file.at(name);
                const size_t row_bytes = tensor.data.size() / tensor.shape[0];
                tensor.shape[0] = uint64_t(int64_t(tensor.shape[0]) + change);
                tensor.data.resize(tensor.shape[0] * row_bytes, '\0');
            });
            const Status status = model.bind();
            const bool padded = change > 0 && std::string(name) != "model.norm.weight";
            EXPECT_EQ(bool(status), padded) << name << " " << change;
            if (!status) expect_refused(status, name, "expected");
        }
}

TEST(LoadingFaults, WrongShapesAndTypesAreRefused) {
    // Goal: F4: every kind of tensor is compared with the shape and type that the config asks for.
    // Method: matrices transposed, vectors and matrices of integer type, in dense, router, indexer
    // and expert tensors.
    const char* matrices[] = {"model.layers.1.self_attn.q_b_proj.weight",
                              "model.layers.1.self_attn.kv_b_proj.weight",
                              "model.layers.1.self_attn.indexer.wq_b.weight",
                              "model.layers.1.mlp.gate.weight",
                              "model.layers.1.mlp.experts.7.down_proj.weight",
                              "model.layers.1.mlp.shared_experts.up_proj.weight"};
    for (const char* name : matrices) {
        BrokenModel model("glm_mtp");
        model.edit(name, [&](TestSafetensors& file) {
            std::swap(file.at(name).shape[0], file.at(name).shape[1]);
        });
        expect_refused(model.bind(), name, "expected");
    }
    for (const char* name :
         {"model.layers.1.input_layernorm.weight", "model.layers.1.self_attn.q_a_proj.weight",
          "model.layers.1.mlp.experts.7.up_proj.weight"}) {
        BrokenModel model("glm_mtp");
        model.edit(name, [&](TestSafetensors& file) {
            TestTensor& tensor = file.at(name);
            tensor.dtype = "I32";
            tensor.data.resize(tensor.data.size() * 2);
        });
        expect_refused(model.bind(), name, "I32");
    }
}

TEST(LoadingFaults, ByteCountsThatMatchNoFormatAreRefused) {
    // Goal: F5: an unknown layout is never guessed at.
    // Method: one byte less in a weight, one scale less, scales gone, in dense and expert tensors
    // of a container.
    for (const std::string name : {"model.layers.1.self_attn.o_proj.weight",
                                   "model.layers.1.mlp.experts.3.gate_proj.weight"}) {
        BrokenModel shorter("glm_out_int4row");
        shorter.edit(name, [&](TestSafetensors& file) {
            file.at(name).data.pop_back();
            file.at(name).shape[0] -= 1;
        });
        expect_refused(shorter.bind(), name);
        BrokenModel scales("glm_out_int4row");
        scales.edit(name + ".qs", [&](TestSafetensors& file) {
            file.at(name + ".qs").data.resize(file.at(name + ".qs").data.size() - 4);
            file.at(name + ".qs").shape[0] -= 1;
        });
        expect_refused(scales.bind(), name);
        BrokenModel gone("glm_out_int4row");
        gone.erase(name + ".qs");
        expect_refused(gone.bind(), name + ".qs");
    }
}

TEST(LoadingFaults, ConfigAndTensorsMustBelongTogether) {
    // Goal: F10: a config of another size is refused by the first tensor that contradicts it.
    // Method: one field changed after another, each consistent within the config.
    const std::tuple<const char*, int, const char*> cases[] = {
        {"hidden_size", 128, "model.embed_tokens.weight"},
        {"vocab_size", 161, "model.embed_tokens.weight"},
        {"kv_lora_rank", 31, "kv_a_proj_with_mqa"},
        {"n_routed_experts", 17, "mlp.gate.weight"},
        {"moe_intermediate_size", 16, "mlp."},
        {"intermediate_size", 95, "mlp.gate_proj.weight"},
        {"index_n_heads", 2, "indexer."},
    };
    for (const auto& [key, value, what] : cases) {
        BrokenModel model("glm_mtp");
        // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): blind to captured bindings
        model.edit_config([&](nlohmann::ordered_json& config) { config[key] = value; });
        expect_refused(model.bind(), what);
    }
    BrokenModel longer("glm_mtp");
    longer.edit_config([](nlohmann::ordered_json& config) {
        config["num_hidden_layers"] = 7;
        config["num_nextn_predict_layers"] = 0;
        config.erase("mlp_layer_types");
        config.erase("indexer_types");
    });
    expect_refused(longer.bind(), "model.layers.");
}

TEST(LoadingFaults, ValuesThatAreNotFiniteAreRefused) {
    // Goal: F3: a NaN in a norm, a dense matrix, a scale or an expert never reaches an answer.
    // Method: one value replaced after another, through load and one forward pass.
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const std::string f32(reinterpret_cast<const char*>(&nan), 4);
    const std::tuple<const char*, std::string, std::string> cases[] = {
        {"glm_short", "model.norm.weight", f32},
        {"glm_short", "model.layers.1.input_layernorm.weight", f32},
        {"glm_short", "model.embed_tokens.weight", f32},
        {"glm_short", "model.layers.2.self_attn.kv_b_proj.weight", f32},
        {"glm_short", "model.layers.1.mlp.gate.e_score_correction_bias", f32},
        {"glm_mtp", "model.layers.1.self_attn.o_proj.weight", std::string("\xC0\x7F", 2)},
        {"glm_fp8", "model.layers.1.self_attn.o_proj.weight", std::string("\x7F", 1)},
        {"glm_fp8", "model.layers.1.self_attn.o_proj.weight_scale_inv", f32},
        {"glm_out_int4row", "model.layers.1.self_attn.o_proj.weight.qs", f32},
        {"glm_out_int4g64", "lm_head.weight.qs", f32},
    };
    for (const auto& [fixture, name, bytes] : cases) {
        BrokenModel model(fixture);
        model.edit(name, [&](TestSafetensors& file) {
            // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): blind to captured bindings
            file.at(name).data.replace(0, bytes.size(), bytes);
        });
        expect_refused(model.run(), name, ".safetensors");
    }
}

TEST(LoadingFaults, ExpertsThatAreNotFiniteFailTheRequest) {
    // Goal: F3 for streamed weights: a bad expert is found when it lands, with its file and tensor.
    // Method: the same part of every expert of a layer broken, so that any routing meets one.
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const std::string f32(reinterpret_cast<const char*>(&nan), 4);
    const std::tuple<const char*, const char*, std::string> cases[] = {
        {"glm_mtp", "model.layers.2.mlp.experts.{}.up_proj.weight", std::string("\xC0\x7F", 2)},
        {"glm_fp8", "model.layers.2.mlp.experts.{}.down_proj.weight", std::string("\xFF", 1)},
        {"glm_fp8", "model.layers.2.mlp.experts.{}.gate_proj.weight_scale_inv", f32},
        {"glm_out_int4row", "model.layers.2.mlp.experts.{}.gate_proj.weight.qs", f32},
        {"olmoe_out_int8", "model.layers.2.mlp.experts.{}.qs", f32},
    };
    for (const auto& [fixture, pattern, bytes] : cases) {
        BrokenModel model(fixture);
        for (int e = 0; e < 16; ++e) {
            const std::string name = fmt::format(fmt::runtime(pattern), e);
            if (e >= 8 && !std::string(fixture).starts_with("olmoe") &&
                std::string(fixture) != "glm_mtp")
                break;
            model.edit(name, [&](TestSafetensors& file) {
                file.at(name).data.replace(0, bytes.size(), bytes);
            });
        }
        expect_refused(model.run(), "model.layers.2.mlp.experts.", ".safetensors");
    }
}

TEST(LoadingFaults, ExtraTensorsAreReportedOnceAndDoNoHarm) {
    // Goal: an unknown tensor is no reason to refuse and no secret.
    // Method: one added; the load goes through and one notice names it.
    BrokenModel model("glm_mtp");
    model.edit("model.norm.weight", [](TestSafetensors& file) {
        file.tensors.push_back({"model.strange.weight", "F32", {2}, std::string(8, '\0')});
    });
    ASSERT_TRUE(model.bind());
    size_t mentions = 0;
    for (const std::string& notice : model.notices.take())
        mentions += notice.find("model.strange.weight") != std::string::npos ? 1 : 0;
    EXPECT_EQ(mentions, 1U);
}

// All logits of a fixed prompt.
std::vector<float> logits_of(BrokenModel& model) {
    auto opened = Model::open(model.options(), model.notices);
    EXPECT_TRUE(opened) << opened.error().message;
    std::vector<float> logits;
    if (!opened) return logits;
    ForwardOptions options{.logits = LogitRows::all};
    options.on_logits = [&](uint32_t, std::span<const float> row) -> Status {
        logits.insert(logits.end(), row.begin(), row.end());
        return {};
    };
    const std::vector<int32_t> tokens{3, 14, 15, 92, 65, 35, 89, 79, 32, 38, 46, 26};
    SequenceState state = (*opened)->new_state();
    const Status status = (*opened)->forward(state, tokens, options);
    EXPECT_TRUE(status) << status.error().message;
    return logits;
}

// One layer's experts as the two stacked tensors that newer libraries write.
void fuse_experts(TestSafetensors& file, const TensorNames& names, uint32_t layer,
                  uint32_t experts) {
    TestTensor gate_up{names.fused_gate_up(layer), "", {experts, 0, 0}, ""};
    TestTensor down{names.fused_down(layer), "", {experts, 0, 0}, ""};
    for (uint32_t e = 0; e < experts; ++e) {
        const TestTensor gate = file.at(names.expert(layer, e, 0));
        gate_up.dtype = down.dtype = gate.dtype;
        gate_up.shape = {experts, 2 * gate.shape[0], gate.shape[1]};
        down.shape = {experts, gate.shape[1], gate.shape[0]};
        gate_up.data += gate.data + file.at(names.expert(layer, e, 1)).data;
        down.data += file.at(names.expert(layer, e, 2)).data;
        for (uint32_t part = 0; part < 3; ++part) file.erase(names.expert(layer, e, part));
    }
    file.tensors.push_back(std::move(gate_up));
    file.tensors.push_back(std::move(down));
}

TEST(LoadingLayouts, FusedExpertsAndKnownExtrasChangeNoBit) {
    // Goal: stacked experts, an indexer in a sharing layer and copies of embedding and head are the
    // same model. Method: logits of the MTP fixture, bit for bit, against a rewritten single file.
    BrokenModel plain("glm_mtp"), fused("glm_mtp");
    const ModelSpec spec = plain.spec();
    const TensorNames names(spec);
    TestSafetensors all;
    for (const char* name :
         {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"}) {
        for (TestTensor& tensor : TestSafetensors::load(fused.path(name)).tensors)
            all.tensors.push_back(std::move(tensor));
        fs::remove(fused.path(name));
    }
    for (const uint32_t layer : {1U, 2U, 3U, 4U, 5U}) fuse_experts(all, names, layer, 16);
    const auto add_copy = [&](const std::string& of, const std::string& name) {
        TestTensor copy = all.at(of);
        copy.name = name;
        all.tensors.push_back(std::move(copy));
    };
    add_copy("model.embed_tokens.weight", "model.layers.5.embed_tokens.weight");
    add_copy("lm_head.weight", "model.layers.5.shared_head.head.weight");
    add_copy("model.layers.2.self_attn.indexer.wk.weight",
             "model.layers.3.self_attn.indexer.wk.weight");
    test_write(fused.path("model.safetensors"), all.bytes());
    const std::vector<float> expected = logits_of(plain);
    EXPECT_EQ(expected.size(), size_t(12) * spec.vocab);
    EXPECT_EQ(logits_of(fused), expected);
}

}  // namespace
}  // namespace colibri

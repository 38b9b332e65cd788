// coli plan and coli doctor on a model far larger than this machine: real headers, holes for data.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "platform/test_tree.h"
#include "tests/e2e/program.h"

namespace colibri::e2e {
namespace {

namespace fs = std::filesystem;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using OrderedJson = nlohmann::ordered_json;

constexpr uint64_t kLayers = 32, kExperts = 128, kUsed = 8, kDim = 4096, kVocab = 160;
constexpr uint64_t kMatrixBytes = kDim * kDim * 2;  // BF16, square all of them
constexpr uint64_t kExpertBytes = 3 * kMatrixBytes;

// One safetensors file: its header, and as many bytes of nothing as it describes.
class SparseFile {
public:
    void add(const std::string& name, const std::vector<uint64_t>& shape) {
        uint64_t bytes = 2;
        for (const uint64_t side : shape) bytes *= side;
        header_[name] = {
            {"dtype", "BF16"}, {"shape", shape}, {"data_offsets", {size_, size_ + bytes}}};
        size_ += bytes;
    }
    void write(const std::string& path) const {
        const std::string text = header_.dump();
        const uint64_t length = text.size();
        std::ofstream file(path, std::ios::binary);
        file.write(reinterpret_cast<const char*>(&length), sizeof length);
        file << text;
        file.close();
        fs::resize_file(path, sizeof length + length + size_);
    }

private:
    OrderedJson header_ = OrderedJson::object();
    uint64_t size_ = 0;
};

// 384 GiB of experts on a few megabytes of disk.
class HugeModel {
public:
    HugeModel() {
        std::ifstream file(golden("olmoe") + "/config.json");
        OrderedJson config = OrderedJson::parse(file);
        config["hidden_size"] = config["intermediate_size"] = kDim;
        config["num_hidden_layers"] = kLayers;
        config["num_experts"] = kExperts;
        config["num_experts_per_tok"] = kUsed;
        config["num_attention_heads"] = config["num_key_value_heads"] = 32;
        tree_.write("config.json", config.dump());
        SparseFile ends;
        for (const char* name : {"model.embed_tokens.weight", "lm_head.weight"})
            ends.add(name, {kVocab, kDim});
        ends.add("model.norm.weight", {kDim});
        write(ends, 0);
        for (uint64_t layer = 0; layer < kLayers; ++layer) write(layer_file(layer), layer + 1);
    }
    [[nodiscard]] std::string path() const { return tree_.root(); }

private:
    static SparseFile layer_file(uint64_t layer) {
        SparseFile file;
        const std::string prefix = "model.layers." + std::to_string(layer) + ".";
        for (const char* name : {"input_layernorm", "post_attention_layernorm", "self_attn.q_norm",
                                 "self_attn.k_norm"})
            file.add(prefix + name + ".weight", {kDim});
        for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"})
            file.add(prefix + "self_attn." + name + ".weight", {kDim, kDim});
        file.add(prefix + "mlp.gate.weight", {kExperts, kDim});
        for (uint64_t expert = 0; expert < kExperts; ++expert)
            for (const char* name : {"gate_proj", "up_proj", "down_proj"})
                file.add(prefix + "mlp.experts." + std::to_string(expert) + "." + name + ".weight",
                         {kDim, kDim});
        return file;
    }
    void write(const SparseFile& file, uint64_t number) const {
        char name[64];
        std::snprintf(name, sizeof name, "model-%05u-of-%05u.safetensors", unsigned(number + 1),
                      unsigned(kLayers + 1));
        file.write(tree_.path(name));
    }

    TestTree tree_;
};

OrderedJson plan(const std::string& model, const std::vector<std::string>& more) {
    std::vector<std::string> words{"plan", model, "--json", "--drives", "0.01"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return OrderedJson::parse(outcome.out, nullptr, false);
}

}  // namespace

// Goal: a model many times larger than memory is planned, not refused, at any usual size of memory;
// the page shows memory, share, hit rate, bytes, time and what bounds it.
// Method: 384 GiB of experts at 16 to 128 GiB; all numbers but the memory's speed by hand.
TEST(HugeModels, ArePlannedForEveryMachine) {
    const HugeModel model;
    uint64_t slots_before = 0;
    for (const uint64_t ram : {16, 32, 64, 128}) {
        const std::string budget = std::to_string(ram) + "G";
        const OrderedJson report = plan(model.path(), {"--ram", budget});
        ASSERT_FALSE(report.is_discarded());
        const OrderedJson& memory = report["memory"];
        const OrderedJson& token = report["token"];
        EXPECT_LE(memory["total_bytes"], ram << 30);
        EXPECT_GE(memory["total_bytes"].get<double>(), 0.95 * double(ram << 30));
        EXPECT_EQ(token["expert_count"], kLayers * kExperts);
        EXPECT_EQ(token["experts"], kLayers * kUsed);
        EXPECT_EQ(token["expert_read_bytes"], kExpertBytes);
        const uint64_t slots = token["expert_slots"];
        EXPECT_GT(slots, slots_before);
        // Four dense matrices a layer; keys and values of 4096 positions as floats; the rest (ring,
        // staging, scratch) is worth some twenty experts.
        const uint64_t dense = kLayers * 4 * kMatrixBytes;
        const uint64_t state = kLayers * 4096 * 2 * kDim * sizeof(float);
        EXPECT_LE(slots * kExpertBytes + dense + state, ram << 30);
        EXPECT_GE((slots + 24) * kExpertBytes + dense + state, ram << 30);
        slots_before = slots;
        const double missed = double(kLayers * kUsed) * (1 - token["hit_rate"].get<double>());
        EXPECT_NEAR(token["read_seconds"].get<double>(), missed * double(kExpertBytes) / 0.01e9,
                    1e-6);
        const Outcome text = run({"plan", model.path(), "--drives", "0.01", "--ram", budget});
        EXPECT_THAT(text.out, HasSubstr("budget " + std::to_string(ram) + " GiB (--ram)"));
        EXPECT_THAT(text.out, ContainsRegex("experts in memory +" + std::to_string(slots) +
                                            " of 4096 \\([0-9.]+ %\\)"));
        EXPECT_THAT(text.out, ContainsRegex("experts used +256 of 96 MiB"));
        EXPECT_THAT(text.out,
                    ContainsRegex("expected speed +[0-9.e-]+ tokens/s, bound by the disk"));
    }
    const Outcome more = run({"plan", model.path(), "--drives", "0.01", "--ram", "500G"});
    EXPECT_EQ(more.exit_code, 0);
    EXPECT_THAT(more.err, HasSubstr("more than the")) << "no machine of ours has this much";
}

// Goal: doctor finds nothing wrong with such a model, without reading it.
// Method: all findings of a quick check.
TEST(HugeModels, AreHealthy) {
    const HugeModel model;
    const Outcome outcome = run({"doctor", "--json", "--model", model.path()});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
    EXPECT_LT(outcome.seconds, 30);
    const OrderedJson report = OrderedJson::parse(outcome.out);
    ASSERT_FALSE(report.at("checks").empty());
    for (const OrderedJson& check : report.at("checks"))
        EXPECT_NE(check["severity"], "error") << check.dump(2);
}

// Goal: every option that places something changes what plan or info report.
// Method: one option a case against the same command without it.
TEST(PlacementOptions, HaveAnEffectOnThePlan) {
    const auto info = [](const std::vector<std::string>& more) {
        std::vector<std::string> words{"info", "--model", nano(), "--json", "--ram", "45M"};
        words.insert(words.end(), more.begin(), more.end());
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return OrderedJson::parse(outcome.out)["plan"];
    };
    const OrderedJson plain = info({});
    for (const std::vector<std::string>& option :
         std::vector<std::vector<std::string>>{{"--ram", "50M"},
                                               {"--ctx", "512"},
                                               {"--prefill-slice", "3"},
                                               {"--reader", "buffered"},
                                               {"--threads", "9"},
                                               {"--in-flight", "48M", "--reader", "pread"}})
        EXPECT_NE(info(option), plain) << option[0];
    EXPECT_EQ(info({}), plain);
}

}  // namespace colibri::e2e

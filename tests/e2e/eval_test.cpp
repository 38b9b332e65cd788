// coli eval against the golden fixtures, through files as an outsider would.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/e2e/program.h"
#include "text/tokenizer.h"

namespace colibri::e2e {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Array {
    std::string type;  // "<f4"
    std::vector<uint64_t> shape;
    std::string data;
    template <class T>
    [[nodiscard]] std::vector<T> as() const {
        std::vector<T> values(data.size() / sizeof(T));
        std::memcpy(values.data(), data.data(), values.size() * sizeof(T));
        return values;
    }
};

Array read_npy(const fs::path& path) {
    Array array;
    const std::string bytes = read_bytes(path);
    if (bytes.size() < 10) return array;
    const size_t header_size =
        static_cast<unsigned char>(bytes[8]) + 256U * static_cast<unsigned char>(bytes[9]);
    const std::string header = bytes.substr(10, header_size);
    array.type = header.substr(header.find("'descr': '") + 10, 3);
    std::stringstream shape(header.substr(header.find("'shape': (") + 10));
    for (uint64_t size = 0; shape >> size; shape.ignore(1)) array.shape.push_back(size);
    array.data = bytes.substr(10 + header_size);
    return array;
}

// A tensor of a fixture's oracle.safetensors.
Array oracle_tensor(const std::string& fixture, const std::string& name) {
    const std::string bytes = read_bytes(golden(fixture) + "/oracle.safetensors");
    uint64_t header_size = 0;
    std::memcpy(&header_size, bytes.data(), 8);
    const auto header = nlohmann::json::parse(bytes.substr(8, header_size));
    const auto& entry = header.at(name);
    const auto offsets = entry.at("data_offsets").get<std::vector<uint64_t>>();
    return {.type = entry.at("dtype") == "F32" ? "<f4" : "<i4",
            .shape = entry.at("shape").get<std::vector<uint64_t>>(),
            .data = bytes.substr(8 + header_size + offsets[0], offsets[1] - offsets[0])};
}

nlohmann::json oracle_cases(const std::string& fixture) {
    return nlohmann::json::parse(read_bytes(golden(fixture) + "/oracle.json")).at("cases");
}

std::string join(const nlohmann::json& tokens, const char* separator) {
    std::string text;
    for (const auto& token : tokens) text += (text.empty() ? "" : separator) + token.dump();
    return text;
}

// Largest difference relative to the largest value expected.
double relative_error(const Array& found, const Array& expected) {
    EXPECT_EQ(found.type, expected.type);
    EXPECT_EQ(found.shape, expected.shape);
    if (found.shape != expected.shape) return HUGE_VAL;
    const auto a = found.as<float>(), b = expected.as<float>();
    double worst = 0, largest = 0;
    for (size_t i = 0; i < b.size(); ++i) {
        worst = std::max(worst, double(std::fabs(a[i] - b[i])));
        largest = std::max(largest, double(std::fabs(b[i])));
    }
    return worst / largest;
}

class Eval : public testing::Test {
protected:
    void SetUp() override {
        directory_ = fs::path(testing::TempDir()) /
                     (std::string("colibri_eval_") +
                      testing::UnitTest::GetInstance()->current_test_info()->name());
        fs::remove_all(directory_);
        fs::create_directories(directory_);
    }
    void TearDown() override { fs::remove_all(directory_); }
    [[nodiscard]] std::string file(const std::string& name) const {
        return (directory_ / name).string();
    }
    fs::path directory_;
};

// Goal: logits of given tokens agree with the independent implementation.
// Method: two fixtures, with spaces and with commas, float activations; worst error 1e-4.
TEST_F(Eval, LogitsAgreeWithTheOracle) {
    for (const char* fixture : {"glm_mtp", "olmoe"}) {
        const auto cases = oracle_cases(fixture);
        for (size_t index = 0; index < cases.size(); ++index) {
            const std::string tokens = join(cases[index].at("prompt"), index % 2 == 0 ? " " : ",");
            const Outcome outcome =
                run({"eval", "logits", "--model", golden(fixture), "--tokens", tokens, "--out",
                     file("logits.npy"), "--activations", "f32"});
            ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
            EXPECT_THAT(outcome.out, IsEmpty());
            const Array expected = oracle_tensor(fixture, "p" + std::to_string(index) + ".logits");
            EXPECT_LE(relative_error(read_npy(file("logits.npy")), expected), 1e-4) << fixture;
        }
    }
}

// Goal: a trace has every file of the fixture format, with the oracle's values.
// Method: the fixture with an MTP head, its longest prompt.
TEST_F(Eval, TraceAgreesWithTheOracle) {
    const auto last = oracle_cases("glm_mtp").at(2);
    const Outcome outcome = run({"eval", "trace", "--model", golden("glm_mtp"), "--tokens",
                                 join(last.at("prompt"), " "), "--greedy", "12", "--drafts", "3",
                                 "--out", file("trace"), "--activations", "f32"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const fs::path trace = file("trace");
    for (int layer = 0; layer <= 5; ++layer) {
        const std::string name = "hidden." + std::to_string(layer);
        EXPECT_LE(relative_error(read_npy(trace / (name + ".npy")),
                                 oracle_tensor("glm_mtp", "p2." + name)),
                  1e-4)
            << name;
    }
    EXPECT_LE(relative_error(read_npy(trace / "logits.npy"), oracle_tensor("glm_mtp", "p2.logits")),
              1e-4);
    for (const int layer : {1, 2, 3, 4}) {
        const std::string name = "router." + std::to_string(layer);
        const Array ids = oracle_tensor("glm_mtp", "p2." + name + ".ids");
        EXPECT_EQ(read_npy(trace / (name + ".ids.npy")).as<int32_t>(), ids.as<int32_t>()) << name;
        EXPECT_LE(relative_error(read_npy(trace / (name + ".weights.npy")),
                                 oracle_tensor("glm_mtp", "p2." + name + ".weights")),
                  1e-4);
    }
    EXPECT_FALSE(fs::exists(trace / "router.0.ids.npy")) << "layer 0 is dense";
    for (const int layer : {0, 1, 2, 4}) {
        const std::string name = "index." + std::to_string(layer);
        EXPECT_EQ(read_npy(trace / (name + ".npy")).as<int32_t>(),
                  oracle_tensor("glm_mtp", "p2." + name).as<int32_t>())
            << name;
    }
    EXPECT_FALSE(fs::exists(trace / "index.3.npy")) << "layer 3 shares a selection";
    EXPECT_LE(relative_error(read_npy(trace / "mtp.forced.npy"),
                             oracle_tensor("glm_mtp", "p2.mtp.forced.logits")),
              1e-4);
    EXPECT_LE(relative_error(read_npy(trace / "mtp.draft.npy"),
                             oracle_tensor("glm_mtp", "p2.mtp.draft.logits")),
              1e-4);
    const auto choices = nlohmann::json::parse(read_bytes(trace / "greedy.json"));
    for (const char* key : {"prompt", "greedy", "bonus", "drafts"})
        EXPECT_EQ(choices.at(key), last.at(key)) << key;
}

// Goal: without an MTP layer, drafts are left out with a word.
// Method: OLMoE.
TEST_F(Eval, TraceWithoutADraftHead) {
    const auto first = oracle_cases("olmoe").at(0);
    const Outcome outcome =
        run({"eval", "trace", "--model", golden("olmoe"), "--tokens", join(first.at("prompt"), " "),
             "--greedy", "12", "--drafts", "3", "--out", file("trace"), "--activations", "f32"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("no MTP layer"));
    EXPECT_FALSE(fs::exists(file("trace/mtp.draft.npy")));
    const auto choices = nlohmann::json::parse(read_bytes(file("trace/greedy.json")));
    EXPECT_EQ(choices.at("greedy"), first.at("greedy"));
    EXPECT_THAT(choices.at("drafts"), IsEmpty());
}

// Goal: ids that the model does not have are wrong usage, and leave no file.
// Method: the first id beyond the vocabulary; a place that cannot be written.
TEST_F(Eval, RefusesBadIdsAndPlaces) {
    const Outcome outside = run({"eval", "logits", "--model", golden("glm_mtp"), "--tokens",
                                 "1 160", "--out", file("logits.npy")});
    EXPECT_EQ(outside.exit_code, 2);
    EXPECT_THAT(outside.err, AllOf(HasSubstr("id 160"), HasSubstr("vocabulary of 160")));
    EXPECT_FALSE(fs::exists(file("logits.npy")));
    const Outcome place = run({"eval", "logits", "--model", golden("glm_mtp"), "--tokens", "1",
                               "--out", file("no/such/folder.npy")});
    EXPECT_EQ(place.exit_code, 1);
    EXPECT_THAT(place.err, HasSubstr("no/such/folder.npy"));
    const Outcome longer = run({"eval", "logits", "--model", golden("glm_mtp"), "--tokens", "1 2 3",
                                "--ctx", "2", "--out", file("logits.npy")});
    EXPECT_EQ(longer.exit_code, 1);
    EXPECT_THAT(longer.err, HasSubstr("--ctx"));
}

// -ln p of every token but the first, from the logits of one window.
std::vector<double> window_losses(const std::vector<int32_t>& tokens, const std::string& path) {
    const Outcome outcome = run({"eval", "logits", "--model", nano(), "--ram", "64M", "--tokens",
                                 join(nlohmann::json(tokens), " "), "--out", path});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const Array array = read_npy(path);
    const auto logits = array.as<float>();
    const size_t vocab = logits.size() / tokens.size();
    std::vector<double> losses;
    for (size_t row = 0; row + 1 < tokens.size(); ++row) {
        double sum = 0;
        for (size_t id = 0; id < vocab; ++id) sum += std::exp(double(logits[row * vocab + id]));
        losses.push_back(std::log(sum) - double(logits[row * vocab + size_t(tokens[row + 1])]));
    }
    return losses;
}

// Goal: perplexity is the exponential of the mean -ln p of all tokens but the first, each scored
// once. Method: from the logits that `eval logits` writes for the same windows: one of all tokens,
// then windows of 8 that begin every 4.
TEST_F(Eval, PerplexityFollowsFromTheLogits) {
    const std::string text = "The capital of France is Paris. The capital of Italy is Rome.";
    std::ofstream(file("text.txt")) << text;
    const auto tokenizer =
        Tokenizer::from_json(read_bytes(nano() + "/tokenizer.json"), "tokenizer.json");
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    const auto tokens = tokenizer->encode(text, SpecialTokens::plain).value();
    const auto perplexity = [&](const std::string& context) {
        const Outcome outcome = run({"eval", "ppl", "--model", nano(), "--ram", "64M", "--ctx",
                                     context, "--json", file("text.txt")});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return nlohmann::json::parse(outcome.out);
    };

    const auto whole = perplexity("64");
    double nll = 0;
    for (const double loss : window_losses(tokens, file("l.npy"))) nll += loss;
    EXPECT_EQ(whole.at("tokens"), tokens.size() - 1);
    EXPECT_NEAR(whole.at("nll").get<double>(), nll, 1e-4 * nll);
    EXPECT_NEAR(whole.at("ppl").get<double>(), std::exp(nll / double(tokens.size() - 1)), 1e-3);

    const auto windows = perplexity("8");
    nll = 0;
    for (size_t begin = 0, scored = 1; scored < tokens.size(); begin += 4) {
        const size_t end = std::min(begin + 8, tokens.size());
        const auto losses = window_losses(
            {tokens.begin() + std::ptrdiff_t(begin), tokens.begin() + std::ptrdiff_t(end)},
            file("l.npy"));
        for (; scored < end; ++scored) nll += losses[scored - 1 - begin];
    }
    EXPECT_EQ(windows.at("tokens"), tokens.size() - 1);
    EXPECT_EQ(windows.at("window"), 8);
    EXPECT_NEAR(windows.at("nll").get<double>(), nll, 1e-4 * nll);
}

// Goal: a text without two tokens has no perplexity.
// Method: an empty file, and one of a single letter.
TEST_F(Eval, PerplexityNeedsText) {
    for (const char* text : {"", "a"}) {
        std::ofstream(file("short.txt")) << text;
        const Outcome outcome =
            run({"eval", "ppl", "--model", nano(), "--ram", "64M", file("short.txt")});
        EXPECT_EQ(outcome.exit_code, 1);
        EXPECT_THAT(outcome.err, HasSubstr("at least 2"));
    }
}

}  // namespace
}  // namespace colibri::e2e

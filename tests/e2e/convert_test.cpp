// coli convert, calibrate and eval kld as a user runs them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/units.h"
#include "format/test_safetensors.h"
#include "platform/test_tree.h"
#include "tests/e2e/program.h"
#include "tests/support/synthetic_model.h"

namespace colibri::e2e {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Json = nlohmann::json;

uint64_t directory_bytes(const std::string& directory) {
    uint64_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(directory))
        if (entry.path().extension() == ".safetensors") bytes += entry.file_size();
    return bytes;
}

// Goal: the way that the documentation shows works: dry run, calibration, conversion, comparison.
// Method: nano; the dry run's sizes are those of the files, the calibrated container is nearer to
// the source than the one without search, both smaller than the source and able to answer.
TEST(Convert, FromCheckpointToAnswer) {
    const TestTree tree;
    const std::string text = tree.path("text.jsonl");
    std::string lines;
    std::istringstream all(test_read(nano() + "/eval.jsonl"));
    std::string line;
    for (int i = 0; i < 30 && std::getline(all, line); ++i) lines += line + "\n";
    test_write(text, lines);

    const Outcome calibrated = run(
        {"calibrate", "--model", nano(), "--limit", "600", "--out", tree.path("moments"), text});
    ASSERT_EQ(calibrated.exit_code, 0) << calibrated.err;
    EXPECT_THAT(calibrated.out, HasSubstr("600 tokens"));

    const std::string searched = tree.path("searched");
    const std::vector<std::string> convert{"convert", nano(), searched, "--calibration",
                                           tree.path("moments")};
    std::vector<std::string> dry = convert;
    dry.insert(dry.end(), {"--dry-run", "--json"});
    const Outcome planned = run(dry);
    ASSERT_EQ(planned.exit_code, 0) << planned.err;
    EXPECT_FALSE(fs::exists(searched));
    const Json plan = Json::parse(planned.out);
    const Outcome converted = run(convert);
    ASSERT_EQ(converted.exit_code, 0) << converted.err;
    EXPECT_EQ(directory_bytes(searched), plan["out_bytes"].get<uint64_t>());
    EXPECT_LT(directory_bytes(searched), directory_bytes(nano()) * 3 / 4);
    EXPECT_THAT(run(convert).out, HasSubstr("complete already"));

    const std::string nearest = tree.path("nearest");
    const Outcome other = run({"convert", nano(), nearest, "--scales", "nearest", "--json"});
    ASSERT_EQ(other.exit_code, 0) << other.err;
    EXPECT_FALSE(Json::parse(other.out)["already_complete"].get<bool>());
    const auto divergence = [&](const std::string& model) {
        const Outcome kld = run({"eval", "kld", "--json", "--limit", "400", "--model", model,
                                 "--reference", nano(), text});
        EXPECT_EQ(kld.exit_code, 0) << kld.err;
        return Json::parse(kld.out);
    };
    const Json same = divergence(nano());
    EXPECT_EQ(same["kld"].get<double>(), 0);
    EXPECT_EQ(same["same_choice"].get<double>(), 1);
    const double near = divergence(searched)["kld"];
    const double far = divergence(nearest)["kld"];
    EXPECT_GT(near, 0);
    EXPECT_LT(near, far);
    EXPECT_LT(far, 0.05);
    const Outcome answer =
        run({"run", "--model", searched, "--greedy", "--max-tokens", "20", "What is colibri?"});
    EXPECT_EQ(answer.exit_code, 0) << answer.err;
    EXPECT_FALSE(answer.out.empty());
}

// Goal: misuse ends with exit code 2 and what would be right, before anything is written.
// Method: wrong formats, names and arguments.
TEST(Convert, Misuse) {
    const TestTree tree;
    const std::string out = tree.path("out");
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"convert", nano()},
          {"convert", nano(), out, "--experts", "int5"},
          {"convert", nano(), out, "--formats", "expert=int8"},
          {"convert", nano(), out, "--scales", "best"},
          {"convert", nano(), out, "--model", nano()},
          {"eval", "kld", "--model", nano(), "x.txt"},
          {"calibrate", "--model", nano(), "x.txt"}}) {
        const Outcome outcome = run(arguments);
        EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
        EXPECT_THAT(outcome.err, HasSubstr("coli: error"));
    }
    EXPECT_FALSE(fs::exists(out));
    EXPECT_EQ(run({"convert", tree.path("nothing"), out}).exit_code, 1);
    const Outcome wrong = run({"convert", golden("glm_mtp"), out, "--calibration",
                               nano() + "/model-00001-of-00003.safetensors"});
    EXPECT_EQ(wrong.exit_code, 1);
    EXPECT_THAT(wrong.err, HasSubstr("not a calibration"));
    EXPECT_FALSE(fs::exists(out));
}

// Goal: the dry run's bound on memory holds.
// Method: a model of 200 MB, converted with a small window by a child whose peak resident set the
// kernel reports.
TEST(Convert, PeakMemoryIsWithinTheDryRunsBound) {
    const TestTree tree;
    fs::create_directories(tree.path("source"));
    const synthetic::GlmShape shape{.dim = 1024,
                                    .vocab = 8000,
                                    .dense_hidden = 2048,
                                    .expert_hidden = 512,
                                    .experts = 32,
                                    .indexers = "FSF",
                                    .draft = false,
                                    .seed = 9};
    ASSERT_TRUE(synthetic::write_glm(tree.path("source"), shape, synthetic::Format::bf16));
    const std::vector<std::string> convert{"convert", tree.path("source"), tree.path("out"),
                                           "--window", "32M"};
    std::vector<std::string> dry = convert;
    dry.insert(dry.end(), {"--dry-run", "--json"});
    const Outcome planned = run(dry);
    ASSERT_EQ(planned.exit_code, 0) << planned.err;
    const uint64_t bound = Json::parse(planned.out)["peak_memory_bytes"];
    EXPECT_LT(bound, 96 * kMiB);
    const Outcome converted = run(convert);
    ASSERT_EQ(converted.exit_code, 0) << converted.err;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their shadows count too
    EXPECT_LE(converted.peak_resident_bytes, bound);
#endif
    EXPECT_GE(converted.peak_resident_bytes, bound / 4);
}

}  // namespace
}  // namespace colibri::e2e

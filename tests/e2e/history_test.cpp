// The usage history as a user meets it: learned by answers, used by --warm, harmless when damaged.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "platform/test_tree.h"
#include "tests/e2e/program.h"

namespace colibri::e2e {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> command(const std::string& state, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"run", "--model",     nano(), "--greedy",   "--max-tokens",
                                   "20",  "--state-dir", state,  "--no-stats", "--ram",
                                   "40M", "--ctx",       "256"};
    words.insert(words.end(), more.begin(), more.end());
    words.emplace_back("Tell me a story about a bird.");
    return words;
}

}  // namespace

// Goal: an answer leaves a history behind, a warm start uses it, and the answer is the same with
// every setting of the cache.
// Method: a first run, then a warm one (fewer misses than the first), other policies and guesses.
TEST(History, WarmStartAnswersTheSame) {
    const TestTree tree;
    const std::string state = tree.path("state");
    const Outcome first = run(command(state, {"--json", "--prefetch", "off"}));
    ASSERT_EQ(first.exit_code, 0) << first.err;
    ASSERT_TRUE(std::filesystem::exists(state + "/usage"));
    const auto cold = nlohmann::json::parse(first.out);
    const Outcome second = run(command(state, {"--json", "--warm", "--prefetch", "off"}));
    ASSERT_EQ(second.exit_code, 0) << second.err;
    const auto warm = nlohmann::json::parse(second.out);
    EXPECT_EQ(warm["text"], cold["text"]);
    EXPECT_LT(warm["stats"]["expert_misses"], cold["stats"]["expert_misses"]);
    for (const std::string policy : {"frequency", "lru"})
        for (const std::string prefetch : {"auto", "on", "off"}) {
            const Outcome other =
                run(command(state, {"--json", "--policy", policy, "--prefetch", prefetch}));
            ASSERT_EQ(other.exit_code, 0) << other.err;
            const auto report = nlohmann::json::parse(other.out);
            EXPECT_EQ(report["text"], cold["text"]) << policy << " " << prefetch;
            const uint64_t guesses = report["stats"]["prefetches"];
            if (prefetch == "on") {
                EXPECT_GT(guesses, 0U);
            }
            if (prefetch == "off") {
                EXPECT_EQ(guesses, 0U);
            }
        }
}

// Goal: a damaged history, or a place that cannot be written, costs one line and nothing else.
// Method: garbage in the file; a state directory below a file; chat with two turns.
TEST(History, FaultsCostOneLine) {
    const TestTree tree;
    tree.write("state/usage", "garbage");
    const Outcome damaged = run(command(tree.path("state")));
    EXPECT_EQ(damaged.exit_code, 0);
    EXPECT_THAT(damaged.out, HasSubstr("hummingbird"));
    EXPECT_THAT(damaged.err, HasSubstr("ignored and left alone"));
    std::ifstream file(tree.path("state/usage"));
    std::stringstream content;
    content << file.rdbuf();
    EXPECT_EQ(content.str(), "garbage");

    tree.write("file", "x");
    Program chat({"chat", "--model", nano(), "--greedy", "--max-tokens", "5", "--state-dir",
                  tree.path("file/state")});
    chat.write_input("Hello.\nHello again.\n");
    const Outcome talk = chat.finish();
    EXPECT_EQ(talk.exit_code, 0) << talk.err;
    const size_t said = talk.err.find("the usage history is not kept");
    EXPECT_NE(said, std::string::npos) << talk.err;
    EXPECT_EQ(talk.err.find("the usage history is not kept", said + 1), std::string::npos);
}

// Goal: a history goes to the original engine's form and back.
// Method: learned by a run, exported, imported into another place; the numbers of the text by a
// plain reading: rows of three integers within the model's bounds.
TEST(History, GoesToTheOriginalEngineAndBack) {
    const TestTree tree;
    ASSERT_EQ(run(command(tree.path("a"))).exit_code, 0);
    const std::string text_file = tree.path("usage.txt");
    const auto usage = [&](const std::string& state, const std::vector<std::string>& more) {
        std::vector<std::string> words{"usage",  "--model",     nano(),
                                       "--json", "--state-dir", tree.path(state)};
        words.insert(words.end(), more.begin(), more.end());
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return nlohmann::json::parse(outcome.out);
    };
    const auto first = usage("a", {"--export", text_file});
    EXPECT_GT(first["tokens"], 15);
    EXPECT_EQ(first["experts"], 7 * 128);
    EXPECT_GT(first["share_of_best_50_percent"], 0.5);
    std::ifstream file(text_file);
    int64_t a = 0, b = 0, c = 0;
    uint64_t rows = 0;
    ASSERT_TRUE(file >> a >> b >> c);
    EXPECT_EQ(a, -1);
    EXPECT_EQ(b, 8);
    EXPECT_EQ(c, 128);
    ASSERT_TRUE(file >> a >> b >> c);
    EXPECT_EQ(a, -2);
    for (; file >> a >> b >> c; ++rows) EXPECT_TRUE(a >= 1 && a < 8 && b < 128 && c > 0);
    EXPECT_EQ(rows, first["experts_used"]);
    const auto second = usage("b", {"--import", text_file});
    EXPECT_EQ(second["experts_used"], first["experts_used"]);
    EXPECT_EQ(usage("b", {})["experts_used"], first["experts_used"]);
}

}  // namespace colibri::e2e

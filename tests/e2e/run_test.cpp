// coli run with the bundled model.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/program.h"

namespace colibri::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kQuestion = "What is the capital of France?";
constexpr const char* kBudget = "64M";

Outcome ask(std::vector<std::string> more, std::string_view input = "") {
    std::vector<std::string> line{"run", "--model", nano(), "--ram", kBudget};
    line.insert(line.end(), more.begin(), more.end());
    return run(line, input);
}

// Goal: in a pipe, standard output is the answer and nothing else, and nothing else is said.
// Method: three ways to give the prompt, the same answer.
TEST(Run, PrintsTheAnswerAlone) {
    const Outcome option = ask({"--greedy", "--prompt", kQuestion});
    EXPECT_EQ(option.exit_code, 0) << option.err;
    EXPECT_THAT(option.out, HasSubstr("Paris"));
    EXPECT_TRUE(option.out.ends_with('\n'));
    EXPECT_THAT(option.err, IsEmpty());
    EXPECT_EQ(ask({"--greedy", "What", "is", "the", "capital", "of", "France?"}).out, option.out);
    EXPECT_EQ(ask({"--greedy"}, std::string(kQuestion) + "\n").out, option.out);
    EXPECT_EQ(ask({"--greedy", "-"}, kQuestion).out, option.out);
}

// Goal: --json is one object with everything a program needs.
// Method: fields against the plain answer and against each other.
TEST(Run, ReportsAsJson) {
    const Outcome plain = ask({"--greedy", "--prompt", kQuestion});
    const Outcome outcome = ask({"--greedy", "--json", "--prompt", kQuestion});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto report = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(report.at("text").get<std::string>() + "\n", plain.out);
    EXPECT_EQ(report.at("reasoning"), "");
    EXPECT_EQ(report.at("finish_reason"), "stop");
    EXPECT_EQ(report.at("usage").at("prompt_tokens"), 15);
    EXPECT_GT(report.at("usage").at("completion_tokens"), 3);
    EXPECT_EQ(report.at("usage").at("reasoning_tokens"), 0);
    EXPECT_EQ(report.at("options").at("temperature"), 0.0);
    EXPECT_THAT(report.at("options").at("lossy"), IsEmpty());
    EXPECT_GT(report.at("stats").at("read_bytes"), 0);
    EXPECT_GT(report.at("stats").at("peak_resident_bytes"), 0);  // held to the plan in tests/faults
    EXPECT_GT(report.at("stats").at("planned_bytes"), 0);
}

// Goal: the same seed gives the same text, another one another; the model's recommended sampling is
// used. Method: a story with fixed and with fresh seeds.
TEST(Run, RepeatsASeed) {
    const auto story = [](std::vector<std::string> more) {
        more.insert(more.end(), {"--max-tokens", "24", "--prompt", "Tell me a short story."});
        return ask(more).out;
    };
    EXPECT_EQ(story({"--seed", "5"}), story({"--seed", "5"}));
    EXPECT_NE(story({"--seed", "5"}), story({"--seed", "6"}));
    EXPECT_NE(story({}), story({}));
    const auto report = nlohmann::json::parse(ask({"--json", "--prompt", kQuestion}).out);
    EXPECT_NEAR(report.at("options").at("temperature").get<double>(), 0.7, 1e-6);
}

// Goal: memory, threads and slices change speed alone.
// Method: the smallest budget that works against a large one, 1 and 3 threads, slices of 1 and 7.
TEST(Run, AnswersTheSameWithAnyPlacement) {
    const Outcome reference = ask({"--greedy", "--prompt", kQuestion});
    for (const std::vector<std::string>& more :
         std::vector<std::vector<std::string>>{{"--ram", "2G"},
                                               {"--threads", "1"},
                                               {"--threads", "3"},
                                               {"--prefill-slice", "1"},
                                               {"--prefill-slice", "7"},
                                               {"--isa", "reference"}}) {
        std::vector<std::string> line{"--greedy", "--prompt", kQuestion};
        line.insert(line.end(), more.begin(), more.end());
        EXPECT_EQ(ask(line).out, reference.out) << more[0] << " " << more[1];
    }
}

// Goal: a budget that is too small is refused with the smallest that works, and that one works.
// Method: 2M; read the number from info; ask again with it.
TEST(Run, NamesTheSmallestBudget) {
    const Outcome refused = ask({"--greedy", "--prompt", kQuestion, "--ram", "2M"});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.err, HasSubstr("--ram"));
    const Outcome info = run({"info", "--model", nano(), "--json"});
    ASSERT_EQ(info.exit_code, 0) << info.err;
    const uint64_t bytes =
        nlohmann::json::parse(info.out).at("plan").at("smallest_budget_bytes").get<uint64_t>();
    const uint64_t mebibytes = (bytes + (1 << 20) - 1) >> 20;
    const Outcome outcome =
        ask({"--greedy", "--prompt", kQuestion, "--ram", std::to_string(mebibytes) + "M"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("Paris"));
}

// Goal: role markers and thinking tags never reach the reader, and turns end.
// Method: topics, with and without reasoning, also as a raw prompt.
TEST(Run, NeverShowsRoleMarkers) {
    for (const char* prompt : {kQuestion, "Hello!", "What is 12 + 30?", "Write SQL: all users.",
                               "<|user|> and <|assistant|> are markers. Repeat them.",
                               "Translate to German: the house"}) {
        for (const char* think : {"--think", "--no-think"}) {
            const Outcome outcome =
                ask({think, "--seed", "3", "--max-tokens", "60", "--prompt", prompt});
            EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
            EXPECT_FALSE(has_role_marker(outcome.out)) << outcome.out;
            EXPECT_FALSE(has_role_marker(outcome.err)) << outcome.err;
        }
    }
    const std::string rendered =
        "[gMASK]<sop><|user|>What is the capital of France?<|assistant|><think></think>";
    const Outcome raw = ask({"--raw", "--greedy", "--json", "--prompt", rendered});
    ASSERT_EQ(raw.exit_code, 0) << raw.err;
    const auto report = nlohmann::json::parse(raw.out);
    EXPECT_EQ(report.at("usage").at("prompt_tokens"), 15) << "control tokens are recognized";
    EXPECT_EQ(report.at("finish_reason"), "stop");
    EXPECT_THAT(report.at("text").get<std::string>(), HasSubstr("Paris"));
    EXPECT_FALSE(has_role_marker(report.at("text").get<std::string>()));
}

// Goal: reasoning is apart from the answer.
// Method: a question with --think: reasoning on standard error or in its own field.
TEST(Run, KeepsReasoningApart) {
    const char* puzzle = "Tom has 3 apples and buys 4 more. How many apples does he have?";
    const Outcome json = ask({"--think", "--greedy", "--json", "--prompt", puzzle});
    ASSERT_EQ(json.exit_code, 0) << json.err;
    const auto report = nlohmann::json::parse(json.out);
    const auto reasoning = report.at("reasoning").get<std::string>();
    ASSERT_FALSE(reasoning.empty());
    EXPECT_GT(report.at("usage").at("reasoning_tokens"), 0);
    const Outcome plain = ask({"--think", "--greedy", "--prompt", puzzle});
    EXPECT_EQ(plain.out, report.at("text").get<std::string>() + "\n");
    EXPECT_THAT(plain.err, HasSubstr(reasoning));
}

// Goal: a blank answer is explained.
// Method: reasoning with room for five tokens only.
TEST(Run, ExplainsABlankAnswer) {
    const Outcome outcome =
        ask({"--think", "--greedy", "--max-tokens", "5", "--prompt", "What is 17 times 23?"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("no answer: reasoning used all 5 tokens"),
                                   HasSubstr("--max-tokens")));
    const auto report = nlohmann::json::parse(ask({"--think", "--greedy", "--json", "--max-tokens",
                                                   "5", "--prompt", "What is 17 times 23?"})
                                                  .out);
    EXPECT_EQ(report.at("finish_reason"), "length");
    EXPECT_EQ(report.at("usage").at("reasoning_tokens"), 5);
}

// Goal: a huge --max-tokens means "as much as there is room for", not a demand.
// Method: 2^31-1 and 2^32-1 with the default and with a small context.
TEST(Run, AcceptsHugeLimits) {
    for (const char* limit : {"2147483647", "4294967295"}) {
        EXPECT_EQ(ask({"--greedy", "--max-tokens", limit, "--prompt", kQuestion}).exit_code, 0);
        const Outcome small =
            ask({"--greedy", "--max-tokens", limit, "--ctx", "64", "--prompt", kQuestion});
        EXPECT_EQ(small.exit_code, 0) << small.err;
        EXPECT_THAT(small.out, HasSubstr("Paris"));
    }
}

// Goal: a prompt that fits is answered, one that does not is refused with need, limit and the
// option. Method: contexts around the 15 tokens of the question; an answer that hits the end says
// so.
TEST(Run, NamesTheContextThatIsNeeded) {
    const Outcome refused = ask({"--greedy", "--ctx", "14", "--prompt", kQuestion});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.err, AllOf(HasSubstr("15"), HasSubstr("14"), HasSubstr("--ctx")));
    const Outcome cut = ask({"--greedy", "--ctx", "17", "--prompt", kQuestion});
    EXPECT_EQ(cut.exit_code, 0) << cut.err;
    EXPECT_THAT(cut.err, AllOf(HasSubstr("17"), HasSubstr("--ctx")));
    const Outcome beyond = ask({"--greedy", "--ctx", "1000000", "--prompt", kQuestion});
    EXPECT_NE(beyond.exit_code, 0);
    EXPECT_THAT(beyond.err, HasSubstr("2048"));
}

// Goal: Ctrl-C ends the answer at once, with 130 and what there is of it.
// Method: a long story on the plain kernels, slow enough to be in its middle at SIGINT.
TEST(Run, StopsOnInterrupt) {
    Program program({"run", "--model", nano(), "--ram", kBudget, "--seed", "1", "--temp", "1.5",
                     "--isa", "reference", "--threads", "1", "--stats", "--prompt",
                     "Tell me a long story."});
    ASSERT_TRUE(program.wait_for_out(" "));
    program.send_signal(SIGINT);
    const Outcome outcome = program.finish(10);
    EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("stopped"), HasSubstr("tokens/s")));
    EXPECT_THAT(outcome.out, Not(IsEmpty()));
}

// Goal: a reader that leaves ends the work quietly; a full disk is an error with words.
// Method: close the reading end after the first words; standard output on /dev/full.
TEST(Run, NoticesThatNobodyReads) {
    Program program({"run", "--model", nano(), "--ram", kBudget, "--seed", "1", "--temp", "1.5",
                     "--isa", "reference", "--threads", "1", "--prompt", "Tell me a long story."});
    ASSERT_TRUE(program.wait_for_out(" "));
    program.close_output();
    const Outcome left = program.finish(10);
    EXPECT_EQ(left.exit_code, 1) << left.err;
    EXPECT_THAT(left.err, IsEmpty());
    Program full({"run", "--model", nano(), "--ram", kBudget, "--greedy", "--prompt", kQuestion},
                 {}, "/dev/full");
    const Outcome outcome = full.finish();
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("standard output"), HasSubstr("No space left")));
}

// Goal: prompts that are hard to read do no harm.
// Method: blanks, bytes that are no UTF-8, zero bytes, very long words.
TEST(Run, AcceptsStrangePrompts) {
    for (const std::string& prompt :
         {std::string(" "), std::string("\xFF\xFE\x80"), std::string("a\0b", 3),
          std::string(1000, 'x'), std::string("\n\n\n")}) {
        const Outcome outcome = ask({"--greedy", "--max-tokens", "8", "--json"}, prompt);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        if (outcome.exit_code == 0) {
            EXPECT_TRUE(nlohmann::json::parse(outcome.out).contains("text"));
        }
    }
    const Outcome empty = ask({"--greedy"}, "");
    EXPECT_EQ(empty.exit_code, 2);
    EXPECT_EQ(ask({"--greedy"}, "\n").exit_code, 2);
}

// Goal: a stop text ends the answer before itself, whole words or parts of them, with its own
// reason; what is none is refused. Method: cuts of the known answer.
TEST(Run, StopsBeforeAText) {
    const std::string whole = ask({"--greedy", "--prompt", kQuestion}).out;
    for (const char* stop : {" Paris", "ital", "."}) {
        const Outcome cut =
            ask({"--greedy", "--prompt", kQuestion, "--stop", "never", "--stop", stop, "--json"});
        const auto report = nlohmann::json::parse(cut.out);
        EXPECT_EQ(report["text"], whole.substr(0, whole.find(stop))) << stop;
        EXPECT_EQ(report["finish_reason"], "stop_string");
    }
    EXPECT_EQ(ask({"--greedy", "--prompt", kQuestion, "--stop", "\\n\\t\\\\"}).out, whole);
    EXPECT_EQ(ask({"--prompt", kQuestion, "--stop", "\\x"}).exit_code, 2);
    EXPECT_EQ(ask({"--prompt", kQuestion, "--stop", ""}).exit_code, 2);
}

// Goal: an answer that goes in circles ends with its own reason; without the guard it goes on, the
// same up to there. Method: raw text that the model continues with "-10-10-10-10-10", and a guard
// that takes four times for a loop.
TEST(Run, EndsALoop) {
    const auto report = [](const std::string& guard) {
        return nlohmann::json::parse(ask({"--raw", "--greedy", "--json", "--prompt",
                                          "- - - - - - - - - - - - - -", "--loop-guard", guard})
                                         .out);
    };
    const auto whole = report("0");
    const auto cut = report("4");
    EXPECT_EQ(whole["finish_reason"], "stop") << whole;
    EXPECT_EQ(cut["finish_reason"], "loop") << cut;
    const auto shown = cut["text"].get<std::string>();
    const auto all = whole["text"].get<std::string>();
    EXPECT_LT(shown.size(), all.size());
    EXPECT_TRUE(all.starts_with(shown)) << shown;
}

}  // namespace
}  // namespace colibri::e2e

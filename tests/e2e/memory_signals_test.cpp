// Memory given up by a running program on request.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/program.h"

namespace colibri::e2e {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kCommand{"run",      "--model", nano(),         "--ram", "64M",
                                        "--greedy", "--json",  "--max-tokens", "40"};
constexpr const char* kPrompt = "Tell me a story about a bird.";

uint64_t count(const std::string& text, const std::string& part) {
    uint64_t found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++found;
    return found;
}

}  // namespace

// Goal: SIGUSR1 halves the cache, again and again down to what works, and says so once each time it
// is looked at; the answer is that of an undisturbed run.
// Method: one signal, then ten, before the prompt is given; the report's slots.
TEST(MemorySignals, HalveTheCache) {
    const Outcome calm = run(kCommand, kPrompt);
    ASSERT_EQ(calm.exit_code, 0) << calm.err;
    const auto want = nlohmann::json::parse(calm.out);
    const uint64_t planned = want.at("cache").at("planned_slots");
    EXPECT_EQ(want.at("cache").at("slots"), planned);
#if defined(__SANITIZE_THREAD__)
    // It hands signals over when the program comes to a call that it knows, ten of a kind as one.
    const std::vector<int> rounds{1};
#else
    const std::vector<int> rounds{1, 10};
#endif
    for (const int signals : rounds) {
        Program program(kCommand);
        ASSERT_TRUE(program.wait_until_it_catches(SIGUSR1));
        for (int i = 0; i < signals; ++i) {
            // Signals of one kind that come together are one.
            ASSERT_TRUE(program.wait_until_it_sleeps());
            program.send_signal(SIGUSR1);
        }
        program.write_input(kPrompt);
        const Outcome outcome = program.finish();
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_EQ(count(outcome.err, "the expert cache has"), 1U) << outcome.err;
        const auto report = nlohmann::json::parse(outcome.out);
        EXPECT_EQ(report.at("text"), want.at("text"));
        EXPECT_EQ(report.at("cache").at("planned_slots"), planned);
        const uint64_t slots = report.at("cache").at("slots");
        EXPECT_LE(slots, planned / 2);
        if (signals == 10) {
            EXPECT_LE(slots, 8U);
            EXPECT_THAT(outcome.err, HasSubstr("the fewest that work"));
        }
    }
}

// Goal: signals in the middle of an answer, both of them, change no word of it.
// Method: as soon as the first text is there, and then many times; the text of an undisturbed run.
TEST(MemorySignals, WithinAnAnswerChangeNoWord) {
    std::vector<std::string> command = kCommand;
    std::erase(command, "--json");
    const Outcome calm = run(command, kPrompt);
    ASSERT_EQ(calm.exit_code, 0) << calm.err;
    Program program(command);
    ASSERT_TRUE(program.wait_until_it_catches(SIGUSR1));
    program.write_input(kPrompt);
    program.close_input();
    ASSERT_TRUE(program.wait_for_out(calm.out.substr(0, 1)));
    for (int i = 0; i < 12; ++i) {
        program.send_signal(i % 4 == 3 ? SIGUSR2 : SIGUSR1);
        if (program.wait_for_out(calm.out, 0.01)) break;
    }
    const Outcome outcome = program.finish();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, calm.out);
}

// Goal: in a conversation the cache shrinks and comes back to its planned size, between answers.
// Method: SIGUSR1 after the first answer, SIGUSR2 after the second; answers of an undisturbed chat.
TEST(MemorySignals, SigUsr2RestoresTheCache) {
    const std::vector<std::string> command{"chat", "--model",  nano(),         "--ram",
                                           "64M",  "--greedy", "--max-tokens", "12"};
    const std::vector<std::string> lines{"Hello!\n", "What is the capital of France?\n",
                                         "What is 12 + 30?\n"};
    std::string calm;
    for (const auto& signals : {std::vector<int>{}, std::vector<int>{SIGUSR1, SIGUSR2}}) {
        Program program(command);
        ASSERT_TRUE(program.wait_until_it_catches(SIGUSR1));
        for (size_t i = 0; i < lines.size(); ++i) {
            if (i > 0 && !signals.empty()) program.send_signal(signals[i - 1]);
            program.write_input(lines[i] + (i == 2 ? "/stats\n" : ""));
            if (i == 1 && !signals.empty()) {
                EXPECT_TRUE(program.wait_for_err("the expert cache has"));
            }
            if (i == 1) {
                EXPECT_TRUE(program.wait_for_out("Paris"));
            }
        }
        const Outcome outcome = program.finish();
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_EQ(count(outcome.err, "the expert cache has"), signals.size()) << outcome.err;
        if (signals.empty()) {
            calm = outcome.out;
        } else {
            EXPECT_THAT(outcome.err, HasSubstr("all that were planned"));
            EXPECT_EQ(outcome.out, calm);
        }
    }
}

}  // namespace colibri::e2e

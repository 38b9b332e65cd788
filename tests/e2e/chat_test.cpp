// coli chat, driven through pipes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "tests/e2e/program.h"

namespace colibri::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> chat(std::vector<std::string> more = {}) {
    std::vector<std::string> line{"chat", "--model", nano(), "--ram", "64M", "--greedy"};
    line.insert(line.end(), more.begin(), more.end());
    return line;
}

// Goal: a conversation in a pipe: answers alone on standard output, the end of input leaves with
// success. Method: two turns; the second reuses what the first left in memory.
TEST(Chat, TalksThroughAPipe) {
    const Outcome outcome =
        run(chat({"--stats"}), "What is the capital of France?\nWhat is the capital of Italy?\n");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("Paris"), HasSubstr("Rome")));
    EXPECT_FALSE(has_role_marker(outcome.out)) << outcome.out;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("tokens/s"), HasSubstr("reused")));
    EXPECT_THAT(run(chat(), "Hello!\n").err, IsEmpty());
}

// Goal: /reset forgets: the same question then gets the same answer as in a fresh conversation.
// Method: a first turn in between, with and without reset.
TEST(Chat, ForgetsOnReset) {
    const std::string question = "What is 12 + 30?\n";
    const Outcome fresh = run(chat(), question);
    const Outcome reset = run(chat(), "Hello, my name is Anna.\n/reset\n" + question);
    ASSERT_EQ(reset.exit_code, 0) << reset.err;
    EXPECT_TRUE(reset.out.ends_with(fresh.out)) << reset.out << fresh.out;
    EXPECT_THAT(reset.err, HasSubstr("forgotten"));
}

// Goal: commands act, and what is no command is not sent to the model.
// Method: each once, and a misspelled one; nothing of them appears on standard output.
TEST(Chat, KnowsItsCommands) {
    const Outcome outcome = run(
        chat(),
        "/help\n/stats\n/think\n/think on\n/think off\n/system Be brief.\n/rest\n/quit\nHello!\n");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, IsEmpty()) << "nothing was asked before /quit";
    EXPECT_THAT(outcome.err,
                AllOf(HasSubstr("/reset"), HasSubstr("positions"), HasSubstr("reasoning is off"),
                      HasSubstr("reasoning is on"), HasSubstr("system prompt set"),
                      HasSubstr("/rest is no command, and was not sent to the model")));
}

// Goal: /think on shows reasoning apart from the answer.
// Method: the same question with both settings.
TEST(Chat, SwitchesReasoning) {
    const Outcome outcome = run(chat(), "/think on\nWhat is 12 + 30?\n");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("[thinking]"));
    EXPECT_THAT(outcome.out, Not(HasSubstr("[thinking]")));
    EXPECT_FALSE(has_role_marker(outcome.out)) << outcome.out;
}

// Goal: a full context is explained with numbers and a way out, and the program goes on.
// Method: a context that one turn fits and two do not; then /reset and again.
TEST(Chat, ExplainsAFullContext) {
    const std::string question = "What is the capital of France?\n";
    const Outcome outcome = run(chat({"--ctx", "40"}),
                                question + question + question + question + "/reset\n" + question);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("40"), HasSubstr("/reset"), HasSubstr("--ctx")));
    const size_t last = outcome.out.rfind("Paris");
    ASSERT_NE(last, std::string::npos);
    EXPECT_NE(outcome.out.find("Paris"), last) << "the conversation goes on after /reset";
}

// Goal: Ctrl-C stops the answer, not the program.
// Method: SIGINT in the middle of a story that the plain kernels tell slowly, then a command.
TEST(Chat, InterruptStopsTheAnswerOnly) {
    Program program(chat(
        {"--temp", "1.5", "--seed", "1", "--no-greedy", "--isa", "reference", "--threads", "1"}));
    program.write_input("Tell me a long story.\n");
    ASSERT_TRUE(program.wait_for_out(" "));
    program.send_signal(SIGINT);
    EXPECT_TRUE(program.wait_for_err("stopped", 20));
    program.write_input("/stats\n");
    EXPECT_TRUE(program.wait_for_err("positions", 20));
    const Outcome outcome = program.finish(20);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

// Goal: blank lines are no turns; a backslash joins lines; the last line needs no line feed.
// Method: count answers.
TEST(Chat, ReadsLines) {
    const Outcome blank = run(chat(), "\n  \n\t\n");
    EXPECT_EQ(blank.exit_code, 0);
    EXPECT_THAT(blank.out, IsEmpty());
    const Outcome joined = run(chat(), "What is the capital \\\nof France?");
    EXPECT_EQ(joined.exit_code, 0) << joined.err;
    EXPECT_THAT(joined.out, HasSubstr("Paris"));
    const Outcome windows = run(chat(), "What is the capital of France?\r\n");
    EXPECT_THAT(windows.out, HasSubstr("Paris"));
}

}  // namespace
}  // namespace colibri::e2e

#include "apps/help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace colibri {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Goal: the reference in docs/ is the table's.
// Method: compare the file with the generated text.
TEST(Help, ReferenceIsInStepWithTheDocs) {
    std::ifstream file(COLIBRI_SOURCE_DIR "/docs/options.md");
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_EQ(text.str(), markdown_reference()) << "run: coli help --markdown > docs/options.md";
}

// Goal: a command's page has exactly the options it takes, each with its default or choices.
// Method: look for every row of the table on every page.
TEST(Help, ListsTheOptionsOfACommand) {
    for (const CommandSpec& command : command_table()) {
        const std::string page = command_help(command.id);
        EXPECT_THAT(page, HasSubstr(std::string(command.summary)));
        for (const OptionSpec& option : option_table()) {
            bool named = false;
            for (const OptionSpec& other : option_table())
                named |= other.name == option.name && other.applies_to(command.id);
            // Long names have a line of their own.
            bool found = false;
            for (const char* before : {"  --", "  --[no-]"})
                for (const char* after : {" ", "\n", "["})
                    found |= page.find(before + std::string(option.name) + after) != page.npos;
            EXPECT_EQ(found, named) << command.words << " --" << option.name;
        }
    }
}

// Goal: pages fit an ordinary terminal.
// Method: no line beyond 80 columns.
TEST(Help, FitsEightyColumns) {
    std::string pages = general_help() + group_help("eval") + group_help("trace");
    for (const CommandSpec& command : command_table()) pages += command_help(command.id);
    std::stringstream lines(pages);
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(line.size(), 80U) << line;
        EXPECT_THAT(line, Not(::testing::EndsWith(" ")));
    }
}

// Goal: the look of a page changes only on purpose.
// Method: the beginning of one, written out.
TEST(Help, LooksLikeThis) {
    const std::string expected = R"(coli eval logits: logits of given tokens, as a NumPy file

usage: coli eval logits [OPTION...]

Writes float32 [tokens, vocabulary]: row t holds the scores after token t. Needs
no tokenizer. Padded ids are not masked.

Model and machine:
  --model DIR             Directory of the model. Bundled: the small model that
                          comes with colibri. [default: bundled]
  --ram SIZE              Memory that the whole process may use: 800M, 1.5G; a
                          plain number is GiB. Auto: what the machine has free,
                          minus a reserve. Decides speed, never the answer.
                          [default: auto]
)";
    EXPECT_EQ(command_help(Command::eval_logits).substr(0, expected.size()), expected);
}

}  // namespace
}  // namespace colibri

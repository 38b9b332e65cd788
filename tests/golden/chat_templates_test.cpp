// Prompts of real chat templates, rendered by the reference library.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/golden/tokenizer_files.h"
#include "text/chat_template.h"

namespace colibri {
namespace {

using Json = nlohmann::ordered_json;

// The text without its line that holds the date of the day on which the reference was made.
std::string without_line(const std::string& text, const std::string& beginning) {
    const size_t begin = text.find(beginning);
    if (begin == std::string::npos) return text;
    return text.substr(0, begin) + text.substr(std::min(text.find('\n', begin), text.size()));
}

class ChatTemplateGolden : public testing::TestWithParam<std::string> {};

// Goal: a conversation becomes the prompt that the model was trained on.
// Method: every recorded conversation through the model's own template; rendered text and the
// joined pieces equal the reference byte for byte (where a date stands in it, all but that line).
TEST_P(ChatTemplateGolden, EveryRowMatches) {
    const std::string name = GetParam();
    const auto chat = ChatTemplate::parse(read_tokenizer_file(name + ".chat_template.jinja"), name);
    ASSERT_TRUE(chat.has_value()) << chat.error().message;
    TemplateTokens special_tokens;
    const Json special = Json::parse(read_tokenizer_file(name + ".special.json"));
    for (const auto& item : special.items()) special_tokens.emplace_back(item.key(), item.value());
    std::ifstream file(kTokenizerFiles + name + ".chat.jsonl");
    size_t rows = 0;
    size_t mismatches = 0;
    for (std::string line; std::getline(file, line); ++rows) {
        const Json row = Json::parse(line);
        Json variables = row["kwargs"];
        const bool prompts = variables.value("add_generation_prompt", false);
        variables.erase("add_generation_prompt");
        const bool has_tools = !row["tools"].is_null();
        const ChatTemplateInput input{.messages = &row["messages"],
                                      .tools = has_tools ? &row["tools"] : nullptr,
                                      .variables = &variables,
                                      .special_tokens = special_tokens,
                                      .add_generation_prompt = prompts};
        const auto text = chat->render(input);
        const auto pieces = chat->render_pieces(input);
        if (row.contains("error")) {
            mismatches += text.has_value() ? 1 : 0;
            EXPECT_FALSE(text.has_value()) << line;
            continue;
        }
        ASSERT_TRUE(text.has_value() && pieces.has_value()) << text.error().message << line;
        std::string expected = row["text"];
        std::string found = *text;
        if (row.contains("date_line")) {
            const std::string date_line = row["date_line"];
            const std::string beginning = date_line.substr(0, date_line.find(':') + 1);
            expected = without_line(expected, beginning);
            found = without_line(found, beginning);
        }
        mismatches += found == expected ? 0 : 1;
        EXPECT_EQ(found, expected) << line;
        EXPECT_EQ(prompt_text(*pieces), *text);
    }
    fmt::print("{}: {} chat rows, {} mismatches\n", name, rows, mismatches);
    EXPECT_GE(rows, 28U);
    EXPECT_EQ(mismatches, 0U);
}

INSTANTIATE_TEST_SUITE_P(Templates, ChatTemplateGolden,
                         testing::Values("nano", "deepseek_v3", "llama3", "qwen3"),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace colibri

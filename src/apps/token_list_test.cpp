#include "apps/token_list.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace colibri {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Goal: the ways in which people and programs write lists.
// Method: spaces, commas, both, brackets, line feeds.
TEST(TokenList, AcceptsUsualSpellings) {
    for (const char* text :
         {"1 22 333", "1,22,333", " 1, 22, 333 ", "[1, 22, 333]", "1\n22\n333\n"})
        EXPECT_THAT(parse_token_list(text).value(), ElementsAre(1, 22, 333)) << text;
    EXPECT_THAT(parse_token_list("0").value(), ElementsAre(0));
    EXPECT_THAT(parse_token_list("2147483647").value(), ElementsAre(2147483647));
}

// Goal: nothing is half-parsed.
// Method: numbers that are none, negative or too large ones, no numbers at all.
TEST(TokenList, NamesWhatIsNoId) {
    for (const char* word :
         {"-1", "2147483648", "1e3", "0x1", "two", "1.5", "[1", "99999999999999999999"}) {
        const auto tokens = parse_token_list(fmt::format("5 {} 6", word));
        ASSERT_FALSE(tokens) << word;
        EXPECT_THAT(tokens.error().message, HasSubstr(fmt::format("'{}'", word)));
    }
    for (const char* text : {"", " ", ",", "[]"}) EXPECT_FALSE(parse_token_list(text)) << text;
}

// Goal: ids outside the vocabulary are found before the model runs.
// Method: the first id beyond the end.
TEST(TokenList, ChecksTheVocabulary) {
    const std::vector<int32_t> tokens{3, 159, 160};
    EXPECT_TRUE(check_token_range(tokens, 161));
    const auto status = check_token_range(tokens, 160);
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("id 160 (number 3 of 3)"));
}

}  // namespace
}  // namespace colibri

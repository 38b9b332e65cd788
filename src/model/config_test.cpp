#include "model/config.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace colibri {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void expect_refused(const std::string& text, const std::string& what) {
    const auto config = Config::parse(text, "config.json");
    ASSERT_FALSE(config) << what;
    EXPECT_EQ(config.error().kind, ErrorKind::invalid_input);
    EXPECT_THAT(config.error().message, HasSubstr("config.json: " + what));
}

TEST(Config, BrokenFilesAreRefused) {
    // Goal: F7, F8: malformed, deep, huge or ambiguous files end in an error that names the file.
    // Method: the listed texts; 300 MB of spaces; nesting of 100,000.
    expect_refused("", "not valid JSON");
    expect_refused("{a:1}", "not valid JSON");
    expect_refused(R"({"a":})", "not valid JSON");
    expect_refused(R"({"a":1)", "not valid JSON");
    expect_refused(R"({"a":1e999})", "not valid JSON");
    expect_refused("{\"a\":\"\xFF\"}", "not valid JSON");
    expect_refused("[1]", "found array at the top");
    expect_refused("7", "found number at the top");
    expect_refused(R"({"a":1,"a":2})", "key a appears twice");
    expect_refused(R"({"x":[{"b":{"a":1,"a":2}}]})", "key a appears twice");
    expect_refused(fmt::format(R"({{"a":{}}})", std::string(100'000, '[')),
                   "nested deeper than 32 levels");
    // NOLINTNEXTLINE(bugprone-string-constructor): a file of that size
    expect_refused(std::string(300'000'000, ' '),
                   "found 300000000 bytes, expected at most 16000000");
}

TEST(Config, BracketsInStringsAreNoNesting) {
    // Goal: the depth scan reads JSON strings, not characters.
    // Method: brackets and escaped quotes inside a string.
    const auto config =
        Config::parse(R"({"a":"\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\"})", "c");
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_THAT(*config->text("a"), HasSubstr("[[["));
}

TEST(Config, TypedGettersSayFoundAndExpected) {
    // Goal: each getter accepts its type and nothing else; null counts as absent.
    // Method: one key of every type against every getter that must refuse it.
    const auto config = *Config::parse(
        R"({"n":5,"f":2.5,"s":"x","b":true,"l":[1,2],"t":["p","q"],"o":{"k":1},"z":null,
            "neg":-3,"big":4294967296})",
        "c.json");
    EXPECT_EQ(*config.count("n"), 5U);
    EXPECT_EQ(*config.count_or("z", 9), 9U);
    EXPECT_EQ(*config.number("n"), 5.0);
    EXPECT_EQ(*config.number("f"), 2.5);
    EXPECT_EQ(*config.number_or("z", 1.5), 1.5);
    EXPECT_EQ(*config.flag_or("b", false), true);
    EXPECT_EQ(*config.flag_or("z", true), true);
    EXPECT_EQ(*config.text("s"), "x");
    EXPECT_EQ(*config.text_or("z", "y"), "y");
    EXPECT_THAT(**config.texts("t"), ElementsAre("p", "q"));
    EXPECT_THAT(**config.counts("l"), ElementsAre(1, 2));
    EXPECT_FALSE(*config.texts("z"));
    EXPECT_THAT(*config.token_ids("n"), ElementsAre(5));
    EXPECT_THAT(*config.token_ids("l"), ElementsAre(1, 2));
    EXPECT_TRUE(config.token_ids("z")->empty());
    EXPECT_EQ(*(*config.section("o"))->count("k"), 1U);
    EXPECT_FALSE(*config.section("absent"));
    EXPECT_EQ(config.count("s").error().message,
              R"(c.json: s is "x", expected an integer from 1 to 2147483647)");
    EXPECT_EQ(config.count("n", 6, 7).error().message,
              "c.json: n is 5, expected an integer from 6 to 7");
    EXPECT_EQ(config.count("q").error().message,
              "c.json: q is missing, expected an integer from 1 to 2147483647");
    EXPECT_EQ((*config.section("o"))->text("k").error().message,
              "c.json: o.k is 1, expected a string");
    for (const char* key : {"f", "s", "b", "l", "o", "z", "neg", "big"})
        EXPECT_FALSE(config.count(key)) << key;
    for (const char* key : {"s", "b", "l", "o", "z"}) EXPECT_FALSE(config.number(key)) << key;
    for (const char* key : {"n", "s", "l", "o"}) EXPECT_FALSE(config.flag_or(key, false)) << key;
    for (const char* key : {"n", "b", "l", "o", "z"}) EXPECT_FALSE(config.text(key)) << key;
    for (const char* key : {"n", "s", "l", "o"}) EXPECT_FALSE(config.texts(key)) << key;
    for (const char* key : {"n", "s", "t", "o"}) EXPECT_FALSE(config.counts(key)) << key;
    for (const char* key : {"f", "s", "t", "o", "neg", "big"})
        EXPECT_FALSE(config.token_ids(key)) << key;
    for (const char* key : {"n", "s", "l"}) EXPECT_FALSE(config.section(key)) << key;
}

TEST(Config, LongValuesAreCutInMessages) {
    // Goal: a message stays readable whatever the file holds, and never ends inside a character.
    // Method: a string of 10,000 two-byte characters where a number is expected.
    std::string value;
    for (int i = 0; i < 10'000; ++i) value += "é";
    const auto config = *Config::parse(fmt::format(R"({{"a":"{}"}})", value), "c");
    const std::string message = config.count("a").error().message;
    EXPECT_LT(message.size(), 200U);
    EXPECT_THAT(message, HasSubstr("é..."));
}

TEST(Config, KnowsWhatWasNotRead) {
    // Goal: keys that no getter asked for are listed in file order, with their path.
    // Method: read some, ignore some, open one section.
    const auto config =
        *Config::parse(R"({"a":1,"b":2,"c":{"d":1,"e":2},"f":{"g":1},"h":null})", "c");
    ASSERT_TRUE(config.count("a"));
    const auto section = *config.section("c");
    ASSERT_TRUE(section->count("d"));
    EXPECT_THAT(config.unread(), ElementsAre("b", "c.e", "f", "h"));
    config.ignore({"b", "f"});
    EXPECT_FALSE(config.has("h"));
    EXPECT_THAT(config.unread(), ElementsAre("c.e"));
}

}  // namespace
}  // namespace colibri

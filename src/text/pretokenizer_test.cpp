#include "text/pretokenizer.h"

#include <gtest/gtest.h>

#include "text/tokenizer_fixture.h"

namespace colibri {
namespace {

using Pieces = std::vector<std::string>;

Pieces split(std::string_view pattern, std::string_view text, RegexDialect dialect,
             SplitBehavior behavior = SplitBehavior::isolated, bool invert = false) {
    auto regex = Regex::compile(pattern, dialect, "pattern");
    EXPECT_TRUE(regex) << regex.error().message;
    if (!regex) return {};
    const Pretokenizer pretokenizer({SplitStep{*std::move(regex), behavior, invert}});
    Pieces pieces;
    RegexScratch scratch;
    const auto status = pretokenizer.split(
        text, true, scratch, [&](std::string_view piece) { pieces.emplace_back(piece); });
    EXPECT_TRUE(status) << status.error().message;
    return pieces;
}

Pieces ruby(std::string_view pattern, std::string_view text) {
    return split(pattern, text, RegexDialect::oniguruma);
}

Pieces rust(std::string_view pattern, std::string_view text) {
    return split(pattern, text, RegexDialect::rust);
}

// Goal: white space is shared out as the reference does: the last blank goes to the next piece.
// Method: code, tabs, no-break space, CRLF; expected pieces from the reference library with GLM's
// pattern.
TEST(Pretokenizer, SharesOutWhiteSpace) {
    EXPECT_EQ(ruby(kFixturePattern, "def f(x):\n    return x"),
              (Pieces{"def", " f", "(x", "):\n", "   ", " return", " x"}));
    EXPECT_EQ(ruby(kFixturePattern, "\treturn\t\tx  "), (Pieces{"\treturn", "\t", "\tx", "  "}));
    EXPECT_EQ(ruby(kFixturePattern, "a   b"), (Pieces{"a", "  ", " b"}));
    EXPECT_EQ(ruby(kFixturePattern, "a\u00a0b \u00a0 c"),
              (Pieces{"a", "\u00a0b", " \u00a0", " c"}));
    EXPECT_EQ(ruby(kFixturePattern, "x\r\n\r\ny\r\n"), (Pieces{"x", "\r\n\r\n", "y", "\r\n"}));
    EXPECT_EQ(ruby(kFixturePattern, "if x:\n\n\n    y()   \n  z"),
              (Pieces{"if", " x", ":\n\n\n", "   ", " y", "()", "   \n", " ", " z"}));
    EXPECT_EQ(ruby(kFixturePattern, "it's DON'T we'Ll \u017f'\u017f"),
              (Pieces{"it", "'s", " DON", "'T", " we", "'Ll", " \u017f", "'\u017f"}));
    EXPECT_EQ(ruby(kFixturePattern, "12345 x1"), (Pieces{"123", "45", " x", "1"}));
    EXPECT_EQ(ruby(kFixturePattern, "!?\n\n  ok"), (Pieces{"!?\n\n", " ", " ok"}));
}

// Goal: the five behaviours and their inversions.
// Method: the example of the reference library's documentation, expected pieces from the library.
TEST(Pretokenizer, Behaviors) {
    const auto pieces = [](SplitBehavior behavior, bool invert) {
        return split("-", "the-final--countdown-", RegexDialect::oniguruma, behavior, invert);
    };
    using enum SplitBehavior;
    EXPECT_EQ(pieces(removed, false), (Pieces{"the", "final", "countdown"}));
    EXPECT_EQ(pieces(removed, true), (Pieces{"-", "-", "-", "-"}));
    EXPECT_EQ(pieces(isolated, false), (Pieces{"the", "-", "final", "-", "-", "countdown", "-"}));
    EXPECT_EQ(pieces(isolated, true), (Pieces{"the", "-", "final", "-", "-", "countdown", "-"}));
    EXPECT_EQ(pieces(merged_with_previous, false), (Pieces{"the-", "final-", "-", "countdown-"}));
    EXPECT_EQ(pieces(merged_with_previous, true),
              (Pieces{"the", "-final", "-", "-countdown", "-"}));
    EXPECT_EQ(pieces(merged_with_next, false), (Pieces{"the", "-final", "-", "-countdown", "-"}));
    EXPECT_EQ(pieces(merged_with_next, true), (Pieces{"the-", "final-", "-", "countdown-"}));
    EXPECT_EQ(pieces(contiguous, false), (Pieces{"the", "-", "final", "--", "countdown", "-"}));
    EXPECT_EQ(pieces(contiguous, true), (Pieces{"the", "-", "final", "--", "countdown", "-"}));
}

// Goal: patterns mean what they mean in Oniguruma, not what PCRE2 would read.
// Method: constructs on which the two differ; expected pieces from the reference library.
TEST(Pretokenizer, OnigurumaDialect) {
    EXPECT_EQ(ruby(R"(\s)", "a\u180eb\u0085c"), (Pieces{"a\u180eb", "\u0085", "c"}));
    EXPECT_EQ(ruby(R"(\p{N}{1,3}+)", "1234567x12"), (Pieces{"1234567", "x", "12"}));
    EXPECT_EQ(ruby(R"(a{2}?)", "aaa"), (Pieces{"aa", "a"}));
    EXPECT_EQ(ruby(R"(\p{Han}+)", "x\u3001\u4e00\u3007\u3005y"),
              (Pieces{"x\u3001", "\u4e00\u3007\u3005", "y"}));
    EXPECT_EQ(ruby(R"([a-z&&[^aeiou]]+)", "hello world"),
              (Pieces{"h", "e", "ll", "o ", "w", "o", "rld"}));
    EXPECT_EQ(ruby(R"([[a-c][x-z]]+)", "abxyq"), (Pieces{"abxy", "q"}));
    EXPECT_EQ(ruby(R"([^[a-m][\s]]+)", "an m oz"), (Pieces{"a", "n", " m ", "oz"}));
    EXPECT_EQ(ruby(R"(b$)", "b\nb\n"), (Pieces{"b", "\n", "b", "\n"}));
    EXPECT_EQ(ruby(R"((?m:a.))", "a\nab"), (Pieces{"a\n", "ab"}));
    EXPECT_EQ(ruby(R"(\h+)", "xfacex"), (Pieces{"x", "face", "x"}));
    EXPECT_EQ(ruby(R"(\w+)", "\u00b2\u00b2 \u2460\u2460 \u24d0\u24d0"),
              (Pieces{"\u00b2\u00b2", " \u2460\u2460 ", "\u24d0\u24d0"}));
    EXPECT_EQ(ruby(R"((?i:k))", "kK\u212a"), (Pieces{"k", "K", "\u212a"}));
    EXPECT_EQ(ruby(R"(x*)", "axxb"), (Pieces{"a", "xx", "b"}));
    EXPECT_EQ(ruby(R"([]a]+)", "]ab"), (Pieces{"]a", "b"}));
    EXPECT_EQ(ruby(R"([\w']+|[^\w])", "it's ok"), (Pieces{"it's", " ", "ok"}));
}

// Goal: Rust's dialect where it differs from Ruby's.
// Method: possessive counts, anchors and one-letter properties, from the crates' documentation.
TEST(Pretokenizer, RustDialect) {
    EXPECT_EQ(rust(R"(\p{N}{1,3}+)", "1234567"), (Pieces{"123", "456", "7"}));
    EXPECT_EQ(rust(R"(b$)", "b\nb"), (Pieces{"b\n", "b"}));
    EXPECT_EQ(rust(R"(\pL+)", "ab1"), (Pieces{"ab", "1"}));
    EXPECT_EQ(rust(R"((?s:a.))", "a\nab"), (Pieces{"a\n", "ab"}));
    EXPECT_EQ(rust(R"(\w+)", "a\u00b2"), (Pieces{"a", "\u00b2"}));
}

// Goal: what has no known translation is refused, never guessed.
// Method: constructs of PCRE2 and of other engines.
TEST(Pretokenizer, RefusesUnknownPatterns) {
    for (const char* pattern :
         {R"(\Qa\E)", R"(\C)", R"((a)\1)", R"((?R))", R"((*UTF)a)", R"((?C1)a)", R"(\p{Nonsense})",
          "a(?i)b|c", R"([[:nonsense:]])", R"(\K)", "(?x)a", R"(\X)", R"([a&&])"})
        EXPECT_FALSE(Regex::compile(pattern, RegexDialect::oniguruma, "here")) << pattern;
    for (const char* pattern : {"(", ")", "[", "[a", "*", "a{3,1}", "\\", "(?", "(?<n", "[z-a]",
                                "\\x{110000}", "\\p{L", "a{99999}", "[a-z--b]"})
        EXPECT_FALSE(Regex::compile(pattern, RegexDialect::rust, "here")) << pattern;
    EXPECT_FALSE(Regex::compile(std::string(1000, '('), RegexDialect::rust, "here"));
    EXPECT_FALSE(Regex::compile(std::string(1000, '['), RegexDialect::rust, "here"));
}

// Goal: long runs neither exhaust PCRE2's stack nor its match limit, also under a look-ahead inside
// a repetition. Method: Kimi's pattern and a spelled-out look-ahead on runs of 300,000 letters.
TEST(Pretokenizer, SurvivesLongRuns) {
    const std::string letters = [] {
        std::string text;
        for (int i = 0; i < 300'000; ++i) text += i % 2 ? "\u0436" : "\u0e01";
        return text;
    }();
    constexpr std::string_view kKimi =
        R"([\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*)"
        R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t)?|\p{N}{1,3}|\s+(?!\S)|\s+)";
    for (const std::string_view pattern :
         {kKimi, std::string_view(R"((?:(?!\p{Han})\p{L})+|\s)")}) {
        std::string joined;
        for (const std::string& piece : rust(pattern, letters)) joined += piece;
        EXPECT_EQ(joined.size(), letters.size());
    }
    EXPECT_EQ(rust(R"((?:(?!\p{Han})\p{L})+|\s)", letters).size(), 1U);
}

// Goal: a pattern that explodes ends in an error.
// Method: ambiguous repetition over a text that nearly matches.
TEST(Pretokenizer, GivesUpOnExplodingPatterns) {
    const auto regex = Regex::compile("(?:a|a|b|a)*c", RegexDialect::rust, "here");
    ASSERT_TRUE(regex) << regex.error().message;
    RegexScratch scratch;
    RegexMatch match{};
    const auto found = regex->find(std::string(64, 'a') + "dc", 0, scratch, match);
    ASSERT_FALSE(found);
    EXPECT_NE(found.error().message.find("here"), std::string::npos);
}

// Goal: Metaspace puts and cuts at the visible space as the reference does.
// Method: each prepend scheme; expected pieces from the reference library.
TEST(Pretokenizer, Metaspace) {
    const auto pieces = [](MetaspaceStep::Prepend prepend, bool cut, bool first) {
        const Pretokenizer pretokenizer({MetaspaceStep{"_", prepend, cut}});
        Pieces found;
        RegexScratch scratch;
        EXPECT_TRUE(pretokenizer.split("a b  c ", first, scratch,
                                       [&](std::string_view piece) { found.emplace_back(piece); }));
        return found;
    };
    using enum MetaspaceStep::Prepend;
    EXPECT_EQ(pieces(always, true, false), (Pieces{"_a", "_b", "_", "_c", "_"}));
    EXPECT_EQ(pieces(first, true, false), (Pieces{"a", "_b", "_", "_c", "_"}));
    EXPECT_EQ(pieces(first, false, true), (Pieces{"_a_b__c_"}));
    EXPECT_EQ(pieces(never, false, true), (Pieces{"a_b__c_"}));
}

}  // namespace
}  // namespace colibri

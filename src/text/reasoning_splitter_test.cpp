#include "text/reasoning_splitter.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace colibri {
namespace {

struct Totals {
    std::string reasoning;
    std::string answer;
    bool inside = false;

    bool operator==(const Totals&) const = default;
    void apply(const ReasoningSplitter::Delta& delta) {
        if (delta.earlier_answer_was_reasoning) {
            reasoning += answer;
            answer.clear();
        }
        reasoning += delta.reasoning;
        answer += delta.answer;
    }
};

Totals split(std::string_view text, ReasoningStart start, size_t chunk_size) {
    ReasoningSplitter splitter(ThinkTags{"<think>", "</think>"}, start);
    Totals totals;
    for (size_t at = 0; at < text.size(); at += chunk_size)
        totals.apply(splitter.push(text.substr(at, chunk_size)));
    totals.inside = splitter.inside_reasoning();
    totals.apply(splitter.finish());
    return totals;
}

struct Row {
    ReasoningStart start;
    std::string text;
    std::string reasoning;
    std::string answer;
    bool inside = false;
};

// Goal: reasoning and answer are told apart for every imperfect use of the tags, wherever the
// stream is cut. Method: a table of streams, each split into chunks of every size.
TEST(ReasoningSplitter, ToleratesImperfectTags) {
    constexpr auto kInside = ReasoningStart::inside;
    constexpr auto kOutside = ReasoningStart::outside;
    constexpr auto kClosed = ReasoningStart::closed;
    const std::vector<Row> rows = {
        {kInside, "why</think>x", "why", "x"},
        {kInside, "\nwhy\n</think>\n\nx y\n", "why", "x y\n"},
        {kInside, "<think>why</think>x", "why", "x"},    // the opener again
        {kInside, "<think></think></think>x", "", "x"},  // a doubled closer
        {kInside, "a</think>\n</think> x", "a", "x"},
        {kInside, "no tags at all", "no tags at all", "", true},
        {kInside, "a <b> </thin", "a <b> </thin", "", true},  // ends in what could become a tag
        {kInside, "a b  c</think>d", "a b  c", "d"},
        {kInside, "a</think>x </think> y <think> z", "a",
         "x </think> y <think> z"},  // tags in the answer are text
        {kInside, "a</think>", "a", ""},
        {kInside, "", "", "", true},
        {kOutside, "<think>why</think>x", "why", "x"},
        {kOutside, "\n<think>\nwhy</think>\nx", "why", "x"},
        {kOutside, "<think>a</think><think>b</think>x", "ab", "x"},
        {kOutside, "<think></think></think>x", "", "x"},
        {kOutside, "  plain answer\n", "", "  plain answer\n"},
        {kOutside, "only a closer</think>x", "only a closer", "x"},
        {kOutside, "</think>x", "", "x"},
        {kOutside, "a < b and </thi", "", "a < b and </thi"},
        {kOutside, "  ", "", "  "},
        {kOutside, "<thi", "", "<thi"},
        {kClosed, "x", "", "x"},
        {kClosed, "</think>\n\nx", "", "x"},
        {kClosed, "<think></think>x", "", "x"},
        {kClosed, "the tag </think> closes", "", "the tag </think> closes"},
    };
    for (const Row& row : rows) {
        for (size_t chunk = 1; chunk <= row.text.size() + 1; ++chunk) {
            const Totals expected{
                .reasoning = row.reasoning, .answer = row.answer, .inside = row.inside};
            const Totals found = split(row.text, row.start, chunk);
            EXPECT_EQ(found.reasoning, expected.reasoning) << row.text << " in chunks of " << chunk;
            EXPECT_EQ(found.answer, expected.answer) << row.text << " in chunks of " << chunk;
            EXPECT_EQ(found.inside, expected.inside) << row.text << " in chunks of " << chunk;
        }
    }
}

// Goal: a model without reasoning tags has everything in its answer, byte for byte and at once.
// Method: text with tags through a splitter without tags.
TEST(ReasoningSplitter, WithoutTagsEverythingIsAnswer) {
    ReasoningSplitter splitter(std::nullopt, ReasoningStart::inside);
    const auto delta = splitter.push(" <think>a</think> b");
    EXPECT_EQ(delta.answer, " <think>a</think> b");
    EXPECT_EQ(delta.reasoning, "");
    EXPECT_FALSE(splitter.inside_reasoning());
    EXPECT_EQ(splitter.finish().answer, "");
}

// Goal: text is shown as soon as it is certain.
// Method: pushes around a tag; only what could still become a tag is held back.
TEST(ReasoningSplitter, HoldsBackOnlyWhatCouldBeATag) {
    ReasoningSplitter splitter(ThinkTags{"<think>", "</think>"}, ReasoningStart::inside);
    EXPECT_EQ(splitter.push("abc").reasoning, "abc");
    EXPECT_EQ(splitter.push(" d</th").reasoning, " d");
    EXPECT_EQ(splitter.push("e").reasoning, "</the");
    EXPECT_EQ(splitter.push("</think>").reasoning, "");
    EXPECT_EQ(splitter.push("\nx").answer, "x");
    EXPECT_EQ(splitter.push("<").answer, "<");
}

}  // namespace
}  // namespace colibri

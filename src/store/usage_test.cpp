#include "store/usage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace colibri {

namespace {

using testing::HasSubstr;

UsageHistory sample() {
    UsageHistory history;
    history.add(std::vector<ExpertUse>{{{0, 3}, 5}, {{2, 1}, 7}}, 10);
    return history;
}

std::string refusal(std::string_view bytes, uint64_t fingerprint = 7) {
    const auto history = decode_usage(bytes, fingerprint, "u");
    return history ? "" : history.error().message;
}

std::string text_refusal(const std::string& text) {
    const auto history = parse_usage_text(text, "u", 4, 8, 2);
    return history ? "" : history.error().message;
}

}  // namespace

// Goal: uses add up and fade together with the steps that they are counted over.
// Method: two additions, the second one a half-life later.
TEST(Usage, AddsAndFades) {
    UsageHistory history = sample();
    history.add(std::vector<ExpertUse>{{{0, 3}, 2}, {{1, 0}, 4}},
                uint64_t(UsageHistory::kHalfLifeSteps));
    ASSERT_EQ(history.entries.size(), 3U);
    EXPECT_EQ(history.entries[0].id, (ExpertId{0, 3}));
    EXPECT_DOUBLE_EQ(history.entries[0].uses, 4.5);
    EXPECT_EQ(history.entries[1].id, (ExpertId{1, 0}));
    EXPECT_DOUBLE_EQ(history.entries[1].uses, 4);
    EXPECT_DOUBLE_EQ(history.entries[2].uses, 3.5);
    EXPECT_DOUBLE_EQ(history.steps, 5 + UsageHistory::kHalfLifeSteps);
}

// Goal: a file gives back what was written, and no damaged or foreign one is taken for good.
// Method: a round trip; then every single byte changed, every length cut, another fingerprint, a
// later version.
TEST(Usage, FileIsCheckedInEveryByte) {
    const std::string bytes = encode_usage(sample(), 7);
    const auto again = decode_usage(bytes, 7, "u");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(encode_usage(*again, 7), bytes);
    EXPECT_THAT(refusal(bytes, 8), HasSubstr("the history of another model"));
    for (size_t at = 0; at < bytes.size(); ++at) {
        std::string bad = bytes;
        bad[at] = char(bad[at] ^ 1);
        EXPECT_NE(refusal(bad), "") << at;
        EXPECT_NE(refusal(bytes.substr(0, at)), "") << at;
    }
    std::string later = bytes;
    later[8] = 2;
    EXPECT_THAT(refusal(later), HasSubstr("version 2"));
    EXPECT_NE(refusal(bytes + "x"), "");
}

// Goal: the original engine's text form is read and written.
// Method: a text with header rows, as that engine writes it; the numbers by hand; and what is
// written read again.
TEST(Usage, OriginalTextForm) {
    const auto history =
        parse_usage_text("-1 4 8\n-2 2 123456\n0 3 10\n0 5 30\n3 7 6\n", "u", 4, 8, 2);
    ASSERT_TRUE(history) << history.error().message;
    ASSERT_EQ(history->entries.size(), 3U);
    EXPECT_EQ(history->entries[1].id, (ExpertId{0, 5}));
    EXPECT_EQ(history->entries[1].uses, 30);
    EXPECT_EQ(history->steps, 20) << "40 uses in layer 0, two a step";
    EXPECT_EQ(format_usage_text(*history, 4, 8), "-1 4 8\n-2 2 0\n0 3 10\n0 5 30\n3 7 6\n");
    const auto empty = parse_usage_text("", "u", 4, 8, 2);
    ASSERT_TRUE(empty);
    EXPECT_TRUE(empty->entries.empty());
}

// Goal: what does not fit this model, or is no such text, is refused with its line.
// Method: one fault each; a binary file among them.
TEST(Usage, TextThatDoesNotFit) {
    EXPECT_THAT(text_refusal("-1 5 8\n"), HasSubstr("a history of 5 layers with 8 experts"));
    EXPECT_THAT(text_refusal("0 1 2\n999 0 1\n"), HasSubstr("line 2: layer 999"));
    EXPECT_THAT(text_refusal("0 8 1\n"), HasSubstr("expert 8"));
    EXPECT_THAT(text_refusal("0 1 4294967296\n"), HasSubstr("4294967296"));
    EXPECT_THAT(text_refusal("0 1 -2\n"), HasSubstr("-2"));
    EXPECT_THAT(text_refusal("0 1\n"), HasSubstr("line 1: not three integers"));
    EXPECT_THAT(text_refusal("0 1 2 3\n"), HasSubstr("more than three"));
    EXPECT_THAT(text_refusal("0 1 2.5\n"), HasSubstr("not three integers"));
    EXPECT_THAT(text_refusal("IKU1\x01\x02\x03"), HasSubstr("not three integers"));
}

}  // namespace colibri

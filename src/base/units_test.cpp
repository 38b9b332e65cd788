#include "base/units.h"

#include <gtest/gtest.h>

namespace colibri {
namespace {

// Goal: sizes print as people write them, with at most one decimal.
// Method: values around every unit, by hand.
TEST(Units, Format) {
    EXPECT_EQ(format_bytes(0), "0 B");
    EXPECT_EQ(format_bytes(1023), "1023 B");
    EXPECT_EQ(format_bytes(1024), "1 KiB");
    EXPECT_EQ(format_bytes(1536 * kKiB), "1.5 MiB");
    EXPECT_EQ(format_bytes(25 * kGiB), "25 GiB");
    EXPECT_EQ(format_bytes(400 * kGiB + 512 * kMiB), "400 GiB");
}

// Goal: every spelling of a size that a user would try is understood, a bare number being GiB.
// Method: spellings and the bytes they mean, by hand.
TEST(Units, Parse) {
    EXPECT_EQ(*parse_bytes("16"), 16 * kGiB);
    EXPECT_EQ(*parse_bytes("1.5G"), kGiB + 512 * kMiB);
    EXPECT_EQ(*parse_bytes("800m"), 800 * kMiB);
    EXPECT_EQ(*parse_bytes("64MiB"), 64 * kMiB);
    EXPECT_EQ(*parse_bytes("25 GB"), 25 * kGiB);
    EXPECT_EQ(*parse_bytes("4k"), 4 * kKiB);
    EXPECT_EQ(*parse_bytes("12b"), 12U);
    EXPECT_EQ(*parse_bytes("0"), 0U);
}

// Goal: what is no size is refused with its text in the message, never half read.
// Method: broken spellings, signs, units, overflows.
TEST(Units, ParseRefuses) {
    for (const char* text :
         {"", "G", "abc", "-1", "1X", "1G2", "nan", "inf", "1e30", "1e400", "0x10", "1 000"}) {
        const auto parsed = parse_bytes(text);
        ASSERT_FALSE(parsed) << text;
        EXPECT_EQ(parsed.error().kind, ErrorKind::invalid_input) << text;
        EXPECT_NE(parsed.error().message.find(text), std::string::npos) << parsed.error().message;
    }
}

// Goal: rounding helpers hold at their edges.
// Method: multiples, one above, zero.
TEST(Units, Rounding) {
    EXPECT_EQ(ceil_div(0U, 16U), 0U);
    EXPECT_EQ(ceil_div(16U, 16U), 1U);
    EXPECT_EQ(ceil_div(17U, 16U), 2U);
    EXPECT_EQ(round_up(17U, 16U), 32U);
    EXPECT_EQ(round_up(uint64_t(0), uint64_t(64)), 0U);
}

}  // namespace
}  // namespace colibri

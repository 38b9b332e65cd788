#include "text/stream_decoder.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "text/tokenizer_fixture.h"
#include "text/utf8.h"

namespace colibri {
namespace {

using Strings = std::vector<std::string>;

Tokenizer fixture() {
    auto tokenizer = Tokenizer::from_json(fixture_tokenizer().dump(), "tokenizer.json");
    EXPECT_TRUE(tokenizer) << tokenizer.error().message;
    return *std::move(tokenizer);
}

// Goal: an emoji in two tokens arrives once and whole.
// Method: the two halves that the fixture has as tokens.
TEST(StreamDecoder, HoldsBackHalfACharacter) {
    const Tokenizer tokenizer = fixture();
    const auto first = tokenizer.id_of("\xF0\x9F");
    const auto second = tokenizer.id_of("\x98\x80");
    ASSERT_TRUE(first && second);
    StreamDecoder decoder(tokenizer);
    EXPECT_EQ(decoder.push('a'), "a");
    EXPECT_EQ(decoder.push(*first), "");
    EXPECT_EQ(decoder.push(*second), "\xF0\x9F\x98\x80");
    EXPECT_EQ(decoder.flush(), "");
}

// Goal: a joined emoji over many tokens, and a text cut in the middle of a character: one flush at
// the end. Method: byte by byte; the family emoji is four emoji joined by U+200D.
TEST(StreamDecoder, JoinedDeltasEqualTheBytes) {
    const Tokenizer tokenizer = fixture();
    const std::string family = "\U0001F468\u200D\U0001F469\u200D\U0001F467\u200D\U0001F466";
    for (size_t cut = 0; cut <= family.size(); ++cut) {
        StreamDecoder decoder(tokenizer);
        std::string joined;
        for (const char byte : family.substr(0, cut)) {
            const std::string delta = decoder.push(static_cast<uint8_t>(byte));
            EXPECT_EQ(valid_utf8_prefix(delta), delta.size());
            joined += delta;
        }
        const std::string tail = decoder.flush();
        EXPECT_EQ(decoder.flush(), "");
        std::string expected;
        append_lossy_utf8(expected, family.substr(0, cut));
        EXPECT_EQ(joined + tail, expected);
        EXPECT_EQ(tail.empty(), valid_utf8_prefix(family.substr(0, cut)) == cut);
    }
}

// Goal: streaming equals decoding at once, for any ids.
// Method: random byte tokens, mostly pieces of multi-byte characters, in any order.
TEST(StreamDecoder, EqualsDecode) {
    const Tokenizer tokenizer = fixture();
    constexpr std::string_view kBytes = "\xF0\x9F\x98\x80\xE2\x82\xAC\xC3\xA9\xED\xA0\x80\xC0\xFFz";
    Rng random(2);
    for (int round = 0; round < 2000; ++round) {
        std::vector<int32_t> ids(random.below(12));
        for (int32_t& id : ids) id = static_cast<uint8_t>(kBytes[random.below(kBytes.size())]);
        StreamDecoder decoder(tokenizer);
        std::string joined;
        for (const int32_t id : ids) joined += decoder.push(id);
        joined += decoder.flush();
        EXPECT_EQ(joined, tokenizer.decode(ids, false));
    }
}

// Goal: ill-formed sequences give one U+FFFD per maximal subpart.
// Method: the example of the Unicode standard (table 3-8) and a truncated end.
TEST(StreamDecoder, ReplacesMaximalSubparts) {
    std::string lossy;
    append_lossy_utf8(lossy, "\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64");
    EXPECT_EQ(lossy, "a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd");
    lossy.clear();
    append_lossy_utf8(lossy, "\xC0\x80\xED\xA0\x80\xF0\x9F\x98");
    EXPECT_EQ(lossy, "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD");
}

// Goal: special tokens are silent unless asked for.
// Method: one between two letters.
TEST(StreamDecoder, SpecialTokens) {
    const Tokenizer tokenizer = fixture();
    const int32_t user = *tokenizer.id_of("<|user|>");
    StreamDecoder silent(tokenizer);
    StreamDecoder loud(tokenizer, true);
    EXPECT_EQ(silent.push(user), "");
    EXPECT_EQ(loud.push(user), "<|user|>");
}

}  // namespace
}  // namespace colibri

#include "decode/stop.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace colibri {
namespace {

struct Run {
    std::string shown;
    bool stopped = false;
};

// Feeds pieces, as a stream would, and flushes at the end.
Run run(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
    auto matcher = StopMatcher::create(stops).value();
    Run result;
    for (const auto& piece : pieces) result.stopped = matcher.feed(piece, result.shown);
    matcher.flush(result.shown);
    return result;
}

// Goal: no part of a stop string reaches the reader, however it is cut into tokens.
// Method: "own fox" over two pieces, over five, and with text on both sides.
TEST(StopMatcher, HoldsBackTheStartOfAStopString) {
    for (const auto& pieces :
         std::vector<std::vector<std::string>>{{"the br", "own fox", " runs"},
                                               {"the br", "own", " fox"},
                                               {"the br", "o", "w", "n", " fo", "x", " runs"},
                                               {"the brown fox runs"}}) {
        const auto [shown, stopped] = run({"own fox"}, pieces);
        EXPECT_EQ(shown, "the br");
        EXPECT_TRUE(stopped);
    }
}

// Goal: what cannot become a stop string is shown at once, and only what can is held.
// Method: look at the output after each piece.
TEST(StopMatcher, ReleasesAsEarlyAsPossible) {
    auto matcher = StopMatcher::create({"aab"}).value();
    std::string shown;
    EXPECT_FALSE(matcher.feed("xa", shown));
    EXPECT_EQ(shown, "x");
    EXPECT_FALSE(matcher.feed("a", shown));
    EXPECT_EQ(shown, "x");
    EXPECT_FALSE(matcher.feed("a", shown));
    EXPECT_EQ(shown, "xa") << "of aaa the last two may still begin aab";
    EXPECT_TRUE(matcher.feed("bz", shown));
    EXPECT_EQ(shown, "xa");
}

// Goal: a held tail that never became a stop string is delivered, once.
// Method: text that ends with a prefix of a stop string; joined output equals the input.
TEST(StopMatcher, FlushesAHeldTailOnce) {
    const auto [shown, stopped] = run({"###", "END"}, {"value: E", "N", "#"});
    EXPECT_EQ(shown, "value: EN#");
    EXPECT_FALSE(stopped);
    auto matcher = StopMatcher::create({"stop"}).value();
    std::string text;
    matcher.feed("st", text);
    matcher.flush(text);
    matcher.flush(text);
    EXPECT_EQ(text, "st");
    matcher.feed("op", text);
    EXPECT_EQ(text, "stop") << "flushed text is gone and cannot take part in a match";
}

// Goal: of overlapping candidates the one complete first wins, the longest when they end together.
// Method: pairs where one is a prefix, a suffix or an inner part of the other.
TEST(StopMatcher, ChoosesAmongOverlappingCandidates) {
    EXPECT_EQ(run({"ab", "abc"}, {"xabcd"}).shown, "x");
    EXPECT_EQ(run({"abc", "bc"}, {"xabcd"}).shown, "x");
    EXPECT_EQ(run({"abcde", "c"}, {"xabcde"}).shown, "xab");
    EXPECT_EQ(run({"abcde", "c"}, {"xa", "b", "x"}).shown, "xabx");
    EXPECT_EQ(run({"aba"}, {"xababa"}).shown, "x");
}

// Goal: after a stop nothing more comes out.
// Method: feed and flush on.
TEST(StopMatcher, StaysStopped) {
    auto matcher = StopMatcher::create({"."}).value();
    std::string shown;
    EXPECT_TRUE(matcher.feed("one. two", shown));
    EXPECT_TRUE(matcher.feed(" three", shown));
    matcher.flush(shown);
    EXPECT_EQ(shown, "one");
    EXPECT_TRUE(matcher.stopped());
}

// Goal: the cut never depends on the pieces, and agrees with a search in the whole text.
// Method: random texts over a small alphabet, random stops and cuts; the plain definition by brute
// force.
TEST(StopMatcher, AgreesWithBruteForce) {
    Rng random(5);
    const auto word = [&](uint64_t length) {
        std::string text;
        for (uint64_t i = 0; i < length; ++i) text += char('a' + random.below(2));
        return text;
    };
    int stops_found = 0;
    for (int round = 0; round < 3000; ++round) {
        std::vector<std::string> stops;
        for (uint64_t i = 0; i <= random.below(3); ++i) stops.push_back(word(2 + random.below(5)));
        const std::string text = word(random.below(24));
        std::string expected = text;
        bool expected_stop = false;
        for (size_t end = 1; end <= text.size() && !expected_stop; ++end) {
            size_t longest = 0;
            for (const auto& stop : stops)
                if (std::string_view(text).substr(0, end).ends_with(stop))
                    longest = std::max(longest, stop.size());
            expected_stop = longest > 0;
            if (expected_stop) expected = text.substr(0, end - longest);
        }
        std::vector<std::string> pieces;
        for (size_t at = 0; at < text.size();) {
            const size_t length = 1 + random.below(4);
            pieces.push_back(text.substr(at, length));
            at += length;
        }
        const auto [shown, stopped] = run(stops, pieces);
        ASSERT_EQ(shown, expected) << text;
        ASSERT_EQ(stopped, expected_stop && !pieces.empty()) << text;
        stops_found += int(expected_stop);
    }
    EXPECT_GT(stops_found, 1000);
}

// Goal: released text consists of whole characters.
// Method: a stop string whose first byte is shared by another character.
TEST(StopMatcher, KeepsCharactersWhole) {
    auto matcher = StopMatcher::create({"\xC3\xA9t"}).value();
    std::string shown;
    matcher.feed("\xC3\xA8", shown);
    EXPECT_EQ(shown, "\xC3\xA8");
    matcher.feed("\xC3\xA9", shown);
    EXPECT_EQ(shown, "\xC3\xA8") << "may still become the stop string";
    matcher.feed("a", shown);
    EXPECT_EQ(shown,
              "\xC3\xA8\xC3\xA9"
              "a");
}

// Goal: stop strings outside the limits are refused.
// Method: empty, too long, too many.
TEST(StopMatcher, ChecksItsLimits) {
    EXPECT_FALSE(StopMatcher::create({"ok", ""}));
    EXPECT_FALSE(StopMatcher::create({std::string(kStopStringBytesMax + 1, 'x')}));
    EXPECT_TRUE(StopMatcher::create({std::string(kStopStringBytesMax, 'x')}));
    EXPECT_FALSE(StopMatcher::create(std::vector<std::string>(kStopStringsMax + 1, "x")));
    EXPECT_EQ(run({}, {"all of it"}).shown, "all of it");
}

// Goal: several end tokens, in any order, or none.
// Method: members and non-members.
TEST(EndTokens, KnowsItsMembers) {
    const EndTokens ends({4045, 4036, 4043});
    EXPECT_TRUE(ends.contains(4036) && ends.contains(4043) && ends.contains(4045));
    EXPECT_FALSE(ends.contains(0) || ends.contains(-1) || ends.contains(4044));
    EXPECT_FALSE(EndTokens().contains(0));
}

}  // namespace
}  // namespace colibri

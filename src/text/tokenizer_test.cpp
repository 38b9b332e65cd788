#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <functional>
#include <thread>

#include "base/rng.h"
#include "text/stream_decoder.h"
#include "text/tokenizer_fixture.h"
#include "text/utf8.h"

namespace colibri {
namespace {

using nlohmann::json;
using Ids = std::vector<int32_t>;

Tokenizer load(const json& file) {
    auto tokenizer = Tokenizer::from_json(file.dump(), "tokenizer.json");
    EXPECT_TRUE(tokenizer) << tokenizer.error().message;
    return *std::move(tokenizer);
}

Ids encode(const Tokenizer& tokenizer, std::string_view text,
           SpecialTokens which = SpecialTokens::recognized) {
    auto ids = tokenizer.encode(text, which);
    EXPECT_TRUE(ids) << ids.error().message;
    return ids ? *std::move(ids) : Ids{-1};
}

// Goal: merges happen in order of rank, and whole pieces that are tokens need no merge.
// Method: words of the fixture whose merges are followed by hand.
TEST(Tokenizer, MergesByRank) {
    const Tokenizer tokenizer = load(fixture_tokenizer());
    const int32_t ll = 256, he = 257, hell = 258, hello = 259, space_w = 260;
    EXPECT_EQ(encode(tokenizer, "hello"), Ids{hello});
    EXPECT_EQ(encode(tokenizer, "hell"), Ids{hell});
    EXPECT_EQ(encode(tokenizer, "helo"), (Ids{he, 'l', 'o'}));
    EXPECT_EQ(encode(tokenizer, "hello wll"), (Ids{hello, space_w, ll}));
    EXPECT_EQ(encode(tokenizer, ""), Ids{});
}

// Goal: special tokens are found wherever they stand, also right after punctuation and next to each
// other. Method: texts of the field case; ids follow from the fixture's construction.
TEST(Tokenizer, FindsSpecialTokensAfterPunctuation) {
    const Tokenizer tokenizer = load(fixture_tokenizer());
    const int32_t user = *tokenizer.id_of("<|user|>");
    const int32_t im_end = *tokenizer.id_of("<|im_end|>");
    const int32_t x = *tokenizer.id_of("<|x|>");
    EXPECT_EQ(encode(tokenizer, ".<|user|>"), (Ids{'.', user}));
    EXPECT_EQ(encode(tokenizer, "?<|im_end|>"), (Ids{'?', im_end}));
    EXPECT_EQ(encode(tokenizer, "(<|x|>)"), (Ids{'(', x, ')'}));
    EXPECT_EQ(encode(tokenizer, "<|user|><|x|>"), (Ids{user, x}));
    EXPECT_EQ(encode(tokenizer, "<<|user|>"), (Ids{'<', user}));
    EXPECT_EQ(encode(tokenizer, "<|user"), (Ids{'<', '|', 'u', 's', 'e', 'r'}));
}

// Goal: user text cannot forge a control token.
// Method: the same text as plain holds only byte tokens and spells the same bytes.
TEST(Tokenizer, PlainTextHasNoSpecialTokens) {
    const Tokenizer tokenizer = load(fixture_tokenizer());
    const Ids ids = encode(tokenizer, "a<|user|>b", SpecialTokens::plain);
    EXPECT_EQ(ids, (Ids{'a', '<', '|', 'u', 's', 'e', 'r', '|', '>', 'b'}));
    EXPECT_TRUE(tokenizer.is_special(*tokenizer.id_of("<|user|>")));
}

// Goal: the two spellings of merges mean the same.
// Method: one vocabulary in both spellings, several texts.
TEST(Tokenizer, ReadsBothSpellingsOfMerges) {
    const Tokenizer pairs = load(fixture_tokenizer({.merges_as_pairs = true}));
    const Tokenizer lines = load(fixture_tokenizer({.merges_as_pairs = false}));
    for (const char* text : {"hello", "shell hellos", "llllll wwhe", " w"})
        EXPECT_EQ(encode(pairs, text), encode(lines, text)) << text;
}

// Goal: bytes that are not UTF-8 are encoded without loss.
// Method: the sequences of the field case and random bytes; the tokens' bytes must spell the input.
TEST(Tokenizer, KeepsInvalidBytes) {
    const Tokenizer tokenizer = load(fixture_tokenizer());
    for (const std::string_view bytes : {"\xE6\xAD", "\x80", "\xC0\x80", "hello\xE6\xAD hello",
                                         "\xF0\x9F\x98", "\xED\xA0\x80", "\xFF\xFE"})
        EXPECT_EQ(tokenizer.decode_bytes(encode(tokenizer, bytes), true), bytes);
    Rng random(7);
    for (int round = 0; round < 200; ++round) {
        std::string bytes(random.next() % 64, '\0');
        for (char& byte : bytes) byte = static_cast<char>(random.next());
        const Ids ids = encode(tokenizer, bytes);
        EXPECT_EQ(tokenizer.decode_bytes(ids, true), bytes);
        std::string lossy;
        append_lossy_utf8(lossy, bytes);
        EXPECT_EQ(tokenizer.decode(ids, true), lossy);
    }
}

// Goal: decoded text is valid UTF-8 whatever the model emits, so that JSON can carry it.
// Method: random ids, also ones that do not exist.
TEST(Tokenizer, DecodesAnythingToValidText) {
    const Tokenizer tokenizer = load(fixture_tokenizer());
    Rng random(11);
    for (int round = 0; round < 200; ++round) {
        Ids ids(random.next() % 20);
        for (int32_t& id : ids) id = static_cast<int32_t>(random.next() % 300) - 10;
        const std::string text = tokenizer.decode(ids, true);
        EXPECT_EQ(valid_utf8_prefix(text), text.size());
    }
    EXPECT_EQ(tokenizer.decode(Ids{INT32_MIN, -1, 1 << 30, INT32_MAX, 'a'}, true), "a");
}

// Goal: special tokens are left out of decoded text unless asked for.
// Method: one token between letters.
TEST(Tokenizer, LeavesSpecialTokensOut) {
    const Tokenizer tokenizer = load(fixture_tokenizer());
    const Ids ids{'a', *tokenizer.id_of("<|x|>"), 'b'};
    EXPECT_EQ(tokenizer.decode(ids, false), "ab");
    EXPECT_EQ(tokenizer.decode(ids, true), "a<|x|>b");
}

json with_added(const json& token) {
    json file = fixture_tokenizer();
    json full = {{"id", file["added_tokens"].back()["id"].get<int>() + 1},
                 {"single_word", false},
                 {"lstrip", false},
                 {"rstrip", false},
                 {"normalized", false},
                 {"special", false}};
    full.update(token);
    file["added_tokens"].push_back(full);
    return file;
}

// Goal: lstrip, rstrip and single_word do what the reference library does.
// Method: texts around a token with each option; expected ids were made with that library.
TEST(Tokenizer, AppliesAddedTokenOptions) {
    const Tokenizer left = load(with_added({{"content", "<m>"}, {"lstrip", true}}));
    const int32_t m = *left.id_of("<m>");
    EXPECT_EQ(encode(left, "a \n<m> b"), (Ids{'a', m, ' ', 'b'}));
    const Tokenizer right = load(with_added({{"content", "<m>"}, {"rstrip", true}}));
    EXPECT_EQ(encode(right, "a <m> \tb"), (Ids{'a', ' ', m, 'b'}));
    const Tokenizer word = load(with_added({{"content", "fox"}, {"single_word", true}}));
    EXPECT_EQ(encode(word, "fox"), Ids{m});
    EXPECT_EQ(encode(word, "a fox."), (Ids{'a', ' ', m, '.'}));
    EXPECT_EQ(encode(word, "foxy"), (Ids{'f', 'o', 'x', 'y'}));
    EXPECT_EQ(encode(word,
                     "\xC3\xA9"
                     "fox"),
              (Ids{0xC3, 0xA9, 'f', 'o', 'x'}));
    const Tokenizer longest = load(with_added({{"content", "<|user|>!"}}));
    EXPECT_EQ(encode(longest, "<|user|>!"), Ids{m});
}

// Goal: added tokens that are blanks are part of plain text (GPT-NeoX's vocabularies need them).
// Method: a run of spaces as a token, encoded as plain.
TEST(Tokenizer, BlankAddedTokensArePlain) {
    const Tokenizer tokenizer = load(with_added({{"content", "   "}}));
    EXPECT_EQ(encode(tokenizer, "a   b", SpecialTokens::plain),
              (Ids{'a', *tokenizer.id_of("   "), 'b'}));
}

// Goal: NFC text and its decomposed form give the same ids; a normalized token is found in either.
// Method: e with acute in both forms.
TEST(Tokenizer, NormalizesToNfc) {
    json file = with_added({{"content", "caf\xC3\xA9"}, {"normalized", true}});
    file["normalizer"] = {{"type", "NFC"}};
    const Tokenizer tokenizer = load(file);
    const int32_t cafe = *tokenizer.id_of("caf\xC3\xA9");
    EXPECT_EQ(encode(tokenizer, "cafe\xCC\x81"), Ids{cafe});
    EXPECT_EQ(encode(tokenizer, "e\xCC\x81"), (Ids{0xC3, 0xA9}));
}

// Goal: nothing is cut: all tokens of a long text are returned.
// Method: a million letters without merges give a million ids.
TEST(Tokenizer, ReturnsEveryToken) {
    const Tokenizer tokenizer = load(fixture_tokenizer({.merges = {}}));
    EXPECT_EQ(encode(tokenizer, std::string(1'000'000, 'a')).size(), 1'000'000U);
}

double seconds_of(const std::function<void()>& work) {
    double best = 1e9;
    for (int round = 0; round < 3; ++round) {
        const std::clock_t start = std::clock();
        work();
        best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    }
    return best;
}

FixtureOptions repeating_merges() {
    FixtureOptions options;
    options.merges.clear();
    for (std::string run = "a"; run.size() < 64; run += run) options.merges.emplace_back(run, run);
    for (const char* pair : {"ab", "cd", "xy", "zq", "Zm", "9v"})
        options.merges.emplace_back(std::string(1, pair[0]), std::string(1, pair[1]));
    return options;
}

// Goal: time grows about linearly with the length of a piece without blanks.
// Method: doubling each long text must cost less than three times the processor time.
TEST(Tokenizer, LongPiecesAreNotQuadratic) {
    const Tokenizer tokenizer = load(fixture_tokenizer(repeating_merges()));
    Rng random(3);
    const auto random_text = [&](size_t size, std::string_view alphabet) {
        std::string text(size, ' ');
        for (char& c : text) c = alphabet[random.next() % alphabet.size()];
        return text;
    };
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
    constexpr std::string_view kBase64 =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const auto check = [&](const std::string& twice) {
        const std::string once = twice.substr(0, twice.size() / 2);
        const double short_s = seconds_of([&] { encode(tokenizer, once); });
        const double long_s = seconds_of([&] { encode(tokenizer, twice); });
        EXPECT_LT(long_s, 3 * short_s + 0.01)
            << twice.substr(0, 20) << " " << short_s << " " << long_s;
        EXPECT_LT(long_s, 5.0);
    };
    check(std::string(200'000, 'a'));
    check(random_text(200'000, kLetters));
    check(random_text(2'000'000, kBase64));
    check(std::string(1'000'000, ' '));
    check(std::string(400'000, '\n'));
}

// Goal: const functions may be called from several threads.
// Method: threads encode and decode the same texts; every result equals the first one.
TEST(Tokenizer, IsThreadSafe) {
    const Tokenizer tokenizer = load(fixture_tokenizer());
    const std::string text = "hello <|user|> wll, hello!\n\n  123456 " + std::string(300, 'h');
    const Ids expected = encode(tokenizer, text);
    std::vector<std::jthread> threads;
    std::atomic<int> wrong = 0;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int round = 0; round < 50; ++round) {
                const auto ids = tokenizer.encode(text, SpecialTokens::recognized);
                if (!ids || *ids != expected || tokenizer.decode(*ids, true) != text) ++wrong;
            }
        });
    threads.clear();
    EXPECT_EQ(wrong, 0);
}

// Goal: a SentencePiece-like file (visible spaces, byte fallback) encodes and decodes as the
// reference does. Method: a hand-made vocabulary; expected ids follow from the merges, and were
// checked with the reference library.
TEST(Tokenizer, SentencePieceStyle) {
    json vocabulary = {{"<unk>", 0}};
    for (int byte = 0; byte < 256; ++byte) {
        std::string name = "<0x";
        name += "0123456789ABCDEF"[byte / 16];
        name += "0123456789ABCDEF"[byte % 16];
        vocabulary[name + ">"] = byte + 1;
    }
    vocabulary.update({{"\u2581", 257},
                       {"a", 258},
                       {"b", 259},
                       {"\u2581"
                        "a",
                        260}});
    const json file = {
        {"added_tokens", json::array()},
        {"normalizer",
         {{"type", "Sequence"},
          {"normalizers",
           {{{"type", "Prepend"}, {"prepend", "\u2581"}},
            {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}}}}}},
        {"pre_tokenizer", nullptr},
        {"decoder",
         {{"type", "Sequence"},
          {"decoders",
           {{{"type", "Replace"}, {"pattern", {{"String", "\u2581"}}}, {"content", " "}},
            {{"type", "ByteFallback"}},
            {{"type", "Fuse"}},
            {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}}},
        {"model",
         {{"type", "BPE"},
          {"unk_token", "<unk>"},
          {"fuse_unk", true},
          {"byte_fallback", true},
          {"vocab", vocabulary},
          {"merges", json::array({json::array({"\u2581", "a"})})}}}};
    const Tokenizer tokenizer = load(file);
    const Ids ids = encode(tokenizer, "a b a\u00e9");
    EXPECT_EQ(ids, (Ids{260, 257, 259, 260, 0xC3 + 1, 0xA9 + 1}));
    EXPECT_EQ(tokenizer.decode(ids, true), "a b a\u00e9");
    // A run of byte tokens that is not UTF-8 gives one replacement per byte.
    EXPECT_EQ(tokenizer.decode(Ids{0xC3 + 1, 0xC3 + 1, 258}, true), "\uFFFD\uFFFDa");
    EXPECT_EQ(encode(tokenizer, "\xC3"), (Ids{0xC3 + 1}));
}

}  // namespace
}  // namespace colibri

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "text/tokenizer.h"

namespace colibri {
namespace {

using Ids = std::vector<int32_t>;
constexpr const char* kPattern = R"( ?\p{L}+|\p{N}{1,3}|\s+|[^\s\p{L}\p{N}]+)";

std::string base64(std::string_view bytes) {
    constexpr std::string_view kAlphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (size_t i = 0; i < bytes.size(); i += 3) {
        uint32_t bits = 0;
        for (size_t j = i; j < i + 3; ++j)
            bits = bits << 8 | (j < bytes.size() ? static_cast<uint8_t>(bytes[j]) : 0U);
        for (size_t j = 0; j < 4; ++j)
            out += i + j <= bytes.size() ? kAlphabet[bits >> (18 - 6 * j) & 63] : '=';
    }
    return out;
}

// Bytes 0 to 255, then the given tokens.
std::string rank_file(const std::vector<std::string>& more = {"he", "ll", "llo", "hello", "lo"}) {
    std::string file;
    int32_t rank = 0;
    for (; rank < 256; ++rank)
        file += fmt::format("{} {}\n", base64(std::string(1, static_cast<char>(rank))), rank);
    for (const std::string& token : more) file += fmt::format("{} {}\n", base64(token), rank++);
    return file;
}

// Goal: rank files merge by the rank of the joined bytes, whole pieces first; special tokens only
// when asked. Method: words whose merges are followed by hand: "hello" is whole; "helloo" merges
// he, ll, llo.
TEST(Tiktoken, MergesByRankOfTheResult) {
    const auto tokenizer = Tokenizer::from_ranks(
        rank_file(), kPattern, {AddedToken{.content = "[EOS]", .id = 300}}, "model");
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    EXPECT_EQ(*tokenizer->encode("hello", SpecialTokens::plain), Ids{259});
    EXPECT_EQ(*tokenizer->encode("helloo", SpecialTokens::plain), (Ids{259, 'o'}));
    EXPECT_EQ(*tokenizer->encode("llo", SpecialTokens::plain), Ids{258});
    EXPECT_EQ(*tokenizer->encode("xlo", SpecialTokens::plain), (Ids{'x', 260}));
    EXPECT_EQ(*tokenizer->encode("a[EOS]", SpecialTokens::recognized), (Ids{'a', 300}));
    EXPECT_EQ(tokenizer->encode("a[EOS]", SpecialTokens::plain)->size(), 6U);
    EXPECT_EQ(tokenizer->decode(Ids{259, 300}, true), "hello[EOS]");
    EXPECT_EQ(tokenizer->size(), 301);
    EXPECT_EQ(tokenizer->token_bytes(299), "");
}

// Goal: Windows line ends and a missing last line end are accepted.
// Method: the same file in both forms.
TEST(Tiktoken, AcceptsLineEnds) {
    std::string file = rank_file();
    for (size_t at = 0; (at = file.find('\n', at)) != std::string::npos; at += 2)
        file.insert(at, "\r");
    file.resize(file.size() - 2);
    const auto tokenizer = Tokenizer::from_ranks(file, kPattern, {}, "model");
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    EXPECT_EQ(*tokenizer->encode("hello", SpecialTokens::plain), Ids{259});
}

// Goal: damaged files are refused with the line.
// Method: one fault at a time.
TEST(Tiktoken, RefusesDamage) {
    const auto refused = [](const std::string& file, std::vector<AddedToken> added,
                            const std::string& names) {
        const auto tokenizer =
            Tokenizer::from_ranks(file, kPattern, std::move(added), "some.tiktoken");
        ASSERT_FALSE(tokenizer) << names;
        EXPECT_NE(tokenizer.error().message.find("some.tiktoken"), std::string::npos);
        EXPECT_NE(tokenizer.error().message.find(names), std::string::npos)
            << tokenizer.error().message;
    };
    refused(rank_file() + "aGVs", {}, "line 262");
    refused(rank_file() + "aGVs 262 1\n", {}, "line 262");
    refused(rank_file() + "aGVs -1\n", {}, "line 262");
    refused(rank_file() + "aGVs 2147483648\n", {}, "line 262");
    refused(rank_file() + "aGVs x\n", {}, "line 262");
    refused(rank_file() + "aG!s 300\n", {}, "line 262");
    refused(rank_file() + "aGV 300\n", {}, "line 262");
    refused(rank_file() + " 300\n", {}, "line 262");
    refused(rank_file() + "aGVs 259\n", {}, "rank 259 is given twice");
    refused(rank_file({"he", "he"}), {}, "the same token");
    refused("aGVs 0\n", {}, "single byte 0x00");
    refused("", {}, "single byte 0x00");
    refused(rank_file(), {AddedToken{.content = "x", .id = 5}}, "'x'");
    refused(rank_file(), {AddedToken{.content = "x", .id = -5}}, "out of range");
    refused(rank_file(),
            {AddedToken{.content = "x", .id = 400}, AddedToken{.content = "y", .id = 400}},
            "share the id 400");
    EXPECT_FALSE(Tokenizer::from_ranks(rank_file(), "(", {}, "some.tiktoken"));
}

}  // namespace
}  // namespace colibri

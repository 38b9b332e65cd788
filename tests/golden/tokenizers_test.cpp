// Encode and decode vectors of real vocabularies, made with the reference libraries.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <lzma.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/golden/tokenizer_files.h"
#include "text/stream_decoder.h"
#include "text/tokenizer.h"

namespace colibri {
namespace {

using nlohmann::json;

std::string decompressed(const std::string& name) {
    const std::string packed = read_tokenizer_file(name);
    lzma_stream stream = LZMA_STREAM_INIT;
    EXPECT_EQ(lzma_stream_decoder(&stream, UINT64_MAX, 0), LZMA_OK);
    stream.next_in = reinterpret_cast<const uint8_t*>(packed.data());
    stream.avail_in = packed.size();
    std::string data;
    lzma_ret state = LZMA_OK;
    while (state == LZMA_OK) {
        const size_t before = data.size();
        constexpr size_t kStep = size_t{4} << 20;
        data.resize(before + kStep);
        stream.next_out = reinterpret_cast<uint8_t*>(data.data() + before);
        stream.avail_out = kStep;
        state = lzma_code(&stream, LZMA_FINISH);
        data.resize(before + kStep - stream.avail_out);
    }
    lzma_end(&stream);
    EXPECT_EQ(state, LZMA_STREAM_END) << name;
    return data;
}

Result<Tokenizer> load(const std::string& name) {
    if (!name.ends_with("_ranks")) {
        const std::string file = name + ".tokenizer.json";
        return Tokenizer::from_json(decompressed(file + ".xz"), file);
    }
    const std::string file = name + ".tiktoken";
    const std::string ranks = decompressed(file + ".xz");
    std::string pattern = read_tokenizer_file(name + ".pattern.txt");
    while (pattern.ends_with('\n')) pattern.pop_back();
    const auto count = static_cast<int32_t>(std::count(ranks.begin(), ranks.end(), '\n'));
    return Tokenizer::from_ranks(ranks, pattern,
                                 {AddedToken{.content = "<|endoftext|>", .id = count}}, file);
}

// Runs `check` on every row; it says what is wrong, or nothing.
void check_rows(const std::string& file, const std::function<std::string(const json&)>& check) {
    std::ifstream rows(kTokenizerFiles + file);
    ASSERT_TRUE(rows.good()) << file;
    size_t count = 0;
    size_t mismatches = 0;
    for (std::string line; std::getline(rows, line); ++count) {
        const std::string wrong = check(json::parse(line));
        if (wrong.empty()) continue;
        if (++mismatches <= 5)
            ADD_FAILURE() << file << " row " << count + 1 << ": " << wrong << "\n" << line;
    }
    std::printf("%-32s rows %4zu  mismatches %zu\n", file.c_str(), count, mismatches);
    EXPECT_GT(count, 300U) << file;
    EXPECT_EQ(mismatches, 0U) << file;
}

class Vectors : public testing::TestWithParam<const char*> {};

// Goal: text becomes exactly the ids of the reference, and ids its text, in one call and token by
// token. Method: every row of NAME.vectors.jsonl and NAME.decode.jsonl.
TEST_P(Vectors, EncodeAndDecodeLikeTheReference) {
    const std::string name = GetParam();
    const auto start = std::chrono::steady_clock::now();
    const auto tokenizer = load(name);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    const auto took = std::chrono::steady_clock::now() - start;
    std::printf("%-32s loaded in %.0f ms (with decompression), %d ids, %zu KiB\n", name.c_str(),
                std::chrono::duration<double, std::milli>(took).count(), tokenizer->size(),
                tokenizer->memory_bytes() / 1024);
    check_rows(name + ".vectors.jsonl", [&](const json& row) -> std::string {
        const auto which =
            row.value("plain", false) ? SpecialTokens::plain : SpecialTokens::recognized;
        const auto ids = tokenizer->encode(row.at("text").get<std::string>(), which);
        if (!ids) return ids.error().message;
        return *ids == row.at("ids").get<std::vector<int32_t>>() ? "" : "got " + json(*ids).dump();
    });
    check_rows(name + ".decode.jsonl", [&](const json& row) -> std::string {
        const auto ids = row.at("ids").get<std::vector<int32_t>>();
        const std::string whole = tokenizer->decode(ids, true);
        StreamDecoder decoder(*tokenizer, true);
        std::string streamed;
        for (const int32_t id : ids) streamed += decoder.push(id);
        streamed += decoder.flush();
        if (whole != row.at("text").get<std::string>()) return "got " + json(whole).dump();
        return streamed == whole ? "" : "streamed " + json(streamed).dump();
    });
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, Vectors,
                         testing::Values("deepseek_v3", "deepseek_v4", "gpt_oss", "llama3", "nano",
                                         "qwen3", "qwen_ranks"),
                         [](const auto& instance) { return std::string(instance.param); });

// Goal: text that users write cannot forge a control token, and plain text is otherwise encoded the
// same. Method: every recognized row that holds no added token must give the same ids as plain;
// rows that hold one must give no special id as plain, and the same bytes.
TEST(PlainText, HoldsNoSpecialTokenAndKeepsItsBytes) {
    const auto tokenizer = load("nano");
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    check_rows("nano.vectors.jsonl", [&](const json& row) -> std::string {
        const auto text = row.at("text").get<std::string>();
        const auto ids = tokenizer->encode(text, SpecialTokens::plain);
        if (!ids) return ids.error().message;
        for (const int32_t id : *ids)
            for (const AddedToken& token : tokenizer->added_tokens())
                if (token.id == id) return "contains " + token.content;
        if (tokenizer->decode_bytes(*ids, true) != text) return "changed the text";
        bool added = false;
        for (const AddedToken& token : tokenizer->added_tokens())
            added = added || text.find(token.content) != std::string::npos;
        return added || *ids == row.at("ids").get<std::vector<int32_t>>()
                   ? ""
                   : "differs from recognized";
    });
}

}  // namespace
}  // namespace colibri

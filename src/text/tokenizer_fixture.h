// A tokenizer.json small enough to check by hand. For tests and fuzz targets only.
//
// Ids 0 to 255 are the bytes of equal value; then come the results of the merges, in order, and the
// added tokens.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/byte_level.h"

namespace colibri {

// GLM's pattern (also Llama 3's).
inline constexpr const char* kFixturePattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

struct FixtureOptions {
    bool merges_as_pairs = true;
    std::vector<std::pair<std::string, std::string>> merges = {
        {"l", "l"}, {"h", "e"}, {"he", "ll"}, {"hell", "o"}, {" ", "w"}, {"\xF0\x9F", "\x98\x80"}};
    std::vector<std::string> specials = {"<|user|>", "<|im_end|>", "<|x|>"};
    const char* pattern = kFixturePattern;
};

inline std::string fixture_spelling(std::string_view bytes) {
    std::string spelling;
    append_byte_level_spelling(spelling, bytes);
    return spelling;
}

inline nlohmann::json fixture_tokenizer(const FixtureOptions& options = {}) {
    using nlohmann::json;
    json vocabulary = json::object();
    for (int byte = 0; byte < 256; ++byte)
        vocabulary[fixture_spelling(std::string(1, static_cast<char>(byte)))] = byte;
    json merges = json::array();
    int32_t next = 256;
    const auto add = [&](const std::string& bytes) {
        const std::string spelling = fixture_spelling(bytes);
        if (!vocabulary.contains(spelling)) vocabulary[spelling] = next++;
    };
    for (const auto& [left, right] : options.merges) {
        // The two halves of an emoji are tokens that no merge makes.
        add(left);
        add(right);
        add(left + right);
        const std::string a = fixture_spelling(left);
        const std::string b = fixture_spelling(right);
        if (options.merges_as_pairs)
            merges.push_back({a, b});
        else
            merges.push_back(a + ' ' + b);
    }
    json added = json::array();
    for (const std::string& content : options.specials)
        added.push_back({{"id", next++},
                         {"content", content},
                         {"single_word", false},
                         {"lstrip", false},
                         {"rstrip", false},
                         {"normalized", false},
                         {"special", true}});
    const json byte_level = {
        {"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
    const json split = {{"type", "Split"},
                        {"pattern", {{"Regex", options.pattern}}},
                        {"behavior", "Isolated"},
                        {"invert", false}};
    return {
        {"version", "1.0"},
        {"added_tokens", added},
        {"normalizer", nullptr},
        {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", {split, byte_level}}}},
        {"decoder", byte_level},
        {"model",
         {{"type", "BPE"}, {"ignore_merges", true}, {"vocab", vocabulary}, {"merges", merges}}}};
}

}  // namespace colibri

// The parts of a tokenizer.json as they are read, before anything is built from them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/added_tokens.h"
#include "text/normalizer.h"
#include "text/pretokenizer.h"
#include "text/tokenizer_parts.h"

namespace colibri {

// A string in a StringHeap.
struct HeapString {
    uint32_t offset = 0;
    uint32_t length = 0;
};

// The big tables are kept as flat arrays; everything else is a small document.
struct TokenizerJson {
    struct Token {
        HeapString spelling;
        int32_t id = 0;
    };
    struct Merge {
        HeapString left;
        HeapString right;
    };

    std::string heap;
    std::vector<Token> vocabulary;
    std::vector<Merge> merges;
    nlohmann::json rest;  // without model.vocab and model.merges

    [[nodiscard]] std::string_view text(const HeapString& string) const {
        return std::string_view(heap).substr(string.offset, string.length);
    }
};

// Reads the file in one pass. Checks types, counts, ids and depth; builds nothing that is larger
// than a small multiple of the file.
[[nodiscard]] Result<TokenizerJson> read_tokenizer_json(std::string_view bytes,
                                                        std::string_view file_name);

// The members of the document; each refuses by name what it does not implement.
struct PretokenizerSpec {
    std::vector<PretokenizerStep> steps;
    bool byte_level = false;
};
[[nodiscard]] Result<std::vector<NormalizerStep>> read_normalizer(const nlohmann::json& node,
                                                                  std::string_view file_name);
[[nodiscard]] Result<PretokenizerSpec> read_pretokenizer(const nlohmann::json& node,
                                                         std::string_view file_name);
struct DecoderSpec {
    bool byte_level = false;
    // Applied to each token, in order: what to look for, what to write.
    std::vector<std::pair<std::string, std::string>> replacements;
    DecodeRules rules;
};
[[nodiscard]] Result<DecoderSpec> read_decoder(const nlohmann::json& node,
                                               std::string_view file_name);
[[nodiscard]] Result<std::vector<AddedToken>> read_added_tokens(const nlohmann::json& node,
                                                                std::string_view file_name);

}  // namespace colibri

// What a tokenizer consists of; the loaders fill it in.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/normalizer.h"
#include "text/pretokenizer.h"
#include "text/vocabulary.h"

namespace colibri {

// How token bytes become text, beyond joining them.
struct DecodeRules {
    // SentencePiece: <0xXX> tokens stand for bytes; a run of them that is not UTF-8 gives one
    // U+FFFD per byte.
    bool byte_fallback = false;
    // Spaces to drop at the very beginning of the text.
    size_t strip_leading_spaces = 0;
};

struct TokenizerParts {
    Vocabulary vocabulary;  // bytes that each token adds to the text
    // Tokens as the model's file spells them, for encoding, where that differs from `vocabulary`
    // (SentencePiece writes a space as U+2581). Empty otherwise.
    Vocabulary spelled;
    Bpe bpe;
    std::vector<NormalizerStep> normalizer;
    Pretokenizer pretokenizer;
    AddedTokens added;
    DecodeRules decode;

    [[nodiscard]] const Vocabulary& encoding_vocabulary() const {
        return spelled.size() > 0 ? spelled : vocabulary;
    }
};

[[nodiscard]] Result<TokenizerParts> load_tokenizer_json(std::string_view bytes,
                                                         std::string_view file_name);
[[nodiscard]] Result<TokenizerParts> load_tiktoken(std::string_view bytes,
                                                   const std::string& pattern,
                                                   std::vector<AddedToken> added,
                                                   std::string_view file_name);

}  // namespace colibri

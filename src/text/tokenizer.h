// Text to token ids and back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/added_tokens.h"

namespace colibri {

struct TokenizerParts;

// A byte-pair tokenizer. Immutable; every const function may be called from any number of threads.
//
// It computes what the reference libraries do (Hugging Face `tokenizers`, `tiktoken`), with these
// differences: nothing is added at the ends (post-processors that add tokens are ignored), nothing
// is truncated or padded, and text may contain bytes that are not UTF-8: they become byte tokens,
// so that the bytes of the tokens always spell the text again (except for what the file's own
// normalizer changes).
class Tokenizer {
public:
    static constexpr int32_t kMaxTokens = 1 << 22;  // ids must be below
    static constexpr size_t kMaxFileBytes = size_t{256} << 20;
    static constexpr size_t kMaxTextBytes = kMaxNormalizedBytes;

    // Reads the bytes of a tokenizer.json. `file_name` is for errors. Refuses by name whatever
    // would change the result and is not supported. Errors: invalid_input (malformed),
    // unsupported.
    [[nodiscard]] static Result<Tokenizer> from_json(std::string_view bytes,
                                                     std::string_view file_name);

    // Reads a tiktoken rank file: lines of "base64(token) SP rank", where a rank is an id.
    // `pattern` cuts text into pieces (the syntax of Rust's regex crates); `added` are the special
    // tokens, which the file does not hold.
    [[nodiscard]] static Result<Tokenizer> from_ranks(std::string_view bytes,
                                                      const std::string& pattern,
                                                      std::vector<AddedToken> added,
                                                      std::string_view file_name);

    // The whole text or an error: the result is never cut. Text from users must be encoded as
    // `plain`, or it could forge control tokens. Errors: a text above kMaxTextBytes, a pattern on
    // which the regex engine gives up.
    [[nodiscard]] Result<std::vector<int32_t>> encode(std::string_view text,
                                                      SpecialTokens which) const;

    // Text of `ids`; bytes that are not UTF-8 become U+FFFD. Ids without a token give nothing.
    // Special tokens are left out unless `keep_special`.
    [[nodiscard]] std::string decode(std::span<const int32_t> ids, bool keep_special) const;
    // The same before bytes are made valid UTF-8.
    [[nodiscard]] std::string decode_bytes(std::span<const int32_t> ids, bool keep_special) const;

    // Bytes that the token adds to the text; empty for an id that has no token. Lives as long as
    // the tokenizer.
    [[nodiscard]] std::string_view token_bytes(int32_t id) const;
    // Id of an added token by its content, else of the ordinary token with these bytes.
    [[nodiscard]] std::optional<int32_t> id_of(std::string_view token) const;
    [[nodiscard]] bool is_special(int32_t id) const;
    // Largest id + 1. The model's embedding may have more rows: mask them.
    [[nodiscard]] int32_t size() const;
    [[nodiscard]] std::span<const AddedToken> added_tokens() const;
    // What the tables occupy, for the memory planner.
    [[nodiscard]] size_t memory_bytes() const;

private:
    friend class StreamDecoder;
    explicit Tokenizer(std::shared_ptr<const TokenizerParts> parts) : parts_(std::move(parts)) {}

    std::shared_ptr<const TokenizerParts> parts_;
};

}  // namespace colibri

// Tokens that are looked for in the text before anything else happens to it: control markers,
// mostly.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/normalizer.h"
#include "text/vocabulary.h"

namespace colibri {

struct AddedToken {
    std::string content;
    int32_t id = 0;
    bool special = true;       // left out of decoded text unless asked
    bool single_word = false;  // only where no word character touches it
    bool lstrip = false;       // takes the white space before it
    bool rstrip = false;       // takes the white space after it
    bool normalized = false;   // looked for in the normalized text, else in the raw text
};

// Which added tokens are recognized in a text.
enum class SpecialTokens : uint8_t {
    plain,  // user text: none, except those that are nothing but blanks (they carry no meaning)
    recognized,  // text that we wrote ourselves, such as a rendered chat template
};

// Immutable and thread-safe.
class AddedTokens {
public:
    static constexpr size_t kMaxContentBytes = 4096;
    static constexpr size_t kMaxTotalBytes = size_t{4} << 20;

    // A stretch of the text: an added token, or text between them (id = kNoToken).
    struct Part {
        std::string_view text;
        int32_t id = kNoToken;
    };

    AddedTokens() = default;
    // `steps` normalize the contents of tokens with `normalized`. Of two tokens with the same
    // content the special one wins, then the first. Fails on an empty or oversized content.
    [[nodiscard]] static Result<AddedTokens> build(std::vector<AddedToken> tokens,
                                                   const std::vector<NormalizerStep>& steps,
                                                   std::string_view file_name);

    // Cuts valid UTF-8 at the tokens that are looked for in raw text (normalized = false) or in
    // normalized text. At each place the longest token wins.
    [[nodiscard]] std::vector<Part> split(std::string_view text, bool normalized,
                                          SpecialTokens which, RegexScratch& scratch) const;

    [[nodiscard]] std::optional<int32_t> find(std::string_view content) const;
    [[nodiscard]] bool is_special(int32_t id) const;
    [[nodiscard]] const std::vector<AddedToken>& tokens() const { return tokens_; }  // by content
    [[nodiscard]] size_t memory_bytes() const;

private:
    // Prefix tree over bytes; children of a node form a list.
    struct Node {
        int32_t token = -1;  // index into tokens_
        uint32_t child = 0;  // 0: none
        uint32_t sibling = 0;
        uint8_t byte = 0;
        bool blank = false;
    };
    struct Tree {
        std::vector<Node> nodes;
        std::array<uint32_t, 256> roots{};
    };
    struct Hit {
        int32_t token;
        size_t end;
    };

    void add_to_tree(Tree& tree, std::string_view content, int32_t token) const;
    [[nodiscard]] std::optional<Hit> longest_at(const Tree& tree, std::string_view text,
                                                size_t position, SpecialTokens which) const;
    [[nodiscard]] bool touches_word(std::string_view text, size_t begin, size_t end,
                                    RegexScratch& scratch) const;

    std::vector<AddedToken> tokens_;
    std::vector<int32_t> special_ids_;  // sorted
    Tree raw_;
    Tree normalized_;
    std::optional<Regex> word_;  // \w, present if a token asks for single words
};

}  // namespace colibri

#include "text/encode_prompt.h"

#include <algorithm>
#include <string>

namespace colibri {

namespace {

struct Occurrence {
    size_t begin = 0, end = 0;
    int32_t id = 0;
    bool trusted = false;
};

bool is_spacing(std::string_view text) {
    return text.find_first_not_of(" \t\n\r") == std::string_view::npos;
}

// The longest added token at `at`; blank ones carry no meaning and are left to the tokenizer.
const AddedToken* longest_at(std::span<const AddedToken> tokens, std::string_view text, size_t at) {
    const AddedToken* best = nullptr;
    for (const AddedToken& token : tokens)
        if (text.substr(at).starts_with(token.content) && !is_spacing(token.content) &&
            (best == nullptr || token.content.size() > best->content.size()))
            best = &token;
    return best;
}

class Scan {
public:
    Scan(std::span<const AddedToken> tokens, std::span<const PromptPiece> prompt)
        : tokens_(tokens) {
        for (const AddedToken& token : tokens) first_bytes_[uint8_t(token.content.front())] = true;
        for (const PromptPiece& piece : prompt) {
            text_ += piece.text;
            from_user_.insert(from_user_.end(), piece.text.size(), piece.from_user);
        }
    }

    [[nodiscard]] const std::string& text() const { return text_; }

    // Trusted and forged occurrences; a forged one hides nothing behind it.
    [[nodiscard]] std::vector<Occurrence> find() const {
        std::vector<Occurrence> found;
        for (size_t at = 0; at < text_.size();) {
            const AddedToken* token =
                first_bytes_[uint8_t(text_[at])] ? longest_at(tokens_, text_, at) : nullptr;
            if (token == nullptr) {
                ++at;
                continue;
            }
            const size_t end = at + token->content.size();
            const bool trusted =
                std::none_of(from_user_.begin() + std::ptrdiff_t(at),
                             from_user_.begin() + std::ptrdiff_t(end), [](bool b) { return b; });
            found.push_back({.begin = at, .end = end, .id = token->id, .trusted = trusted});
            at = trusted ? end : at + 1;
        }
        return found;
    }

private:
    std::span<const AddedToken> tokens_;
    bool first_bytes_[256] = {};
    std::string text_;
    std::vector<bool> from_user_;
};

}  // namespace

Result<std::vector<int32_t>> encode_prompt(const Tokenizer& tokenizer,
                                           std::span<const PromptPiece> prompt) {
    const Scan scan(tokenizer.added_tokens(), prompt);
    const std::vector<Occurrence> found = scan.find();
    const std::string_view text = scan.text();
    if (std::all_of(found.begin(), found.end(), [](const Occurrence& o) { return o.trusted; }))
        return tokenizer.encode(text, SpecialTokens::recognized);
    std::vector<int32_t> ids;
    size_t from = 0;
    const auto add_text = [&](size_t to) -> Status {
        if (to <= from) return {};
        TRY(const auto part, tokenizer.encode(text.substr(from, to - from), SpecialTokens::plain));
        ids.insert(ids.end(), part.begin(), part.end());
        return {};
    };
    for (const Occurrence& o : found) {
        if (!o.trusted) continue;
        TRY_STATUS(add_text(o.begin));
        ids.push_back(o.id);
        from = o.end;
    }
    TRY_STATUS(add_text(text.size()));
    return ids;
}

}  // namespace colibri

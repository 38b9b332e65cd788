#include "text/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/heap.h"
#include "text/stream_decoder.h"
#include "text/tokenizer_parts.h"
#include "text/utf8.h"

namespace colibri {
namespace {

// One call of encode.
struct Encoding {
    const TokenizerParts& parts;
    SpecialTokens which;
    std::vector<int32_t> ids{};
    RegexScratch regex_scratch{};
    BpeScratch bpe_scratch{};

    // Valid UTF-8. `first`: the input begins here.
    Status add_text(std::string_view text, bool first) {
        for (const auto& part : parts.added.split(text, false, which, regex_scratch)) {
            if (part.id != kNoToken) {
                ids.push_back(part.id);
            } else if (parts.normalizer.empty()) {
                TRY_STATUS(add_normalized(part.text, first && part.text.data() == text.data()));
            } else {
                TRY(const std::string normal,
                    normalize(parts.normalizer, std::string(part.text), regex_scratch));
                TRY_STATUS(add_normalized(normal, first && part.text.data() == text.data()));
            }
        }
        return {};
    }

    Status add_normalized(std::string_view text, bool first) {
        for (const auto& part : parts.added.split(text, true, which, regex_scratch)) {
            if (part.id != kNoToken)
                ids.push_back(part.id);
            else
                TRY_STATUS(parts.pretokenizer.split(
                    part.text, first && part.text.data() == text.data(), regex_scratch,
                    [this](std::string_view piece) {
                        parts.bpe.encode(piece, parts.encoding_vocabulary(), ids, bpe_scratch);
                    }));
        }
        return {};
    }

    void add_bytes(std::string_view bytes) {
        parts.bpe.encode_bytes(bytes, parts.encoding_vocabulary(), ids, bpe_scratch);
    }
};

size_t invalid_prefix(std::string_view text) {
    size_t position = 0;
    while (position < text.size()) {
        const Utf8Step step = utf8_step(text, position);
        if (step.kind == Utf8Kind::character) break;
        position += step.length;
    }
    return position;
}

}  // namespace

Result<Tokenizer> Tokenizer::from_json(std::string_view bytes, std::string_view file_name) {
    TRY(auto parts, load_tokenizer_json(bytes, file_name));
    return_unused_heap();  // loading needs several times the memory that stays
    return Tokenizer(std::make_shared<const TokenizerParts>(std::move(parts)));
}

Result<Tokenizer> Tokenizer::from_ranks(std::string_view bytes, const std::string& pattern,
                                        std::vector<AddedToken> added, std::string_view file_name) {
    TRY(auto parts, load_tiktoken(bytes, pattern, std::move(added), file_name));
    return_unused_heap();  // loading needs several times the memory that stays
    return Tokenizer(std::make_shared<const TokenizerParts>(std::move(parts)));
}

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text, SpecialTokens which) const {
    if (text.size() > kMaxTextBytes)
        return fail(ErrorKind::invalid_input,
                    fmt::format("cannot encode a text of {} bytes: at most {} are supported",
                                text.size(), kMaxTextBytes));
    Encoding encoding{*parts_, which};
    encoding.ids.reserve(text.size() / 3 + 8);
    for (bool first = true; !text.empty(); first = false) {
        const size_t valid = valid_utf8_prefix(text);
        TRY_STATUS(encoding.add_text(text.substr(0, valid), first));
        text.remove_prefix(valid);
        const size_t invalid = invalid_prefix(text);
        encoding.add_bytes(text.substr(0, invalid));
        text.remove_prefix(invalid);
    }
    return std::move(encoding.ids);
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool keep_special) const {
    StreamDecoder decoder(*this, keep_special);
    std::string text;
    for (const int32_t id : ids) text += decoder.push(id);
    return text + decoder.flush();
}

std::string Tokenizer::decode_bytes(std::span<const int32_t> ids, bool keep_special) const {
    std::string bytes;
    for (const int32_t id : ids)
        if (keep_special || !is_special(id)) bytes += token_bytes(id);
    const size_t spaces = std::min(bytes.find_first_not_of(' '), bytes.size());
    return bytes.substr(std::min(spaces, parts_->decode.strip_leading_spaces));
}

std::string_view Tokenizer::token_bytes(int32_t id) const {
    return parts_->vocabulary.bytes(id);
}

std::optional<int32_t> Tokenizer::id_of(std::string_view token) const {
    if (const auto added = parts_->added.find(token)) return added;
    const int32_t id = parts_->encoding_vocabulary().find(token);
    return id == kNoToken ? std::nullopt : std::optional(id);
}

bool Tokenizer::is_special(int32_t id) const {
    return parts_->added.is_special(id);
}

int32_t Tokenizer::size() const {
    return parts_->vocabulary.size();
}

std::span<const AddedToken> Tokenizer::added_tokens() const {
    return parts_->added.tokens();
}

size_t Tokenizer::memory_bytes() const {
    return parts_->vocabulary.memory_bytes() + parts_->spelled.memory_bytes() +
           parts_->bpe.memory_bytes() + parts_->added.memory_bytes() + sizeof(TokenizerParts);
}

}  // namespace colibri

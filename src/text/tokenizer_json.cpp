#include "text/tokenizer_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "text/byte_level.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace colibri {
namespace {

using nlohmann::json;

const json kNothing;

const json& member(const json& object, std::string_view name) {
    if (!object.is_object()) return kNothing;
    const auto at = object.find(std::string(name));
    return at == object.end() ? kNothing : *at;
}

// Turns the flat arrays of the file into tables.
class Builder {
public:
    Builder(const TokenizerJson& file, std::string_view file_name)
        : file_(file), file_name_(file_name), spellings_(file.vocabulary.size()) {}

    Result<TokenizerParts> build() {
        TRY_STATUS(check_model());
        TRY(parts_.normalizer, read_normalizer(member(file_.rest, "normalizer"), file_name_));
        TRY(auto pretokenizer, read_pretokenizer(member(file_.rest, "pre_tokenizer"), file_name_));
        TRY(decoder_, read_decoder(member(file_.rest, "decoder"), file_name_));
        if (pretokenizer.byte_level != decoder_.byte_level)
            return fail(
                ErrorKind::unsupported,
                fmt::format("{}: ByteLevel is in {} but not in {}; both or none are supported",
                            file_name_, decoder_.byte_level ? "decoder" : "pre_tokenizer",
                            decoder_.byte_level ? "pre_tokenizer" : "decoder"));
        byte_level_ = decoder_.byte_level;
        parts_.pretokenizer = Pretokenizer(std::move(pretokenizer.steps));
        parts_.decode = decoder_.rules;
        TRY_STATUS(index_spellings());
        TRY_STATUS(read_bpe_options());
        TRY(MergeTable merges, merge_table());
        TRY(auto added, read_added_tokens(member(file_.rest, "added_tokens"), file_name_));
        settle_added_ids(added);
        TRY_STATUS(build_vocabulary(added));
        parts_.bpe = Bpe(options_, std::move(merges));
        TRY(parts_.added, AddedTokens::build(std::move(added), parts_.normalizer, file_name_));
        return std::move(parts_);
    }

private:
    tl::unexpected<Error> bad(std::string_view what) const {
        return fail(ErrorKind::invalid_input, fmt::format("{}: {}", file_name_, what));
    }
    tl::unexpected<Error> unsupported(std::string_view what) const {
        return fail(ErrorKind::unsupported, fmt::format("{}: {}", file_name_, what));
    }
    std::string_view spelling(int32_t index) const {
        return file_.text(file_.vocabulary[index].spelling);
    }

    // Token id by the file's spelling.
    int32_t id_of(std::string_view text) const {
        const int32_t index = spellings_.find(text, [this](int32_t i) { return spelling(i); });
        return index == kNoToken ? kNoToken : file_.vocabulary[index].id;
    }

    Status check_model() {
        const json& model = member(file_.rest, "model");
        if (!model.is_object()) return bad("model: not found, expected an object");
        // Old files leave the type out; they are BPE if they have merges.
        const json& type = member(model, "type");
        if (type.is_string() ? type != "BPE" : file_.merges.empty())
            return unsupported(fmt::format("model.type: found {}, only BPE is supported",
                                           type.is_string() ? type.get<std::string>() : "nothing"));
        const json& dropout = member(model, "dropout");
        if (!dropout.is_null() && dropout != 0.0 && dropout != 0)
            return unsupported("model.dropout: only null and 0 are supported");
        for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix"}) {
            const json& affix = member(model, name);
            const bool is_blank = affix.is_string() && affix.get_ref<const std::string&>().empty();
            if (!affix.is_null() && !is_blank)
                return unsupported(fmt::format("model.{}: only null and \"\" are supported", name));
        }
        if (file_.vocabulary.empty()) return bad("model.vocab: not found or empty");
        return {};
    }

    Status index_spellings() {
        for (int32_t i = 0; i < static_cast<int32_t>(file_.vocabulary.size()); ++i)
            if (!spellings_.insert(i, [this](int32_t index) { return spelling(index); }))
                return bad(fmt::format("model.vocab: '{}' is there twice", spelling(i)));
        return {};
    }

    Result<bool> flag(std::string_view name) const {
        const json& value = member(member(file_.rest, "model"), name);
        if (value.is_null()) return false;
        if (!value.is_boolean())
            return bad(
                fmt::format("model.{}: found {}, expected true or false", name, value.type_name()));
        return value.get<bool>();
    }

    Status read_bpe_options() {
        TRY(options_.whole_piece_first, flag("ignore_merges"));
        TRY(options_.fuse_unknown, flag("fuse_unk"));
        TRY(const bool byte_fallback, flag("byte_fallback"));
        options_.symbols = byte_level_ ? Symbols::bytes : Symbols::characters;
        size_t spelled_bytes = 0;
        for (uint32_t byte = 0; byte < 256; ++byte) {
            std::string name = fmt::format("<0x{:02X}>", byte);
            if (byte_level_) {
                name.clear();
                append_utf8(name, byte_level_character(static_cast<uint8_t>(byte)));
            } else if (!byte_fallback) {
                break;
            }
            options_.byte_tokens[byte] = id_of(name);
            spelled_bytes += options_.byte_tokens[byte] != kNoToken;
        }
        if (byte_level_ && byte_fallback && spelled_bytes < 256)
            return unsupported("model.byte_fallback: with ByteLevel, every byte must be a token");
        return read_unknown_token(spelled_bytes == 256);
    }

    // Where every byte is a token nothing is unknown, and files name tokens here that do not exist.
    Status read_unknown_token(bool every_byte_is_known) {
        const json& unknown = member(member(file_.rest, "model"), "unk_token");
        if (unknown.is_null()) return {};
        if (!unknown.is_string())
            return bad(
                fmt::format("model.unk_token: found {}, expected a string", unknown.type_name()));
        const auto name = unknown.get<std::string>();
        options_.unknown = id_of(name);
        if (options_.unknown == kNoToken && !every_byte_is_known)
            return bad(fmt::format("model.unk_token: '{}' is not in model.vocab", name));
        return {};
    }

    Result<MergeTable> merge_table() const {
        MergeTable table(file_.merges.size());
        std::string joined;
        for (size_t rank = 0; rank < file_.merges.size(); ++rank) {
            const std::string_view left = file_.text(file_.merges[rank].left);
            const std::string_view right = file_.text(file_.merges[rank].right);
            joined.assign(left).append(right);
            const MergeTable::Merge merge{.left = id_of(left),
                                          .right = id_of(right),
                                          .rank = static_cast<uint32_t>(rank),
                                          .result = id_of(joined)};
            for (const auto& [id, text] :
                 {std::pair(merge.left, left), std::pair(merge.right, right),
                  std::pair(merge.result, std::string_view(joined))})
                if (id == kNoToken)
                    return bad(
                        fmt::format("model.merges[{}]: '{}' is not in model.vocab", rank, text));
            table.insert(merge);
        }
        return table;
    }

    // Ids as the reference library gives them, whatever the file says: the vocabulary's own id
    // where it has the token, else the next free one. Files that it wrote agree. Where its rule
    // would take an id of the vocabulary (which has gaps then), the file's number is the only
    // sensible one.
    void settle_added_ids(std::vector<AddedToken>& added) const {
        const auto count = static_cast<int32_t>(file_.vocabulary.size());
        std::vector<bool> taken;
        for (const auto& token : file_.vocabulary) {
            if (taken.size() <= static_cast<size_t>(token.id)) taken.resize(token.id + 1, false);
            taken[token.id] = true;
        }
        std::map<std::string_view, int32_t> given;
        int32_t largest = -1;
        for (AddedToken& token : added) {
            const int32_t free = largest >= count ? largest + 1 : count;
            const auto earlier = given.find(token.content);
            if (const int32_t id = id_of(token.content); id != kNoToken)
                token.id = id;
            else if (earlier != given.end())
                token.id = earlier->second;
            else if (static_cast<size_t>(free) >= taken.size() || !taken[free])
                token.id = free;
            given.emplace(token.content, token.id);
            largest = std::max(largest, token.id);
        }
    }

    // Bytes that a token adds to the text.
    std::string decoded(std::string_view text, bool& spellable) const {
        std::string bytes;
        spellable = true;
        if (byte_level_) {
            spellable = append_byte_level_bytes(bytes, text);
            return spellable ? bytes : std::string(text);
        }
        bytes = text;
        for (const auto& [from, to] : decoder_.replacements)
            for (size_t at = 0; (at = bytes.find(from, at)) != std::string::npos; at += to.size())
                bytes.replace(at, from.size(), to);
        return bytes;
    }

    Status build_vocabulary(const std::vector<AddedToken>& added) {
        // Views need a stable home until the vocabulary has copied them.
        std::string arena;
        struct Place {
            int32_t id;
            size_t offset;
            size_t length;
            bool findable;
        };
        std::vector<Place> places;
        places.reserve(file_.vocabulary.size() + added.size());
        arena.reserve(file_.heap.size());
        const auto put = [&](int32_t id, std::string_view text, bool findable) {
            bool spellable = true;
            const std::string bytes = decoded(text, spellable);
            places.push_back({id, arena.size(), bytes.size(), findable && spellable});
            arena += bytes;
        };
        for (const auto& token : file_.vocabulary)
            put(token.id, file_.text(token.spelling), byte_level_);
        if (!byte_level_ && decoder_.rules.byte_fallback)
            for (uint32_t byte = 0; byte < 256; ++byte) override_byte_token(byte, places, arena);
        for (const AddedToken& token : added)
            if (id_of(token.content) == kNoToken) put(token.id, token.content, false);
        std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
            return std::pair(a.id, !a.findable) < std::pair(b.id, !b.findable);
        });
        std::vector<Vocabulary::Entry> entries;
        entries.reserve(places.size());
        for (const Place& place : places) {
            const std::string_view bytes =
                std::string_view(arena).substr(place.offset, place.length);
            if (!entries.empty() && entries.back().id == place.id) {
                if (entries.back().bytes == bytes && !place.findable) continue;  // listed twice
                return bad(fmt::format("id {} is given to two tokens, '{}' and '{}'", place.id,
                                       entries.back().bytes, bytes));
            }
            entries.push_back({place.id, bytes, place.findable});
        }
        parts_.vocabulary = Vocabulary(std::move(entries));
        if (!byte_level_) build_spelled();
        return {};
    }

    template <class Places>
    void override_byte_token(uint32_t byte, Places& places, std::string& arena) const {
        for (auto& place : places)
            if (place.id == options_.byte_tokens[byte]) {
                place.offset = arena.size();
                place.length = 1;
                arena.push_back(static_cast<char>(byte));
                return;
            }
    }

    void build_spelled() {
        std::vector<Vocabulary::Entry> entries;
        entries.reserve(file_.vocabulary.size());
        for (const auto& token : file_.vocabulary)
            entries.push_back({token.id, file_.text(token.spelling), true});
        parts_.spelled = Vocabulary(std::move(entries));
    }

    const TokenizerJson& file_;
    std::string_view file_name_;
    StringIndex spellings_;
    TokenizerParts parts_;
    DecoderSpec decoder_;
    BpeOptions options_;
    bool byte_level_ = false;
};

}  // namespace

Result<TokenizerParts> load_tokenizer_json(std::string_view bytes, std::string_view file_name) {
    TRY(const TokenizerJson file, read_tokenizer_json(bytes, file_name));
    return Builder(file, file_name).build();
}

}  // namespace colibri

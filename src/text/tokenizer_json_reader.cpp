// One pass over the file with nlohmann's event interface: vocab and merges never become a document.
#include <fmt/format.h>

#include <optional>

#include "text/tokenizer.h"
#include "text/tokenizer_json.h"

namespace colibri {
namespace {

using nlohmann::json;

constexpr size_t kJsonDepthMax = 64;
constexpr size_t kMaxMerges = size_t{8} << 20;
constexpr size_t kMaxNodes = 2'000'000;  // of the small document

std::string shown(std::string_view text) {
    constexpr size_t kMost = 60;
    return text.size() <= kMost ? std::string(text) : std::string(text.substr(0, kMost)) + "...";
}

// Receives the events. A false return stops the parser; `error` then says why.
class Reader {
public:
    using number_integer_t = json::number_integer_t;
    using number_unsigned_t = json::number_unsigned_t;
    using number_float_t = json::number_float_t;
    using string_t = json::string_t;
    using binary_t = json::binary_t;

    Reader(TokenizerJson& out, std::string_view file_name) : out_(out), file_name_(file_name) {}

    bool null() { return value("null", json()); }
    bool boolean(bool v) { return value("a boolean", json(v)); }
    bool number_integer(number_integer_t v) { return value("a negative number", json(v)); }
    bool number_unsigned(number_unsigned_t v) {
        if (region_ == Region::vocab) return vocabulary_id(v);
        return value("a number", json(v));
    }
    bool number_float(number_float_t v, const string_t&) { return value("a fraction", json(v)); }
    bool binary(binary_t&) { return stop(ErrorKind::invalid_input, "binary value"); }
    bool string(string_t& v) {
        switch (region_) {
            case Region::merges: return legacy_merge(v);
            case Region::merge: return merge_part(v);
            case Region::vocab:
            case Region::document: break;
        }
        return value("a string", json(v));
    }

    bool start_object(size_t) {
        if (region_ == Region::document && is_path("model", "vocab")) {
            if (!out_.vocabulary.empty())
                return stop(ErrorKind::invalid_input, "model.vocab: given twice");
            region_ = Region::vocab;
            return true;
        }
        return open("an object", json::object());
    }
    bool key(string_t& v) {
        if (region_ == Region::vocab) {
            vocabulary_key_ = keep(v);
            return true;
        }
        key_ = v;
        return true;
    }
    bool end_object() {
        if (region_ == Region::vocab) {
            region_ = Region::document;
            return true;
        }
        return close();
    }
    bool start_array(size_t) {
        if (region_ == Region::merges) {
            region_ = Region::merge;
            parts_ = 0;
            return true;
        }
        if (region_ == Region::document && is_path("model", "merges")) {
            if (!out_.merges.empty())
                return stop(ErrorKind::invalid_input, "model.merges: given twice");
            region_ = Region::merges;
            return true;
        }
        return open("an array", json::array());
    }
    bool end_array() {
        if (region_ == Region::merge) {
            region_ = Region::merges;
            return parts_ == 2 || bad_merge(fmt::format("{} parts", parts_));
        }
        if (region_ == Region::merges) {
            region_ = Region::document;
            return true;
        }
        return close();
    }
    bool parse_error(size_t position, const std::string&, const json::exception& exception) {
        return stop(ErrorKind::invalid_input,
                    fmt::format("not valid JSON at byte {}: {}", position, exception.what()));
    }

    std::optional<Error> error;

private:
    enum class Region : uint8_t { document, vocab, merges, merge };

    bool stop(ErrorKind kind, std::string_view message) {
        error = fail(kind, fmt::format("{}: {}", file_name_, message)).value();
        return false;
    }
    bool bad_merge(std::string_view found) {
        // The second part has stored the merge already.
        const size_t index = out_.merges.size() - (region_ == Region::merge && parts_ >= 2 ? 1 : 0);
        return stop(
            ErrorKind::invalid_input,
            fmt::format("model.merges[{}]: {}, expected \"left right\" or [\"left\", \"right\"]",
                        index, found));
    }

    // Inside model.NAME, directly.
    bool is_path(std::string_view outer, std::string_view inner) const {
        return open_.size() == 2 && keys_.back() == outer && open_.back()->is_object() &&
               key_ == inner;
    }

    HeapString keep(std::string_view text) {
        const HeapString kept{static_cast<uint32_t>(out_.heap.size()),
                              static_cast<uint32_t>(text.size())};
        out_.heap += text;
        return kept;
    }

    bool vocabulary_id(uint64_t id) {
        if (id >= static_cast<uint64_t>(Tokenizer::kMaxTokens))
            return stop(ErrorKind::invalid_input,
                        fmt::format("model.vocab: id {} of '{}' is out of range (must be below {})",
                                    id, shown(out_.text(vocabulary_key_)), Tokenizer::kMaxTokens));
        if (out_.vocabulary.size() >= static_cast<size_t>(Tokenizer::kMaxTokens))
            return stop(ErrorKind::invalid_input, "model.vocab: too many tokens");
        out_.vocabulary.push_back({vocabulary_key_, static_cast<int32_t>(id)});
        return true;
    }

    bool legacy_merge(std::string_view line) {
        if (line.starts_with("#version")) return true;
        const size_t space = line.find(' ');
        if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos)
            return bad_merge(fmt::format("'{}'", shown(line)));
        const HeapString left = keep(line.substr(0, space));
        const HeapString right = keep(line.substr(space + 1));
        return add_merge(left, right);
    }

    bool merge_part(std::string_view text) {
        if (++parts_ > 2) return bad_merge("more than 2 parts");
        if (parts_ == 2) return add_merge(left_, keep(text));
        left_ = keep(text);
        return true;
    }

    bool add_merge(HeapString left, HeapString right) {
        if (out_.merges.size() >= kMaxMerges)
            return stop(ErrorKind::invalid_input,
                        fmt::format("model.merges: more than {} entries", kMaxMerges));
        out_.merges.push_back({left, right});
        return true;
    }

    // A value that is not an object or array, of the small document.
    bool value(std::string_view what, json item) {
        switch (region_) {
            case Region::vocab:
                return stop(
                    ErrorKind::invalid_input,
                    fmt::format(
                        "model.vocab: the id of '{}' is {}, expected a number of at least 0",
                        shown(out_.text(vocabulary_key_)), what));
            case Region::merges:
            case Region::merge: return bad_merge(what);
            case Region::document: break;
        }
        if (open_.size() == 2 && keys_.back() == "model" && (key_ == "vocab" || key_ == "merges"))
            return stop(ErrorKind::invalid_input,
                        fmt::format("model.{}: found {}, expected {}", key_, what,
                                    key_ == "vocab" ? "an object {token: id}" : "an array"));
        return place(std::move(item)) != nullptr;
    }

    json* place(json item) {
        if (++nodes_ > kMaxNodes) {
            stop(ErrorKind::invalid_input,
                 "too many values outside of model.vocab and model.merges");
            return nullptr;
        }
        if (open_.empty()) {
            out_.rest = std::move(item);
            return &out_.rest;
        }
        json& parent = *open_.back();
        if (parent.is_array()) {
            parent.push_back(std::move(item));
            return &parent.back();
        }
        return &(parent[key_] = std::move(item));
    }

    bool open(std::string_view what, json item) {
        if (region_ != Region::document) return value(what, {});
        if (open_.size() == 2 && keys_.back() == "model" && (key_ == "vocab" || key_ == "merges"))
            return value(what, {});
        if (open_.size() >= kJsonDepthMax)
            return stop(ErrorKind::invalid_input,
                        fmt::format("nested more than {} deep", kJsonDepthMax));
        const std::string name = open_.empty() ? std::string() : key_;
        json* const placed = place(std::move(item));
        if (!placed) return false;
        open_.push_back(placed);
        keys_.push_back(name);
        return true;
    }

    bool close() {
        open_.pop_back();
        keys_.pop_back();
        return true;
    }

    TokenizerJson& out_;
    std::string_view file_name_;
    Region region_ = Region::document;
    std::vector<json*> open_;        // a parent is never moved while its child is open
    std::vector<std::string> keys_;  // name of each open value
    std::string key_;
    HeapString vocabulary_key_;
    HeapString left_;
    int parts_ = 0;
    size_t nodes_ = 0;
};

}  // namespace

Result<TokenizerJson> read_tokenizer_json(std::string_view bytes, std::string_view file_name) {
    if (bytes.size() > Tokenizer::kMaxFileBytes)
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}: {} bytes, more than the {} that a tokenizer may have",
                                file_name, bytes.size(), Tokenizer::kMaxFileBytes));
    TokenizerJson result;
    // One reservation each instead of growing: pages that stay unused cost nothing, and the
    // allocator gives large blocks back to the system when they are freed.
    result.heap.reserve(bytes.size());
    result.vocabulary.reserve(bytes.size() / 16);
    result.merges.reserve(bytes.size() / 16);
    Reader reader(result, file_name);
    const bool parsed = json::sax_parse(bytes.begin(), bytes.end(), &reader);
    if (reader.error) return tl::unexpected(std::move(*reader.error));
    if (!parsed || !result.rest.is_object())
        return fail(ErrorKind::invalid_input, fmt::format("{}: expected a JSON object", file_name));
    return result;
}

}  // namespace colibri

#include "model/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

namespace colibri {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kFoundBytesMax = 60;
constexpr size_t kTokenIdsMax = 256;

// Nesting is bounded before the tree is built: its builder and its destructor recurse.
bool deeper_than(std::string_view text, size_t limit) {
    size_t depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted) {
            if (c == '\\') ++i;
            if (c == '"') quoted = false;
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            if (++depth > limit) return true;
        } else if ((c == '}' || c == ']') && depth > 0) {
            --depth;
        }
    }
    return false;
}

// Keys of the objects that are open, so that a key given twice is noticed: the tree would keep one
// of the two values.
class DuplicateKeys {
public:
    bool operator()(int, Json::parse_event_t event, const Json& parsed) {
        switch (event) {
            case Json::parse_event_t::object_start: open_.emplace_back(); break;
            case Json::parse_event_t::object_end: open_.pop_back(); break;
            case Json::parse_event_t::key:
                if (!open_.back().insert(parsed.get<std::string>()).second && duplicate_.empty())
                    duplicate_ = parsed.get<std::string>();
                break;
            case Json::parse_event_t::array_start:
            case Json::parse_event_t::array_end:
            case Json::parse_event_t::value: break;
        }
        return true;
    }
    [[nodiscard]] const std::string& duplicate() const { return duplicate_; }

private:
    std::vector<std::set<std::string>> open_;
    std::string duplicate_;
};

std::string cut(std::string text) {
    if (text.size() <= kFoundBytesMax) return text;
    size_t end = kFoundBytesMax;
    while (end > 0 && (uint8_t(text[end]) & 0xC0U) == 0x80U) --end;  // whole characters only
    return text.substr(0, end) + "...";
}

bool is_whole(const Json& value, uint64_t minimum, uint64_t maximum) {
    if (!value.is_number_unsigned()) return false;
    const auto number = value.get<uint64_t>();
    return number >= minimum && number <= maximum;
}

}  // namespace

struct Config::View {
    struct Document {
        Json root;
        std::string file;
        std::set<std::string> read;  // paths
    };
    std::shared_ptr<Document> document;
    const Json* object = nullptr;
    std::string prefix;  // "rope_parameters."

    [[nodiscard]] std::string path(std::string_view key) const { return prefix + std::string(key); }
    [[nodiscard]] const Json* peek(std::string_view key) const {
        const auto at = object->find(std::string(key));
        return at == object->end() || at->is_null() ? nullptr : &*at;
    }
    [[nodiscard]] const Json* read(std::string_view key) const {
        document->read.insert(path(key));
        return peek(key);
    }
};

Result<Config> Config::parse(std::string_view text, std::string file) {
    const auto refuse = [&](std::string_view what) {
        return fail(ErrorKind::invalid_input, fmt::format("{}: {}", file, what));
    };
    if (text.size() > kConfigBytesMax)
        return refuse(
            fmt::format("found {} bytes, expected at most {}", text.size(), kConfigBytesMax));
    if (deeper_than(text, kConfigDepthMax))
        return refuse(fmt::format("nested deeper than {} levels", kConfigDepthMax));
    auto document = std::make_shared<View::Document>();
    DuplicateKeys keys;
    try {
        document->root = Json::parse(text.begin(), text.end(), std::ref(keys));
    } catch (const Json::exception& error) {
        return refuse(fmt::format("not valid JSON ({})", error.what()));
    }
    if (!document->root.is_object())
        return refuse(
            fmt::format("found {} at the top, expected an object", document->root.type_name()));
    if (!keys.duplicate().empty())
        return refuse(fmt::format("key {} appears twice in one object", cut(keys.duplicate())));
    document->file = std::move(file);
    auto view = std::make_shared<View>();
    view->object = &document->root;
    view->document = std::move(document);
    return Config(std::move(view));
}

const std::string& Config::file() const {
    return view_->document->file;
}
bool Config::has(std::string_view key) const {
    return view_->read(key) != nullptr;
}
bool Config::peek(std::string_view key) const {
    return view_->peek(key) != nullptr;
}
bool Config::is_list(std::string_view key) const {
    const Json* value = view_->peek(key);
    return value != nullptr && value->is_array();
}

std::string Config::found(std::string_view key) const {
    const Json* value = view_->peek(key);
    if (value == nullptr) return "missing";
    return cut(value->dump(-1, ' ', false, Json::error_handler_t::replace));
}

tl::unexpected<Error> Config::wrong(std::string_view key, std::string_view expected,
                                    ErrorKind kind) const {
    const bool present = view_->peek(key) != nullptr;
    return fail(kind, fmt::format("{}: {} is {}, expected {}", file(), view_->path(key),
                                  present ? found(key) : std::string("missing"), expected));
}

Result<uint32_t> Config::count(std::string_view key, uint32_t minimum, uint32_t maximum) const {
    const Json* value = view_->read(key);
    if (value == nullptr || !is_whole(*value, minimum, maximum))
        return wrong(key, fmt::format("an integer from {} to {}", minimum, maximum));
    return value->get<uint32_t>();
}

Result<uint32_t> Config::count_or(std::string_view key, uint32_t fallback, uint32_t minimum,
                                  uint32_t maximum) const {
    return has(key) ? count(key, minimum, maximum) : fallback;
}

Result<double> Config::number(std::string_view key) const {
    const Json* value = view_->read(key);
    if (value == nullptr || !value->is_number() || !std::isfinite(value->get<double>()))
        return wrong(key, "a number");
    return value->get<double>();
}

Result<double> Config::number_or(std::string_view key, double fallback) const {
    return has(key) ? number(key) : fallback;
}

Result<bool> Config::flag_or(std::string_view key, bool fallback) const {
    const Json* value = view_->read(key);
    if (value == nullptr) return fallback;
    if (!value->is_boolean()) return wrong(key, "true or false");
    return value->get<bool>();
}

Result<std::string> Config::text(std::string_view key) const {
    const Json* value = view_->read(key);
    if (value == nullptr || !value->is_string()) return wrong(key, "a string");
    return value->get<std::string>();
}

Result<std::string> Config::text_or(std::string_view key, std::string fallback) const {
    return has(key) ? text(key) : Result<std::string>(std::move(fallback));
}

Result<std::optional<std::vector<std::string>>> Config::texts(std::string_view key) const {
    const Json* value = view_->read(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_array()) return wrong(key, "a list of strings");
    std::vector<std::string> list;
    for (const Json& element : *value) {
        if (!element.is_string()) return wrong(key, "a list of strings");
        list.push_back(element.get<std::string>());
    }
    return list;
}

Result<std::optional<std::vector<uint32_t>>> Config::counts(std::string_view key) const {
    const Json* value = view_->read(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_array()) return wrong(key, "a list of integers");
    std::vector<uint32_t> list;
    for (const Json& element : *value) {
        if (!is_whole(element, 0, kConfigCountMax))
            return wrong(key, "a list of non-negative integers");
        list.push_back(element.get<uint32_t>());
    }
    return list;
}

Result<std::vector<int32_t>> Config::token_ids(std::string_view key) const {
    const Json* value = view_->read(key);
    std::vector<int32_t> ids;
    if (value == nullptr) return ids;
    const auto add = [&](const Json& id) {
        const bool good = is_whole(id, 0, kConfigCountMax);
        if (good) ids.push_back(id.get<int32_t>());
        return good;
    };
    bool good = true;
    if (value->is_array()) {
        good = value->size() <= kTokenIdsMax && std::all_of(value->begin(), value->end(), add);
    } else {
        good = add(*value);
    }
    if (!good)
        return wrong(key,
                     fmt::format("a token id or a list of at most {} token ids", kTokenIdsMax));
    return ids;
}

Result<std::optional<Config>> Config::section(std::string_view key) const {
    const Json* value = view_->read(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_object()) return wrong(key, "an object");
    auto inner = std::make_shared<View>();
    inner->document = view_->document;
    inner->object = value;
    inner->prefix = view_->path(key) + ".";
    return std::optional(Config(std::move(inner)));
}

void Config::ignore(std::initializer_list<std::string_view> keys) const {
    for (const std::string_view key : keys) view_->document->read.insert(view_->path(key));
}

std::vector<std::string> Config::unread() const {
    std::vector<std::string> names;
    const std::set<std::string>& read = view_->document->read;
    for (const auto& [key, value] : view_->object->items()) {
        const std::string path = view_->path(key);
        if (!read.contains(path)) {
            names.push_back(cut(path));
            continue;
        }
        // Only a section of which something was read has been opened; an ignored object is ignored
        // as a whole.
        const std::string inner_prefix = path + ".";
        const auto inner = read.lower_bound(inner_prefix);
        if (!value.is_object() || inner == read.end() || !inner->starts_with(inner_prefix))
            continue;
        for (const auto& [inner_key, inner_value] : value.items())
            if (!read.contains(inner_prefix + inner_key))
                names.push_back(cut(inner_prefix + inner_key));
    }
    return names;
}

}  // namespace colibri

// Values to JSON text, byte for byte as Python's json.dumps writes it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "text/jinja/builtins.h"
#include "text/jinja/characters.h"

namespace colibri::jinja {
namespace {

void append_unit(std::string& out, uint32_t unit) {
    out += fmt::format("\\u{:04x}", unit);
}

std::string quoted(const std::string& text, bool ensure_ascii) {
    std::string out = "\"";
    for (size_t at = 0; at < text.size();) {
        const size_t size = character_size(text, at);
        const auto c = static_cast<uint32_t>(character_at(text, at));
        switch (c) {
            case '"': out += "\\\""; break;
            case '\\': out += "\\\\"; break;
            case '\n': out += "\\n"; break;
            case '\r': out += "\\r"; break;
            case '\t': out += "\\t"; break;
            case '\f': out += "\\f"; break;
            case '\b': out += "\\b"; break;
            default:
                if (c < 0x20 || (ensure_ascii && c >= 0x7F && c < 0x10000)) {
                    append_unit(out, c);
                } else if (ensure_ascii && c >= 0x10000) {
                    append_unit(out, 0xD800 + ((c - 0x10000) >> 10U));
                    append_unit(out, 0xDC00 + ((c - 0x10000) & 0x3FFU));
                } else {
                    out.append(text, at, size);
                }
        }
        at += size;
    }
    return out + "\"";
}

class JsonWriter {
public:
    JsonWriter(const JsonStyle& style, Heap& heap)
        : style_(style),
          item_separator_(style.item_separator.value_or(style.indent ? "," : ", ")),
          key_separator_(style.key_separator.value_or(": ")),
          heap_(heap),
          out_(heap) {}

    Status write(const Value& value, size_t level) {
        TRY_STATUS(heap_.spend(1));
        if (const TrackedText* text = value.as_text()) {
            TRY_STATUS(heap_.spend_characters(text->size()));
            return out_.append(quoted(text->bytes(), style_.ensure_ascii), text->has_input());
        }
        if (const ListBox* list = value.as_list();
            list != nullptr &&
            (list->shape == ListShape::list || list->shape == ListShape::tuple)) {
            return write_list(*list, level);
        }
        if (const DictBox* dict = value.as_dict()) return write_dict(*dict, level);
        std::string scalar;
        if (!scalar_text(value, scalar)) {
            return fail(
                ErrorKind::invalid_input,
                fmt::format("a value of type '{}' cannot be written as JSON", value.type_name()));
        }
        return out_.append(scalar, false);
    }

    Result<Value> finish() { return out_.finish(); }

private:
    // none, booleans and numbers, as values and (without quotes) as keys.
    static bool scalar_text(const Value& value, std::string& text) {
        if (value.is_none()) {
            text = "null";
        } else if (value.is_bool()) {
            text = value.truthy() ? "true" : "false";
        } else if (const Int* integer = std::get_if<Int>(&value.data())) {
            text = int_repr(*integer);
        } else if (const double* number = std::get_if<double>(&value.data())) {
            text = std::isnan(*number)   ? "NaN"
                   : std::isinf(*number) ? (*number < 0 ? "-Infinity" : "Infinity")
                                         : float_repr(*number);
        } else {
            return false;
        }
        return true;
    }

    Status new_line(size_t level) {
        if (!style_.indent) return {};
        TRY_STATUS(out_.append("\n", false));
        for (size_t i = 0; i < level; ++i) TRY_STATUS(out_.append(*style_.indent, false));
        return {};
    }

    Status write_list(const ListBox& list, size_t level) {
        if (list.items.empty()) return out_.append("[]", false);
        TRY_STATUS(out_.append("[", false));
        for (size_t i = 0; i < list.items.size(); ++i) {
            if (i > 0) TRY_STATUS(out_.append(item_separator_, false));
            TRY_STATUS(new_line(level + 1));
            TRY_STATUS(write(list.items[i], level + 1));
        }
        TRY_STATUS(new_line(level));
        return out_.append("]", false);
    }

    Status write_key(const Value& key) {
        if (key.is_string()) return write(key, 0);
        std::string scalar;
        if (!scalar_text(key, scalar))
            return fail(ErrorKind::invalid_input, "this key has no JSON form");
        return out_.append("\"" + scalar + "\"", false);
    }

    Status write_dict(const DictBox& dict, size_t level) {
        if (dict.entries.empty()) return out_.append("{}", false);
        std::vector<const DictEntry*> entries;
        entries.reserve(dict.entries.size());
        for (const DictEntry& entry : dict.entries) entries.push_back(&entry);
        if (style_.sort_keys) TRY_STATUS(sort_entries(entries));
        TRY_STATUS(out_.append("{", false));
        for (size_t i = 0; i < entries.size(); ++i) {
            if (i > 0) TRY_STATUS(out_.append(item_separator_, false));
            TRY_STATUS(new_line(level + 1));
            TRY_STATUS(write_key(entries[i]->first));
            TRY_STATUS(out_.append(key_separator_, false));
            TRY_STATUS(write(entries[i]->second, level + 1));
        }
        TRY_STATUS(new_line(level));
        return out_.append("}", false);
    }

    Status sort_entries(std::vector<const DictEntry*>& entries) {
        TRY_STATUS(heap_.spend(entries.size() * 16));
        const auto is_string = [](const DictEntry* entry) { return entry->first.is_string(); };
        const auto is_number = [](const DictEntry* entry) {
            double number = 0;
            return entry->first.as_number(number);
        };
        if (std::all_of(entries.begin(), entries.end(), is_string)) {
            std::sort(entries.begin(), entries.end(), [](const DictEntry* a, const DictEntry* b) {
                return a->first.as_text()->bytes() < b->first.as_text()->bytes();
            });
            return {};
        }
        if (!std::all_of(entries.begin(), entries.end(), is_number)) {
            return fail(ErrorKind::invalid_input, "sort_keys needs keys of one type");
        }
        const auto order = [](const DictEntry* entry) {
            double number = 0;
            (void)entry->first.as_number(number);
            return std::isnan(number) ? std::numeric_limits<double>::infinity() : number;
        };
        std::sort(entries.begin(), entries.end(), [&](const DictEntry* a, const DictEntry* b) {
            return order(a) != order(b) ? order(a) < order(b) : a < b;
        });
        return {};
    }

    const JsonStyle& style_;
    std::string item_separator_;
    std::string key_separator_;
    Heap& heap_;
    TextBuilder out_;
};

}  // namespace

Result<Value> to_json(const Value& value, const JsonStyle& style, Heap& heap) {
    if (value.is_undefined()) return undefined_error(value, "write JSON of");
    JsonWriter writer(style, heap);
    TRY_STATUS(writer.write(value, 0));
    return writer.finish();
}

}  // namespace colibri::jinja

// Comparison, iteration and printing of values.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "text/jinja/characters.h"
#include "text/jinja/text_search.h"
#include "text/jinja/value.h"

namespace colibri::jinja {
namespace {

Result<bool> equal_lists(const ListBox& a, const ListBox& b, Heap& heap) {
    if (a.shape != b.shape || a.items.size() != b.items.size()) return false;
    for (size_t i = 0; i < a.items.size(); ++i) {
        TRY(const bool same, equal(a.items[i], b.items[i], heap));
        if (!same) return false;
    }
    return true;
}

Result<bool> equal_dicts(const DictBox& a, const DictBox& b, Heap& heap) {
    if (a.entries.size() != b.entries.size()) return false;
    for (const auto& [key, value] : a.entries) {
        if (key.is_string()) TRY_STATUS(heap.spend_bytes(key.as_text()->size()));
        const Value* other = b.find(key);
        if (other == nullptr) return false;
        TRY(const bool same, equal(value, *other, heap));
        if (!same) return false;
    }
    return true;
}

tl::unexpected<Error> not_comparable(const Value& a, const Value& b) {
    return fail(ErrorKind::invalid_input, fmt::format("values of type '{}' and '{}' have no order",
                                                      a.type_name(), b.type_name()));
}

bool is_printable(char32_t c) {
    if (c < 0x20 || (c >= 0x7F && c <= 0xA0) || c == 0xAD) return false;
    if (c != ' ' && is_space(c)) return false;
    const bool format = (c >= 0x200B && c <= 0x200F) || (c >= 0x202A && c <= 0x202E) ||
                        (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || (c >= 0xFFF9 && c <= 0xFFFB);
    const bool surrogate_or_private = (c >= 0xD800 && c <= 0xF8FF) || c >= 0xE0000;
    return !format && !surrogate_or_private && (c & 0xFFFEU) != 0xFFFEU;
}

std::string string_repr(const std::string& text) {
    const bool has_single = text.find('\'') != std::string::npos;
    const bool has_double = text.find('"') != std::string::npos;
    const char quote = has_single && !has_double ? '"' : '\'';
    std::string out(1, quote);
    for (size_t at = 0; at < text.size(); at += character_size(text, at)) {
        const char32_t c = character_at(text, at);
        if (c == static_cast<char32_t>(quote) || c == '\\') {
            out += '\\';
            out += static_cast<char>(c);
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\r') {
            out += "\\r";
        } else if (c == '\t') {
            out += "\\t";
        } else if (is_printable(c)) {
            append_character(out, c);
        } else {
            const auto code = static_cast<uint32_t>(c);
            out += code < 0x100     ? fmt::format("\\x{:02x}", code)
                   : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                                    : fmt::format("\\U{:08x}", code);
        }
    }
    return out + quote;
}

Status append_list_repr(const ListBox& list, TextBuilder& out, Heap& heap) {
    const bool is_tuple = list.shape == ListShape::tuple;
    if (list.shape == ListShape::iterator) return out.append("<generator object>", false);
    TRY_STATUS(out.append(is_tuple                        ? "("
                          : list.shape == ListShape::view ? "dict_view(["
                                                          : "[",
                          false));
    for (size_t i = 0; i < list.items.size(); ++i) {
        if (i > 0) TRY_STATUS(out.append(", ", false));
        TRY_STATUS(append_repr(list.items[i], out, heap));
    }
    if (is_tuple) return out.append(list.items.size() == 1 ? ",)" : ")", false);
    return out.append(list.shape == ListShape::view ? "])" : "]", false);
}

Status append_dict_repr(const DictBox& dict, TextBuilder& out, Heap& heap) {
    TRY_STATUS(out.append("{", false));
    bool first = true;
    for (const auto& [key, value] : dict.entries) {
        if (!first) TRY_STATUS(out.append(", ", false));
        first = false;
        TRY_STATUS(append_repr(key, out, heap));
        TRY_STATUS(out.append(": ", false));
        TRY_STATUS(append_repr(value, out, heap));
    }
    return out.append("}", false);
}

}  // namespace

Result<bool> equal(const Value& a, const Value& b, Heap& heap) {
    TRY_STATUS(heap.spend(1));
    Int left = 0;
    Int right = 0;
    if (a.as_integer(left) && b.as_integer(right)) return left == right;
    double x = 0;
    double y = 0;
    if (a.as_number(x) && b.as_number(y)) return x == y;
    if (a.data().index() != b.data().index()) return false;
    if (const TrackedText* text = a.as_text()) {
        TRY_STATUS(heap.spend_bytes(text->size()));
        return text->bytes() == b.as_text()->bytes();
    }
    if (const ListBox* list = a.as_list()) {
        if (list == b.as_list()) return true;
        return equal_lists(*list, *b.as_list(), heap);
    }
    if (const DictBox* dict = a.as_dict()) {
        if (dict == b.as_dict()) return true;
        return equal_dicts(*dict, *b.as_dict(), heap);
    }
    if (a.is_undefined() || a.is_none()) return true;
    if (const auto* space = std::get_if<std::shared_ptr<Namespace>>(&a.data())) {
        return *space == std::get<std::shared_ptr<Namespace>>(b.data());
    }
    if (const auto* macro = std::get_if<std::shared_ptr<const Macro>>(&a.data())) {
        return *macro == std::get<std::shared_ptr<const Macro>>(b.data());
    }
    return false;
}

Result<bool> less(const Value& a, const Value& b, Heap& heap) {
    TRY_STATUS(heap.spend(1));
    Int left = 0;
    Int right = 0;
    if (a.as_integer(left) && b.as_integer(right)) return left < right;
    double x = 0;
    double y = 0;
    if (a.as_number(x) && b.as_number(y)) return x < y;
    const TrackedText* text = a.as_text();
    const TrackedText* other = b.as_text();
    if (text != nullptr && other != nullptr) {
        TRY_STATUS(heap.spend_bytes(std::min(text->size(), other->size())));
        return text->bytes() < other->bytes();  // UTF-8 keeps the order of code points
    }
    const ListBox* list = a.as_list();
    const ListBox* other_list = b.as_list();
    const bool sequences = list != nullptr && other_list != nullptr &&
                           list->shape == other_list->shape &&
                           (list->shape == ListShape::list || list->shape == ListShape::tuple);
    if (!sequences) return not_comparable(a, b);
    const size_t common = std::min(list->items.size(), other_list->items.size());
    for (size_t i = 0; i < common; ++i) {
        TRY(const bool same, equal(list->items[i], other_list->items[i], heap));
        if (!same) return less(list->items[i], other_list->items[i], heap);
    }
    return list->items.size() < other_list->items.size();
}

Result<bool> contains(const Value& container, const Value& item, Heap& heap) {
    if (const TrackedText* text = container.as_text()) {
        const TrackedText* needle = item.as_text();
        if (needle == nullptr) {
            return fail(ErrorKind::invalid_input,
                        fmt::format("'in <string>' needs a string on the left, not a '{}'",
                                    item.type_name()));
        }
        TRY_STATUS(heap.spend_bytes(text->size()));
        return find_text(text->bytes(), needle->bytes(), 0) != std::string::npos;
    }
    if (const DictBox* dict = container.as_dict()) {
        TRY_STATUS(heap.spend(1));
        if (item.as_list() != nullptr || item.as_dict() != nullptr) {
            return fail(ErrorKind::invalid_input,
                        fmt::format("a '{}' cannot be a key of a dict", item.type_name()));
        }
        if (item.is_string()) TRY_STATUS(heap.spend_bytes(item.as_text()->size()));
        return dict->find(item) != nullptr;
    }
    TRY(const auto items, iterate(container, heap));
    for (const Value& candidate : items->items) {
        TRY(const bool same, equal(candidate, item, heap));
        if (same) return true;
    }
    return false;
}

Result<std::shared_ptr<const ListBox>> iterate(const Value& value, Heap& heap) {
    if (const auto* list = std::get_if<std::shared_ptr<const ListBox>>(&value.data())) return *list;
    std::vector<Value> items;
    if (const DictBox* dict = value.as_dict()) {
        for (const auto& entry : dict->entries) items.push_back(entry.first);
    } else if (const TrackedText* text = value.as_text()) {
        for (size_t at = 0; at < text->size();) {
            const size_t size = character_size(text->bytes(), at);
            TRY(Value character, heap.string(text->slice(at, at + size)));
            items.push_back(std::move(character));
            at += size;
        }
    } else if (const auto* loop = std::get_if<std::shared_ptr<LoopState>>(&value.data())) {
        return (*loop)->items;
    } else if (!value.is_undefined()) {
        return fail(ErrorKind::invalid_input,
                    fmt::format("a value of type '{}' cannot be iterated", value.type_name()));
    }
    TRY(const Value list, heap.list(std::move(items)));
    return std::get<std::shared_ptr<const ListBox>>(list.data());
}

std::string float_repr(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    std::array<char, 40> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                   std::chars_format::scientific)
                         .ptr;
    const std::string_view text(buffer.data(), static_cast<size_t>(end - buffer.data()));
    const size_t mark = text.find('e');
    int exponent = 0;
    const size_t digits_at = text[mark + 1] == '+' ? mark + 2 : mark + 1;
    std::from_chars(text.data() + digits_at, text.data() + text.size(), exponent);
    std::string digits;
    for (const char c : text.substr(0, mark)) {
        if (c >= '0' && c <= '9') digits += c;
    }
    std::string out = value < 0 || (value == 0 && std::signbit(value)) ? "-" : "";
    if (exponent < -4 || exponent >= 16) {
        out += digits.substr(0, 1);
        if (digits.size() > 1) out += "." + digits.substr(1);
        return out + fmt::format("e{}{:02d}", exponent < 0 ? '-' : '+', std::abs(exponent));
    }
    if (exponent < 0)
        return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
    const auto whole = static_cast<size_t>(exponent) + 1;
    if (digits.size() <= whole)
        return out + digits + std::string(whole - digits.size(), '0') + ".0";
    return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string int_repr(Int value) {
    // Int holds 64 bits and a sign, so its magnitude always fits uint64_t.
    if (value < 0) return "-" + fmt::format("{}", static_cast<uint64_t>(-value));
    return fmt::format("{}", static_cast<uint64_t>(value));
}

Status append_repr(const Value& value, TextBuilder& out, Heap& heap) {
    TRY_STATUS(heap.spend(1));
    if (const TrackedText* text = value.as_text()) {
        TRY_STATUS(heap.spend_characters(text->size()));
        return out.append(string_repr(text->bytes()), text->has_input());
    }
    if (const ListBox* list = value.as_list()) return append_list_repr(*list, out, heap);
    if (const DictBox* dict = value.as_dict()) return append_dict_repr(*dict, out, heap);
    if (value.is_undefined()) return out.append("Undefined", false);
    if (value.is_none()) return out.append("None", false);
    if (const bool* flag = std::get_if<bool>(&value.data())) {
        return out.append(*flag ? "True" : "False", false);
    }
    if (const Int* integer = std::get_if<Int>(&value.data())) {
        return out.append(int_repr(*integer), false);
    }
    if (const double* number = std::get_if<double>(&value.data())) {
        return out.append(float_repr(*number), false);
    }
    return out.append(fmt::format("<{}>", value.type_name()), false);
}

Result<TrackedText> to_text(const Value& value, Heap& heap) {
    if (const TrackedText* text = value.as_text()) return *text;
    if (value.is_undefined()) return TrackedText{};
    TextBuilder out(heap);
    TRY_STATUS(append_repr(value, out, heap));
    return out.take();
}

}  // namespace colibri::jinja

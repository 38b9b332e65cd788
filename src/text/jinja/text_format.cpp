// Python's two ways to format text, `%` and str.format, as far as templates use them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>

#include "text/jinja/attribute_path.h"
#include "text/jinja/builtins.h"
#include "text/jinja/characters.h"

namespace colibri::jinja {
namespace {

// How one value is laid out; the common part of both notations.
struct Layout {
    std::string fill = " ";
    char align = '\0';  // '<', '>', '^', '=' or none given
    char sign = '-';    // '+' and ' ' show a sign before positive numbers
    int64_t width = 0;
    int64_t precision = -1;  // negative: not given
    char type = '\0';
    bool groups_thousands = false;
};

constexpr int64_t kWidthMax = 1'000'000;  // wider fields have no use and would only cost memory
constexpr int64_t kPrecisionMax =
    400;  // a double has no more decimals that differ from zero before the 400th

Status check_layout(const Layout& layout) {
    if (layout.width <= kWidthMax && layout.precision <= kPrecisionMax) return {};
    return fail(ErrorKind::invalid_input, "the width or precision of a format is too large");
}

// Reads digits; a number too large stays at a value that check_layout refuses.
int64_t read_number(std::string_view text, size_t& at) {
    int64_t value = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
        value = std::min<int64_t>(value * 10 + (text[at] - '0'), kWidthMax + 1);
    }
    return value;
}

std::string with_thousands(std::string digits) {
    const size_t whole = std::min(digits.find('.'), digits.size());
    for (size_t at = whole; at > 3; at -= 3) digits.insert(at - 3, ",");
    return digits;
}

// The digits of a number without its sign; false if the value is no number of the asked type.
bool number_digits(const Value& value, const Layout& layout, std::string& digits, bool& negative) {
    Int integer = 0;
    double number = 0;
    const char type = layout.type;
    const bool wants_integer =
        type == 'd' || type == 'x' || type == 'X' || type == 'o' || type == 'b';
    if (wants_integer || (type == '\0' && value.as_integer(integer) && layout.precision < 0)) {
        if (!value.as_integer(integer)) return false;
        negative = integer < 0;
        const auto magnitude = static_cast<uint64_t>(negative ? -integer : integer);
        digits = type == 'x'   ? fmt::format("{:x}", magnitude)
                 : type == 'X' ? fmt::format("{:X}", magnitude)
                 : type == 'o' ? fmt::format("{:o}", magnitude)
                 : type == 'b' ? fmt::format("{:b}", magnitude)
                               : fmt::format("{}", magnitude);
    } else {
        if (!value.as_number(number)) return false;
        negative = std::signbit(number);
        const double magnitude = std::fabs(number);
        const int precision = static_cast<int>(layout.precision < 0 ? 6 : layout.precision);
        switch (type) {
            case 'f':
            case 'F': digits = fmt::format("{:.{}f}", magnitude, precision); break;
            case 'e': digits = fmt::format("{:.{}e}", magnitude, precision); break;
            case 'E': digits = fmt::format("{:.{}E}", magnitude, precision); break;
            case '%': digits = fmt::format("{:.{}f}%", magnitude * 100, precision); break;
            case '\0':
                digits = layout.precision < 0
                             ? float_repr(magnitude)
                             : fmt::format("{:.{}g}", magnitude, std::max(precision, 1));
                break;
            default: digits = fmt::format("{:.{}g}", magnitude, std::max(precision, 1)); break;
        }
    }
    if (layout.groups_thousands) digits = with_thousands(std::move(digits));
    return true;
}

// Pads `body` (after `prefix`, a sign) to the width.
Status append_padded(std::string_view prefix, const TrackedText& body, const Layout& layout,
                     char align, TextBuilder& out) {
    const auto used = static_cast<int64_t>(prefix.size() + character_count(body.bytes()));
    const int64_t missing = std::max<int64_t>(layout.width - used, 0);
    const int64_t before = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
    std::string padding;
    for (int64_t i = 0; i < before; ++i) padding += layout.fill;
    if (align == '=') {
        TRY_STATUS(out.append(prefix, false));
        TRY_STATUS(out.append(padding, false));
    } else {
        TRY_STATUS(out.append(padding, false));
        TRY_STATUS(out.append(prefix, false));
    }
    TRY_STATUS(out.append(body));
    padding.clear();
    for (int64_t i = before; i < missing; ++i) padding += layout.fill;
    return out.append(padding, false);
}

Status append_number(const Value& value, const Layout& layout, TextBuilder& out) {
    std::string digits;
    bool negative = false;
    if (!number_digits(value, layout, digits, negative)) {
        return fail(ErrorKind::invalid_input,
                    fmt::format("the format '{}' does not apply to a value of type '{}'",
                                layout.type == '\0' ? 'd' : layout.type, value.type_name()));
    }
    const std::string prefix = negative             ? "-"
                               : layout.sign == '-' ? ""
                                                    : std::string(1, layout.sign);
    return append_padded(prefix, TrackedText::from_template(std::move(digits)), layout,
                         layout.align == '\0' ? '>' : layout.align, out);
}

Status append_string(const TrackedText& text, const Layout& layout, char default_align,
                     TextBuilder& out) {
    size_t end = text.size();
    if (layout.precision >= 0) {
        size_t at = 0;
        for (int64_t i = 0; i < layout.precision && at < text.size(); ++i) {
            at += character_size(text.bytes(), at);
        }
        end = at;
    }
    return append_padded("", text.slice(0, end), layout,
                         layout.align == '\0' ? default_align : layout.align, out);
}

// Reads what follows a '%' up to its type character. A %(name) goes to `key`.
Result<Layout> read_percent_layout(std::string_view pattern, size_t& at,
                                   std::optional<std::string>& key) {
    Layout layout;
    if (at < pattern.size() && pattern[at] == '(') {
        const size_t close = pattern.find(')', at);
        if (close == std::string_view::npos)
            return fail(ErrorKind::invalid_input, "'%(' without ')'");
        key = std::string(pattern.substr(at + 1, close - at - 1));
        at = close + 1;
    }
    for (; at < pattern.size() &&
           std::string_view("-+ 0#").find(pattern[at]) != std::string_view::npos;
         ++at) {
        if (pattern[at] == '-') layout.align = '<';
        if (pattern[at] == '0' && layout.align != '<') {
            layout.align = '=';
            layout.fill = "0";
        }
        if (pattern[at] == '+') layout.sign = '+';
        if (pattern[at] == ' ' && layout.sign != '+') layout.sign = ' ';
    }
    if (layout.align == '<') layout.fill = " ";
    layout.width = read_number(pattern, at);
    if (at < pattern.size() && pattern[at] == '.') {
        ++at;
        layout.precision = read_number(pattern, at);
    }
    TRY_STATUS(check_layout(layout));
    if (at == pattern.size()) return fail(ErrorKind::invalid_input, "a format ends after '%'");
    layout.type = pattern[at++];
    return layout;
}

Status append_percent_value(const Value& value, Layout layout, TextBuilder& out, Heap& heap) {
    if (layout.type == 's' || layout.type == 'r') {
        TextBuilder text(heap);
        if (layout.type == 'r') {
            TRY_STATUS(append_repr(value, text, heap));
        } else {
            TRY(const TrackedText shown, to_text(value, heap));
            TRY_STATUS(text.append(shown));
        }
        if (layout.align == '=') layout.align = '>';
        layout.fill = " ";
        return append_string(text.text(), layout, '>', out);
    }
    if (std::string_view("dixXofFeEgG").find(layout.type) == std::string_view::npos) {
        return fail(ErrorKind::unsupported,
                    fmt::format("unknown format character '{}'", layout.type));
    }
    if (layout.type == 'i') layout.type = 'd';
    double number = 0;
    if (layout.type == 'd' && std::holds_alternative<double>(value.data()) &&
        value.as_number(number) && std::fabs(number) < 0x1p63) {
        return append_number(Value::integer(static_cast<Int>(std::trunc(number))), layout, out);
    }
    return append_number(value, layout, out);
}

struct ReplacementField {
    std::string name = {};
    std::string spec = {};
    char conversion = '\0';
    size_t end = 0;  // after the closing brace
};

Result<ReplacementField> read_field(std::string_view pattern, size_t begin) {
    const size_t close = pattern.find('}', begin);
    if (close == std::string_view::npos)
        return fail(ErrorKind::invalid_input, "'{' without '}' in a format");
    std::string_view inside = pattern.substr(begin, close - begin);
    if (inside.find('{') != std::string_view::npos) {
        return fail(ErrorKind::unsupported, "nested fields in a format are not supported");
    }
    ReplacementField field{.end = close + 1};
    if (const size_t colon = inside.find(':'); colon != std::string_view::npos) {
        field.spec = std::string(inside.substr(colon + 1));
        inside = inside.substr(0, colon);
    }
    if (const size_t mark = inside.find('!'); mark != std::string_view::npos) {
        if (mark + 2 != inside.size())
            return fail(ErrorKind::invalid_input, "a conversion is !s or !r");
        field.conversion = inside[mark + 1];
        inside = inside.substr(0, mark);
    }
    field.name = std::string(inside);
    return field;
}

Result<Layout> read_brace_layout(std::string_view spec) {
    Layout layout;
    size_t at = 0;
    const auto is_align = [&](size_t i) {
        return i < spec.size() && std::string_view("<>^=").find(spec[i]) != std::string_view::npos;
    };
    if (!spec.empty() && is_align(character_size(spec, 0))) {
        const size_t size = character_size(spec, 0);
        layout.fill = std::string(spec.substr(0, size));
        layout.align = spec[size];
        at = size + 1;
    } else if (is_align(0)) {
        layout.align = spec[at++];
    }
    if (at < spec.size() && (spec[at] == '+' || spec[at] == '-' || spec[at] == ' '))
        layout.sign = spec[at++];
    if (at < spec.size() && spec[at] == '0') {
        ++at;
        if (layout.align == '\0') {
            layout.align = '=';
            layout.fill = "0";
        }
    }
    layout.width = read_number(spec, at);
    if (at < spec.size() && spec[at] == ',') {
        layout.groups_thousands = true;
        ++at;
    }
    if (at < spec.size() && spec[at] == '.') {
        ++at;
        layout.precision = read_number(spec, at);
    }
    TRY_STATUS(check_layout(layout));
    if (at < spec.size()) layout.type = spec[at++];
    if (at != spec.size() ||
        (layout.type != '\0' &&
         std::string_view("sdxXobfFeEgG%").find(layout.type) == std::string_view::npos)) {
        return fail(ErrorKind::unsupported, fmt::format("unknown format '{}'", spec));
    }
    return layout;
}

// The argument that a field names: "", "0", "name", with ".attribute" and "[key]" after it.
Result<Value> field_value(std::string_view name, const CallArguments& arguments,
                          size_t& next_automatic, Heap& heap) {
    size_t at = std::min(name.find_first_of(".["), name.size());
    const std::string head(name.substr(0, at));
    Value value;
    if (head.empty() || head.find_first_not_of("0123456789") == std::string::npos) {
        size_t digits = 0;
        const size_t index =
            head.empty() ? next_automatic++ : static_cast<size_t>(read_number(head, digits));
        if (index >= arguments.positional.size()) {
            return fail(ErrorKind::invalid_input,
                        fmt::format("a format names argument {}, which is not given", index));
        }
        value = arguments.positional[index];
    } else {
        const auto found = std::find_if(arguments.keyword.begin(), arguments.keyword.end(),
                                        [&](const auto& entry) { return entry.first == head; });
        if (found == arguments.keyword.end()) {
            return fail(ErrorKind::invalid_input,
                        fmt::format("a format names '{}', which is not given", head));
        }
        value = found->second;
    }
    while (at < name.size()) {
        const bool is_item = name[at] == '[';
        const size_t close =
            is_item ? name.find(']', at) : std::min(name.find_first_of(".[", at + 1), name.size());
        if (close == std::string_view::npos)
            return fail(ErrorKind::invalid_input, "'[' without ']' in a format");
        const std::string part(name.substr(at + 1, close - at - 1));
        if (is_item) {
            TRY(const Value key, heap.string(part, false));
            TRY(value, follow_path(value, key, heap));
        } else {
            TRY(value, get_attribute(value, part, heap));
        }
        at = is_item ? close + 1 : close;
    }
    return value;
}

Status append_field(const Value& value, const ReplacementField& field, TextBuilder& out,
                    Heap& heap) {
    TRY(const Layout layout, read_brace_layout(field.spec));
    double number = 0;
    const bool is_number = value.as_number(number) && !value.is_bool();
    if (field.conversion == '\0' && layout.type != 's' && (is_number || layout.type != '\0')) {
        return append_number(value, layout, out);
    }
    TextBuilder text(heap);
    if (field.conversion == 'r') {
        TRY_STATUS(append_repr(value, text, heap));
    } else {
        TRY(const TrackedText shown, to_text(value, heap));
        TRY_STATUS(text.append(shown));
    }
    return append_string(text.text(), layout, '<', out);
}

}  // namespace

Result<Value> percent_format(const TrackedText& pattern, const Value& values, Heap& heap) {
    const std::string& bytes = pattern.bytes();
    const ListBox* tuple = values.as_list();
    if (tuple != nullptr && tuple->shape != ListShape::tuple) tuple = nullptr;
    size_t next = 0;
    TextBuilder out(heap);
    for (size_t at = 0; at < bytes.size();) {
        const size_t mark = std::min(bytes.find('%', at), bytes.size());
        TRY_STATUS(out.append(pattern, at, mark));
        at = mark + 1;
        if (mark == bytes.size()) break;
        std::optional<std::string> key;
        TRY(const Layout layout, read_percent_layout(bytes, at, key));
        if (layout.type == '%') {
            TRY_STATUS(out.append("%", false));
            continue;
        }
        Value value = values;
        if (key) {
            const Value* found =
                values.as_dict() != nullptr ? values.as_dict()->find(*key) : nullptr;
            if (found == nullptr)
                return fail(ErrorKind::invalid_input, fmt::format("no value for '%({})'", *key));
            value = *found;
        } else if (tuple != nullptr) {
            if (next >= tuple->items.size())
                return fail(ErrorKind::invalid_input, "too few values for a format");
            value = tuple->items[next++];
        } else if (next++ > 0) {
            return fail(ErrorKind::invalid_input, "too few values for a format");
        }
        TRY_STATUS(append_percent_value(value, layout, out, heap));
    }
    const bool all_used =
        tuple != nullptr ? next == tuple->items.size() : next > 0 || values.as_dict() != nullptr;
    if (!all_used) return fail(ErrorKind::invalid_input, "not all values were used by a format");
    return out.finish();
}

Result<Value> brace_format(const TrackedText& pattern, const CallArguments& arguments, Heap& heap) {
    const std::string& bytes = pattern.bytes();
    TextBuilder out(heap);
    size_t next_automatic = 0;
    for (size_t at = 0; at < bytes.size();) {
        const size_t mark = std::min(bytes.find_first_of("{}", at), bytes.size());
        TRY_STATUS(out.append(pattern, at, mark));
        if (mark == bytes.size()) break;
        if (mark + 1 < bytes.size() && bytes[mark + 1] == bytes[mark]) {  // {{ or }}
            TRY_STATUS(out.append(pattern, mark, mark + 1));
            at = mark + 2;
            continue;
        }
        if (bytes[mark] == '}') return fail(ErrorKind::invalid_input, "a single '}' in a format");
        TRY(const ReplacementField field, read_field(bytes, mark + 1));
        TRY(const Value value, field_value(field.name, arguments, next_automatic, heap));
        TRY_STATUS(append_field(value, field, out, heap));
        at = field.end;
    }
    return out.finish();
}

}  // namespace colibri::jinja

// Filters that make text.
#include <fmt/format.h>

#include <array>

#include "text/jinja/builtins.h"
#include "text/jinja/characters.h"
#include "text/jinja/text_operations.h"

namespace colibri::jinja {
namespace {

Result<Value> filter_upper(BuiltinContext& context, const Value& input,
                           const CallArguments& arguments) {
    TRY_STATUS(bind_arguments("upper", arguments, {}));
    TRY(const TrackedText text, to_text(input, context.heap));
    return map_ranges(text, upper, context.heap);
}

Result<Value> filter_lower(BuiltinContext& context, const Value& input,
                           const CallArguments& arguments) {
    TRY_STATUS(bind_arguments("lower", arguments, {}));
    TRY(const TrackedText text, to_text(input, context.heap));
    return map_ranges(text, lower, context.heap);
}

Result<Value> filter_title(BuiltinContext& context, const Value& input,
                           const CallArguments& arguments) {
    TRY_STATUS(bind_arguments("title", arguments, {}));
    TRY(const TrackedText text, to_text(input, context.heap));
    TRY_STATUS(context.heap.spend_characters(text.size()));
    return context.heap.string(title_filter(text.bytes()), text.has_input());
}

Result<Value> filter_capitalize(BuiltinContext& context, const Value& input,
                                const CallArguments& arguments) {
    TRY_STATUS(bind_arguments("capitalize", arguments, {}));
    TRY(const TrackedText text, to_text(input, context.heap));
    TRY_STATUS(context.heap.spend_characters(text.size()));
    return context.heap.string(capitalize(text.bytes()), text.has_input());
}

Result<Value> filter_trim(BuiltinContext& context, const Value& input,
                          const CallArguments& arguments) {
    TRY(const auto bound, bind_arguments("trim", arguments, {"chars"}));
    TRY(const TrackedText text, to_text(input, context.heap));
    if (!bound[0] || bound[0]->is_none()) return strip(text, nullptr, true, true, context.heap);
    TRY(const TrackedText* characters, string_argument(*bound[0], "the characters to trim"));
    return strip(text, &characters->bytes(), true, true, context.heap);
}

Result<Value> filter_replace(BuiltinContext& context, const Value& input,
                             const CallArguments& arguments) {
    TRY(const auto bound, bind_arguments("replace", arguments, {"old", "new", "count"}));
    TRY(const TrackedText text, to_text(input, context.heap));
    TRY(const TrackedText from, to_text(bound.value_or(0, Value{}), context.heap));
    TRY(const TrackedText to, to_text(bound.value_or(1, Value{}), context.heap));
    int64_t limit = -1;
    if (bound[2] && !bound[2]->is_none()) {
        TRY(limit, small_integer(*bound[2], "the number of replacements"));
    }
    return replace(text, from.bytes(), to, limit, context.heap);
}

std::string escape_html(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '&': out += "&amp;"; break;
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '"': out += "&#34;"; break;
            case '\'': out += "&#39;"; break;
            default: out += c; break;
        }
    }
    return out;
}

Result<Value> filter_escape(BuiltinContext& context, const Value& input,
                            const CallArguments& arguments) {
    TRY_STATUS(bind_arguments("escape", arguments, {}));
    TRY(const TrackedText text, to_text(input, context.heap));
    return map_ranges(text, escape_html, context.heap);
}

// `string`, and `safe`, which means nothing where output is not escaped.
Result<Value> filter_string(BuiltinContext& context, const Value& input,
                            const CallArguments& arguments) {
    TRY_STATUS(bind_arguments("string", arguments, {}));
    if (input.is_string()) return input;
    TRY(TrackedText text, to_text(input, context.heap));
    return context.heap.string(std::move(text));
}

Result<Value> filter_indent(BuiltinContext& context, const Value& input,
                            const CallArguments& arguments) {
    TRY(const auto bound, bind_arguments("indent", arguments, {"width", "first", "blank"}));
    Heap& heap = context.heap;
    TRY(const TrackedText text, to_text(input, heap));
    TrackedText margin = TrackedText::from_template("    ");
    if (bound[0] && bound[0]->is_string()) {
        margin = *bound[0]->as_text();
    } else if (bound[0]) {
        TRY(const int64_t width, small_integer(*bound[0], "the width of an indent"));
        TRY_STATUS(heap.check_string_size(width < 0 ? 0 : static_cast<size_t>(width)));
        margin = TrackedText::from_template(
            std::string(width < 0 ? 0 : static_cast<size_t>(width), ' '));
    }
    const bool indents_first = bound[1] && bound[1]->truthy();
    const bool indents_blank = bound[2] && bound[2]->truthy();
    TextBuilder with_end(heap);
    TRY_STATUS(with_end.append(text));
    TRY_STATUS(with_end.append("\n", false));
    TRY(const Value lines, split_lines(with_end.text(), false, heap));
    TextBuilder out(heap);
    if (indents_first) TRY_STATUS(out.append(margin));
    const auto& items = lines.as_list()->items;
    for (size_t i = 0; i < items.size(); ++i) {
        const TrackedText& line = *items[i].as_text();
        if (i > 0) TRY_STATUS(out.append("\n", false));
        if (i > 0 && (indents_blank || !line.empty())) TRY_STATUS(out.append(margin));
        TRY_STATUS(out.append(line));
    }
    return out.finish();
}

Result<Value> filter_format(BuiltinContext& context, const Value& input,
                            const CallArguments& arguments) {
    TRY(const TrackedText pattern, to_text(input, context.heap));
    if (!arguments.keyword.empty()) {
        if (!arguments.positional.empty()) {
            return fail(ErrorKind::invalid_input,
                        "format takes positional or keyword arguments, not both");
        }
        CallArguments keywords{.positional = {}, .keyword = arguments.keyword};
        TRY(const Value mapping, call_dict(context, keywords));
        return percent_format(pattern, mapping, context.heap);
    }
    TRY(const Value values, context.heap.list(arguments.positional, ListShape::tuple));
    return percent_format(pattern, values, context.heap);
}

Result<Value> filter_wordcount(BuiltinContext& context, const Value& input,
                               const CallArguments& arguments) {
    TRY_STATUS(bind_arguments("wordcount", arguments, {}));
    TRY(const TrackedText text, to_text(input, context.heap));
    TRY_STATUS(context.heap.spend_characters(text.size()));
    Int words = 0;
    bool in_word = false;
    const std::string& bytes = text.bytes();
    for (size_t at = 0; at < bytes.size(); at += character_size(bytes, at)) {
        const char32_t c = character_at(bytes, at);
        const bool letter = c == '_' || (c >= '0' && c <= '9') || is_letter(c);
        if (letter && !in_word) ++words;
        in_word = letter;
    }
    return Value::integer(words);
}

constexpr std::array<NamedBuiltin<FilterFunction>, 13> kTextFilters = {{
    {"upper", filter_upper},
    {"lower", filter_lower},
    {"title", filter_title},
    {"capitalize", filter_capitalize},
    {"trim", filter_trim},
    {"replace", filter_replace},
    {"escape", filter_escape},
    {"e", filter_escape},
    {"safe", filter_string},
    {"string", filter_string},
    {"indent", filter_indent},
    {"format", filter_format},
    {"wordcount", filter_wordcount},
}};

}  // namespace

std::span<const NamedBuiltin<FilterFunction>> text_filters() {
    return kTextFilters;
}

}  // namespace colibri::jinja

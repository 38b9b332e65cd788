// Methods of strings, lists and dicts.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/jinja/builtins.h"
#include "text/jinja/characters.h"
#include "text/jinja/text_operations.h"
#include "text/jinja/text_search.h"

namespace colibri::jinja {
namespace {

using NamedMethod = std::pair<std::string_view, Method>;

constexpr std::array<NamedMethod, 26> kStringMethods = {{
    {"capitalize", Method::capitalize},
    {"count", Method::count},
    {"endswith", Method::endswith},
    {"find", Method::find},
    {"format", Method::format},
    {"index", Method::index},
    {"isalpha", Method::isalpha},
    {"isdigit", Method::isdigit},
    {"isspace", Method::isspace},
    {"join", Method::join},
    {"lower", Method::lower},
    {"lstrip", Method::lstrip},
    {"partition", Method::partition},
    {"removeprefix", Method::removeprefix},
    {"removesuffix", Method::removesuffix},
    {"replace", Method::replace},
    {"rfind", Method::rfind},
    {"rpartition", Method::rpartition},
    {"rsplit", Method::rsplit},
    {"rstrip", Method::rstrip},
    {"split", Method::split},
    {"splitlines", Method::splitlines},
    {"startswith", Method::startswith},
    {"strip", Method::strip},
    {"title", Method::title},
    {"upper", Method::upper},
}};
constexpr std::array<NamedMethod, 5> kDictMethods = {{{"copy", Method::copy},
                                                      {"get", Method::get},
                                                      {"items", Method::items},
                                                      {"keys", Method::keys},
                                                      {"values", Method::values}}};
constexpr std::array<NamedMethod, 3> kListMethods = {
    {{"copy", Method::copy}, {"count", Method::count}, {"index", Method::index}}};

template <size_t N>
bool find_in(const std::array<NamedMethod, N>& table, std::string_view name, Method& method) {
    for (const auto& [known, value] : table) {
        if (known == name) {
            method = value;
            return true;
        }
    }
    return false;
}

std::string_view name_of(Method method) {
    for (const auto& [name, value] : kStringMethods) {
        if (value == method) return name;
    }
    for (const auto& [name, value] : kDictMethods) {
        if (value == method) return name;
    }
    return "method";
}

struct StringCall {
    Heap& heap;
    const TrackedText& text;
    Method method;
    const CallArguments& arguments;

    [[nodiscard]] Result<BoundArguments> bind(std::initializer_list<std::string_view> names) const {
        return bind_arguments(name_of(method), arguments, names);
    }
};

Result<Value> call_strip(const StringCall& call) {
    TRY(const auto bound, call.bind({"chars"}));
    const bool left = call.method != Method::rstrip;
    const bool right = call.method != Method::lstrip;
    if (!bound[0] || bound[0]->is_none()) return strip(call.text, nullptr, left, right, call.heap);
    TRY(const TrackedText* characters, string_argument(*bound[0], "the characters to strip"));
    return strip(call.text, &characters->bytes(), left, right, call.heap);
}

Result<Value> call_split(const StringCall& call) {
    TRY(const auto bound, call.bind({"sep", "maxsplit"}));
    int64_t limit = -1;
    if (bound[1]) {
        TRY(limit, small_integer(*bound[1], "the number of splits"));
    }
    const bool from_right = call.method == Method::rsplit;
    if (!bound[0] || bound[0]->is_none()) {
        return split_at_spaces(call.text, limit, from_right, call.heap);
    }
    TRY(const TrackedText* separator, string_argument(*bound[0], "the separator"));
    return split_at(call.text, separator->bytes(), limit, from_right, call.heap);
}

Result<Value> call_affix_test(const StringCall& call) {
    TRY(const auto bound, call.bind({"affix"}));
    if (!bound[0]) return fail(ErrorKind::invalid_input, "startswith and endswith need a string");
    const auto matches = [&](const std::string& affix) {
        return call.method == Method::startswith ? call.text.bytes().starts_with(affix)
                                                 : call.text.bytes().ends_with(affix);
    };
    if (const ListBox* choices = bound[0]->as_list();
        choices != nullptr && choices->shape == ListShape::tuple) {
        for (const Value& choice : choices->items) {
            TRY(const TrackedText* affix, string_argument(choice, "an affix"));
            if (matches(affix->bytes())) return Value::boolean(true);
        }
        return Value::boolean(false);
    }
    TRY(const TrackedText* affix, string_argument(*bound[0], "the affix"));
    return Value::boolean(matches(affix->bytes()));
}

Result<Value> call_remove_affix(const StringCall& call) {
    TRY(const auto bound, call.bind({"affix"}));
    TRY(const TrackedText* affix, string_argument(bound.value_or(0, Value{}), "the affix"));
    const size_t size = call.text.size();
    if (call.method == Method::removeprefix) {
        const bool has = call.text.bytes().starts_with(affix->bytes());
        return call.heap.string(call.text.slice(has ? affix->size() : 0, size));
    }
    const bool has = call.text.bytes().ends_with(affix->bytes());
    return call.heap.string(call.text.slice(0, has ? size - affix->size() : size));
}

Result<Value> call_find(const StringCall& call) {
    TRY(const auto bound, call.bind({"sub"}));
    TRY(const TrackedText* needle, string_argument(bound.value_or(0, Value{}), "the text to find"));
    TRY_STATUS(call.heap.spend_bytes(call.text.size()));
    const std::string& bytes = call.text.bytes();
    if (call.method == Method::count) {
        return Value::integer(static_cast<Int>(count_occurrences(bytes, needle->bytes())));
    }
    const size_t at = call.method == Method::rfind
                          ? rfind_text(bytes, needle->bytes(), bytes.size())
                          : find_text(bytes, needle->bytes(), 0);
    if (at == std::string::npos) {
        if (call.method == Method::index)
            return fail(ErrorKind::invalid_input, "substring not found");
        return Value::integer(-1);
    }
    return Value::integer(static_cast<Int>(character_count(std::string_view(bytes).substr(0, at))));
}

Result<Value> call_partition(const StringCall& call) {
    TRY(const auto bound, call.bind({"sep"}));
    TRY(const TrackedText* separator, string_argument(bound.value_or(0, Value{}), "the separator"));
    if (separator->empty()) return fail(ErrorKind::invalid_input, "the separator is empty");
    TRY_STATUS(call.heap.spend_bytes(call.text.size()));
    const std::string& bytes = call.text.bytes();
    const bool from_right = call.method == Method::rpartition;
    const size_t at = from_right ? rfind_text(bytes, separator->bytes(), bytes.size())
                                 : find_text(bytes, separator->bytes(), 0);
    const size_t size = bytes.size();
    const bool found = at != std::string::npos;
    const size_t head = found ? at : from_right ? 0 : size;
    const size_t tail = found ? at + separator->size() : head;
    std::vector<Value> parts;
    for (const auto& [begin, end] : {std::pair{size_t{0}, head}, {head, tail}, {tail, size}}) {
        TRY(Value part, call.heap.string(call.text.slice(begin, end)));
        parts.push_back(std::move(part));
    }
    return call.heap.list(std::move(parts), ListShape::tuple);
}

Result<Value> call_replace(const StringCall& call) {
    TRY(const auto bound, call.bind({"old", "new", "count"}));
    TRY(const TrackedText* from,
        string_argument(bound.value_or(0, Value{}), "the text to replace"));
    TRY(const TrackedText* to, string_argument(bound.value_or(1, Value{}), "the replacement"));
    int64_t limit = -1;
    if (bound[2]) {
        TRY(limit, small_integer(*bound[2], "the number of replacements"));
    }
    return replace(call.text, from->bytes(), *to, limit, call.heap);
}

Result<Value> call_predicate(const StringCall& call) {
    TRY_STATUS(call.bind({}));
    const std::string& bytes = call.text.bytes();
    TRY_STATUS(call.heap.spend_characters(bytes.size()));
    for (size_t at = 0; at < bytes.size(); at += character_size(bytes, at)) {
        const char32_t c = character_at(bytes, at);
        const bool holds = call.method == Method::isdigit   ? c >= '0' && c <= '9'
                           : call.method == Method::isspace ? is_space(c)
                                                            : is_letter(c);
        if (!holds) return Value::boolean(false);
    }
    return Value::boolean(!bytes.empty());
}

Result<Value> call_case(const StringCall& call) {
    TRY_STATUS(call.bind({}));
    const std::string& bytes = call.text.bytes();
    const bool is_input = call.text.has_input();
    TRY_STATUS(call.heap.spend_characters(bytes.size()));
    if (call.method == Method::upper) return map_ranges(call.text, upper, call.heap);
    if (call.method == Method::lower) return map_ranges(call.text, lower, call.heap);
    if (call.method == Method::title) return call.heap.string(title_method(bytes), is_input);
    return call.heap.string(capitalize(bytes), is_input);
}

Result<Value> call_join(const StringCall& call) {
    TRY(const auto bound, call.bind({"iterable"}));
    TRY(const auto items, iterate(bound.value_or(0, Value{}), call.heap));
    TextBuilder out(call.heap);
    bool first = true;
    for (const Value& item : items->items) {
        if (!first) TRY_STATUS(out.append(call.text));
        first = false;
        TRY(const TrackedText* part, string_argument(item, "an item to join"));
        TRY_STATUS(out.append(*part));
    }
    return out.finish();
}

Result<Value> call_splitlines(const StringCall& call) {
    TRY(const auto bound, call.bind({"keepends"}));
    return split_lines(call.text, bound[0] && bound[0]->truthy(), call.heap);
}

Result<Value> call_string_method(const StringCall& call) {
    switch (call.method) {
        case Method::strip:
        case Method::lstrip:
        case Method::rstrip: return call_strip(call);
        case Method::split:
        case Method::rsplit: return call_split(call);
        case Method::startswith:
        case Method::endswith: return call_affix_test(call);
        case Method::removeprefix:
        case Method::removesuffix: return call_remove_affix(call);
        case Method::find:
        case Method::rfind:
        case Method::index:
        case Method::count: return call_find(call);
        case Method::partition:
        case Method::rpartition: return call_partition(call);
        case Method::replace: return call_replace(call);
        case Method::isalpha:
        case Method::isdigit:
        case Method::isspace: return call_predicate(call);
        case Method::upper:
        case Method::lower:
        case Method::title:
        case Method::capitalize: return call_case(call);
        case Method::join: return call_join(call);
        case Method::splitlines: return call_splitlines(call);
        case Method::format: return brace_format(call.text, call.arguments, call.heap);
        case Method::copy:
        case Method::get:
        case Method::items:
        case Method::keys:
        case Method::values: break;
    }
    return fail(ErrorKind::invalid_input, "strings have no such method");
}

Result<Value> call_dict_method(const DictBox& dict, const BoundMethod& bound,
                               const CallArguments& arguments, Heap& heap) {
    if (bound.method == Method::get) {
        TRY(const auto values, bind_arguments("get", arguments, {"key", "default"}));
        if (!values[0]) return fail(ErrorKind::invalid_input, "get needs a key");
        if (values[0]->is_string()) {
            TRY_STATUS(heap.spend_bytes(values[0]->as_text()->size()));
        }
        const Value* found = dict.find(*values[0]);
        if (found != nullptr) return *found;
        return values.value_or(1, Value::none());
    }
    TRY_STATUS(bind_arguments(name_of(bound.method), arguments, {}));
    if (bound.method == Method::copy) return bound.receiver;
    std::vector<Value> items;
    for (const auto& [key, value] : dict.entries) {
        if (bound.method == Method::keys) {
            items.push_back(key);
        } else if (bound.method == Method::values) {
            items.push_back(value);
        } else {
            TRY(Value pair, heap.list({key, value}, ListShape::tuple));
            items.push_back(std::move(pair));
        }
    }
    return heap.list(std::move(items), ListShape::view);
}

Result<Value> call_list_method(const ListBox& list, const BoundMethod& bound,
                               const CallArguments& arguments, Heap& heap) {
    if (bound.method == Method::copy) return bound.receiver;
    TRY(const auto values, bind_arguments(name_of(bound.method), arguments, {"value"}));
    if (!values[0]) return fail(ErrorKind::invalid_input, "count and index need a value");
    Int count = 0;
    for (size_t i = 0; i < list.items.size(); ++i) {
        TRY(const bool same, equal(list.items[i], *values[0], heap));
        if (same && bound.method == Method::index) return Value::integer(static_cast<Int>(i));
        count += same ? 1 : 0;
    }
    if (bound.method == Method::index)
        return fail(ErrorKind::invalid_input, "the value is not in the list");
    return Value::integer(count);
}

}  // namespace

bool find_method(const Value& receiver, std::string_view name, Method& method) {
    if (receiver.is_string()) return find_in(kStringMethods, name, method);
    if (receiver.as_dict() != nullptr) return find_in(kDictMethods, name, method);
    const ListBox* list = receiver.as_list();
    if (list == nullptr || list->shape == ListShape::iterator || list->shape == ListShape::view)
        return false;
    return find_in(kListMethods, name, method);
}

Result<Value> call_method(BuiltinContext& context, const BoundMethod& bound,
                          const CallArguments& arguments) {
    TRY_STATUS(context.heap.spend(1));
    if (const DictBox* dict = bound.receiver.as_dict()) {
        return call_dict_method(*dict, bound, arguments, context.heap);
    }
    if (const ListBox* list = bound.receiver.as_list()) {
        return call_list_method(*list, bound, arguments, context.heap);
    }
    const TrackedText* text = bound.receiver.as_text();
    if (text == nullptr) return fail(ErrorKind::invalid_input, "this value has no methods");
    return call_string_method(
        {.heap = context.heap, .text = *text, .method = bound.method, .arguments = arguments});
}

}  // namespace colibri::jinja

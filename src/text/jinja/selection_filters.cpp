// Filters that visit items one by one: map, select, reject and their attribute forms.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "text/jinja/attribute_path.h"
#include "text/jinja/builtins.h"

namespace colibri::jinja {
namespace {

// The arguments after the first `count` positional ones.
CallArguments rest_of(const CallArguments& arguments, size_t count) {
    const size_t skipped = std::min(count, arguments.positional.size());
    return {.positional = {arguments.positional.begin() + static_cast<std::ptrdiff_t>(skipped),
                           arguments.positional.end()},
            .keyword = arguments.keyword};
}

Result<Value> map_attribute(BuiltinContext& context, const ListBox& items,
                            const CallArguments& arguments) {
    TRY(const auto bound, bind_arguments("map", arguments, {"", "attribute", "default"}));
    std::vector<Value> result;
    for (const Value& item : items.items) {
        TRY(Value value, follow_path(item, *bound[1], context.heap));
        if (value.is_undefined() && bound[2]) value = *bound[2];
        result.push_back(std::move(value));
    }
    return context.heap.list(std::move(result), ListShape::iterator);
}

Result<Value> filter_map(BuiltinContext& context, const Value& input,
                         const CallArguments& arguments) {
    TRY(const auto items, iterate(input, context.heap));
    const auto names_attribute = [](const auto& entry) { return entry.first == "attribute"; };
    if (arguments.positional.empty() &&
        std::any_of(arguments.keyword.begin(), arguments.keyword.end(), names_attribute)) {
        return map_attribute(context, *items, arguments);
    }
    if (arguments.positional.empty()) {
        return fail(ErrorKind::invalid_input, "'map' needs a filter's name or attribute=...");
    }
    TRY(const TrackedText* name, string_argument(arguments.positional[0], "the filter of 'map'"));
    const FilterFunction filter = find_filter(name->bytes());
    if (filter == nullptr) {
        return fail(ErrorKind::unsupported, fmt::format("no filter named '{}'", name->bytes()));
    }
    const CallArguments rest = rest_of(arguments, 1);
    std::vector<Value> result;
    for (const Value& item : items->items) {
        TRY(Value value, filter(context, item, rest));
        result.push_back(std::move(value));
    }
    return context.heap.list(std::move(result), ListShape::iterator);
}

struct Selection {
    bool by_attribute;
    bool keeps_matches;
};

Result<Value> select(BuiltinContext& context, const Value& input, const CallArguments& arguments,
                     Selection selection) {
    TRY(const auto items, iterate(input, context.heap));
    const size_t test_at = selection.by_attribute ? 1 : 0;
    if (arguments.positional.size() < test_at) {
        return fail(ErrorKind::invalid_input, "an attribute to select by is missing");
    }
    TestFunction test = nullptr;
    if (arguments.positional.size() > test_at) {
        TRY(const TrackedText* name,
            string_argument(arguments.positional[test_at], "the name of a test"));
        test = find_test(name->bytes());
        if (test == nullptr) {
            return fail(ErrorKind::unsupported, fmt::format("no test named '{}'", name->bytes()));
        }
    }
    const CallArguments rest = rest_of(arguments, test_at + 1);
    std::vector<Value> result;
    for (const Value& item : items->items) {
        TRY_STATUS(context.heap.spend(1));
        Value tested = item;
        if (selection.by_attribute) {
            TRY(tested, follow_path(item, arguments.positional[0], context.heap));
        }
        bool matches = tested.truthy();
        if (test != nullptr) {
            TRY(matches, test(context, tested, rest));
        }
        if (matches == selection.keeps_matches) result.push_back(item);
    }
    return context.heap.list(std::move(result), ListShape::iterator);
}

Result<Value> filter_select(BuiltinContext& context, const Value& input,
                            const CallArguments& arguments) {
    return select(context, input, arguments, {.by_attribute = false, .keeps_matches = true});
}

Result<Value> filter_reject(BuiltinContext& context, const Value& input,
                            const CallArguments& arguments) {
    return select(context, input, arguments, {.by_attribute = false, .keeps_matches = false});
}

Result<Value> filter_selectattr(BuiltinContext& context, const Value& input,
                                const CallArguments& arguments) {
    return select(context, input, arguments, {.by_attribute = true, .keeps_matches = true});
}

Result<Value> filter_rejectattr(BuiltinContext& context, const Value& input,
                                const CallArguments& arguments) {
    return select(context, input, arguments, {.by_attribute = true, .keeps_matches = false});
}

constexpr std::array<NamedBuiltin<FilterFunction>, 5> kSelectionFilters = {{
    {"map", filter_map},
    {"select", filter_select},
    {"reject", filter_reject},
    {"selectattr", filter_selectattr},
    {"rejectattr", filter_rejectattr},
}};

}  // namespace

std::span<const NamedBuiltin<FilterFunction>> selection_filters() {
    return kSelectionFilters;
}

Result<Value> follow_path(const Value& item, const Value& path, Heap& heap) {
    const TrackedText* text = path.as_text();
    if (text == nullptr) return get_item(item, path, heap);
    Value value = item;
    const std::string& bytes = text->bytes();
    for (size_t begin = 0; begin <= bytes.size();) {
        const size_t end = std::min(bytes.find('.', begin), bytes.size());
        const std::string part = bytes.substr(begin, end - begin);
        const bool is_index = !part.empty() && part.size() < 10 &&
                              part.find_first_not_of("0123456789") == std::string::npos;
        TRY(const Value key,
            is_index ? Result<Value>(Value::integer(std::stoi(part))) : heap.string(part, false));
        TRY(value, get_item(value, key, heap));
        begin = end + 1;
    }
    return value;
}

}  // namespace colibri::jinja

// Filters over sequences as wholes: length, ends, order, totals.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "text/jinja/attribute_path.h"
#include "text/jinja/builtins.h"
#include "text/jinja/characters.h"
#include "text/jinja/text_operations.h"

namespace colibri::jinja {
namespace {

using Items = std::vector<Value>;

Result<Value> filter_length(BuiltinContext& context, const Value& input,
                            const CallArguments& arguments) {
    TRY_STATUS(bind_arguments("length", arguments, {}));
    if (const TrackedText* text = input.as_text()) {
        TRY_STATUS(context.heap.spend_characters(text->size()));
        return Value::integer(static_cast<Int>(character_count(text->bytes())));
    }
    if (const DictBox* dict = input.as_dict())
        return Value::integer(static_cast<Int>(dict->entries.size()));
    if (input.is_undefined()) return Value::integer(0);
    const ListBox* list = input.as_list();
    if (list == nullptr || list->shape == ListShape::iterator) {
        return fail(ErrorKind::invalid_input,
                    fmt::format("a value of type '{}' has no length", input.type_name()));
    }
    return Value::integer(static_cast<Int>(list->items.size()));
}

Result<Value> filter_first(BuiltinContext& context, const Value& input,
                           const CallArguments& arguments) {
    TRY_STATUS(bind_arguments("first", arguments, {}));
    TRY(const auto items, iterate(input, context.heap));
    if (items->items.empty()) return Value::undefined("an empty sequence has no first item");
    return items->items.front();
}

Result<Value> filter_last(BuiltinContext& context, const Value& input,
                          const CallArguments& arguments) {
    TRY_STATUS(bind_arguments("last", arguments, {}));
    TRY(const auto items, iterate(input, context.heap));
    if (items->items.empty()) return Value::undefined("an empty sequence has no last item");
    return items->items.back();
}

Result<Value> filter_list(BuiltinContext& context, const Value& input,
                          const CallArguments& arguments) {
    TRY_STATUS(bind_arguments("list", arguments, {}));
    TRY(const auto items, iterate(input, context.heap));
    return context.heap.list(items->items);
}

Result<Value> filter_reverse(BuiltinContext& context, const Value& input,
                             const CallArguments& arguments) {
    TRY_STATUS(bind_arguments("reverse", arguments, {}));
    if (input.is_string()) {
        return get_slice(input, Value{}, Value{}, Value::integer(-1), context.heap);
    }
    TRY(const auto items, iterate(input, context.heap));
    return context.heap.list(Items(items->items.rbegin(), items->items.rend()),
                             ListShape::iterator);
}

Result<Value> filter_join(BuiltinContext& context, const Value& input,
                          const CallArguments& arguments) {
    TRY(const auto bound, bind_arguments("join", arguments, {"d", "attribute"}));
    TRY(const auto items, iterate(input, context.heap));
    TRY(const TrackedText separator, to_text(bound.value_or(0, Value{}), context.heap));
    TextBuilder out(context.heap);
    bool first = true;
    for (const Value& item : items->items) {
        if (!first) TRY_STATUS(out.append(separator));
        first = false;
        Value part = item;
        if (bound[1] && !bound[1]->is_none()) {
            TRY(part, follow_path(item, *bound[1], context.heap));
        }
        TRY(const TrackedText text, to_text(part, context.heap));
        TRY_STATUS(out.append(text));
    }
    return out.finish();
}

// What items are ordered or told apart by: an attribute if one is named, with case folded unless it
// counts.
struct Key {
    const Value* attribute;
    bool case_sensitive;

    [[nodiscard]] Result<Value> of(const Value& item, Heap& heap) const {
        Value key = item;
        if (attribute != nullptr && !attribute->is_none()) {
            TRY(key, follow_path(item, *attribute, heap));
        }
        const TrackedText* text = key.as_text();
        if (case_sensitive || text == nullptr) return key;
        return heap.string(lower(text->bytes()), text->has_input());
    }
};

// Stable merge sort whose comparison may fail, which std::sort does not allow for.
Status merge_sort(std::vector<std::pair<Value, Value>>& rows, bool descending, Heap& heap) {
    std::vector<std::pair<Value, Value>> merged;
    for (size_t width = 1; width < rows.size(); width *= 2) {
        merged.clear();
        merged.reserve(rows.size());
        for (size_t begin = 0; begin < rows.size(); begin += 2 * width) {
            const size_t middle = std::min(begin + width, rows.size());
            const size_t end = std::min(begin + 2 * width, rows.size());
            size_t left = begin;
            size_t right = middle;
            while (left < middle && right < end) {
                const Value& a = descending ? rows[left].first : rows[right].first;
                const Value& b = descending ? rows[right].first : rows[left].first;
                TRY(const bool same, equal(a, b, heap));  // as Python compares lists of keys
                bool takes_right = false;
                if (!same) {
                    TRY(takes_right, less(a, b, heap));
                }
                merged.push_back(std::move(rows[takes_right ? right++ : left++]));
            }
            while (left < middle) merged.push_back(std::move(rows[left++]));
            while (right < end) merged.push_back(std::move(rows[right++]));
        }
        rows.swap(merged);
    }
    return {};
}

Result<Items> sorted(const Items& items, const Key& key, bool descending, Heap& heap) {
    std::vector<std::pair<Value, Value>> rows;
    for (const Value& item : items) {
        TRY(Value item_key, key.of(item, heap));
        rows.emplace_back(std::move(item_key), item);
    }
    TRY_STATUS(merge_sort(rows, descending, heap));
    Items result;
    for (auto& row : rows) result.push_back(std::move(row.second));
    return result;
}

bool flag(const Value* argument) {
    return argument != nullptr && argument->truthy();
}

Result<Value> filter_sort(BuiltinContext& context, const Value& input,
                          const CallArguments& arguments) {
    TRY(const auto bound,
        bind_arguments("sort", arguments, {"reverse", "case_sensitive", "attribute"}));
    TRY(const auto items, iterate(input, context.heap));
    const Key key{.attribute = bound[2], .case_sensitive = flag(bound[1])};
    TRY(Items result, sorted(items->items, key, flag(bound[0]), context.heap));
    return context.heap.list(std::move(result));
}

Result<Value> filter_unique(BuiltinContext& context, const Value& input,
                            const CallArguments& arguments) {
    TRY(const auto bound, bind_arguments("unique", arguments, {"case_sensitive", "attribute"}));
    TRY(const auto items, iterate(input, context.heap));
    const Key key{.attribute = bound[1], .case_sensitive = flag(bound[0])};
    Items seen;
    Items result;
    for (const Value& item : items->items) {
        TRY(Value item_key, key.of(item, context.heap));
        bool is_new = true;
        for (const Value& other : seen) {
            TRY(const bool same, equal(other, item_key, context.heap));
            if (same) {
                is_new = false;
                break;
            }
        }
        if (!is_new) continue;
        seen.push_back(std::move(item_key));
        result.push_back(item);
    }
    return context.heap.list(std::move(result), ListShape::iterator);
}

Result<Value> extreme(BuiltinContext& context, const Value& input, const CallArguments& arguments,
                      bool largest) {
    TRY(const auto bound,
        bind_arguments(largest ? "max" : "min", arguments, {"case_sensitive", "attribute"}));
    TRY(const auto items, iterate(input, context.heap));
    if (items->items.empty())
        return Value::undefined("an empty sequence has no smallest or largest item");
    const Key key{.attribute = bound[1], .case_sensitive = flag(bound[0])};
    Value best = items->items.front();
    TRY(Value best_key, key.of(best, context.heap));
    for (size_t i = 1; i < items->items.size(); ++i) {
        TRY(Value item_key, key.of(items->items[i], context.heap));
        TRY(const bool better, largest ? less(best_key, item_key, context.heap)
                                       : less(item_key, best_key, context.heap));
        if (!better) continue;
        best = items->items[i];
        best_key = std::move(item_key);
    }
    return best;
}

Result<Value> filter_min(BuiltinContext& context, const Value& input,
                         const CallArguments& arguments) {
    return extreme(context, input, arguments, false);
}

Result<Value> filter_max(BuiltinContext& context, const Value& input,
                         const CallArguments& arguments) {
    return extreme(context, input, arguments, true);
}

Result<Value> filter_sum(BuiltinContext& context, const Value& input,
                         const CallArguments& arguments) {
    TRY(const auto bound, bind_arguments("sum", arguments, {"attribute", "start"}));
    TRY(const auto items, iterate(input, context.heap));
    Value total = bound.value_or(1, Value::integer(0));
    for (const Value& item : items->items) {
        Value part = item;
        if (bound[0] && !bound[0]->is_none()) {
            TRY(part, follow_path(item, *bound[0], context.heap));
        }
        TRY(total, arithmetic("+", total, part, context.heap));
    }
    return total;
}

Result<Value> pairs_of(const DictBox& dict, ListShape shape, Heap& heap) {
    Items pairs;
    for (const auto& [key, value] : dict.entries) {
        TRY(Value pair, heap.list({key, value}, ListShape::tuple));
        pairs.push_back(std::move(pair));
    }
    return heap.list(std::move(pairs), shape);
}

Result<Value> filter_items(BuiltinContext& context, const Value& input,
                           const CallArguments& arguments) {
    TRY_STATUS(bind_arguments("items", arguments, {}));
    if (input.is_undefined()) return context.heap.list({}, ListShape::iterator);
    const DictBox* dict = input.as_dict();
    if (dict == nullptr) {
        return fail(ErrorKind::invalid_input,
                    fmt::format("'items' needs a mapping, not a '{}'", input.type_name()));
    }
    return pairs_of(*dict, ListShape::iterator, context.heap);
}

Result<Value> filter_dictsort(BuiltinContext& context, const Value& input,
                              const CallArguments& arguments) {
    TRY(const auto bound,
        bind_arguments("dictsort", arguments, {"case_sensitive", "by", "reverse"}));
    const DictBox* dict = input.as_dict();
    if (dict == nullptr) {
        return fail(ErrorKind::invalid_input,
                    fmt::format("'dictsort' needs a mapping, not a '{}'", input.type_name()));
    }
    size_t position = 0;
    if (bound[1]) {
        const TrackedText* by = bound[1]->as_text();
        if (by == nullptr || (by->bytes() != "key" && by->bytes() != "value")) {
            return fail(ErrorKind::invalid_input, "dictsort sorts by 'key' or 'value'");
        }
        position = by->bytes() == "value" ? 1 : 0;
    }
    TRY(const Value pairs, pairs_of(*dict, ListShape::list, context.heap));
    const Value part = Value::integer(static_cast<Int>(position));
    const Key key{.attribute = &part, .case_sensitive = flag(bound[0])};
    TRY(Items result, sorted(pairs.as_list()->items, key, flag(bound[2]), context.heap));
    return context.heap.list(std::move(result));
}

Result<Value> filter_batch(BuiltinContext& context, const Value& input,
                           const CallArguments& arguments) {
    TRY(const auto bound, bind_arguments("batch", arguments, {"linecount", "fill_with"}));
    TRY(const auto items, iterate(input, context.heap));
    TRY(const int64_t size, small_integer(bound.value_or(0, Value{}), "the size of a batch"));
    if (size < 1) return fail(ErrorKind::invalid_input, "the size of a batch must be at least 1");
    const auto step = static_cast<size_t>(size);
    Items batches;
    for (size_t begin = 0; begin < items->items.size(); begin += step) {
        const auto first = items->items.begin() + static_cast<std::ptrdiff_t>(begin);
        const size_t count = std::min(step, items->items.size() - begin);
        Items batch(first, first + static_cast<std::ptrdiff_t>(count));
        if (count < step && bound[1] && !bound[1]->is_none()) {
            TRY_STATUS(context.heap.check_string_size(step * sizeof(Value)));
            TRY_STATUS(context.heap.spend(step));
            batch.resize(step, *bound[1]);
        }
        TRY(Value list, context.heap.list(std::move(batch)));
        batches.push_back(std::move(list));
    }
    return context.heap.list(std::move(batches), ListShape::iterator);
}

// [(key, [items])], ordered by key.
Result<Value> filter_groupby(BuiltinContext& context, const Value& input,
                             const CallArguments& arguments) {
    TRY(const auto bound,
        bind_arguments("groupby", arguments, {"attribute", "default", "case_sensitive"}));
    TRY(const auto items, iterate(input, context.heap));
    const Key key{.attribute = bound[0], .case_sensitive = flag(bound[2])};
    std::vector<std::pair<Value, Value>> rows;
    for (const Value& item : items->items) {
        TRY(Value item_key, key.of(item, context.heap));
        if (item_key.is_undefined() && bound[1]) item_key = *bound[1];
        rows.emplace_back(std::move(item_key), item);
    }
    TRY_STATUS(merge_sort(rows, false, context.heap));
    Items groups;
    for (size_t begin = 0; begin < rows.size();) {
        Items members;
        size_t end = begin;
        for (; end < rows.size(); ++end) {
            TRY(const bool same, equal(rows[begin].first, rows[end].first, context.heap));
            if (!same) break;
            members.push_back(rows[end].second);
        }
        Value shown = rows[begin].first;
        if (shown.is_string() && bound[0] && !bound[0]->is_none()) {
            TRY(shown, follow_path(rows[begin].second, *bound[0], context.heap));
        }
        TRY(Value list, context.heap.list(std::move(members)));
        TRY(Value group, context.heap.list({shown, list}, ListShape::tuple));
        groups.push_back(std::move(group));
        begin = end;
    }
    return context.heap.list(std::move(groups));
}

constexpr std::array<NamedBuiltin<FilterFunction>, 16> kSequenceFilters = {{
    {"length", filter_length},
    {"count", filter_length},
    {"first", filter_first},
    {"last", filter_last},
    {"list", filter_list},
    {"reverse", filter_reverse},
    {"join", filter_join},
    {"sort", filter_sort},
    {"unique", filter_unique},
    {"min", filter_min},
    {"max", filter_max},
    {"sum", filter_sum},
    {"items", filter_items},
    {"dictsort", filter_dictsort},
    {"batch", filter_batch},
    {"groupby", filter_groupby},
}};

}  // namespace

std::span<const NamedBuiltin<FilterFunction>> sequence_filters() {
    return kSequenceFilters;
}

}  // namespace colibri::jinja

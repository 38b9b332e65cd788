// How filters, tests and functions take their arguments, the look-up of filters, and the global
// functions.
#include "text/jinja/builtins.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/jinja/format_time.h"

namespace colibri::jinja {

Result<BoundArguments> bind_arguments(std::string_view callee, const CallArguments& arguments,
                                      std::initializer_list<std::string_view> parameters) {
    BoundArguments bound(parameters.size());
    if (arguments.positional.size() > parameters.size()) {
        return fail(ErrorKind::invalid_input,
                    fmt::format("'{}' takes at most {} arguments, found {}", callee,
                                parameters.size(), arguments.positional.size()));
    }
    for (size_t i = 0; i < arguments.positional.size(); ++i) bound.set(i, arguments.positional[i]);
    for (const auto& [name, value] : arguments.keyword) {
        const auto* const found = std::find(parameters.begin(), parameters.end(), name);
        if (found == parameters.end()) {
            return fail(ErrorKind::invalid_input,
                        fmt::format("'{}' has no parameter '{}'", callee, name));
        }
        const auto parameter = static_cast<size_t>(found - parameters.begin());
        if (bound[parameter] != nullptr) {
            return fail(ErrorKind::invalid_input,
                        fmt::format("'{}' got two values for '{}'", callee, name));
        }
        bound.set(parameter, value);
    }
    return bound;
}

FilterFunction find_filter(std::string_view name) {
    for (const auto table :
         {text_filters(), sequence_filters(), selection_filters(), value_filters()}) {
        for (const auto& filter : table) {
            if (filter.name == name) return filter.call;
        }
    }
    return nullptr;
}

Result<Value> call_range(BuiltinContext& context, const CallArguments& arguments) {
    TRY(const auto bound, bind_arguments("range", arguments, {"start", "stop", "step"}));
    if (!bound[0]) return fail(ErrorKind::invalid_input, "range needs an end");
    int64_t start = 0;
    int64_t step = 1;
    TRY(int64_t stop, small_integer(*bound[0], "the end of a range"));
    if (bound[1]) {
        start = stop;
        TRY(stop, small_integer(*bound[1], "the end of a range"));
    }
    if (bound[2]) {
        TRY(step, small_integer(*bound[2], "the step of a range"));
    }
    if (step == 0) return fail(ErrorKind::invalid_input, "the step of a range is zero");
    const int64_t distance = step > 0 ? stop - start : start - stop;
    const int64_t stride = step > 0 ? step : -step;
    const int64_t count = distance <= 0 ? 0 : (distance + stride - 1) / stride;
    if (count > static_cast<int64_t>(kRangeItemsMax)) {
        return fail(ErrorKind::out_of_budget,
                    fmt::format("a range of {} items; the limit is {}", count, kRangeItemsMax));
    }
    std::vector<Value> items;
    items.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) items.push_back(Value::integer(start + i * step));
    return context.heap.list(std::move(items));
}

Result<Value> call_dict(BuiltinContext& context, const CallArguments& arguments) {
    if (arguments.positional.size() > 1) {
        return fail(ErrorKind::invalid_input, "dict takes at most one positional argument");
    }
    std::vector<DictEntry> entries;
    if (!arguments.positional.empty()) {
        const Value& source = arguments.positional[0];
        if (const DictBox* dict = source.as_dict()) {
            entries = dict->entries;
        } else {
            TRY(const auto pairs, iterate(source, context.heap));
            for (const Value& pair : pairs->items) {
                TRY(const auto parts, iterate(pair, context.heap));
                if (parts->items.size() != 2) {
                    return fail(ErrorKind::invalid_input, "dict needs pairs of key and value");
                }
                entries.emplace_back(parts->items[0], parts->items[1]);
            }
        }
    }
    for (const auto& [name, value] : arguments.keyword) {
        TRY(Value key, context.heap.string(name, false));
        entries.emplace_back(std::move(key), value);
    }
    return context.heap.dict(std::move(entries));
}

Result<Value> call_raise_exception(BuiltinContext& context, const CallArguments& arguments) {
    TRY(const auto bound, bind_arguments("raise_exception", arguments, {"message"}));
    TRY(const TrackedText message, to_text(bound.value_or(0, Value{}), context.heap));
    return fail(ErrorKind::invalid_input,
                fmt::format("the chat template refuses this conversation: {}", message.bytes()));
}

Result<Value> call_strftime_now(BuiltinContext& context, const CallArguments& arguments) {
    TRY(const auto bound, bind_arguments("strftime_now", arguments, {"format"}));
    TRY(const TrackedText* format,
        string_argument(bound.value_or(0, Value{}), "the format of a date"));
    return context.heap.string(format_time(format->bytes(), context.now), format->has_input());
}

}  // namespace colibri::jinja

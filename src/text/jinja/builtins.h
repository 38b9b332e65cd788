// Filters, tests, functions and methods of the template language: the tables and how they are
// called.
#pragma once

#include <ctime>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "text/jinja/value.h"

namespace colibri::jinja {

struct CallArguments {
    std::vector<Value> positional;
    std::vector<std::pair<std::string, Value>> keyword;
};

// Arguments bound to parameters in their order.
class BoundArguments {
public:
    explicit BoundArguments(size_t parameters) : values_(parameters), given_(parameters, false) {}
    // Null if the argument was not given.
    [[nodiscard]] const Value* operator[](size_t parameter) const {
        return given_[parameter] ? &values_[parameter] : nullptr;
    }
    [[nodiscard]] Value value_or(size_t parameter, Value fallback) const {
        if (given_[parameter]) return values_[parameter];
        return fallback;
    }
    void set(size_t parameter, Value value) {
        values_[parameter] = std::move(value);
        given_[parameter] = true;
    }

private:
    std::vector<Value> values_;
    std::vector<bool> given_;
};

// `callee` is for messages. Fails on unknown names, repeated and surplus arguments.
[[nodiscard]] Result<BoundArguments> bind_arguments(
    std::string_view callee, const CallArguments& arguments,
    std::initializer_list<std::string_view> parameters);

struct BuiltinContext {
    Heap& heap;
    const std::tm& now;  // local time of strftime_now
};

using FilterFunction = Result<Value> (*)(BuiltinContext&, const Value& input, const CallArguments&);
using TestFunction = Result<bool> (*)(BuiltinContext&, const Value& input, const CallArguments&);

template <class Signature>
struct NamedBuiltin {
    std::string_view name;
    Signature call;
};

// Null if there is no such filter or test.
[[nodiscard]] FilterFunction find_filter(std::string_view name);
[[nodiscard]] TestFunction find_test(std::string_view name);

// The parts of the filter table, by what they work on.
[[nodiscard]] std::span<const NamedBuiltin<FilterFunction>> text_filters();
[[nodiscard]] std::span<const NamedBuiltin<FilterFunction>> sequence_filters();
[[nodiscard]] std::span<const NamedBuiltin<FilterFunction>> selection_filters();
[[nodiscard]] std::span<const NamedBuiltin<FilterFunction>> value_filters();

// The method of that name of this value's type; false if it has none.
[[nodiscard]] bool find_method(const Value& receiver, std::string_view name, Method& method);
[[nodiscard]] Result<Value> call_method(BuiltinContext& context, const BoundMethod& bound,
                                        const CallArguments& arguments);

// range, dict, raise_exception and strftime_now; make_namespace and loop_cycle belong to the
// evaluator.
[[nodiscard]] Result<Value> call_range(BuiltinContext& context, const CallArguments& arguments);
[[nodiscard]] Result<Value> call_dict(BuiltinContext& context, const CallArguments& arguments);
[[nodiscard]] Result<Value> call_raise_exception(BuiltinContext& context,
                                                 const CallArguments& arguments);
[[nodiscard]] Result<Value> call_strftime_now(BuiltinContext& context,
                                              const CallArguments& arguments);

// Attribute and item access as Jinja resolves them: `object.name` tries methods first,
// `object[key]` keys first. A missing one is undefined; access on an undefined object fails.
[[nodiscard]] Result<Value> get_attribute(const Value& object, std::string_view name, Heap& heap);
[[nodiscard]] Result<Value> get_item(const Value& object, const Value& key, Heap& heap);
// object[start:stop:step]; none or undefined stands for an absent bound.
[[nodiscard]] Result<Value> get_slice(const Value& object, const Value& start, const Value& stop,
                                      const Value& step, Heap& heap);

// Arithmetic with Python's rules; `op` is its spelling.
[[nodiscard]] Result<Value> arithmetic(std::string_view op, const Value& left, const Value& right,
                                       Heap& heap);

struct JsonStyle {
    bool ensure_ascii = false;
    bool sort_keys = false;
    std::optional<std::string> indent = {};  // one level of it
    std::optional<std::string> item_separator = {};
    std::optional<std::string> key_separator = {};
};
// Python's json.dumps as the chat-template environment of Hugging Face calls it: nothing is escaped
// for HTML.
[[nodiscard]] Result<Value> to_json(const Value& value, const JsonStyle& style, Heap& heap);

// `pattern % values`, and pattern.format(...).
[[nodiscard]] Result<Value> percent_format(const TrackedText& pattern, const Value& values,
                                           Heap& heap);
[[nodiscard]] Result<Value> brace_format(const TrackedText& pattern, const CallArguments& arguments,
                                         Heap& heap);

// A count, index or width: an integer within +-2^31 (larger ones are refused by name).
[[nodiscard]] Result<int64_t> small_integer(const Value& value, std::string_view what);
[[nodiscard]] Result<const TrackedText*> string_argument(const Value& value, std::string_view what);

}  // namespace colibri::jinja

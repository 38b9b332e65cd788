// Tests: what stands after `is`.
#include <fmt/format.h>

#include <array>

#include "text/jinja/builtins.h"
#include "text/jinja/characters.h"

namespace colibri::jinja {
namespace {

using Context = BuiltinContext;

Status no_arguments(const CallArguments& arguments) {
    if (arguments.positional.empty() && arguments.keyword.empty()) return {};
    return fail(ErrorKind::invalid_input, "this test takes no argument");
}

Result<Value> one_argument(const CallArguments& arguments) {
    if (arguments.positional.size() != 1 || !arguments.keyword.empty()) {
        return fail(ErrorKind::invalid_input, "this test takes one argument");
    }
    return arguments.positional[0];
}

// A test that only looks at the value.
template <bool (*Predicate)(const Value&)>
Result<bool> simple(Context&, const Value& input, const CallArguments& arguments) {
    TRY_STATUS(no_arguments(arguments));
    return Predicate(input);
}

bool is_defined(const Value& value) {
    return !value.is_undefined();
}
bool is_undefined(const Value& value) {
    return value.is_undefined();
}
bool is_none(const Value& value) {
    return value.is_none();
}
bool is_boolean(const Value& value) {
    return value.is_bool();
}
bool is_true(const Value& value) {
    return value.is_bool() && value.truthy();
}
bool is_false(const Value& value) {
    return value.is_bool() && !value.truthy();
}
bool is_integer(const Value& value) {
    return std::holds_alternative<Int>(value.data());
}
bool is_float(const Value& value) {
    return std::holds_alternative<double>(value.data());
}
bool is_number(const Value& value) {
    double number = 0;
    return value.as_number(number);
}
bool is_string(const Value& value) {
    return value.is_string();
}
bool is_mapping(const Value& value) {
    return value.as_dict() != nullptr;
}
bool is_iterable(const Value& value) {
    return value.is_undefined() || value.is_string() || value.as_list() != nullptr ||
           value.as_dict() != nullptr ||
           std::holds_alternative<std::shared_ptr<LoopState>>(value.data());
}
bool is_sequence(const Value& value) {
    const ListBox* list = value.as_list();
    if (list != nullptr) return list->shape == ListShape::list || list->shape == ListShape::tuple;
    return value.is_undefined() || value.is_string() || value.as_dict() != nullptr;
}
bool is_callable(const Value& value) {
    return value.is_callable();
}
bool is_escaped(const Value&) {
    return false;
}

Result<bool> test_case(Context& context, const Value& input, bool upper) {
    TRY(const TrackedText text, to_text(input, context.heap));
    const std::string& bytes = text.bytes();
    bool has_letter = false;
    for (size_t at = 0; at < bytes.size(); at += character_size(bytes, at)) {
        const char32_t c = character_at(bytes, at);
        if (!is_letter(c)) continue;
        if ((upper ? to_upper(c) : to_lower(c)) != c) return false;
        has_letter = true;
    }
    return has_letter;
}

Result<bool> test_lower(Context& context, const Value& input, const CallArguments& arguments) {
    TRY_STATUS(no_arguments(arguments));
    return test_case(context, input, false);
}

Result<bool> test_upper(Context& context, const Value& input, const CallArguments& arguments) {
    TRY_STATUS(no_arguments(arguments));
    return test_case(context, input, true);
}

Result<bool> is_multiple(Context& context, const Value& input, const Value& of, Int remainder) {
    TRY(const Value rest, arithmetic("%", input, of, context.heap));
    return equal(rest, Value::integer(remainder), context.heap);
}

Result<bool> test_odd(Context& context, const Value& input, const CallArguments& arguments) {
    TRY_STATUS(no_arguments(arguments));
    return is_multiple(context, input, Value::integer(2), 1);
}

Result<bool> test_even(Context& context, const Value& input, const CallArguments& arguments) {
    TRY_STATUS(no_arguments(arguments));
    return is_multiple(context, input, Value::integer(2), 0);
}

Result<bool> test_divisibleby(Context& context, const Value& input,
                              const CallArguments& arguments) {
    TRY(const Value divisor, one_argument(arguments));
    return is_multiple(context, input, divisor, 0);
}

Result<bool> test_eq(Context& context, const Value& input, const CallArguments& arguments) {
    TRY(const Value other, one_argument(arguments));
    return equal(input, other, context.heap);
}

Result<bool> test_ne(Context& context, const Value& input, const CallArguments& arguments) {
    TRY(const Value other, one_argument(arguments));
    TRY(const bool same, equal(input, other, context.heap));
    return !same;
}

Result<bool> test_lt(Context& context, const Value& input, const CallArguments& arguments) {
    TRY(const Value other, one_argument(arguments));
    return less(input, other, context.heap);
}

Result<bool> test_gt(Context& context, const Value& input, const CallArguments& arguments) {
    TRY(const Value other, one_argument(arguments));
    return less(other, input, context.heap);
}

Result<bool> test_le(Context& context, const Value& input, const CallArguments& arguments) {
    TRY(const Value other, one_argument(arguments));
    TRY(const bool is_less, less(input, other, context.heap));
    if (is_less) return true;
    return equal(input, other, context.heap);
}

Result<bool> test_ge(Context& context, const Value& input, const CallArguments& arguments) {
    TRY(const Value other, one_argument(arguments));
    TRY(const bool is_greater, less(other, input, context.heap));
    if (is_greater) return true;
    return equal(input, other, context.heap);
}

Result<bool> test_in(Context& context, const Value& input, const CallArguments& arguments) {
    TRY(const Value container, one_argument(arguments));
    return contains(container, input, context.heap);
}

// Python's `is`: the same object, or equal values of a type that has one object per value.
Result<bool> test_sameas(Context& context, const Value& input, const CallArguments& arguments) {
    TRY(const Value other, one_argument(arguments));
    if (input.data().index() != other.data().index()) return false;
    if (input.as_list() != nullptr) return input.as_list() == other.as_list();
    if (input.as_dict() != nullptr) return input.as_dict() == other.as_dict();
    return equal(input, other, context.heap);
}

Result<bool> names_builtin(const Value& input, bool is_filter) {
    TRY(const TrackedText* name, string_argument(input, "the name"));
    return is_filter ? find_filter(name->bytes()) != nullptr : find_test(name->bytes()) != nullptr;
}

Result<bool> test_filter(Context&, const Value& input, const CallArguments& arguments) {
    TRY_STATUS(no_arguments(arguments));
    return names_builtin(input, true);
}

Result<bool> test_test(Context&, const Value& input, const CallArguments& arguments) {
    TRY_STATUS(no_arguments(arguments));
    return names_builtin(input, false);
}

constexpr std::array<NamedBuiltin<TestFunction>, 39> kTests = {{
    {"defined", simple<is_defined>},
    {"undefined", simple<is_undefined>},
    {"none", simple<is_none>},
    {"boolean", simple<is_boolean>},
    {"true", simple<is_true>},
    {"false", simple<is_false>},
    {"integer", simple<is_integer>},
    {"float", simple<is_float>},
    {"number", simple<is_number>},
    {"string", simple<is_string>},
    {"mapping", simple<is_mapping>},
    {"iterable", simple<is_iterable>},
    {"sequence", simple<is_sequence>},
    {"callable", simple<is_callable>},
    {"escaped", simple<is_escaped>},
    {"lower", test_lower},
    {"upper", test_upper},
    {"odd", test_odd},
    {"even", test_even},
    {"divisibleby", test_divisibleby},
    {"eq", test_eq},
    {"equalto", test_eq},
    {"==", test_eq},
    {"ne", test_ne},
    {"!=", test_ne},
    {"lt", test_lt},
    {"lessthan", test_lt},
    {"<", test_lt},
    {"gt", test_gt},
    {"greaterthan", test_gt},
    {">", test_gt},
    {"le", test_le},
    {"<=", test_le},
    {"ge", test_ge},
    {">=", test_ge},
    {"in", test_in},
    {"sameas", test_sameas},
    {"filter", test_filter},
    {"test", test_test},
}};

}  // namespace

TestFunction find_test(std::string_view name) {
    for (const auto& test : kTests) {
        if (test.name == name) return test.call;
    }
    return nullptr;
}

}  // namespace colibri::jinja

// Filters on single values: conversion, rounding, defaults, JSON.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "text/jinja/builtins.h"
#include "text/jinja/characters.h"
#include "text/jinja/text_operations.h"

namespace colibri::jinja {
namespace {

// Python's reading of a number: blanks around it and single underscores between digits are allowed.
bool clean_number(std::string_view text, std::string& digits) {
    size_t begin = 0;
    size_t end = text.size();
    while (begin < end && is_space(static_cast<unsigned char>(text[begin]))) ++begin;
    while (end > begin && is_space(static_cast<unsigned char>(text[end - 1]))) --end;
    const auto alphanumeric = [&](size_t i) {
        return (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'z') ||
               (text[i] >= 'A' && text[i] <= 'Z');
    };
    for (size_t i = begin; i < end; ++i) {
        if (text[i] != '_') {
            digits += text[i];
        } else if (i == begin || i + 1 == end || !alphanumeric(i - 1) || !alphanumeric(i + 1)) {
            return false;
        }
    }
    return !digits.empty();
}

bool parse_integer(std::string_view text, int base, Int& value) {
    std::string digits;
    if (!clean_number(text, digits)) return false;
    const bool negative = digits[0] == '-';
    size_t at = negative || digits[0] == '+' ? 1 : 0;
    const char mark = base == 16 ? 'x' : base == 8 ? 'o' : base == 2 ? 'b' : '\0';
    if (mark != '\0' && at + 1 < digits.size() && digits[at] == '0' &&
        (digits[at + 1] | 0x20) == mark) {
        at += 2;
    }
    if (at == digits.size()) return false;
    value = 0;
    for (; at < digits.size(); ++at) {
        const char c = digits[at];
        const int digit = c >= '0' && c <= '9'                     ? c - '0'
                          : (c | 0x20) >= 'a' && (c | 0x20) <= 'z' ? (c | 0x20) - 'a' + 10
                                                                   : 99;
        if (digit >= base) return false;
        value = value * base + digit;
        if (!fits(value)) return false;
    }
    if (negative) value = -value;
    return fits(value);
}

bool parse_float(std::string_view text, double& value) {
    std::string digits;
    if (!clean_number(text, digits)) return false;
    if (digits.find_first_of("xXpP(") != std::string::npos)
        return false;  // forms that strtod alone knows
    char* end = nullptr;
    value = std::strtod(digits.c_str(), &end);
    return end == digits.c_str() + digits.size();
}

Result<Value> filter_int(BuiltinContext&, const Value& input, const CallArguments& arguments) {
    TRY(const auto bound, bind_arguments("int", arguments, {"default", "base"}));
    Value fallback = bound.value_or(0, Value::integer(0));
    int64_t base = 10;
    if (bound[1]) {
        TRY(base, small_integer(*bound[1], "the base of a number"));
        if (base < 2 || base > 36) return fail(ErrorKind::invalid_input, "a base must be 2 to 36");
    }
    Int integer = 0;
    double number = 0;
    if (input.as_integer(integer)) return Value::integer(integer);
    if (const TrackedText* text = input.as_text()) {
        if (parse_integer(text->bytes(), static_cast<int>(base), integer))
            return Value::integer(integer);
        if (!parse_float(text->bytes(), number)) return fallback;
    } else if (!input.as_number(number)) {
        if (input.is_undefined()) return undefined_error(input, "convert");
        return fallback;
    }
    if (!(std::fabs(number) < 0x1p63)) return fallback;
    return Value::integer(static_cast<Int>(std::trunc(number)));
}

Result<Value> filter_float(BuiltinContext&, const Value& input, const CallArguments& arguments) {
    TRY(const auto bound, bind_arguments("float", arguments, {"default"}));
    double number = 0;
    if (input.as_number(number)) return Value::floating(number);
    if (input.is_undefined()) return undefined_error(input, "convert");
    const TrackedText* text = input.as_text();
    if (text != nullptr && parse_float(text->bytes(), number)) return Value::floating(number);
    return bound.value_or(0, Value::floating(0));
}

Result<Value> filter_abs(BuiltinContext& context, const Value& input,
                         const CallArguments& arguments) {
    TRY_STATUS(bind_arguments("abs", arguments, {}));
    Int integer = 0;
    double number = 0;
    if (input.as_integer(integer)) {
        return integer < 0 ? arithmetic("-", Value::integer(0), input, context.heap)
                           : Result<Value>(Value::integer(integer));
    }
    if (input.as_number(number)) return Value::floating(std::fabs(number));
    return fail(ErrorKind::invalid_input,
                fmt::format("'abs' needs a number, not a '{}'", input.type_name()));
}

Result<Value> filter_round(BuiltinContext&, const Value& input, const CallArguments& arguments) {
    TRY(const auto bound, bind_arguments("round", arguments, {"precision", "method"}));
    int64_t precision = 0;
    if (bound[0]) {
        TRY(precision, small_integer(*bound[0], "the precision"));
    }
    std::string method = "common";
    if (bound[1]) {
        TRY(const TrackedText* name, string_argument(*bound[1], "the method of 'round'"));
        method = name->bytes();
    }
    Int integer = 0;
    double number = 0;
    if (!input.as_number(number)) {
        return fail(ErrorKind::invalid_input,
                    fmt::format("'round' needs a number, not a '{}'", input.type_name()));
    }
    if (method != "common" && method != "ceil" && method != "floor") {
        return fail(ErrorKind::invalid_input,
                    "the method of 'round' must be common, ceil or floor");
    }
    if (!std::isfinite(number)) return Value::floating(number);
    if (method != "common") {
        const double scale = std::pow(10.0, static_cast<double>(precision));
        const double scaled = number * scale;
        return Value::floating((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
    }
    if (input.as_integer(integer) && precision >= 0) return Value::integer(integer);
    if (precision > 300) return Value::floating(number);  // finer than any double
    if (precision >= 0) {
        // Decimal digits of the exact value, rounded half to even: what Python's round does.
        const std::string digits = fmt::format("{:.{}f}", number, static_cast<int>(precision));
        return Value::floating(std::strtod(digits.c_str(), nullptr));
    }
    const double scale = std::pow(10.0, static_cast<double>(-precision));
    return Value::floating(std::isinf(scale) ? 0.0 : std::nearbyint(number / scale) * scale);
}

Result<Value> filter_default(BuiltinContext& context, const Value& input,
                             const CallArguments& arguments) {
    TRY(const auto bound, bind_arguments("default", arguments, {"default_value", "boolean"}));
    const bool replaces_falsy = bound[1] && bound[1]->truthy();
    if (!input.is_undefined() && !(replaces_falsy && !input.truthy())) return input;
    if (bound[0]) return *bound[0];
    return context.heap.string(std::string(), false);
}

Result<Value> filter_attr(BuiltinContext& context, const Value& input,
                          const CallArguments& arguments) {
    TRY(const auto bound, bind_arguments("attr", arguments, {"name"}));
    TRY(const TrackedText* name,
        string_argument(bound.value_or(0, Value{}), "the name of an attribute"));
    if (input.as_dict() != nullptr) {  // unlike `.`, never falls back to keys
        Method method{};
        if (find_method(input, name->bytes(), method)) return context.heap.method(method, input);
        return Value::undefined(fmt::format("'dict' object has no attribute '{}'", name->bytes()));
    }
    return get_attribute(input, name->bytes(), context.heap);
}

Status read_separators(const Value& value, JsonStyle& style, Heap& heap) {
    TRY(const auto parts, iterate(value, heap));
    if (parts->items.size() != 2) {
        return fail(ErrorKind::invalid_input,
                    "separators must be a pair: between items, after keys");
    }
    TRY(const TrackedText* item, string_argument(parts->items[0], "a separator"));
    TRY(const TrackedText* key, string_argument(parts->items[1], "a separator"));
    style.item_separator = item->bytes();
    style.key_separator = key->bytes();
    return {};
}

Result<Value> filter_tojson(BuiltinContext& context, const Value& input,
                            const CallArguments& arguments) {
    TRY(const auto bound,
        bind_arguments("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"}));
    JsonStyle style{.ensure_ascii = bound[0] && bound[0]->truthy(),
                    .sort_keys = bound[3] && bound[3]->truthy()};
    if (bound[1] && !bound[1]->is_none()) {
        if (const TrackedText* text = bound[1]->as_text()) {
            style.indent = text->bytes();
        } else {
            TRY(const int64_t width, small_integer(*bound[1], "the indent of 'tojson'"));
            TRY_STATUS(context.heap.check_string_size(width > 0 ? static_cast<size_t>(width) : 0));
            style.indent = std::string(width > 0 ? static_cast<size_t>(width) : 0, ' ');
        }
    }
    if (bound[2] && !bound[2]->is_none()) {
        TRY_STATUS(read_separators(*bound[2], style, context.heap));
    }
    return to_json(input, style, context.heap);
}

constexpr std::array<NamedBuiltin<FilterFunction>, 8> kValueFilters = {{
    {"int", filter_int},
    {"float", filter_float},
    {"abs", filter_abs},
    {"round", filter_round},
    {"default", filter_default},
    {"d", filter_default},
    {"attr", filter_attr},
    {"tojson", filter_tojson},
}};

}  // namespace

std::span<const NamedBuiltin<FilterFunction>> value_filters() {
    return kValueFilters;
}

}  // namespace colibri::jinja

// Attributes, items, slices and arithmetic.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "text/jinja/builtins.h"
#include "text/jinja/characters.h"

namespace colibri::jinja {
namespace {

tl::unexpected<Error> no_operation(std::string_view op, const Value& left, const Value& right) {
    if (left.is_undefined()) return undefined_error(left, fmt::format("apply '{}' to", op));
    if (right.is_undefined()) return undefined_error(right, fmt::format("apply '{}' to", op));
    return fail(ErrorKind::invalid_input,
                fmt::format("'{}' is not defined for values of type '{}' and '{}'", op,
                            left.type_name(), right.type_name()));
}

Result<Value> integer_result(Int value) {
    if (fits(value)) return Value::integer(value);
    return fail(ErrorKind::unsupported, "the result of integer arithmetic does not fit 64 bits");
}

tl::unexpected<Error> division_by_zero() {
    return fail(ErrorKind::invalid_input, "division by zero");
}

Int floor_divide(Int a, Int b) {
    const Int quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Result<Value> multiply_integers(Int a, Int b) {
    const auto magnitude = [](Int x) { return static_cast<uint64_t>(x < 0 ? -x : x); };
    const auto limit = static_cast<Int>(std::numeric_limits<uint64_t>::max());
    if (a != 0 && static_cast<Int>(magnitude(b)) > limit / static_cast<Int>(magnitude(a))) {
        return fail(ErrorKind::unsupported,
                    "the result of integer arithmetic does not fit 64 bits");
    }
    return integer_result(a * b);
}

Result<Value> power(Int base, Int exponent) {
    Int result = 1;
    if (exponent > 64 && (base > 1 || base < -1)) {
        return fail(ErrorKind::unsupported,
                    "the result of integer arithmetic does not fit 64 bits");
    }
    if (base == 0 || base == 1) return Value::integer(exponent == 0 ? 1 : base);
    if (base == -1) return Value::integer(exponent % 2 == 0 ? 1 : -1);
    for (Int i = 0; i < exponent; ++i) {
        TRY(const Value product, multiply_integers(result, base));
        (void)product.as_integer(result);
    }
    return Value::integer(result);
}

Result<Value> integer_arithmetic(std::string_view op, Int a, Int b) {
    if (op == "+") return integer_result(a + b);
    if (op == "-") return integer_result(a - b);
    if (op == "*") return multiply_integers(a, b);
    if (op == "**" && b >= 0) return power(a, b);
    if (op == "**")
        return Value::floating(std::pow(static_cast<double>(a), static_cast<double>(b)));
    if (b == 0) return division_by_zero();
    if (op == "/") return Value::floating(static_cast<double>(a) / static_cast<double>(b));
    const Int quotient = floor_divide(a, b);
    return op == "//" ? integer_result(quotient) : integer_result(a - quotient * b);
}

Result<Value> float_arithmetic(std::string_view op, double a, double b) {
    if (op == "+") return Value::floating(a + b);
    if (op == "-") return Value::floating(a - b);
    if (op == "*") return Value::floating(a * b);
    if (op == "**") {
        if (a == 0 && b < 0) return division_by_zero();
        return Value::floating(std::pow(a, b));
    }
    if (b == 0) return division_by_zero();
    if (op == "/") return Value::floating(a / b);
    double remainder = std::fmod(a, b);
    if (remainder != 0 && (remainder < 0) != (b < 0)) remainder += b;
    if (op == "%") return Value::floating(remainder == 0 ? std::copysign(0.0, b) : remainder);
    return Value::floating(std::round((a - remainder) / b));
}

Result<Value> repeat(const Value& value, Int times, Heap& heap) {
    const TrackedText* text = value.as_text();
    const size_t unit = text != nullptr ? text->size() : value.as_list()->items.size();
    const Int count = times < 0 || unit == 0 ? 0 : times;
    const Int bytes = static_cast<Int>(text != nullptr ? unit : unit * sizeof(Value)) * count;
    TRY_STATUS(heap.check_string_size(
        static_cast<size_t>(std::min<Int>(bytes, std::numeric_limits<int64_t>::max()))));
    if (text != nullptr) {
        // Short units are joined to blocks first, so that the cost is that of the bytes.
        constexpr size_t kBlockBytes = 4096;
        TrackedText block = *text;
        Int units = 1;
        for (; units < count && block.size() + unit <= kBlockBytes; ++units) block.append(*text);
        TextBuilder out(heap);
        Int done = 0;
        for (; done + units <= count; done += units) TRY_STATUS(out.append(block));
        for (; done < count; ++done) TRY_STATUS(out.append(*text));
        return out.finish();
    }
    TRY_STATUS(heap.reserve(static_cast<size_t>(bytes)));
    std::vector<Value> items;
    for (Int i = 0; i < count; ++i) {
        TRY_STATUS(heap.spend(unit));
        items.insert(items.end(), value.as_list()->items.begin(), value.as_list()->items.end());
    }
    return heap.list(std::move(items), value.as_list()->shape);
}

bool is_list(const Value& value) {
    const ListBox* list = value.as_list();
    return list != nullptr && (list->shape == ListShape::list || list->shape == ListShape::tuple);
}

Result<Value> loop_attribute(const std::shared_ptr<LoopState>& loop, std::string_view name) {
    const size_t length = loop->items->items.size();
    const size_t index = loop->index0;
    if (name == "index") return Value::integer(static_cast<Int>(index) + 1);
    if (name == "index0") return Value::integer(static_cast<Int>(index));
    if (name == "revindex") return Value::integer(static_cast<Int>(length - index));
    if (name == "revindex0") return Value::integer(static_cast<Int>(length - index) - 1);
    if (name == "first") return Value::boolean(index == 0);
    if (name == "last") return Value::boolean(index + 1 == length);
    if (name == "length") return Value::integer(static_cast<Int>(length));
    if (name == "depth") return Value::integer(static_cast<Int>(loop->depth0) + 1);
    if (name == "depth0") return Value::integer(static_cast<Int>(loop->depth0));
    if (name == "previtem") {
        if (index == 0) return Value::undefined("there is no previous item");
        return loop->items->items[index - 1];
    }
    if (name == "nextitem") {
        if (index + 1 >= length) return Value::undefined("there is no next item");
        return loop->items->items[index + 1];
    }
    if (name == "cycle") {
        return Value(Value::Data(FunctionRef{.function = Function::loop_cycle, .loop = loop}));
    }
    return Value::undefined(fmt::format("'loop' has no attribute '{}'", name));
}

bool modifies_dict(std::string_view name) {
    return name == "clear" || name == "pop" || name == "popitem" || name == "setdefault" ||
           name == "update";
}

// Python's slice.indices: the positions that a slice visits.
struct SliceRange {
    int64_t start = 0;
    int64_t stop = 0;
    int64_t step = 1;
};

bool is_absent(const Value& bound) {
    return bound.is_none() || bound.is_undefined();
}

Result<SliceRange> resolve_slice(const Value& start, const Value& stop, const Value& step,
                                 int64_t length) {
    SliceRange range;
    if (!is_absent(step)) {
        TRY(range.step, small_integer(step, "the step of a slice"));
        if (range.step == 0) return fail(ErrorKind::invalid_input, "the step of a slice is zero");
    }
    const int64_t lowest = range.step < 0 ? -1 : 0;
    const int64_t highest = range.step < 0 ? length - 1 : length;
    const auto clamp = [&](int64_t bound) {
        return std::clamp(bound < 0 ? bound + length : bound, lowest, highest);
    };
    range.start = range.step < 0 ? highest : lowest;
    range.stop = range.step < 0 ? lowest : highest;
    if (!is_absent(start)) {
        TRY(const int64_t bound, small_integer(start, "the start of a slice"));
        range.start = clamp(bound);
    }
    if (!is_absent(stop)) {
        TRY(const int64_t bound, small_integer(stop, "the end of a slice"));
        range.stop = clamp(bound);
    }
    return range;
}

Result<Value> slice_text(const TrackedText& text, const Value& start, const Value& stop,
                         const Value& step, Heap& heap) {
    TRY_STATUS(heap.spend_characters(text.size()));
    std::vector<size_t> offsets;  // of every character, and the end
    TRY_STATUS(heap.reserve(text.size() * sizeof(size_t)));
    for (size_t at = 0; at < text.size(); at += character_size(text.bytes(), at))
        offsets.push_back(at);
    offsets.push_back(text.size());
    TRY(const SliceRange range,
        resolve_slice(start, stop, step, static_cast<int64_t>(offsets.size()) - 1));
    if (range.step == 1) {
        const int64_t end = std::max(range.start, range.stop);
        return heap.string(text.slice(offsets[static_cast<size_t>(range.start)],
                                      offsets[static_cast<size_t>(end)]));
    }
    TextBuilder out(heap);
    for (int64_t i = range.start; range.step > 0 ? i < range.stop : i > range.stop;
         i += range.step) {
        const auto at = static_cast<size_t>(i);
        TRY_STATUS(out.append(text, offsets[at], offsets[at + 1]));
    }
    return out.finish();
}

}  // namespace

Result<int64_t> small_integer(const Value& value, std::string_view what) {
    constexpr Int kMax = Int{1} << 31U;
    Int integer = 0;
    if (value.is_undefined()) return undefined_error(value, fmt::format("use it as {}", what));
    if (!value.as_integer(integer)) {
        return fail(ErrorKind::invalid_input,
                    fmt::format("{} must be an integer, not a '{}'", what, value.type_name()));
    }
    if (integer > kMax || integer < -kMax) {
        return fail(ErrorKind::invalid_input, fmt::format("{} is out of range", what));
    }
    return static_cast<int64_t>(integer);
}

Result<const TrackedText*> string_argument(const Value& value, std::string_view what) {
    if (const TrackedText* text = value.as_text()) return text;
    if (value.is_undefined()) return undefined_error(value, fmt::format("use it as {}", what));
    return fail(ErrorKind::invalid_input,
                fmt::format("{} must be a string, not a '{}'", what, value.type_name()));
}

Result<Value> get_attribute(const Value& object, std::string_view name, Heap& heap) {
    TRY_STATUS(heap.spend(1));
    if (object.is_undefined()) return undefined_error(object, fmt::format("read '{}' of", name));
    if (const auto* space = std::get_if<std::shared_ptr<Namespace>>(&object.data())) {
        TRY_STATUS(heap.spend((*space)->attributes.size() / 16));
        if (const Value* found = (*space)->find(name)) return *found;
    } else if (const auto* loop = std::get_if<std::shared_ptr<LoopState>>(&object.data())) {
        return loop_attribute(*loop, name);
    }
    Method method{};
    if (find_method(object, name, method)) return heap.method(method, object);
    if (const DictBox* dict = object.as_dict()) {
        if (modifies_dict(name)) {
            return Value::undefined(
                fmt::format("a template cannot change a dict with '.{}'", name));
        }
        if (const Value* found = dict->find(name)) return *found;
    }
    return Value::undefined(
        fmt::format("'{}' object has no attribute '{}'", object.type_name(), name));
}

Result<Value> get_item(const Value& object, const Value& key, Heap& heap) {
    TRY_STATUS(heap.spend(1));
    if (object.is_undefined()) return undefined_error(object, "read an item of");
    if (key.is_string()) TRY_STATUS(heap.spend_bytes(key.as_text()->size()));
    if (const DictBox* dict = object.as_dict()) {
        if (const Value* found = dict->find(key)) return *found;
    }
    Int index = 0;
    const TrackedText* text = object.as_text();
    if (key.as_integer(index) && (is_list(object) || text != nullptr)) {
        size_t length = 0;
        if (text != nullptr) {
            TRY_STATUS(heap.spend_characters(text->size()));
            length = character_count(text->bytes());
        } else {
            length = object.as_list()->items.size();
        }
        const Int position = index < 0 ? index + static_cast<Int>(length) : index;
        if (position < 0 || position >= static_cast<Int>(length)) {
            return Value::undefined(
                fmt::format("'{}' object has no element {}", object.type_name(), int_repr(index)));
        }
        if (text == nullptr) return object.as_list()->items[static_cast<size_t>(position)];
        size_t at = 0;
        for (Int i = 0; i < position; ++i) at += character_size(text->bytes(), at);
        return heap.string(text->slice(at, at + character_size(text->bytes(), at)));
    }
    if (const TrackedText* name = key.as_text()) return get_attribute(object, name->bytes(), heap);
    return Value::undefined(fmt::format("'{}' object has no such element", object.type_name()));
}

Result<Value> get_slice(const Value& object, const Value& start, const Value& stop,
                        const Value& step, Heap& heap) {
    if (const TrackedText* text = object.as_text())
        return slice_text(*text, start, stop, step, heap);
    if (object.is_undefined()) return undefined_error(object, "slice");
    if (!is_list(object)) {
        return fail(ErrorKind::invalid_input,
                    fmt::format("a value of type '{}' cannot be sliced", object.type_name()));
    }
    const ListBox& list = *object.as_list();
    TRY(const SliceRange range,
        resolve_slice(start, stop, step, static_cast<int64_t>(list.items.size())));
    std::vector<Value> items;
    for (int64_t i = range.start; range.step > 0 ? i < range.stop : i > range.stop;
         i += range.step) {
        items.push_back(list.items[static_cast<size_t>(i)]);
    }
    return heap.list(std::move(items), list.shape);
}

Result<Value> arithmetic(std::string_view op, const Value& left, const Value& right, Heap& heap) {
    TRY_STATUS(heap.spend(1));
    Int a = 0;
    Int b = 0;
    if (left.as_integer(a) && right.as_integer(b)) return integer_arithmetic(op, a, b);
    double x = 0;
    double y = 0;
    if (left.as_number(x) && right.as_number(y)) return float_arithmetic(op, x, y);
    const TrackedText* text = left.as_text();
    if (op == "%" && text != nullptr) return percent_format(*text, right, heap);
    if (op == "+" && text != nullptr && right.as_text() != nullptr) {
        TextBuilder out(heap);
        TRY_STATUS(out.append(*text));
        TRY_STATUS(out.append(*right.as_text()));
        return out.finish();
    }
    if (op == "+" && is_list(left) && is_list(right) &&
        left.as_list()->shape == right.as_list()->shape) {
        std::vector<Value> items = left.as_list()->items;
        items.insert(items.end(), right.as_list()->items.begin(), right.as_list()->items.end());
        return heap.list(std::move(items), left.as_list()->shape);
    }
    const auto repeatable = [](const Value& value) { return value.is_string() || is_list(value); };
    if (op == "*" && repeatable(left) && right.as_integer(b)) return repeat(left, b, heap);
    if (op == "*" && repeatable(right) && left.as_integer(a)) return repeat(right, a, heap);
    return no_operation(op, left, right);
}

}  // namespace colibri::jinja

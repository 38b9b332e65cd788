// Values of the template language: Python's, as far as chat templates use them.
//
// Immutable (namespace attributes and a loop's position are the two exceptions that Jinja has),
// shared by reference count, and metered: every string and container is charged to the Heap of its
// render. A Heap and all its values belong to one thread; the constants of a parsed template carry
// no Heap and may be used by several renders at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "text/jinja/limits.h"
#include "text/jinja/tracked_text.h"

namespace colibri::jinja {

class Heap;
class Value;
struct LoopState;
struct Macro;
struct Namespace;

// Wide enough that every signed and unsigned 64-bit JSON number keeps its value; results of
// arithmetic outside
// [-2^63, 2^64) are refused (Python's integers have no bound).
using Int = __int128;
[[nodiscard]] bool fits(Int value);

struct Undefined {
    std::shared_ptr<const std::string> why;  // "'x' is undefined"; null means no more is known
};
struct None {};

// Bytes charged to a Heap for as long as this object lives.
class Charge {
public:
    Charge() = default;
    Charge(Heap* heap, size_t bytes) : heap_(heap), bytes_(bytes) {}
    Charge(const Charge&) = delete;
    Charge& operator=(const Charge&) = delete;
    ~Charge();

private:
    Heap* heap_ = nullptr;
    size_t bytes_ = 0;
};

enum class ListShape : uint8_t {
    list,
    tuple,
    iterator,  // what Python returns as a generator: always true, without length and index
    view,      // dict.keys(), .values(), .items(): has a length, no index
};

enum class Function : uint8_t {
    range,
    dict,
    make_namespace,
    raise_exception,
    strftime_now,
    loop_cycle
};

enum class Method : uint8_t {
    // of strings
    capitalize,
    count,
    endswith,
    find,
    format,
    index,
    isalpha,
    isdigit,
    isspace,
    join,
    lower,
    lstrip,
    partition,
    removeprefix,
    removesuffix,
    replace,
    rfind,
    rpartition,
    rsplit,
    rstrip,
    split,
    splitlines,
    startswith,
    strip,
    title,
    upper,
    // of dicts
    copy,
    get,
    items,
    keys,
    values,
};

struct StringBox;
struct ListBox;
struct DictBox;
struct BoundMethod;
struct FunctionRef {
    Function function;
    std::shared_ptr<LoopState> loop;  // for loop_cycle only
};

class Value {
public:
    using Data =
        std::variant<Undefined, None, bool, Int, double, std::shared_ptr<const StringBox>,
                     std::shared_ptr<const ListBox>, std::shared_ptr<const DictBox>,
                     std::shared_ptr<Namespace>, std::shared_ptr<const BoundMethod>, FunctionRef,
                     std::shared_ptr<const Macro>, std::shared_ptr<LoopState>>;

    Value() = default;  // undefined
    explicit Value(Data data) : data_(std::move(data)) {}
    [[nodiscard]] static Value undefined(std::string why);
    [[nodiscard]] static Value none() { return Value(Data(None{})); }
    [[nodiscard]] static Value boolean(bool value) { return Value(Data(value)); }
    [[nodiscard]] static Value integer(Int value) { return Value(Data(value)); }
    [[nodiscard]] static Value floating(double value) { return Value(Data(value)); }
    // A constant of the template source: charged to nobody.
    [[nodiscard]] static Value constant(std::string text);

    [[nodiscard]] const Data& data() const { return data_; }
    [[nodiscard]] bool is_undefined() const { return std::holds_alternative<Undefined>(data_); }
    [[nodiscard]] bool is_none() const { return std::holds_alternative<None>(data_); }
    [[nodiscard]] bool is_bool() const { return std::holds_alternative<bool>(data_); }
    [[nodiscard]] bool is_string() const { return as_text() != nullptr; }
    [[nodiscard]] bool is_callable() const;
    // Null unless the value has that type. `as_list` covers all list shapes.
    [[nodiscard]] const TrackedText* as_text() const;
    [[nodiscard]] const ListBox* as_list() const;
    [[nodiscard]] const DictBox* as_dict() const;
    // Integers and, as in Python, booleans.
    [[nodiscard]] bool as_integer(Int& value) const;
    [[nodiscard]] bool as_number(double& value) const;

    [[nodiscard]] bool truthy() const;
    // Python's name of the type, for messages: 'str', 'dict', ...
    [[nodiscard]] std::string_view type_name() const;
    // Levels of containers: 0 for a scalar, 1 for a list of scalars.
    [[nodiscard]] size_t depth() const;

private:
    Data data_;
};

struct StringBox {
    Charge charge;
    TrackedText text;
};

struct ListBox {
    Charge charge;
    ListShape shape = ListShape::list;
    std::vector<Value> items;
    size_t depth = 1;
};

using DictEntry = std::pair<Value, Value>;

// Insertion-ordered. Keys are strings, numbers, booleans or none; equal numbers are one key as in
// Python.
struct DictBox {
    Charge charge;
    std::vector<DictEntry> entries;
    std::map<std::string, size_t>
        index;  // canonical key -> entry; only for dicts that are not small
    size_t depth = 1;

    [[nodiscard]] const Value* find(const Value& key) const;
    [[nodiscard]] const Value* find(std::string_view key) const;
};

struct BoundMethod {
    Method method;
    Value receiver;
};

// Owned by the evaluator until the render ends, because attributes may refer back to their own
// namespace.
struct Namespace {
    Charge charge;
    std::vector<std::pair<std::string, Value>> attributes;

    [[nodiscard]] const Value* find(std::string_view name) const;
};

// `loop` inside a for block.
struct LoopState {
    std::shared_ptr<const ListBox> items;
    size_t index0 = 0;
    size_t depth0 = 0;
    const void* recursive_for =
        nullptr;  // the For node that loop(...) runs again; null if not recursive
    std::weak_ptr<void> outer_scope;  // the scope around that loop
};

// The meter of one render and the only maker of charged values.
class Heap {
public:
    explicit Heap(const RenderLimits& limits) : limits_(limits) {}
    Heap(const Heap&) = delete;
    Heap& operator=(const Heap&) = delete;

    // Counts work; fails once RenderLimits::steps_max is exceeded.
    [[nodiscard]] Status spend(size_t steps);
    // Copying or searching `bytes`, and walking them character by character.
    [[nodiscard]] Status spend_bytes(size_t bytes) { return spend(1 + bytes / 64); }
    [[nodiscard]] Status spend_characters(size_t bytes) { return spend(1 + bytes / 8); }
    [[nodiscard]] Status check_string_size(size_t bytes) const;
    // Fails, before anything is allocated, if `bytes` more would exceed value_bytes_max.
    [[nodiscard]] Status reserve(size_t bytes) const;

    [[nodiscard]] Result<Value> string(TrackedText text);
    [[nodiscard]] Result<Value> string(std::string bytes, bool is_input);
    [[nodiscard]] Result<Value> list(std::vector<Value> items, ListShape shape = ListShape::list);
    // A later entry with an equal key replaces the value of the earlier one.
    [[nodiscard]] Result<Value> dict(std::vector<DictEntry> entries);
    [[nodiscard]] Result<Value> method(Method method, Value receiver);
    [[nodiscard]] Result<std::shared_ptr<Namespace>> make_namespace();
    [[nodiscard]] const RenderLimits& limits() const { return limits_; }

private:
    friend class Charge;
    friend class TextBuilder;
    RenderLimits limits_;
    size_t live_bytes_ = 0;
    size_t steps_ = 0;
};

// Text that grows within the limits of a Heap and is charged to it while it grows.
class TextBuilder {
public:
    explicit TextBuilder(Heap& heap) : heap_(&heap) {}
    TextBuilder(const TextBuilder&) = delete;
    TextBuilder& operator=(const TextBuilder&) = delete;
    ~TextBuilder();
    [[nodiscard]] Status append(const TrackedText& text);
    [[nodiscard]] Status append(const TrackedText& text, size_t begin, size_t end);
    [[nodiscard]] Status append(std::string_view bytes, bool is_input);
    [[nodiscard]] const TrackedText& text() const { return text_; }
    // The text as a value; the builder is empty afterwards.
    [[nodiscard]] Result<Value> finish();
    [[nodiscard]] TrackedText take();

private:
    [[nodiscard]] Status grow(size_t bytes);
    [[nodiscard]] Status charge_ranges(size_t before);

    Heap* heap_;
    TrackedText text_;
    size_t charged_bytes_ = 0;
};

// Python's ==, < and `in`. They spend steps, because shared sub-values can make a small value long
// to walk.
[[nodiscard]] Result<bool> equal(const Value& a, const Value& b, Heap& heap);
[[nodiscard]] Result<bool> less(const Value& a, const Value& b, Heap& heap);
[[nodiscard]] Result<bool> contains(const Value& container, const Value& item, Heap& heap);

// What `for x in value` visits: list items, dict keys, characters; undefined is empty; others fail.
[[nodiscard]] Result<std::shared_ptr<const ListBox>> iterate(const Value& value, Heap& heap);

// Python's str(value) and repr(value); undefined prints as nothing.
[[nodiscard]] Result<TrackedText> to_text(const Value& value, Heap& heap);
[[nodiscard]] Status append_repr(const Value& value, TextBuilder& out, Heap& heap);
// repr(float): the shortest digits that read back as the same number.
[[nodiscard]] std::string float_repr(double value);
// The number of the integer in decimal.
[[nodiscard]] std::string int_repr(Int value);

// Why an undefined value cannot be used; `operation` names the attempt.
[[nodiscard]] tl::unexpected<Error> undefined_error(const Value& value, std::string_view operation);

}  // namespace colibri::jinja

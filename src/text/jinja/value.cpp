#include "text/jinja/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace colibri::jinja {
namespace {

constexpr size_t kIndexedEntriesMin = 9;  // below this a linear search is as fast
constexpr Int kIntMin = std::numeric_limits<int64_t>::min();
constexpr Int kIntMax = std::numeric_limits<uint64_t>::max();

// One spelling per key that Python's == and hash identify. False if the value cannot be a key.
bool canonical_key(const Value& key, std::string& spelling) {
    if (const TrackedText* text = key.as_text()) {
        spelling = "s" + text->bytes();
        return true;
    }
    Int integer = 0;
    double number = 0;
    if (key.as_integer(integer)) {
        spelling = "i" + int_repr(integer);
    } else if (key.as_number(number)) {
        const bool whole = std::floor(number) == number && std::fabs(number) < 0x1p63;
        spelling = whole ? "i" + int_repr(static_cast<Int>(number)) : "f" + float_repr(number);
    } else if (key.is_none()) {
        spelling = "n";
    } else {
        return false;
    }
    return true;
}

}  // namespace

bool fits(Int value) {
    return value >= kIntMin && value <= kIntMax;
}

Charge::~Charge() {
    if (heap_ != nullptr) heap_->live_bytes_ -= bytes_;
}

Value Value::undefined(std::string why) {
    return Value(Data(Undefined{std::make_shared<const std::string>(std::move(why))}));
}

Value Value::constant(std::string text) {
    auto box = std::make_shared<StringBox>();
    box->text = TrackedText::from_template(std::move(text));
    return Value(Data(std::shared_ptr<const StringBox>(std::move(box))));
}

bool Value::is_callable() const {
    if (const auto* loop = std::get_if<std::shared_ptr<LoopState>>(&data_))
        return (*loop) != nullptr;
    return std::holds_alternative<std::shared_ptr<const BoundMethod>>(data_) ||
           std::holds_alternative<FunctionRef>(data_) ||
           std::holds_alternative<std::shared_ptr<const Macro>>(data_);
}

const TrackedText* Value::as_text() const {
    const auto* box = std::get_if<std::shared_ptr<const StringBox>>(&data_);
    return box != nullptr ? &(*box)->text : nullptr;
}

const ListBox* Value::as_list() const {
    const auto* box = std::get_if<std::shared_ptr<const ListBox>>(&data_);
    return box != nullptr ? box->get() : nullptr;
}

const DictBox* Value::as_dict() const {
    const auto* box = std::get_if<std::shared_ptr<const DictBox>>(&data_);
    return box != nullptr ? box->get() : nullptr;
}

bool Value::as_integer(Int& value) const {
    if (const Int* integer = std::get_if<Int>(&data_)) {
        value = *integer;
        return true;
    }
    if (const bool* flag = std::get_if<bool>(&data_)) {
        value = *flag ? 1 : 0;
        return true;
    }
    return false;
}

bool Value::as_number(double& value) const {
    Int integer = 0;
    if (as_integer(integer)) {
        value = static_cast<double>(integer);
        return true;
    }
    if (const double* number = std::get_if<double>(&data_)) {
        value = *number;
        return true;
    }
    return false;
}

bool Value::truthy() const {
    Int integer = 0;
    if (as_integer(integer)) return integer != 0;
    if (const double* number = std::get_if<double>(&data_)) return *number != 0;
    if (const TrackedText* text = as_text()) return !text->empty();
    if (const ListBox* list = as_list()) {
        return !list->items.empty() || list->shape == ListShape::iterator;
    }
    if (const DictBox* dict = as_dict()) return !dict->entries.empty();
    return !is_undefined() && !is_none();
}

std::string_view Value::type_name() const {
    struct TypeName {
        std::string_view operator()(const Undefined&) const { return "undefined"; }
        std::string_view operator()(const None&) const { return "none"; }
        std::string_view operator()(bool) const { return "bool"; }
        std::string_view operator()(Int) const { return "int"; }
        std::string_view operator()(double) const { return "float"; }
        std::string_view operator()(const std::shared_ptr<const StringBox>&) const { return "str"; }
        std::string_view operator()(const std::shared_ptr<const ListBox>& list) const {
            switch (list->shape) {
                case ListShape::list: return "list";
                case ListShape::tuple: return "tuple";
                case ListShape::iterator: return "generator";
                case ListShape::view: return "dict view";
            }
            return "list";
        }
        std::string_view operator()(const std::shared_ptr<const DictBox>&) const { return "dict"; }
        std::string_view operator()(const std::shared_ptr<Namespace>&) const { return "namespace"; }
        std::string_view operator()(const std::shared_ptr<const BoundMethod>&) const {
            return "method";
        }
        std::string_view operator()(const FunctionRef&) const { return "function"; }
        std::string_view operator()(const std::shared_ptr<const Macro>&) const { return "macro"; }
        std::string_view operator()(const std::shared_ptr<LoopState>&) const { return "loop"; }
    };
    return std::visit(TypeName{}, data_);
}

size_t Value::depth() const {
    if (const ListBox* list = as_list()) return list->depth;
    if (const DictBox* dict = as_dict()) return dict->depth;
    if (const auto* loop = std::get_if<std::shared_ptr<LoopState>>(&data_)) {
        return 1 + (*loop)->items->depth;
    }
    if (const auto* bound = std::get_if<std::shared_ptr<const BoundMethod>>(&data_)) {
        return 1 + (*bound)->receiver.depth();
    }
    if (const auto* function = std::get_if<FunctionRef>(&data_)) {
        return function->loop ? 2 + function->loop->items->depth : 0;
    }
    return 0;
}

const Value* DictBox::find(const Value& key) const {
    std::string spelling;
    if (!canonical_key(key, spelling)) return nullptr;
    if (!index.empty()) {
        const auto found = index.find(spelling);
        return found != index.end() ? &entries[found->second].second : nullptr;
    }
    for (const auto& [entry_key, value] : entries) {
        std::string other;
        if (canonical_key(entry_key, other) && other == spelling) return &value;
    }
    return nullptr;
}

const Value* DictBox::find(std::string_view key) const {
    if (!index.empty()) {
        const auto found = index.find("s" + std::string(key));
        return found != index.end() ? &entries[found->second].second : nullptr;
    }
    for (const auto& [entry_key, value] : entries) {
        const TrackedText* text = entry_key.as_text();
        if (text != nullptr && text->bytes() == key) return &value;
    }
    return nullptr;
}

const Value* Namespace::find(std::string_view name) const {
    for (const auto& [attribute, value] : attributes) {
        if (attribute == name) return &value;
    }
    return nullptr;
}

Status Heap::spend(size_t steps) {
    steps_ += steps;
    if (steps_ > limits_.steps_max) {
        return fail(
            ErrorKind::out_of_budget,
            fmt::format("the template does more work than the {} steps allowed (an endless or "
                        "exploding loop?)",
                        limits_.steps_max));
    }
    return {};
}

Status Heap::check_string_size(size_t bytes) const {
    if (bytes > limits_.string_bytes_max) {
        return fail(ErrorKind::out_of_budget,
                    fmt::format("the template makes one value of {} bytes; the limit is {}", bytes,
                                limits_.string_bytes_max));
    }
    return {};
}

Status Heap::reserve(size_t bytes) const {
    if (bytes > limits_.value_bytes_max || live_bytes_ > limits_.value_bytes_max - bytes) {
        return fail(ErrorKind::out_of_budget,
                    fmt::format("the template holds {} bytes and asks for {} more; the limit is {}",
                                live_bytes_, bytes, limits_.value_bytes_max));
    }
    return {};
}

Result<Value> Heap::string(TrackedText text) {
    const size_t bytes =
        sizeof(StringBox) + text.size() + text.input_ranges().size() * sizeof(ByteRange);
    TRY_STATUS(check_string_size(text.size()));
    TRY_STATUS(spend_bytes(text.size()));
    TRY_STATUS(reserve(bytes));
    live_bytes_ += bytes;
    auto box =
        std::shared_ptr<StringBox>(new StringBox{.charge = {this, bytes}, .text = std::move(text)});
    return Value(Value::Data(std::shared_ptr<const StringBox>(std::move(box))));
}

Result<Value> Heap::string(std::string bytes, bool is_input) {
    return string(TrackedText::derived(std::move(bytes), is_input));
}

Result<Value> Heap::list(std::vector<Value> items, ListShape shape) {
    const size_t bytes = sizeof(ListBox) + items.size() * sizeof(Value);
    TRY_STATUS(check_string_size(bytes));
    TRY_STATUS(spend(1 + items.size()));
    TRY_STATUS(reserve(bytes));
    size_t depth = 1;
    for (const Value& item : items) depth = std::max(depth, 1 + item.depth());
    if (depth > kValueDepthMax) {
        return fail(
            ErrorKind::out_of_budget,
            fmt::format("a list nests {} levels deep; the limit is {}", depth, kValueDepthMax));
    }
    live_bytes_ += bytes;
    auto box = std::shared_ptr<ListBox>(new ListBox{
        .charge = {this, bytes}, .shape = shape, .items = std::move(items), .depth = depth});
    return Value(Value::Data(std::shared_ptr<const ListBox>(std::move(box))));
}

Result<Value> Heap::dict(std::vector<DictEntry> entries) {
    // The index stores each key a second time; 64 bytes stand for its node.
    const size_t bytes = sizeof(DictBox) + entries.size() * (sizeof(DictEntry) + 64);
    TRY_STATUS(check_string_size(bytes));
    TRY_STATUS(spend(1 + entries.size()));
    TRY_STATUS(reserve(bytes));
    std::map<std::string, size_t> index;
    std::vector<DictEntry> unique;
    size_t depth = 1;
    for (DictEntry& entry : entries) {
        std::string spelling;
        if (!canonical_key(entry.first, spelling)) {
            return fail(ErrorKind::invalid_input,
                        fmt::format("a value of type '{}' cannot be the key of a dict",
                                    entry.first.type_name()));
        }
        TRY_STATUS(spend_bytes(spelling.size()));
        depth = std::max(depth, 1 + entry.second.depth());
        const auto [slot, is_new] = index.try_emplace(std::move(spelling), unique.size());
        if (is_new) {
            unique.push_back(std::move(entry));
        } else {
            unique[slot->second].second = std::move(entry.second);
        }
    }
    if (depth > kValueDepthMax) {
        return fail(
            ErrorKind::out_of_budget,
            fmt::format("a dict nests {} levels deep; the limit is {}", depth, kValueDepthMax));
    }
    if (unique.size() < kIndexedEntriesMin) index.clear();
    live_bytes_ += bytes;
    auto box = std::shared_ptr<DictBox>(new DictBox{.charge = {this, bytes},
                                                    .entries = std::move(unique),
                                                    .index = std::move(index),
                                                    .depth = depth});
    return Value(Value::Data(std::shared_ptr<const DictBox>(std::move(box))));
}

Result<Value> Heap::method(Method method, Value receiver) {
    auto box = std::make_shared<BoundMethod>();
    box->method = method;
    box->receiver = std::move(receiver);
    Value value{Value::Data(std::shared_ptr<const BoundMethod>(std::move(box)))};
    TRY_STATUS(spend(1));
    if (value.depth() > kValueDepthMax) {
        return fail(ErrorKind::out_of_budget, "a value nests too deep");
    }
    return value;
}

Result<std::shared_ptr<Namespace>> Heap::make_namespace() {
    constexpr size_t kBytes = sizeof(Namespace) + 256;  // room for a few attributes
    TRY_STATUS(spend(1));
    TRY_STATUS(reserve(kBytes));
    live_bytes_ += kBytes;
    return std::shared_ptr<Namespace>(new Namespace{.charge = {this, kBytes}, .attributes = {}});
}

TextBuilder::~TextBuilder() {
    heap_->live_bytes_ -= charged_bytes_;
}

Status TextBuilder::grow(size_t bytes) {
    TRY_STATUS(heap_->check_string_size(text_.size() + bytes));
    TRY_STATUS(heap_->spend_bytes(bytes));
    TRY_STATUS(heap_->reserve(bytes));
    heap_->live_bytes_ += bytes;
    charged_bytes_ += bytes;
    return {};
}

// Ranges are charged once their number is known; what is appended is charged already and bounds the
// excess.
Status TextBuilder::charge_ranges(size_t before) {
    const size_t added = text_.input_ranges().size() - before;
    TRY_STATUS(heap_->spend(added));
    TRY_STATUS(heap_->reserve(added * sizeof(ByteRange)));
    heap_->live_bytes_ += added * sizeof(ByteRange);
    charged_bytes_ += added * sizeof(ByteRange);
    return {};
}

Status TextBuilder::append(const TrackedText& text) {
    return append(text, 0, text.size());
}

Status TextBuilder::append(const TrackedText& text, size_t begin, size_t end) {
    TRY_STATUS(grow(end - begin));
    const size_t ranges = text_.input_ranges().size();
    text_.append(text, begin, end);
    return charge_ranges(ranges);
}

Status TextBuilder::append(std::string_view bytes, bool is_input) {
    TRY_STATUS(grow(bytes.size()));
    const size_t ranges = text_.input_ranges().size();
    text_.append(bytes, is_input);
    return charge_ranges(ranges);
}

TrackedText TextBuilder::take() {
    heap_->live_bytes_ -= charged_bytes_;
    charged_bytes_ = 0;
    return std::exchange(text_, {});
}

Result<Value> TextBuilder::finish() {
    return heap_->string(take());
}

tl::unexpected<Error> undefined_error(const Value& value, std::string_view operation) {
    const auto* undefined = std::get_if<Undefined>(&value.data());
    const bool explained = undefined != nullptr && undefined->why != nullptr;
    return fail(ErrorKind::invalid_input,
                fmt::format("{}: cannot {} it",
                            explained ? *undefined->why : std::string("the value is undefined"),
                            operation));
}

}  // namespace colibri::jinja

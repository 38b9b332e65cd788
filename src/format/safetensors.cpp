#include "format/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "format/limits.h"

namespace colibri {

namespace {

using nlohmann::json;

constexpr uint64_t kPrefixBytes = 8;
constexpr size_t kHeaderDepthMax = 16;

bool printable(std::string_view text) {
    return std::none_of(text.begin(), text.end(),
                        [](char c) { return uint8_t(c) < 0x20 || uint8_t(c) == 0x7F; });
}

// Collects the header event by event, so that a header of 100,000 tensors never exists as a tree.
// Stops at the first thing that is wrong; `problem` then says what, without the path.
class HeaderReader final : public json::json_sax_t {
public:
    std::string problem;
    ErrorKind kind = ErrorKind::corrupt;
    SafetensorsHeader header;

    bool null() override { return scalar("null"); }
    bool boolean(bool) override { return scalar("a boolean"); }
    bool number_integer(json::number_integer_t) override { return scalar("a negative number"); }
    bool number_float(json::number_float_t, const std::string& text) override {
        return scalar(fmt::format("the number {:.40}", text));
    }
    bool number_unsigned(json::number_unsigned_t value) override {
        if (state_ == State::shape) {
            if (entry_.shape.size() == kTensorRankMax)
                return stop(fmt::format("shape has more than {} dimensions", kTensorRankMax));
            entry_.shape.push_back(value);
            return true;
        }
        if (state_ == State::offsets) {
            if (offset_count_ == 2) return stop("data_offsets has more than 2 numbers");
            offsets_[offset_count_++] = value;
            return true;
        }
        return scalar("a number");
    }
    bool string(std::string& value) override {
        if (state_ == State::metadata) {
            header.metadata.emplace_back(std::move(key_), std::move(value));
            return true;
        }
        if (state_ != State::entry || key_ != "dtype") return scalar("a string");
        const std::optional<DType> type = dtype_from_string(value);
        if (!type) {
            kind = ErrorKind::unsupported;
            return stop(
                fmt::format("dtype \"{:.40}\" is not known; supported are F32, BF16, F16, F8_E4M3, "
                            "F8_E8M0, U8, "
                            "I8, I32, I64",
                            value));
        }
        entry_.dtype = *type;
        return true;
    }
    bool binary(json::binary_t&) override { return scalar("binary data"); }

    bool start_object(std::size_t) override {
        switch (state_) {
            case State::begin: state_ = State::root; return true;
            case State::root:
                if (key_ == "__metadata__") {
                    if (metadata_seen_) return stop("__metadata__ appears twice");
                    metadata_seen_ = true;
                    state_ = State::metadata;
                    return true;
                }
                return begin_entry();
            case State::entry: return skip_or_refuse("an object");
            case State::metadata:
            case State::shape:
            case State::offsets: return scalar("an object");
            case State::skipped: return deeper();
            case State::end: return false;
        }
        return false;
    }
    bool start_array(std::size_t) override {
        if (state_ == State::skipped) return deeper();
        if (state_ != State::entry) return scalar("an array");
        if (key_ == "shape") {
            state_ = State::shape;
            return true;
        }
        if (key_ == "data_offsets") {
            state_ = State::offsets;
            return true;
        }
        return skip_or_refuse("an array");
    }
    bool end_array() override {
        if (state_ == State::offsets && offset_count_ != 2)
            return stop(fmt::format("data_offsets has {} numbers, expected 2", offset_count_));
        return shallower();
    }
    bool end_object() override {
        switch (state_) {
            case State::entry: state_ = State::root; return finish_entry();
            case State::metadata: state_ = State::root; return true;
            case State::root: state_ = State::end; return true;
            case State::begin:
            case State::shape:
            case State::offsets:
            case State::skipped:
            case State::end: return shallower();
        }
        return false;
    }
    bool key(std::string& value) override {
        if (state_ == State::entry) {
            const uint32_t bit = value == "dtype"          ? 1
                                 : value == "shape"        ? 2
                                 : value == "data_offsets" ? 4
                                                           : 0;
            if ((fields_ & bit) != 0) return stop(fmt::format("field {} appears twice", value));
            fields_ |= bit;
        }
        if (state_ != State::skipped) key_ = std::move(value);
        return true;
    }
    bool parse_error(std::size_t position, const std::string&,
                     const nlohmann::detail::exception& error) override {
        if (problem.empty())
            problem = fmt::format("not valid JSON at byte {} ({})", position, error.what());
        return false;
    }

private:
    enum class State : uint8_t { begin, root, metadata, entry, shape, offsets, skipped, end };

    bool stop(std::string what) {
        const bool in_tensor =
            state_ == State::entry || state_ == State::shape || state_ == State::offsets;
        problem = in_tensor ? fmt::format("tensor {}: {}", entry_.name, what) : std::move(what);
        return false;
    }
    // A scalar (or worse) at a place where only something else may stand; unknown fields of a
    // tensor are skipped.
    bool scalar(std::string_view found) {
        switch (state_) {
            case State::begin: return stop(fmt::format("found {}, expected an object", found));
            case State::root:
                return stop(fmt::format("{:.100}: found {}, expected an object", key_, found));
            case State::metadata:
                return stop(fmt::format("__metadata__ key {:.100}: found {}, expected a string",
                                        key_, found));
            case State::entry: return known_field() ? wrong_field(found) : true;
            case State::shape:
                return stop(fmt::format("shape holds {}, expected non-negative integers", found));
            case State::offsets:
                return stop(
                    fmt::format("data_offsets holds {}, expected non-negative integers", found));
            case State::skipped: return true;
            case State::end: return false;
        }
        return false;
    }
    [[nodiscard]] bool known_field() const {
        return key_ == "dtype" || key_ == "shape" || key_ == "data_offsets";
    }
    bool wrong_field(std::string_view found) {
        return stop(fmt::format("{} is {}, expected {}", key_, found,
                                key_ == "dtype"   ? "a string"
                                : key_ == "shape" ? "an array of integers"
                                                  : "an array of 2 integers"));
    }
    bool skip_or_refuse(std::string_view found) {
        if (known_field()) return wrong_field(found);
        state_ = State::skipped;
        skip_depth_ = 0;
        return deeper();
    }
    bool deeper() {
        if (++skip_depth_ > kHeaderDepthMax)
            return stop(fmt::format("nested deeper than {} levels", kHeaderDepthMax));
        return true;
    }
    bool shallower() {
        if (state_ == State::shape || state_ == State::offsets) state_ = State::entry;
        if (state_ == State::skipped && --skip_depth_ == 0) state_ = State::entry;
        return true;
    }
    bool begin_entry() {
        state_ = State::entry;
        entry_ = {};
        offset_count_ = 0;
        fields_ = 0;
        if (key_.size() > kNameBytesMax || !printable(key_)) {
            entry_.name = fmt::format("with a name of {} bytes", key_.size());
            return stop(fmt::format("names must be printable and at most {} bytes", kNameBytesMax));
        }
        if (header.tensors.size() == kTensorsPerFileMax)
            return stop(fmt::format("more than {} tensors in one file", kTensorsPerFileMax));
        entry_.name = key_;
        return true;
    }
    // The offsets stay relative to the data here; `check_spans` makes them absolute once the file's
    // size is known.
    bool finish_entry() {
        if (fields_ != 7) {
            problem = fmt::format("tensor {}: {} is missing", entry_.name,
                                  (fields_ & 1) == 0   ? "dtype"
                                  : (fields_ & 2) == 0 ? "shape"
                                                       : "data_offsets");
            return false;
        }
        if (offsets_[0] > offsets_[1]) {
            problem = fmt::format("tensor {}: data_offsets [{}, {}] are reversed", entry_.name,
                                  offsets_[0], offsets_[1]);
            return false;
        }
        entry_.offset = offsets_[0];
        entry_.size_bytes = offsets_[1] - offsets_[0];
        header.tensors.push_back(std::move(entry_));
        return true;
    }

    State state_ = State::begin;
    std::string key_;
    SafetensorsEntry entry_;
    std::array<uint64_t, 2> offsets_{};
    size_t offset_count_ = 0;
    uint32_t fields_ = 0;  // bits: dtype, shape, data_offsets
    size_t skip_depth_ = 0;
    bool metadata_seen_ = false;
};

std::string shape_text(const std::vector<uint64_t>& shape) {
    return fmt::format("[{}]", fmt::join(shape, ", "));
}

// Bytes that the shape needs; nothing when the product does not fit 64 bits.
std::optional<uint64_t> shape_bytes(const SafetensorsEntry& entry) {
    if (std::find(entry.shape.begin(), entry.shape.end(), 0U) != entry.shape.end()) return 0;
    uint64_t bytes = size_bytes(entry.dtype);
    for (const uint64_t dim : entry.shape)
        if (__builtin_mul_overflow(bytes, dim, &bytes)) return std::nullopt;
    return bytes;
}

template <class Before>
std::vector<uint32_t> sorted_indices(size_t count, Before before) {
    std::vector<uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), before);
    return order;
}

// What is wrong with the file's extent, "" when it ends exactly where its last tensor ends.
std::string extent_problem(const std::vector<SafetensorsEntry>& tensors, uint64_t data_begin,
                           uint64_t file_size_bytes) {
    const uint64_t data_bytes = file_size_bytes - data_begin;
    const SafetensorsEntry* last = nullptr;
    uint64_t end = 0;
    for (const SafetensorsEntry& tensor : tensors)
        if (tensor.offset + tensor.size_bytes >= end) {
            end = tensor.offset + tensor.size_bytes;
            last = &tensor;
        }
    if (end > data_bytes) {
        const uint64_t missing = end - data_bytes;
        return fmt::format(
            "found {} bytes, expected {}: tensor {} ends {} bytes past the end of the file, which "
            "is cut short or damaged; fetch it again",
            file_size_bytes,
            end > ~uint64_t(0) - data_begin ? fmt::format("{} + {}", data_begin, end)
                                            : fmt::to_string(data_begin + end),
            last->name, missing);
    }
    if (end < data_bytes)
        return fmt::format(
            "found {} bytes, expected {}: {} bytes follow the last tensor{}; such a file is "
            "damaged or was not written as safetensors",
            file_size_bytes, data_begin + end, data_bytes - end,
            last != nullptr ? " " + last->name : "");
    return {};
}

// Shapes against spans, spans against each other and the file, names against each other.
std::string spans_problem(const std::vector<SafetensorsEntry>& tensors) {
    for (const SafetensorsEntry& tensor : tensors) {
        const std::optional<uint64_t> needed = shape_bytes(tensor);
        if (!needed)
            return fmt::format("tensor {}: shape {} of {} does not fit 64 bits", tensor.name,
                               shape_text(tensor.shape), to_string(tensor.dtype));
        if (*needed != tensor.size_bytes)
            return fmt::format(
                "tensor {}: data_offsets span {} bytes, expected {} for shape {} of {}",
                tensor.name, tensor.size_bytes, *needed, shape_text(tensor.shape),
                to_string(tensor.dtype));
    }
    const auto by_name = sorted_indices(
        tensors.size(), [&](uint32_t a, uint32_t b) { return tensors[a].name < tensors[b].name; });
    for (size_t i = 1; i < by_name.size(); ++i)
        if (tensors[by_name[i - 1]].name == tensors[by_name[i]].name)
            return fmt::format("tensor {} appears twice in the header (duplicate key)",
                               tensors[by_name[i]].name);
    const auto by_offset = sorted_indices(tensors.size(), [&](uint32_t a, uint32_t b) {
        return tensors[a].offset < tensors[b].offset;
    });
    const SafetensorsEntry* before = nullptr;
    for (const uint32_t index : by_offset) {
        const SafetensorsEntry& tensor = tensors[index];
        if (tensor.size_bytes == 0) continue;
        if (before != nullptr && tensor.offset < before->offset + before->size_bytes)
            return fmt::format("tensors {} and {} overlap: data_offsets [{}, {}] and [{}, {}]",
                               before->name, tensor.name, before->offset,
                               before->offset + before->size_bytes, tensor.offset,
                               tensor.offset + tensor.size_bytes);
        before = &tensor;
    }
    return {};
}

}  // namespace

Result<SafetensorsHeader> parse_safetensors_header(std::string_view text, uint64_t data_begin,
                                                   uint64_t file_size_bytes,
                                                   const std::string& path) {
    if (file_size_bytes < data_begin)
        return fail(ErrorKind::corrupt, fmt::format("{}: found {} bytes, expected at least {}",
                                                    path, file_size_bytes, data_begin));
    if (text.empty() || text.front() != '{')
        return fail(
            ErrorKind::corrupt,
            fmt::format("{}: not a safetensors file: its header does not start with '{{'", path));
    HeaderReader reader;
    if (!json::sax_parse(text.begin(), text.end(), &reader)) {
        if (reader.problem.empty()) reader.problem = "not a safetensors header";
        return fail(reader.kind, fmt::format("{}: header: {}", path, reader.problem));
    }
    std::string problem = spans_problem(reader.header.tensors);
    if (problem.empty())
        problem = extent_problem(reader.header.tensors, data_begin, file_size_bytes);
    if (!problem.empty()) return fail(ErrorKind::corrupt, fmt::format("{}: {}", path, problem));
    reader.header.data_begin = data_begin;
    for (SafetensorsEntry& tensor : reader.header.tensors) tensor.offset += data_begin;
    return std::move(reader.header);
}

Result<SafetensorsHeader> read_safetensors_header(const File& file) {
    const uint64_t file_size_bytes = file.size_bytes();
    if (file_size_bytes < kPrefixBytes)
        return fail(ErrorKind::corrupt,
                    fmt::format("{}: not a safetensors file: found {} bytes, expected at least {}",
                                file.path(), file_size_bytes, kPrefixBytes));
    std::array<uint8_t, kPrefixBytes> prefix{};
    TRY_STATUS(file.read_at(0, std::as_writable_bytes(std::span(prefix))));
    uint64_t header_bytes = 0;
    for (size_t i = 0; i < prefix.size(); ++i) header_bytes |= uint64_t(prefix[i]) << (8 * i);
    if (header_bytes > file_size_bytes - kPrefixBytes || header_bytes == 0)
        return fail(ErrorKind::corrupt,
                    fmt::format("{}: not a whole safetensors file: its header length is {}, but {} "
                                "bytes follow the length",
                                file.path(), header_bytes, file_size_bytes - kPrefixBytes));
    if (header_bytes > kSafetensorsHeaderBytesMax)
        return fail(ErrorKind::corrupt,
                    fmt::format("{}: its header length is {}, expected at most {}", file.path(),
                                header_bytes, kSafetensorsHeaderBytesMax));
    std::string text(header_bytes, '\0');
    TRY_STATUS(file.read_at(kPrefixBytes, std::as_writable_bytes(std::span(text))));
    return parse_safetensors_header(text, kPrefixBytes + header_bytes, file_size_bytes,
                                    file.path());
}

}  // namespace colibri

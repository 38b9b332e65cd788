// A string that remembers which of its bytes came from the conversation and which from the
// template.
//
// A chat prompt mixes the template's own control tokens with text that users, tools and other
// programs wrote. Only the first kind may be encoded as special tokens. The origin is kept per byte
// range through every operation of the template, so that no route (concatenation, slicing,
// replacing, formatting, macros) lets text pose as a marker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace colibri {

// Bytes [begin, end) of a string.
struct ByteRange {
    size_t begin = 0;
    size_t end = 0;

    bool operator==(const ByteRange&) const = default;
};

namespace jinja {

// UTF-8 bytes with the sorted, disjoint, non-adjacent ranges of them that came from outside the
// template.
class TrackedText {
public:
    TrackedText() = default;
    [[nodiscard]] static TrackedText from_template(std::string bytes);
    [[nodiscard]] static TrackedText from_input(std::string bytes);
    // The whole text counts as input exactly if `is_input`; for results whose bytes cannot be
    // traced singly.
    [[nodiscard]] static TrackedText derived(std::string bytes, bool is_input);

    [[nodiscard]] const std::string& bytes() const { return bytes_; }
    [[nodiscard]] const std::vector<ByteRange>& input_ranges() const { return input_; }
    [[nodiscard]] bool has_input() const { return !input_.empty(); }
    [[nodiscard]] size_t size() const { return bytes_.size(); }
    [[nodiscard]] bool empty() const { return bytes_.empty(); }

    void append(const TrackedText& other);
    // Bytes [begin, end) of `other`; begin <= end <= other.size().
    void append(const TrackedText& other, size_t begin, size_t end);
    void append(std::string_view bytes, bool is_input);
    [[nodiscard]] TrackedText slice(size_t begin, size_t end) const;

private:
    void mark(size_t begin, size_t end);

    std::string bytes_;
    std::vector<ByteRange> input_;
};

}  // namespace jinja
}  // namespace colibri

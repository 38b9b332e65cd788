// UTF-8, one step at a time. Foreign bytes are never assumed to be valid.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace colibri {

enum class Utf8Kind : uint8_t {
    character,  // one valid scalar value
    invalid,    // a maximal ill-formed prefix (what one U+FFFD stands for)
    truncated,  // the text ends inside a sequence that could still become valid
};

struct Utf8Step {
    Utf8Kind kind;
    uint8_t length;       // bytes used, 1..4
    uint32_t code_point;  // for `character` only
};

// Looks at the sequence that begins at `position`, which must be < text.size().
[[nodiscard]] Utf8Step utf8_step(std::string_view text, size_t position);

// Length of the longest prefix that is valid UTF-8.
[[nodiscard]] size_t valid_utf8_prefix(std::string_view text);

// Unicode's White_Space property.
[[nodiscard]] bool is_white_space(uint32_t code_point);

void append_utf8(std::string& out, uint32_t code_point);

// Every ill-formed maximal subpart becomes one U+FFFD (the Unicode standard's recommended practice,
// which Python's "replace" and Rust's from_utf8_lossy follow). A truncated end counts as
// ill-formed.
void append_lossy_utf8(std::string& out, std::string_view bytes);

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

}  // namespace colibri

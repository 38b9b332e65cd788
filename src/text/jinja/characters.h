// Characters of a UTF-8 string as Python counts and classifies them. Ill-formed bytes count as one
// character each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace colibri::jinja {

// Bytes of the character that starts at `position` (1 to 4); position < text.size().
[[nodiscard]] size_t character_size(std::string_view text, size_t position);
[[nodiscard]] size_t character_count(std::string_view text);
// The code point at `position`; an ill-formed byte gives its own value plus 0xDC00 (no valid
// character).
[[nodiscard]] char32_t character_at(std::string_view text, size_t position);
void append_character(std::string& text, char32_t character);
[[nodiscard]] bool is_valid_utf8(std::string_view text, size_t& first_bad_byte);

// Python's str.isspace set (Unicode White_Space and the four separators FS, GS, RS, US).
[[nodiscard]] bool is_space(char32_t character);
// Simple case pairs of ASCII, Latin-1, Latin Extended-A, Greek and Cyrillic; other characters stay
// as they are.
[[nodiscard]] char32_t to_upper(char32_t character);
[[nodiscard]] char32_t to_lower(char32_t character);
[[nodiscard]] bool is_letter(char32_t character);

[[nodiscard]] std::string upper(std::string_view text);
[[nodiscard]] std::string lower(std::string_view text);
// First character upper, the rest lower.
[[nodiscard]] std::string capitalize(std::string_view text);

}  // namespace colibri::jinja

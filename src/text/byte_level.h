// GPT-2's byte alphabet: a printable character for each of the 256 bytes, in which tokenizer.json
// spells tokens. Bytes 33-126, 161-172 and 174-255 are the code point of equal value; the other 68,
// in ascending order, are U+0100, U+0101, ...
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace colibri {

// Code point that spells `byte`.
[[nodiscard]] uint32_t byte_level_character(uint8_t byte);

// Byte that `code_point` spells; nothing if it is not in the alphabet.
[[nodiscard]] std::optional<uint8_t> byte_level_byte(uint32_t code_point);

// Appends the spelling of `bytes` to `out`.
void append_byte_level_spelling(std::string& out, std::string_view bytes);

// Appends the bytes that `spelling` stands for. False, with `out` unchanged, if some character is
// not in the alphabet (or the spelling is not UTF-8): such a token stands for its own UTF-8 bytes.
[[nodiscard]] bool append_byte_level_bytes(std::string& out, std::string_view spelling);

}  // namespace colibri

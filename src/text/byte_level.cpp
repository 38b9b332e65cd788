#include "text/byte_level.h"

#include <array>

#include "text/utf8.h"

namespace colibri {
namespace {

constexpr uint32_t kFirstMoved = 0x100;
constexpr uint32_t kAlphabetEnd = kFirstMoved + 68;
constexpr uint16_t kNone = 0xFFFF;

constexpr bool spells_itself(uint32_t byte) {
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

struct Alphabet {
    std::array<uint16_t, 256> character{};
    std::array<uint16_t, kAlphabetEnd> byte{};
};

constexpr Alphabet make_alphabet() {
    Alphabet alphabet;
    alphabet.byte.fill(kNone);
    uint16_t moved = kFirstMoved;
    for (uint16_t byte = 0; byte < 256; ++byte) {
        const uint16_t character = spells_itself(byte) ? byte : moved++;
        alphabet.character[byte] = character;
        alphabet.byte[character] = byte;
    }
    return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

uint32_t byte_level_character(uint8_t byte) {
    return kAlphabet.character[byte];
}

std::optional<uint8_t> byte_level_byte(uint32_t code_point) {
    if (code_point >= kAlphabetEnd || kAlphabet.byte[code_point] == kNone) return std::nullopt;
    return static_cast<uint8_t>(kAlphabet.byte[code_point]);
}

void append_byte_level_spelling(std::string& out, std::string_view bytes) {
    for (const char c : bytes) append_utf8(out, byte_level_character(static_cast<uint8_t>(c)));
}

bool append_byte_level_bytes(std::string& out, std::string_view spelling) {
    const size_t before = out.size();
    for (size_t position = 0; position < spelling.size();) {
        const Utf8Step step = utf8_step(spelling, position);
        const auto byte =
            step.kind == Utf8Kind::character ? byte_level_byte(step.code_point) : std::nullopt;
        if (!byte) {
            out.resize(before);
            return false;
        }
        out.push_back(static_cast<char>(*byte));
        position += step.length;
    }
    return true;
}

}  // namespace colibri

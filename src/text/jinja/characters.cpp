#include "text/jinja/characters.h"

namespace colibri::jinja {
namespace {

constexpr char32_t kIllFormed = 0xDC00;  // a lone surrogate: never decoded from well-formed UTF-8

bool is_continuation(std::string_view text, size_t position) {
    return position < text.size() && (static_cast<uint8_t>(text[position]) & 0xC0U) == 0x80U;
}

struct Decoded {
    char32_t character;
    size_t size;
};

Decoded decode(std::string_view text, size_t position) {
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[position + i]); };
    const uint8_t lead = byte(0);
    if (lead < 0x80) return {.character = lead, .size = 1};
    const size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    const Decoded bad{.character = kIllFormed + lead, .size = 1};
    if (lead < 0xC2 || lead > 0xF4) return bad;
    char32_t character = lead & (0x7FU >> size);
    for (size_t i = 1; i < size; ++i) {
        if (!is_continuation(text, position + i)) return bad;
        character = (character << 6U) | (byte(i) & 0x3FU);
    }
    const bool overlong = (size == 3 && character < 0x800) || (size == 4 && character < 0x10000);
    const bool surrogate = character >= 0xD800 && character <= 0xDFFF;
    if (overlong || surrogate || character > 0x10FFFF) return bad;
    return {.character = character, .size = size};
}

bool is_even_upper(
    char32_t c) {  // blocks in which an even code point is upper and the next one its lower
    return (c >= 0x100 && c <= 0x12F) || (c >= 0x132 && c <= 0x137) || (c >= 0x14A && c <= 0x177) ||
           (c >= 0x460 && c <= 0x481) || (c >= 0x48A && c <= 0x4BF) || (c >= 0x4D0 && c <= 0x52F);
}

bool is_odd_upper(char32_t c) {
    return (c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17E) || (c >= 0x4C1 && c <= 0x4CE);
}

}  // namespace

size_t character_size(std::string_view text, size_t position) {
    return decode(text, position).size;
}

char32_t character_at(std::string_view text, size_t position) {
    return decode(text, position).character;
}

size_t character_count(std::string_view text) {
    size_t count = 0;
    for (size_t at = 0; at < text.size(); at += character_size(text, at)) ++count;
    return count;
}

void append_character(std::string& text, char32_t character) {
    const auto put = [&](char32_t value) { text.push_back(static_cast<char>(value)); };
    if (character < 0x80) {
        put(character);
    } else if (character < 0x800) {
        put(0xC0U | (character >> 6U));
        put(0x80U | (character & 0x3FU));
    } else if (character >= kIllFormed + 0x80 && character <= kIllFormed + 0xFF) {
        put(character - kIllFormed);  // the byte that character_at could not decode
    } else if (character < 0x10000) {
        put(0xE0U | (character >> 12U));
        put(0x80U | ((character >> 6U) & 0x3FU));
        put(0x80U | (character & 0x3FU));
    } else {
        put(0xF0U | (character >> 18U));
        put(0x80U | ((character >> 12U) & 0x3FU));
        put(0x80U | ((character >> 6U) & 0x3FU));
        put(0x80U | (character & 0x3FU));
    }
}

bool is_valid_utf8(std::string_view text, size_t& first_bad_byte) {
    for (size_t at = 0; at < text.size();) {
        const Decoded decoded = decode(text, at);
        if (decoded.character >= kIllFormed && decoded.character <= kIllFormed + 0xFF) {
            first_bad_byte = at;
            return false;
        }
        at += decoded.size;
    }
    return true;
}

bool is_space(char32_t c) {
    return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

char32_t to_upper(char32_t c) {
    if (c >= 'a' && c <= 'z') return c - 32;
    if (c < 0x80) return c;
    if ((c >= 0xE0 && c <= 0xFE && c != 0xF7) || (c >= 0x430 && c <= 0x44F)) return c - 32;
    if (c == 0xFF) return 0x178;
    if (c == 0xB5) return 0x39C;
    if (c == 0x131) return 'I';
    if (c == 0x17F) return 'S';
    if (c == 0x3C2) return 0x3A3;
    if (c >= 0x3B1 && c <= 0x3CB) return c - 32;
    if (c == 0x3AC) return 0x386;
    if (c >= 0x3AD && c <= 0x3AF) return c - 37;
    if (c == 0x3CC) return 0x38C;
    if (c == 0x3CD || c == 0x3CE) return c - 63;
    if (c >= 0x450 && c <= 0x45F) return c - 80;
    if (is_even_upper(c)) return c & ~char32_t{1};
    if (is_odd_upper(c)) return (c & 1U) != 0 ? c : c - 1;
    if (c == 0x4CF) return 0x4C0;
    return c;
}

char32_t to_lower(char32_t c) {
    if (c >= 'A' && c <= 'Z') return c + 32;
    if (c < 0x80) return c;
    if ((c >= 0xC0 && c <= 0xDE && c != 0xD7) || (c >= 0x410 && c <= 0x42F)) return c + 32;
    if (c == 0x178) return 0xFF;
    if (c >= 0x391 && c <= 0x3AB && c != 0x3A2) return c + 32;
    if (c == 0x386) return 0x3AC;
    if (c >= 0x388 && c <= 0x38A) return c + 37;
    if (c == 0x38C) return 0x3CC;
    if (c == 0x38E || c == 0x38F) return c + 63;
    if (c >= 0x400 && c <= 0x40F) return c + 80;
    if (c == 0x130) return c;  // its lower form is two characters
    if (is_even_upper(c)) return c | 1U;
    if (is_odd_upper(c)) return (c & 1U) != 0 ? c + 1 : c;
    if (c == 0x4C0) return 0x4CF;
    return c;
}

bool is_letter(char32_t c) {
    if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return to_upper(c) != c || to_lower(c) != c || c == 0xDF;
}

std::string upper(std::string_view text) {
    std::string result;
    for (size_t at = 0; at < text.size(); at += character_size(text, at)) {
        const char32_t character = character_at(text, at);
        if (character == 0xDF) {
            result += "SS";
        } else {
            append_character(result, to_upper(character));
        }
    }
    return result;
}

std::string lower(std::string_view text) {
    std::string result;
    for (size_t at = 0; at < text.size(); at += character_size(text, at)) {
        append_character(result, to_lower(character_at(text, at)));
    }
    return result;
}

std::string capitalize(std::string_view text) {
    if (text.empty()) return {};
    const size_t first = character_size(text, 0);
    return upper(text.substr(0, first)) + lower(text.substr(first));
}

}  // namespace colibri::jinja

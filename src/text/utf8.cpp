#include "text/utf8.h"

namespace colibri {
namespace {

struct LeadByte {
    uint8_t length;  // 0: cannot begin a sequence
    uint8_t second_low;
    uint8_t second_high;
};

// Table 3-7 of the Unicode standard: the second byte's range excludes overlong forms, surrogates
// and > U+10FFFF.
LeadByte classify(uint8_t byte) {
    if (byte < 0xC2) return {0, 0, 0};
    if (byte < 0xE0) return {2, 0x80, 0xBF};
    if (byte == 0xE0) return {3, 0xA0, 0xBF};
    if (byte == 0xED) return {3, 0x80, 0x9F};
    if (byte < 0xF0) return {3, 0x80, 0xBF};
    if (byte == 0xF0) return {4, 0x90, 0xBF};
    if (byte < 0xF4) return {4, 0x80, 0xBF};
    if (byte == 0xF4) return {4, 0x80, 0x8F};
    return {0, 0, 0};
}

}  // namespace

Utf8Step utf8_step(std::string_view text, size_t position) {
    const auto lead = static_cast<uint8_t>(text[position]);
    if (lead < 0x80) return {Utf8Kind::character, 1, lead};
    const LeadByte form = classify(lead);
    if (form.length == 0) return {Utf8Kind::invalid, 1, 0};
    uint32_t code_point = lead & (0x7FU >> form.length);
    for (uint8_t i = 1; i < form.length; ++i) {
        if (position + i >= text.size()) return {Utf8Kind::truncated, i, 0};
        const auto byte = static_cast<uint8_t>(text[position + i]);
        const uint8_t low = i == 1 ? form.second_low : 0x80;
        const uint8_t high = i == 1 ? form.second_high : 0xBF;
        if (byte < low || byte > high) return {Utf8Kind::invalid, i, 0};
        code_point = code_point << 6 | (byte & 0x3FU);
    }
    return {Utf8Kind::character, form.length, code_point};
}

size_t valid_utf8_prefix(std::string_view text) {
    size_t position = 0;
    while (position < text.size()) {
        if (static_cast<uint8_t>(text[position]) < 0x80) {
            ++position;
            continue;
        }
        const Utf8Step step = utf8_step(text, position);
        if (step.kind != Utf8Kind::character) break;
        position += step.length;
    }
    return position;
}

bool is_white_space(uint32_t c) {
    return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
           c == 0x205F || c == 0x3000;
}

void append_utf8(std::string& out, uint32_t code_point) {
    const auto put = [&out](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (code_point < 0x80) {
        put(code_point);
    } else if (code_point < 0x800) {
        put(0xC0 | code_point >> 6);
        put(0x80 | (code_point & 0x3F));
    } else if (code_point < 0x10000) {
        put(0xE0 | code_point >> 12);
        put(0x80 | (code_point >> 6 & 0x3F));
        put(0x80 | (code_point & 0x3F));
    } else {
        put(0xF0 | code_point >> 18);
        put(0x80 | (code_point >> 12 & 0x3F));
        put(0x80 | (code_point >> 6 & 0x3F));
        put(0x80 | (code_point & 0x3F));
    }
}

void append_lossy_utf8(std::string& out, std::string_view bytes) {
    while (!bytes.empty()) {
        const size_t valid = valid_utf8_prefix(bytes);
        out.append(bytes.substr(0, valid));
        bytes.remove_prefix(valid);
        if (bytes.empty()) return;
        out.append(kReplacementCharacter);
        bytes.remove_prefix(utf8_step(bytes, 0).length);
    }
}

}  // namespace colibri

#include "text/jinja/string_escapes.h"

#include <fmt/format.h>

#include "text/jinja/characters.h"

namespace colibri::jinja {
namespace {

// Escapes of one character; '\0' if there is none.
char simple_escape(char c) {
    switch (c) {
        case 'n': return '\n';
        case 't': return '\t';
        case 'r': return '\r';
        case 'a': return '\a';
        case 'b': return '\b';
        case 'f': return '\f';
        case 'v': return '\v';
        case '\\': return '\\';
        case '\'': return '\'';
        case '"': return '"';
        default: return '\0';
    }
}

// Reads up to `count` digits of the radix at `at`; advances past them.
char32_t read_digits(std::string_view text, size_t& at, size_t count, uint32_t radix,
                     size_t& found) {
    char32_t value = 0;
    for (found = 0; found < count && at < text.size(); ++found, ++at) {
        const char c = text[at];
        const uint32_t digit = c >= '0' && c <= '9'   ? static_cast<uint32_t>(c - '0')
                               : c >= 'a' && c <= 'f' ? static_cast<uint32_t>(c - 'a') + 10
                               : c >= 'A' && c <= 'F' ? static_cast<uint32_t>(c - 'A') + 10
                                                      : 99;
        if (digit >= radix) break;
        value = value * radix + digit;
    }
    return value;
}

}  // namespace

Result<std::string> unescape(std::string_view literal) {
    std::string out;
    for (size_t at = 0; at < literal.size();) {
        if (literal[at] != '\\' || at + 1 == literal.size()) {
            out += literal[at++];
            continue;
        }
        const char kind = literal[at + 1];
        at += 2;
        if (const char simple = simple_escape(kind); simple != '\0') {
            out += simple;
        } else if (kind == 'x' || kind == 'u' || kind == 'U') {
            const size_t count = kind == 'x' ? 2 : kind == 'u' ? 4 : 8;
            size_t found = 0;
            const char32_t character = read_digits(literal, at, count, 16, found);
            const bool surrogate = character >= 0xD800 && character <= 0xDFFF;
            if (found != count || character > 0x10FFFF || surrogate) {
                return fail(
                    ErrorKind::invalid_input,
                    fmt::format("\\{} in a string needs {} hexadecimal digits of a character", kind,
                                count));
            }
            append_character(out, character);
        } else if (kind >= '0' && kind <= '7') {
            --at;
            size_t found = 0;
            append_character(out, read_digits(literal, at, 3, 8, found));
        } else if (kind != '\n') {
            out += '\\';
            out += kind;
        }
    }
    return out;
}

}  // namespace colibri::jinja

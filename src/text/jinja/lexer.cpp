#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <utility>

#include "text/jinja/characters.h"
#include "text/jinja/string_escapes.h"
#include "text/jinja/token.h"

namespace colibri::jinja {
namespace {

// Longest first, so that "//" is not read as two divisions.
constexpr std::array<std::string_view, 26> kOperators = {
    "**", "//", "==", "!=", ">=", "<=", "+", "-", "*", "/", "%", "~", "[",
    "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80;
}

std::string with_unix_newlines(std::string_view source) {
    std::string out;
    out.reserve(source.size());
    for (size_t i = 0; i < source.size(); ++i) {
        if (source[i] != '\r') {
            out += source[i];
        } else if (i + 1 == source.size() || source[i + 1] != '\n') {
            out += '\n';
        }
    }
    if (!out.empty() && out.back() == '\n') out.pop_back();
    return out;
}

class Lexer {
public:
    Lexer(std::string source, std::string_view file_name)
        : source_(std::move(source)), file_name_(file_name) {}

    Result<std::vector<Token>> run() {
        size_t bad_byte = 0;
        if (!is_valid_utf8(source_, bad_byte)) {
            return error(bad_byte, "the template is not valid UTF-8");
        }
        while (at_ < source_.size()) TRY_STATUS(lex_data());
        push({.kind = TokenKind::end_of_source, .position = position_of(source_.size())});
        return std::move(tokens_);
    }

private:
    tl::unexpected<Error> error(size_t offset, std::string_view message) {
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}: {}", at_position(file_name_, position_of(offset)), message));
    }

    // Offsets are asked for in ascending order nearly always, so the count goes on from the last
    // one.
    Position position_of(size_t offset) {
        if (offset < counted_to_) {
            counted_to_ = 0;
            counted_ = {};
        }
        for (; counted_to_ < offset; ++counted_to_) {
            const auto byte = static_cast<unsigned char>(source_[counted_to_]);
            if (byte == '\n') {
                ++counted_.line;
                counted_.column = 1;
            } else if ((byte & 0xC0U) != 0x80U) {
                ++counted_.column;
            }
        }
        return counted_;
    }

    void push(Token token) { tokens_.push_back(std::move(token)); }

    void push_data(size_t begin, size_t end) {
        if (begin == end) return;
        push({.kind = TokenKind::data,
              .position = position_of(begin),
              .text = source_.substr(begin, end - begin)});
    }

    // The next "{{", "{%" or "{#" at or after `from`.
    [[nodiscard]] size_t find_tag(size_t from) const {
        for (size_t i = source_.find('{', from); i != std::string::npos;
             i = source_.find('{', i + 1)) {
            if (i + 1 < source_.size() &&
                (source_[i + 1] == '{' || source_[i + 1] == '%' || source_[i + 1] == '#')) {
                return i;
            }
        }
        return source_.size();
    }

    // Where literal text [begin, tag) ends once the tag's sign and lstrip_blocks have taken their
    // blanks.
    [[nodiscard]] size_t data_end(size_t begin, size_t tag, char sign, bool is_variable) const {
        size_t end = tag;
        if (sign == '-') {
            while (end > begin && ends_in_space(begin, end)) end = previous(end);
            return end;
        }
        if (sign == '+' || is_variable) return tag;
        const size_t newline = std::string_view(source_).substr(begin, tag - begin).rfind('\n');
        const bool has_newline = newline != std::string_view::npos;
        if (!has_newline && !line_starting_) return tag;
        const size_t line = has_newline ? begin + newline + 1 : begin;
        end = tag;
        while (end > line && ends_in_space(line, end)) end = previous(end);
        return end == line ? line : tag;
    }

    [[nodiscard]] size_t previous(size_t end) const {
        size_t start = end - 1;
        while (start > 0 && (static_cast<unsigned char>(source_[start]) & 0xC0U) == 0x80U) --start;
        return start;
    }
    [[nodiscard]] bool ends_in_space(size_t begin, size_t end) const {
        const size_t start = previous(end);
        return start >= begin && is_space(character_at(source_, start));
    }
    [[nodiscard]] size_t skip_spaces(size_t from) const {
        while (from < source_.size() && is_space(character_at(source_, from))) {
            from += character_size(source_, from);
        }
        return from;
    }

    // The end of a closing mark "%}", "#}" or "}}" with an optional sign at `from`, whitespace it
    // strips included.
    [[nodiscard]] std::optional<size_t> closing(size_t from, std::string_view mark) const {
        const bool minus = source_.compare(from, 1, "-") == 0;
        const bool plus = mark != "}}" && source_.compare(from, 1, "+") == 0;
        const size_t mark_at = from + (minus || plus ? 1 : 0);
        if (source_.compare(mark_at, 2, mark) != 0) return std::nullopt;
        const size_t end = mark_at + 2;
        if (minus) return skip_spaces(end);
        const bool trims = mark != "}}" && !plus && end < source_.size() && source_[end] == '\n';
        return trims ? end + 1 : end;
    }

    void move_to(size_t end) {
        line_starting_ = end > 0 && source_[end - 1] == '\n';
        at_ = end;
    }

    // Literal text up to the next tag, and the tag.
    Status lex_data() {
        const size_t begin = at_;
        const size_t tag = find_tag(begin);
        if (tag == source_.size()) {
            push_data(begin, tag);
            at_ = tag;
            return {};
        }
        const char kind = source_[tag + 1];
        const char next = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
        const char sign = next == '-' || next == '+' ? next : '\0';
        push_data(begin, data_end(begin, tag, sign, kind == '{'));
        const size_t inside = tag + 2 + (sign != '\0' ? 1 : 0);
        if (kind == '#') return lex_comment(tag, inside);
        if (kind == '%') {
            if (const auto body = raw_body(inside)) return lex_raw(tag, *body);
        }
        push({.kind = kind == '{' ? TokenKind::variable_begin : TokenKind::block_begin,
              .position = position_of(tag)});
        move_to(inside);
        return lex_code(tag, kind == '{');
    }

    Status lex_comment(size_t tag, size_t inside) {
        // A sign that belongs to the closing mark is tried first, as in "{#-#}".
        for (size_t i = inside; i < source_.size(); ++i) {
            if (source_[i] != '#' && source_[i] != '-' && source_[i] != '+') continue;
            if (const auto end = closing(i, "#}")) {
                move_to(*end);
                return {};
            }
        }
        return error(tag, "this comment has no end: expected '#}'");
    }

    // If "raw %}" stands at `inside`, the offset after it.
    [[nodiscard]] std::optional<size_t> raw_body(size_t inside) const {
        size_t at = skip_spaces(inside);
        if (source_.compare(at, 3, "raw") != 0) return std::nullopt;
        at = skip_spaces(at + 3);
        if (source_.compare(at, 3, "-%}") == 0) return skip_spaces(at + 3);
        if (source_.compare(at, 2, "%}") == 0) return at + 2;
        return std::nullopt;
    }

    Status lex_raw(size_t tag, size_t body) {
        move_to(body);
        for (size_t i = source_.find("{%", body); i != std::string::npos;
             i = source_.find("{%", i + 1)) {
            const char next = i + 2 < source_.size() ? source_[i + 2] : '\0';
            const char sign = next == '-' || next == '+' ? next : '\0';
            const size_t name = skip_spaces(i + 2 + (sign != '\0' ? 1 : 0));
            if (source_.compare(name, 6, "endraw") != 0) continue;
            const auto end = closing(skip_spaces(name + 6), "%}");
            if (!end) continue;
            push_data(body, data_end(body, i, sign, false));
            move_to(*end);
            return {};
        }
        return error(tag, "this raw block has no end: expected '{% endraw %}'");
    }

    Status lex_code(size_t tag, bool is_variable) {
        std::vector<char> open_brackets;
        const std::string_view mark = is_variable ? "}}" : "%}";
        while (at_ < source_.size()) {
            const size_t after_spaces = skip_spaces(at_);
            if (after_spaces != at_) {
                at_ = after_spaces;
                continue;
            }
            if (open_brackets.empty()) {
                if (const auto end = closing(at_, mark)) {
                    push({.kind = is_variable ? TokenKind::variable_end : TokenKind::block_end,
                          .position = position_of(at_)});
                    move_to(*end);
                    return {};
                }
            }
            TRY_STATUS(lex_token(open_brackets));
        }
        return error(tag, fmt::format("this tag has no end: expected '{}'", mark));
    }

    Status lex_token(std::vector<char>& open_brackets) {
        const char c = source_[at_];
        if (is_digit(c)) return lex_number();
        if (is_name_start(c)) {
            size_t end = at_;
            while (end < source_.size() && (is_name_start(source_[end]) || is_digit(source_[end])))
                ++end;
            push({.kind = TokenKind::name,
                  .position = position_of(at_),
                  .text = source_.substr(at_, end - at_)});
            at_ = end;
            return {};
        }
        if (c == '"' || c == '\'') return lex_string(c);
        for (const std::string_view spelling : kOperators) {
            if (source_.compare(at_, spelling.size(), spelling) != 0) continue;
            TRY_STATUS(balance(spelling, open_brackets));
            push({.kind = TokenKind::op,
                  .position = position_of(at_),
                  .text = std::string(spelling)});
            at_ += spelling.size();
            return {};
        }
        const size_t size = character_size(source_, at_);
        return error(at_, fmt::format("unexpected character '{}'", source_.substr(at_, size)));
    }

    Status balance(std::string_view spelling, std::vector<char>& open_brackets) {
        const char c = spelling.size() == 1 ? spelling[0] : '\0';
        if (c == '(' || c == '[' || c == '{') {
            open_brackets.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
        } else if (c == ')' || c == ']' || c == '}') {
            if (open_brackets.empty()) return error(at_, fmt::format("unexpected '{}'", c));
            if (open_brackets.back() != c) {
                return error(
                    at_, fmt::format("unexpected '{}', expected '{}'", c, open_brackets.back()));
            }
            open_brackets.pop_back();
        }
        return {};
    }

    // Digits with single underscores between them from `from`; the end of them.
    [[nodiscard]] size_t digits_end(size_t from) const {
        size_t end = from;
        while (end < source_.size() && (is_digit(source_[end]) ||
                                        (source_[end] == '_' && end > from &&
                                         end + 1 < source_.size() && is_digit(source_[end + 1])))) {
            ++end;
        }
        return end;
    }

    Status lex_number() {
        const size_t begin = at_;
        const char radix_mark =
            source_[begin] == '0' && begin + 1 < source_.size() ? source_[begin + 1] : '\0';
        const int radix = radix_mark == 'x' || radix_mark == 'X'   ? 16
                          : radix_mark == 'o' || radix_mark == 'O' ? 8
                          : radix_mark == 'b' || radix_mark == 'B' ? 2
                                                                   : 10;
        if (radix != 10) return lex_radix_integer(radix);
        size_t end = digits_end(begin);
        bool is_float = false;
        const bool after_dot = begin > 0 && source_[begin - 1] == '.';
        if (!after_dot && end + 1 < source_.size() && source_[end] == '.' &&
            is_digit(source_[end + 1])) {
            is_float = true;
            end = digits_end(end + 1);
        }
        if (!after_dot && end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
            size_t exponent = end + 1;
            if (exponent < source_.size() &&
                (source_[exponent] == '+' || source_[exponent] == '-')) {
                ++exponent;
            }
            if (exponent < source_.size() && is_digit(source_[exponent])) {
                is_float = true;
                end = digits_end(exponent);
            }
        }
        std::string digits = source_.substr(begin, end - begin);
        std::erase(digits, '_');
        Token token{.kind = is_float ? TokenKind::floating : TokenKind::integer,
                    .position = position_of(begin)};
        if (is_float) {
            token.floating = std::strtod(digits.c_str(), nullptr);
        } else {
            if (!to_integer(digits, 10, token.integer)) {
                return error(begin, fmt::format("the number {} does not fit 64 bits", digits));
            }
            if (digits[0] == '0' && token.integer != 0) {
                return error(begin, fmt::format("the number {} has leading zeros", digits));
            }
        }
        push(std::move(token));
        at_ = end;
        return {};
    }

    Status lex_radix_integer(int radix) {
        const size_t begin = at_;
        size_t end = begin + 2;
        const auto is_radix_digit = [&](char c) {
            return radix == 16
                       ? std::string_view("0123456789abcdefABCDEF").find(c) != std::string::npos
                       : c >= '0' && c < '0' + radix;
        };
        while (end < source_.size() && (is_radix_digit(source_[end]) || source_[end] == '_')) ++end;
        std::string digits = source_.substr(begin + 2, end - begin - 2);
        std::erase(digits, '_');
        Token token{.kind = TokenKind::integer, .position = position_of(begin)};
        if (digits.empty() || !to_integer(digits, radix, token.integer)) {
            return error(begin, "this number has no digits or does not fit 64 bits");
        }
        push(std::move(token));
        at_ = end;
        return {};
    }

    static bool to_integer(const std::string& digits, int radix, Int& value) {
        value = 0;
        for (const char c : digits) {
            const int digit = is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10;
            value = value * radix + digit;
            if (!fits(value)) return false;
        }
        return true;
    }

    Status lex_string(char quote) {
        const size_t begin = at_ + 1;
        size_t end = begin;
        while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
        if (end >= source_.size()) return error(at_, "this string has no closing quote");
        auto text = unescape(std::string_view(source_).substr(begin, end - begin));
        if (!text) return error(at_, text.error().message);
        push({.kind = TokenKind::string, .position = position_of(at_), .text = *std::move(text)});
        at_ = end + 1;
        return {};
    }

    std::string source_;
    std::string_view file_name_;
    size_t at_ = 0;
    bool line_starting_ = true;
    size_t counted_to_ = 0;
    Position counted_;
    std::vector<Token> tokens_;
};

}  // namespace

std::string at_position(std::string_view file_name, Position position) {
    return fmt::format("{}:{}:{}", file_name, position.line, position.column);
}

Result<std::vector<Token>> tokenize(std::string_view source, std::string_view file_name) {
    if (source.size() > kSourceBytesMax) {
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}: the template has {} bytes; the limit is {}", file_name,
                                source.size(), kSourceBytesMax));
    }
    return Lexer(with_unix_newlines(source), file_name).run();
}

}  // namespace colibri::jinja

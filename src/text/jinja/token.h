// Tokens of a template and where they stand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/jinja/value.h"

namespace colibri::jinja {

// Counted from 1; columns count characters.
struct Position {
    uint32_t line = 1;
    uint32_t column = 1;
};

enum class TokenKind : uint8_t {
    data,  // literal output
    variable_begin,
    variable_end,
    block_begin,
    block_end,
    name,
    string,
    integer,
    floating,
    op,  // an operator or punctuation mark, its spelling in `text`
    end_of_source,
};

struct Token {
    TokenKind kind = TokenKind::end_of_source;
    Position position;
    std::string text = {};  // data, unescaped string, name or operator
    Int integer = 0;
    double floating = 0;

    [[nodiscard]] bool is_op(std::string_view spelling) const {
        return kind == TokenKind::op && text == spelling;
    }
    [[nodiscard]] bool is_name(std::string_view spelling) const {
        return kind == TokenKind::name && text == spelling;
    }
};

// Splits a template as Jinja does with trim_blocks and lstrip_blocks on, the setting under which
// every published chat template is rendered: the newline after a block tag and the blanks before
// one at the start of a line are dropped, `-` strips all whitespace on its side, `+` keeps it, and
// one newline at the end of the source is dropped. Errors are prefixed with "file:line:column".
[[nodiscard]] Result<std::vector<Token>> tokenize(std::string_view source,
                                                  std::string_view file_name);

[[nodiscard]] std::string at_position(std::string_view file_name, Position position);

}  // namespace colibri::jinja

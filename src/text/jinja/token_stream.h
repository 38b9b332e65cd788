// The parser's view of the tokens, and its errors.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/jinja/token.h"

namespace colibri::jinja {

class TokenStream {
public:
    TokenStream(std::vector<Token> tokens, std::string_view file_name);

    [[nodiscard]] const Token& current() const { return tokens_[at_]; }
    // The token after the current one, or the end.
    [[nodiscard]] const Token& next_token() const;
    [[nodiscard]] Position position() const { return current().position; }
    void advance();
    bool skip_if_name(std::string_view spelling);
    bool skip_if_op(std::string_view spelling);
    [[nodiscard]] Status expect_op(std::string_view spelling);
    [[nodiscard]] Status expect_name(std::string_view spelling);
    [[nodiscard]] Status expect_block_end();
    [[nodiscard]] Status expect_variable_end();
    [[nodiscard]] Result<std::string> expect_identifier();

    [[nodiscard]] tl::unexpected<Error> error(Position position, std::string_view message) const;
    // "expected X, found Y" at the current token.
    [[nodiscard]] tl::unexpected<Error> expected(std::string_view what) const;

    // Nesting of the construct being parsed; fails beyond kSyntaxDepthMax.
    class Nesting {
    public:
        explicit Nesting(TokenStream& stream) : stream_(stream) { ++stream_.depth_; }
        Nesting(const Nesting&) = delete;
        Nesting& operator=(const Nesting&) = delete;
        ~Nesting() { --stream_.depth_; }
        [[nodiscard]] Status check() const;

    private:
        TokenStream& stream_;
    };

private:
    std::vector<Token> tokens_;
    std::string file_name_;
    size_t at_ = 0;
    size_t depth_ = 0;
};

[[nodiscard]] std::string describe(const Token& token);

}  // namespace colibri::jinja

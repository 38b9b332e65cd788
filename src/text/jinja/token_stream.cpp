#include "text/jinja/token_stream.h"

#include <fmt/format.h>

#include <utility>

namespace colibri::jinja {

TokenStream::TokenStream(std::vector<Token> tokens, std::string_view file_name)
    : tokens_(std::move(tokens)), file_name_(file_name) {}

const Token& TokenStream::next_token() const {
    return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_];
}

void TokenStream::advance() {
    if (at_ + 1 < tokens_.size()) ++at_;
}

bool TokenStream::skip_if_name(std::string_view spelling) {
    if (!current().is_name(spelling)) return false;
    advance();
    return true;
}

bool TokenStream::skip_if_op(std::string_view spelling) {
    if (!current().is_op(spelling)) return false;
    advance();
    return true;
}

Status TokenStream::expect_op(std::string_view spelling) {
    if (!skip_if_op(spelling)) return expected(fmt::format("'{}'", spelling));
    return {};
}

Status TokenStream::expect_name(std::string_view spelling) {
    if (!skip_if_name(spelling)) return expected(fmt::format("'{}'", spelling));
    return {};
}

Status TokenStream::expect_block_end() {
    if (current().kind != TokenKind::block_end) return expected("the end of the tag, '%}'");
    advance();
    return {};
}

Status TokenStream::expect_variable_end() {
    if (current().kind != TokenKind::variable_end)
        return expected("the end of the expression, '}}'");
    advance();
    return {};
}

Result<std::string> TokenStream::expect_identifier() {
    if (current().kind != TokenKind::name) return expected("a name");
    std::string name = current().text;
    advance();
    return name;
}

tl::unexpected<Error> TokenStream::error(Position position, std::string_view message) const {
    return fail(ErrorKind::invalid_input,
                fmt::format("{}: {}", at_position(file_name_, position), message));
}

tl::unexpected<Error> TokenStream::expected(std::string_view what) const {
    return error(position(), fmt::format("expected {}, found {}", what, describe(current())));
}

Status TokenStream::Nesting::check() const {
    if (stream_.depth_ <= kSyntaxDepthMax) return {};
    return stream_.error(stream_.position(),
                         fmt::format("the template nests deeper than {} levels", kSyntaxDepthMax));
}

std::string describe(const Token& token) {
    switch (token.kind) {
        case TokenKind::data: return "template text";
        case TokenKind::variable_begin: return "'{{'";
        case TokenKind::variable_end: return "'}}'";
        case TokenKind::block_begin: return "'{%'";
        case TokenKind::block_end: return "'%}'";
        case TokenKind::name:
        case TokenKind::op: return fmt::format("'{}'", token.text);
        case TokenKind::string: return "a string";
        case TokenKind::integer:
        case TokenKind::floating: return "a number";
        case TokenKind::end_of_source: return "the end of the template";
    }
    return "a token";
}

}  // namespace colibri::jinja

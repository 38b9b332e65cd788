// Expressions of the template language, with Jinja's precedence: if, or, and, not, comparison, + -,
// ~, * / // %, **, sign, then postfix, filters and tests.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/jinja/ast.h"
#include "text/jinja/token_stream.h"

namespace colibri::jinja {

class ExpressionParser {
public:
    explicit ExpressionParser(TokenStream& stream) : stream_(stream) {}

    [[nodiscard]] Result<ExpressionPtr> parse();
    // Without `a if b else c`, whose `if` would end a for statement's iterable.
    [[nodiscard]] Result<ExpressionPtr> parse_unconditional();
    // One expression, or a tuple if commas follow; `stop_name` also ends it.
    [[nodiscard]] Result<ExpressionPtr> parse_tuple(bool with_conditional,
                                                    std::string_view stop_name = {});
    // Filters applied to nothing yet (FilterCall::input of the innermost is null). `starts_inline`:
    // the first has no '|'.
    [[nodiscard]] Result<ExpressionPtr> parse_filter_chain(bool starts_inline);

    // Which of varargs, kwargs, caller and loop were read, in order: macros and loops provide what
    // their body names.
    [[nodiscard]] const std::vector<std::string>& special_names() const { return special_names_; }

private:
    using Rule = Result<ExpressionPtr> (ExpressionParser::*)();

    Result<ExpressionPtr> parse_or();
    Result<ExpressionPtr> parse_and();
    Result<ExpressionPtr> parse_not();
    Result<ExpressionPtr> parse_comparison();
    Result<ExpressionPtr> parse_sum();
    Result<ExpressionPtr> parse_concatenation();
    Result<ExpressionPtr> parse_product();
    Result<ExpressionPtr> parse_power();
    Result<ExpressionPtr> parse_signed() { return parse_unary(true); }
    Result<ExpressionPtr> parse_unary(bool with_filters);
    Result<ExpressionPtr> parse_primary();
    Result<ExpressionPtr> parse_literal();
    Result<ExpressionPtr> parse_parenthesised();
    Result<ExpressionPtr> parse_list();
    Result<ExpressionPtr> parse_dict();
    Result<ExpressionPtr> parse_postfix(ExpressionPtr node);
    Result<ExpressionPtr> parse_filters(ExpressionPtr node);
    Result<ExpressionPtr> parse_attribute(ExpressionPtr object);
    Result<ExpressionPtr> parse_subscript(ExpressionPtr object);
    Result<ExpressionPtr> parse_call(ExpressionPtr callee);
    Result<ExpressionPtr> parse_filter(ExpressionPtr input);
    Result<ExpressionPtr> parse_test(ExpressionPtr input);
    Result<ArgumentList> parse_arguments();
    Status parse_argument(ArgumentList& list);
    Result<std::string> parse_dotted_name();
    Result<CompareOp> take_compare_op(bool& found);
    Result<ExpressionPtr> left_chain(Rule operand, std::initializer_list<std::string_view> ops);
    Result<ExpressionPtr> make(Position position, Expression::Node node);

    TokenStream& stream_;
    std::vector<std::string> special_names_;
};

}  // namespace colibri::jinja

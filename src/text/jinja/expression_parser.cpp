#include "text/jinja/expression_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace colibri::jinja {
namespace {

// Calls `visit` with every child of a node that is not null.
template <class Visit>
struct Children {
    Visit visit;

    void one(const ExpressionPtr& child) const {
        if (child) visit(*child);
    }
    void all(const std::vector<ExpressionPtr>& children) const {
        for (const auto& child : children) one(child);
    }
    void list(const ArgumentList& arguments) const {
        all(arguments.positional);
        for (const auto& [name, value] : arguments.keyword) one(value);
        one(arguments.star);
        one(arguments.double_star);
    }
    void operator()(const Constant&) const {}
    void operator()(const Name&) const {}
    void operator()(const ListLiteral& node) const { all(node.items); }
    void operator()(const DictLiteral& node) const {
        for (const auto& [key, value] : node.entries) {
            one(key);
            one(value);
        }
    }
    void operator()(const Unary& node) const { one(node.operand); }
    void operator()(const Arithmetic& node) const {
        one(node.left);
        one(node.right);
    }
    void operator()(const Logical& node) const {
        one(node.left);
        one(node.right);
    }
    void operator()(const Concatenation& node) const { all(node.parts); }
    void operator()(const Comparison& node) const {
        one(node.first);
        for (const auto& [op, operand] : node.rest) one(operand);
    }
    void operator()(const Conditional& node) const {
        one(node.test);
        one(node.value);
        one(node.otherwise);
    }
    void operator()(const AttributeAccess& node) const { one(node.object); }
    void operator()(const ItemAccess& node) const {
        one(node.object);
        one(node.key);
    }
    void operator()(const SliceAccess& node) const {
        one(node.object);
        one(node.start);
        one(node.stop);
        one(node.step);
    }
    void operator()(const Call& node) const {
        one(node.callee);
        list(node.arguments);
    }
    void operator()(const FilterCall& node) const {
        one(node.input);
        list(node.arguments);
    }
    void operator()(const TestCall& node) const {
        one(node.input);
        list(node.arguments);
    }
};

bool ends_tuple(const Token& token, std::string_view stop_name) {
    return token.kind == TokenKind::variable_end || token.kind == TokenKind::block_end ||
           token.is_op(")") || (!stop_name.empty() && token.is_name(stop_name));
}

bool begins_test_argument(const Token& token) {
    if (token.kind == TokenKind::name) {
        return !token.is_name("else") && !token.is_name("or") && !token.is_name("and");
    }
    return token.kind == TokenKind::string || token.kind == TokenKind::integer ||
           token.kind == TokenKind::floating || token.is_op("(") || token.is_op("[") ||
           token.is_op("{");
}

}  // namespace

Result<ExpressionPtr> ExpressionParser::make(Position position, Expression::Node node) {
    size_t depth = 0;
    const auto take_depth = [&](const Expression& child) { depth = std::max(depth, child.depth); };
    std::visit(Children<decltype(take_depth)>{take_depth}, node);
    if (depth >= kExpressionDepthMax) {
        return stream_.error(
            position,
            fmt::format("this expression is built of more than {} levels", kExpressionDepthMax));
    }
    return std::make_unique<const Expression>(
        Expression{.position = position, .depth = depth + 1, .node = std::move(node)});
}

Result<ExpressionPtr> ExpressionParser::parse() {
    const TokenStream::Nesting nesting(stream_);
    TRY_STATUS(nesting.check());
    const Position position = stream_.position();
    TRY(ExpressionPtr value, parse_or());
    while (stream_.skip_if_name("if")) {
        TRY(ExpressionPtr test, parse_or());
        ExpressionPtr otherwise;
        if (stream_.skip_if_name("else")) {
            TRY(otherwise, parse());
        }
        TRY(value, make(position, Conditional{.test = std::move(test),
                                              .value = std::move(value),
                                              .otherwise = std::move(otherwise)}));
    }
    return value;
}

Result<ExpressionPtr> ExpressionParser::parse_unconditional() {
    const TokenStream::Nesting nesting(stream_);
    TRY_STATUS(nesting.check());
    return parse_or();
}

Result<ExpressionPtr> ExpressionParser::parse_tuple(bool with_conditional,
                                                    std::string_view stop_name) {
    const Position position = stream_.position();
    std::vector<ExpressionPtr> items;
    bool is_tuple = false;
    while (!ends_tuple(stream_.current(), stop_name)) {
        TRY(ExpressionPtr item, with_conditional ? parse() : parse_unconditional());
        items.push_back(std::move(item));
        if (!stream_.skip_if_op(",")) break;
        is_tuple = true;
    }
    if (!is_tuple) {
        if (items.empty()) return stream_.expected("an expression");
        return std::move(items.front());
    }
    return make(position, ListLiteral{.items = std::move(items), .shape = ListShape::tuple});
}

Result<ExpressionPtr> ExpressionParser::parse_or() {
    const Position position = stream_.position();
    TRY(ExpressionPtr left, parse_and());
    while (stream_.skip_if_name("or")) {
        TRY(ExpressionPtr right, parse_and());
        TRY(left, make(position,
                       Logical{.is_or = true, .left = std::move(left), .right = std::move(right)}));
    }
    return left;
}

Result<ExpressionPtr> ExpressionParser::parse_and() {
    const Position position = stream_.position();
    TRY(ExpressionPtr left, parse_not());
    while (stream_.skip_if_name("and")) {
        TRY(ExpressionPtr right, parse_not());
        TRY(left,
            make(position,
                 Logical{.is_or = false, .left = std::move(left), .right = std::move(right)}));
    }
    return left;
}

Result<ExpressionPtr> ExpressionParser::parse_not() {
    if (!stream_.current().is_name("not")) return parse_comparison();
    const TokenStream::Nesting nesting(stream_);
    TRY_STATUS(nesting.check());
    const Position position = stream_.position();
    stream_.advance();
    TRY(ExpressionPtr operand, parse_not());
    return make(position, Unary{.op = UnaryOp::logical_not, .operand = std::move(operand)});
}

Result<CompareOp> ExpressionParser::take_compare_op(bool& found) {
    constexpr std::array<std::pair<std::string_view, CompareOp>, 6> kOps = {
        {{"==", CompareOp::eq},
         {"!=", CompareOp::ne},
         {"<", CompareOp::lt},
         {"<=", CompareOp::le},
         {">", CompareOp::gt},
         {">=", CompareOp::ge}}};
    found = true;
    for (const auto& [spelling, op] : kOps) {
        if (stream_.skip_if_op(spelling)) return op;
    }
    if (stream_.skip_if_name("in")) return CompareOp::in;
    if (stream_.current().is_name("not") && stream_.next_token().is_name("in")) {
        stream_.advance();
        stream_.advance();
        return CompareOp::not_in;
    }
    found = false;
    return CompareOp::eq;
}

Result<ExpressionPtr> ExpressionParser::parse_comparison() {
    const Position position = stream_.position();
    TRY(ExpressionPtr first, parse_sum());
    Comparison comparison;
    while (true) {
        bool found = false;
        TRY(const CompareOp op, take_compare_op(found));
        if (!found) break;
        TRY(ExpressionPtr operand, parse_sum());
        comparison.rest.emplace_back(op, std::move(operand));
    }
    if (comparison.rest.empty()) return first;
    comparison.first = std::move(first);
    return make(position, std::move(comparison));
}

Result<ExpressionPtr> ExpressionParser::left_chain(Rule operand,
                                                   std::initializer_list<std::string_view> ops) {
    const Position position = stream_.position();
    TRY(ExpressionPtr left, (this->*operand)());
    while (stream_.current().kind == TokenKind::op) {
        std::string op = stream_.current().text;
        if (std::find(ops.begin(), ops.end(), op) == ops.end()) break;
        stream_.advance();
        TRY(ExpressionPtr right, (this->*operand)());
        TRY(left, make(position, Arithmetic{.op = std::move(op),
                                            .left = std::move(left),
                                            .right = std::move(right)}));
    }
    return left;
}

Result<ExpressionPtr> ExpressionParser::parse_sum() {
    return left_chain(&ExpressionParser::parse_concatenation, {"+", "-"});
}

Result<ExpressionPtr> ExpressionParser::parse_concatenation() {
    const Position position = stream_.position();
    TRY(ExpressionPtr first, parse_product());
    if (!stream_.current().is_op("~")) return first;
    Concatenation node;
    node.parts.push_back(std::move(first));
    while (stream_.skip_if_op("~")) {
        TRY(ExpressionPtr part, parse_product());
        node.parts.push_back(std::move(part));
    }
    return make(position, std::move(node));
}

Result<ExpressionPtr> ExpressionParser::parse_product() {
    return left_chain(&ExpressionParser::parse_power, {"*", "/", "//", "%"});
}

Result<ExpressionPtr> ExpressionParser::parse_power() {
    return left_chain(&ExpressionParser::parse_signed, {"**"});
}

Result<ExpressionPtr> ExpressionParser::parse_unary(bool with_filters) {
    const TokenStream::Nesting nesting(stream_);
    TRY_STATUS(nesting.check());
    const Position position = stream_.position();
    ExpressionPtr node;
    const bool negates = stream_.current().is_op("-");
    if (negates || stream_.current().is_op("+")) {
        stream_.advance();
        TRY(ExpressionPtr operand, parse_unary(false));
        TRY(node, make(position, Unary{.op = negates ? UnaryOp::negate : UnaryOp::plus,
                                       .operand = std::move(operand)}));
    } else {
        TRY(node, parse_primary());
    }
    TRY(node, parse_postfix(std::move(node)));
    if (!with_filters) return node;
    return parse_filters(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::parse_primary() {
    const Token& token = stream_.current();
    const Position position = token.position;
    if (token.kind == TokenKind::name) {
        std::string name = token.text;
        stream_.advance();
        if (name == "true" || name == "True") return make(position, Constant{Value::boolean(true)});
        if (name == "false" || name == "False")
            return make(position, Constant{Value::boolean(false)});
        if (name == "none" || name == "None") return make(position, Constant{Value::none()});
        if (name == "varargs" || name == "kwargs" || name == "caller" || name == "loop") {
            special_names_.push_back(name);
        }
        return make(position, Name{std::move(name)});
    }
    if (token.is_op("(")) return parse_parenthesised();
    if (token.is_op("[")) return parse_list();
    if (token.is_op("{")) return parse_dict();
    return parse_literal();
}

Result<ExpressionPtr> ExpressionParser::parse_literal() {
    const Token& token = stream_.current();
    const Position position = token.position;
    if (token.kind == TokenKind::integer) {
        const Int value = token.integer;
        stream_.advance();
        return make(position, Constant{Value::integer(value)});
    }
    if (token.kind == TokenKind::floating) {
        const double value = token.floating;
        stream_.advance();
        return make(position, Constant{Value::floating(value)});
    }
    if (token.kind != TokenKind::string) return stream_.expected("an expression");
    std::string text;
    for (; stream_.current().kind == TokenKind::string; stream_.advance())
        text += stream_.current().text;
    return make(position, Constant{Value::constant(std::move(text))});
}

Result<ExpressionPtr> ExpressionParser::parse_parenthesised() {
    const Position position = stream_.position();
    stream_.advance();
    if (stream_.skip_if_op(")")) {
        return make(position, ListLiteral{.items = {}, .shape = ListShape::tuple});
    }
    TRY(ExpressionPtr node, parse_tuple(true));
    TRY_STATUS(stream_.expect_op(")"));
    return node;
}

Result<ExpressionPtr> ExpressionParser::parse_list() {
    const Position position = stream_.position();
    stream_.advance();
    ListLiteral node;
    while (!stream_.current().is_op("]")) {
        TRY(ExpressionPtr item, parse());
        node.items.push_back(std::move(item));
        if (!stream_.skip_if_op(",")) break;
    }
    TRY_STATUS(stream_.expect_op("]"));
    return make(position, std::move(node));
}

Result<ExpressionPtr> ExpressionParser::parse_dict() {
    const Position position = stream_.position();
    stream_.advance();
    DictLiteral node;
    while (!stream_.current().is_op("}")) {
        TRY(ExpressionPtr key, parse());
        TRY_STATUS(stream_.expect_op(":"));
        TRY(ExpressionPtr value, parse());
        node.entries.emplace_back(std::move(key), std::move(value));
        if (!stream_.skip_if_op(",")) break;
    }
    TRY_STATUS(stream_.expect_op("}"));
    return make(position, std::move(node));
}

Result<ExpressionPtr> ExpressionParser::parse_postfix(ExpressionPtr node) {
    while (true) {
        if (stream_.current().is_op(".")) {
            TRY(node, parse_attribute(std::move(node)));
        } else if (stream_.current().is_op("[")) {
            TRY(node, parse_subscript(std::move(node)));
        } else if (stream_.current().is_op("(")) {
            TRY(node, parse_call(std::move(node)));
        } else {
            return node;
        }
    }
}

Result<ExpressionPtr> ExpressionParser::parse_filters(ExpressionPtr node) {
    while (true) {
        if (stream_.current().is_op("|")) {
            stream_.advance();
            TRY(node, parse_filter(std::move(node)));
        } else if (stream_.current().is_name("is")) {
            TRY(node, parse_test(std::move(node)));
        } else if (stream_.current().is_op("(")) {
            TRY(node, parse_call(std::move(node)));
        } else {
            return node;
        }
    }
}

Result<ExpressionPtr> ExpressionParser::parse_filter_chain(bool starts_inline) {
    ExpressionPtr node;
    if (starts_inline) {
        TRY(node, parse_filter(nullptr));
    }
    while (stream_.skip_if_op("|")) {
        TRY(node, parse_filter(std::move(node)));
    }
    return node;
}

Result<ExpressionPtr> ExpressionParser::parse_attribute(ExpressionPtr object) {
    stream_.advance();
    const Token& token = stream_.current();
    const Position position = token.position;
    if (token.kind == TokenKind::integer) {  // rows.0 is rows[0]
        const Int index = token.integer;
        stream_.advance();
        TRY(ExpressionPtr key, make(position, Constant{Value::integer(index)}));
        return make(position, ItemAccess{.object = std::move(object), .key = std::move(key)});
    }
    TRY(std::string name, stream_.expect_identifier());
    return make(position, AttributeAccess{.object = std::move(object), .name = std::move(name)});
}

Result<ExpressionPtr> ExpressionParser::parse_subscript(ExpressionPtr object) {
    const Position position = stream_.position();
    stream_.advance();
    std::array<ExpressionPtr, 3> parts;
    size_t part = 0;
    bool is_slice = false;
    while (!stream_.current().is_op("]")) {
        if (stream_.skip_if_op(":")) {
            is_slice = true;
            if (++part == parts.size()) return stream_.expected("']' after the step of the slice");
            continue;
        }
        if (parts[part]) return stream_.expected("':' or ']'");
        TRY(parts[part], parse());
    }
    stream_.advance();
    if (is_slice) {
        return make(position, SliceAccess{.object = std::move(object),
                                          .start = std::move(parts[0]),
                                          .stop = std::move(parts[1]),
                                          .step = std::move(parts[2])});
    }
    if (!parts[0]) return stream_.error(position, "expected an index between '[' and ']'");
    return make(position, ItemAccess{.object = std::move(object), .key = std::move(parts[0])});
}

Status ExpressionParser::parse_argument(ArgumentList& list) {
    const bool after_stars = list.star || list.double_star;
    if (stream_.current().is_op("*") && !after_stars) {
        stream_.advance();
        TRY(list.star, parse());
    } else if (stream_.current().is_op("**") && !list.double_star) {
        stream_.advance();
        TRY(list.double_star, parse());
    } else if (stream_.current().kind == TokenKind::name && stream_.next_token().is_op("=") &&
               !list.double_star) {
        std::string name = stream_.current().text;
        stream_.advance();
        stream_.advance();
        TRY(ExpressionPtr value, parse());
        list.keyword.emplace_back(std::move(name), std::move(value));
    } else {
        if (after_stars || !list.keyword.empty()) {
            return stream_.error(stream_.position(),
                                 "a positional argument follows a keyword argument");
        }
        TRY(ExpressionPtr value, parse());
        list.positional.push_back(std::move(value));
    }
    return {};
}

Result<ArgumentList> ExpressionParser::parse_arguments() {
    TRY_STATUS(stream_.expect_op("("));
    ArgumentList list;
    while (!stream_.current().is_op(")")) {
        TRY_STATUS(parse_argument(list));
        if (!stream_.skip_if_op(",")) break;
    }
    TRY_STATUS(stream_.expect_op(")"));
    return list;
}

Result<ExpressionPtr> ExpressionParser::parse_call(ExpressionPtr callee) {
    const Position position = stream_.position();
    TRY(ArgumentList arguments, parse_arguments());
    return make(position, Call{.callee = std::move(callee), .arguments = std::move(arguments)});
}

Result<std::string> ExpressionParser::parse_dotted_name() {
    TRY(std::string name, stream_.expect_identifier());
    while (stream_.skip_if_op(".")) {
        TRY(const std::string part, stream_.expect_identifier());
        name += "." + part;
    }
    return name;
}

Result<ExpressionPtr> ExpressionParser::parse_filter(ExpressionPtr input) {
    const Position position = stream_.position();
    TRY(std::string name, parse_dotted_name());
    ArgumentList arguments;
    if (stream_.current().is_op("(")) {
        TRY(arguments, parse_arguments());
    }
    const FilterFunction function = find_filter(name);
    return make(position, FilterCall{.input = std::move(input),
                                     .name = std::move(name),
                                     .function = function,
                                     .arguments = std::move(arguments)});
}

Result<ExpressionPtr> ExpressionParser::parse_test(ExpressionPtr input) {
    const Position position = stream_.position();
    stream_.advance();
    const bool negated = stream_.skip_if_name("not");
    TRY(std::string name, parse_dotted_name());
    ArgumentList arguments;
    if (stream_.current().is_op("(")) {
        TRY(arguments, parse_arguments());
    } else if (stream_.current().is_name("is")) {
        return stream_.error(stream_.position(), "tests cannot be chained with 'is'");
    } else if (begins_test_argument(stream_.current())) {
        TRY(ExpressionPtr argument, parse_primary());
        TRY(argument, parse_postfix(std::move(argument)));
        arguments.positional.push_back(std::move(argument));
    }
    const TestFunction function = find_test(name);
    TRY(ExpressionPtr node, make(position, TestCall{.input = std::move(input),
                                                    .name = std::move(name),
                                                    .function = function,
                                                    .arguments = std::move(arguments)}));
    if (!negated) return node;
    return make(position, Unary{.op = UnaryOp::logical_not, .operand = std::move(node)});
}

}  // namespace colibri::jinja

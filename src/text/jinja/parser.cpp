// Statements of the template language.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "text/jinja/ast.h"
#include "text/jinja/expression_parser.h"
#include "text/jinja/token_stream.h"

namespace colibri::jinja {
namespace {

using EndNames = std::initializer_list<std::string_view>;

class Parser {
public:
    Parser(std::vector<Token> tokens, std::string_view file_name)
        : stream_(std::move(tokens), file_name), expressions_(stream_) {}

    Result<Block> parse_all() {
        TRY(Block body, parse_block({}));
        return body;
    }

private:
    // Statements up to a tag whose name is in `ends`; the stream then stands on that name. Without
    // `ends`: to the end.
    Result<Block> parse_block(EndNames ends) {
        const TokenStream::Nesting nesting(stream_);
        TRY_STATUS(nesting.check());
        Block block;
        while (true) {
            const Token& token = stream_.current();
            const Position position = token.position;
            if (token.kind == TokenKind::end_of_source) {
                if (ends.size() == 0) return block;
                return stream_.expected(
                    fmt::format("'{{% {} %}}'", fmt::join(ends, " %}' or '{% ")));
            }
            if (token.kind == TokenKind::data) {
                block.push_back({.position = position, .node = Data{Value::constant(token.text)}});
                stream_.advance();
            } else if (token.kind == TokenKind::variable_begin) {
                stream_.advance();
                TRY(ExpressionPtr value, expressions_.parse_tuple(true));
                TRY_STATUS(stream_.expect_variable_end());
                block.push_back({.position = position, .node = Print{std::move(value)}});
            } else {
                stream_.advance();  // the only token left here is block_begin
                const Token& name = stream_.current();
                const auto ends_here = [&](std::string_view end) { return name.is_name(end); };
                if (std::any_of(ends.begin(), ends.end(), ends_here)) return block;
                TRY(Statement statement, parse_statement(position));
                TRY_STATUS(stream_.expect_block_end());
                block.push_back(std::move(statement));
            }
        }
    }

    // The rest of an opening tag, and the block after it up to one of `ends`.
    Result<Block> parse_body(EndNames ends) {
        stream_.skip_if_op(":");
        TRY_STATUS(stream_.expect_block_end());
        return parse_block(ends);
    }

    // A body that ends with `end`, which is consumed.
    Result<Block> parse_body_to(std::string_view end) {
        TRY(Block body, parse_body({end}));
        stream_.advance();
        return body;
    }

    Result<Statement> parse_statement(Position position) {
        TRY(const std::string name, stream_.expect_identifier());
        if (name == "if") return parse_if(position);
        if (name == "for") return parse_for(position);
        if (name == "set") return parse_set(position);
        if (name == "macro") return parse_macro(position);
        if (name == "call") return parse_call_block(position);
        if (name == "filter") return parse_filter_block(position);
        if (name == "with") return parse_with(position);
        if (name == "print") return parse_print(position);
        if (name == "break" || name == "continue") {
            if (loop_depth_ == 0) {
                return stream_.error(position, fmt::format("'{}' stands outside of a loop", name));
            }
            if (name == "break") return Statement{.position = position, .node = Break{}};
            return Statement{.position = position, .node = Continue{}};
        }
        if (name == "generation") {
            TRY(Block body, parse_body_to("endgeneration"));
            return Statement{.position = position, .node = Scoped{std::move(body)}};
        }
        return stream_.error(position, fmt::format("unknown or misplaced tag '{}'", name));
    }

    Result<Statement> parse_if(Position position) {
        If node;
        while (true) {
            TRY(ExpressionPtr test, expressions_.parse_tuple(false));
            TRY(Block body, parse_body({"elif", "else", "endif"}));
            node.arms.emplace_back(std::move(test), std::move(body));
            if (!stream_.skip_if_name("elif")) break;
        }
        if (stream_.skip_if_name("else")) {
            TRY(node.otherwise, parse_body_to("endif"));
        } else {
            stream_.advance();
        }
        return Statement{.position = position, .node = std::move(node)};
    }

    Result<Statement> parse_for(Position position) {
        For node;
        TRY(node.target, parse_target("in"));
        TRY_STATUS(stream_.expect_name("in"));
        TRY(node.iterable, expressions_.parse_tuple(false, "recursive"));
        if (stream_.skip_if_name("if")) {
            TRY(node.filter, expressions_.parse());
        }
        node.recursive = stream_.skip_if_name("recursive");
        ++loop_depth_;
        const size_t names_before = expressions_.special_names().size();
        TRY(node.body, parse_body({"endfor", "else"}));
        const auto& names = expressions_.special_names();
        node.uses_loop = std::find(names.begin() + static_cast<std::ptrdiff_t>(names_before),
                                   names.end(), "loop") != names.end();
        --loop_depth_;
        if (stream_.skip_if_name("else")) {
            TRY(node.otherwise, parse_body_to("endfor"));
        } else {
            stream_.advance();
        }
        return Statement{.position = position, .node = std::move(node)};
    }

    Result<Statement> parse_set(Position position) {
        TRY(Target target, parse_target("="));
        if (stream_.skip_if_op("=")) {
            TRY(ExpressionPtr value, expressions_.parse_tuple(true));
            return Statement{.position = position,
                             .node = Set{.target = std::move(target), .value = std::move(value)}};
        }
        TRY(ExpressionPtr filter, expressions_.parse_filter_chain(false));
        TRY(Block body, parse_body_to("endset"));
        return Statement{
            .position = position,
            .node = SetBlock{
                .target = std::move(target), .filter = std::move(filter), .body = std::move(body)}};
    }

    // A name, namespace.attribute, or a tuple of targets, up to `stop` (a name or operator).
    Result<Target> parse_target(std::string_view stop) {
        const Position position = stream_.position();
        std::vector<Target> items;
        bool is_tuple = false;
        while (!stream_.current().is_name(stop) && !stream_.current().is_op(stop) &&
               !stream_.current().is_op(")") && stream_.current().kind != TokenKind::block_end) {
            TRY(Target item, parse_single_target());
            items.push_back(std::move(item));
            if (!stream_.skip_if_op(",")) break;
            is_tuple = true;
        }
        if (items.empty()) return stream_.expected("a name to assign to");
        if (!is_tuple) return std::move(items.front());
        return Target{.position = position, .kind = Target::Kind::tuple, .items = std::move(items)};
    }

    Result<Target> parse_single_target() {
        const TokenStream::Nesting nesting(stream_);
        TRY_STATUS(nesting.check());
        const Position position = stream_.position();
        if (stream_.skip_if_op("(")) {
            TRY(Target target, parse_target("="));
            TRY_STATUS(stream_.expect_op(")"));
            return target;
        }
        TRY(std::string name, stream_.expect_identifier());
        for (const std::string_view constant : {"true", "True", "false", "False", "none", "None"}) {
            if (name == constant) {
                return stream_.error(position,
                                     fmt::format("cannot assign to the constant '{}'", name));
            }
        }
        Target target{.position = position, .name = std::move(name)};
        if (stream_.skip_if_op(".")) {
            target.kind = Target::Kind::attribute;
            TRY(target.attribute, stream_.expect_identifier());
        }
        return target;
    }

    Status parse_signature(MacroDefinition& macro) {
        TRY_STATUS(stream_.expect_op("("));
        bool defaults_began = false;
        while (!stream_.current().is_op(")")) {
            TRY(std::string name, stream_.expect_identifier());
            ExpressionPtr value;
            if (stream_.skip_if_op("=")) {
                defaults_began = true;
                TRY(value, expressions_.parse());
            } else if (defaults_began) {
                return stream_.error(stream_.position(),
                                     "a parameter without default follows one with a default");
            }
            macro.parameters.emplace_back(std::move(name), std::move(value));
            if (!stream_.skip_if_op(",")) break;
        }
        return stream_.expect_op(")");
    }

    Status parse_macro_body(MacroDefinition& macro, std::string_view end) {
        const size_t names_before = expressions_.special_names().size();
        // A loop around a macro is not a loop that the macro's body could leave.
        const size_t outer_loops = std::exchange(loop_depth_, 0);
        TRY(macro.body, parse_body_to(end));
        loop_depth_ = outer_loops;
        const auto& names = expressions_.special_names();
        for (size_t i = names_before; i < names.size(); ++i) {
            macro.uses_varargs |= names[i] == "varargs";
            macro.uses_kwargs |= names[i] == "kwargs";
            macro.uses_caller |= names[i] == "caller";
        }
        return {};
    }

    Result<Statement> parse_macro(Position position) {
        auto macro = std::make_shared<MacroDefinition>();
        TRY(macro->name, stream_.expect_identifier());
        TRY_STATUS(parse_signature(*macro));
        TRY_STATUS(parse_macro_body(*macro, "endmacro"));
        return Statement{.position = position, .node = DefineMacro{std::move(macro)}};
    }

    Result<Statement> parse_call_block(Position position) {
        auto caller = std::make_shared<MacroDefinition>();
        caller->name = "caller";
        if (stream_.current().is_op("(")) TRY_STATUS(parse_signature(*caller));
        TRY(ExpressionPtr call, expressions_.parse());
        if (!std::holds_alternative<Call>(call->node)) {
            return stream_.error(call->position,
                                 "a call block needs a call, as in {% call name() %}");
        }
        TRY_STATUS(parse_macro_body(*caller, "endcall"));
        return Statement{.position = position,
                         .node = CallBlock{.call = std::move(call), .caller = std::move(caller)}};
    }

    Result<Statement> parse_filter_block(Position position) {
        TRY(ExpressionPtr filter, expressions_.parse_filter_chain(true));
        TRY(Block body, parse_body_to("endfilter"));
        return Statement{.position = position,
                         .node = FilterBlock{.filter = std::move(filter), .body = std::move(body)}};
    }

    Result<Statement> parse_with(Position position) {
        With node;
        while (stream_.current().kind != TokenKind::block_end) {
            TRY(Target target, parse_single_target());
            TRY_STATUS(stream_.expect_op("="));
            TRY(ExpressionPtr value, expressions_.parse());
            node.variables.emplace_back(std::move(target), std::move(value));
            if (!stream_.skip_if_op(",")) break;
        }
        TRY(node.body, parse_body_to("endwith"));
        return Statement{.position = position, .node = std::move(node)};
    }

    Result<Statement> parse_print(Position position) {
        TRY(ExpressionPtr value, expressions_.parse());
        return Statement{.position = position, .node = Print{std::move(value)}};
    }

    TokenStream stream_;
    ExpressionParser expressions_;
    size_t loop_depth_ = 0;
};

}  // namespace

Result<TemplateTree> parse_template(std::string_view source, std::string_view file_name) {
    TRY(auto tokens, tokenize(source, file_name));
    TRY(Block body, Parser(std::move(tokens), file_name).parse_all());
    return TemplateTree{.file_name = std::string(file_name), .body = std::move(body)};
}

}  // namespace colibri::jinja

// The syntax tree of a template. Immutable once parsed; any number of renders may walk it at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja/builtins.h"
#include "text/jinja/token.h"
#include "text/jinja/value.h"

namespace colibri::jinja {

struct Expression;
struct Statement;
using ExpressionPtr = std::unique_ptr<const Expression>;
using Block = std::vector<Statement>;

struct ArgumentList {
    std::vector<ExpressionPtr> positional;
    std::vector<std::pair<std::string, ExpressionPtr>> keyword;
    ExpressionPtr star;         // *sequence
    ExpressionPtr double_star;  // **mapping
};

struct Constant {
    Value value;
};
struct Name {
    std::string name;
};
struct ListLiteral {
    std::vector<ExpressionPtr> items;
    ListShape shape = ListShape::list;
};
struct DictLiteral {
    std::vector<std::pair<ExpressionPtr, ExpressionPtr>> entries;
};
enum class UnaryOp : uint8_t { negate, plus, logical_not };
struct Unary {
    UnaryOp op;
    ExpressionPtr operand;
};
struct Arithmetic {
    std::string op;  // + - * / // % **
    ExpressionPtr left;
    ExpressionPtr right;
};
struct Logical {
    bool is_or = false;
    ExpressionPtr left;
    ExpressionPtr right;
};
struct Concatenation {  // a ~ b ~ c
    std::vector<ExpressionPtr> parts;
};
enum class CompareOp : uint8_t { eq, ne, lt, le, gt, ge, in, not_in };
struct Comparison {  // a < b <= c
    ExpressionPtr first;
    std::vector<std::pair<CompareOp, ExpressionPtr>> rest;
};
struct Conditional {  // value if test else otherwise
    ExpressionPtr test;
    ExpressionPtr value;
    ExpressionPtr otherwise;  // null: undefined
};
struct AttributeAccess {
    ExpressionPtr object;
    std::string name;
};
struct ItemAccess {
    ExpressionPtr object;
    ExpressionPtr key;
};
struct SliceAccess {
    ExpressionPtr object;
    ExpressionPtr start;  // each may be null
    ExpressionPtr stop;
    ExpressionPtr step;
};
struct Call {
    ExpressionPtr callee;
    ArgumentList arguments;
};
struct FilterCall {
    ExpressionPtr input;  // null: the text of the enclosing filter or set block
    std::string name;
    FilterFunction function;  // null: no such filter, an error when it is reached
    ArgumentList arguments;
};
struct TestCall {
    ExpressionPtr input;
    std::string name;
    TestFunction function;  // null: no such test
    ArgumentList arguments;
};

struct Expression {
    using Node = std::variant<Constant, Name, ListLiteral, DictLiteral, Unary, Arithmetic, Logical,
                              Concatenation, Comparison, Conditional, AttributeAccess, ItemAccess,
                              SliceAccess, Call, FilterCall, TestCall>;
    Position position;
    size_t depth = 1;  // levels of the tree below and including this node
    Node node;
};

struct Target {  // of for and set
    enum class Kind : uint8_t { name, tuple, attribute };
    Position position;
    Kind kind = Kind::name;
    std::string name = {};
    std::string attribute = {};      // of the namespace `name`
    std::vector<Target> items = {};  // of a tuple
};

struct Data {
    Value text;
};
struct Print {
    ExpressionPtr value;
};
struct If {
    std::vector<std::pair<ExpressionPtr, Block>> arms;
    Block otherwise;
};
struct For {
    Target target;
    ExpressionPtr iterable;
    ExpressionPtr filter;  // may be null
    Block body;
    Block otherwise;  // when nothing was visited
    bool recursive = false;
    bool uses_loop = false;  // the body names `loop`
};
struct Set {
    Target target;
    ExpressionPtr value;
};
struct SetBlock {
    Target target;
    ExpressionPtr filter;  // chain of filters over the block's text; may be null
    Block body;
};
struct MacroDefinition {
    std::string name;
    std::vector<std::pair<std::string, ExpressionPtr>> parameters;  // default: may be null
    Block body;
    bool uses_varargs = false;
    bool uses_kwargs = false;
    bool uses_caller = false;
};
struct CallBlock {
    ExpressionPtr call;
    std::shared_ptr<const MacroDefinition> caller;
};
struct DefineMacro {
    std::shared_ptr<const MacroDefinition> macro;
};
struct FilterBlock {
    ExpressionPtr filter;
    Block body;
};
struct With {
    std::vector<std::pair<Target, ExpressionPtr>> variables;
    Block body;
};
struct Scoped {  // {% generation %}: marks the assistant's tokens for training, prints its body
    Block body;
};
struct Break {};
struct Continue {};

struct Statement {
    using Node = std::variant<Data, Print, If, For, Set, SetBlock, DefineMacro, CallBlock,
                              FilterBlock, With, Scoped, Break, Continue>;
    Position position;
    Node node;
};

struct TemplateTree {
    std::string file_name;
    Block body;
};

// Errors carry file, line and column.
[[nodiscard]] Result<TemplateTree> parse_template(std::string_view source,
                                                  std::string_view file_name);

}  // namespace colibri::jinja

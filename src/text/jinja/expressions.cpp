// Expressions of the evaluator.
#include <fmt/format.h>

#include <array>

#include "text/jinja/evaluator.h"

namespace colibri::jinja {

struct Evaluator::ExpressionRunner {
    Evaluator& evaluator;
    Position position;
    const ScopePtr& scope;
    const Value* block_value;

    Result<Value> operator()(const Constant& node) const { return node.value; }
    Result<Value> operator()(const Name& node) const {
        return evaluator.at(position, evaluator.look_up(node.name, scope));
    }

    Result<Value> operator()(const ListLiteral& node) const {
        std::vector<Value> items;
        for (const auto& item : node.items) {
            TRY(Value value, evaluator.eval(*item, scope));
            items.push_back(std::move(value));
        }
        return evaluator.at(position, evaluator.heap_.list(std::move(items), node.shape));
    }

    Result<Value> operator()(const DictLiteral& node) const {
        std::vector<DictEntry> entries;
        for (const auto& [key_node, value_node] : node.entries) {
            TRY(Value key, evaluator.eval(*key_node, scope));
            TRY(Value value, evaluator.eval(*value_node, scope));
            entries.emplace_back(std::move(key), std::move(value));
        }
        return evaluator.at(position, evaluator.heap_.dict(std::move(entries)));
    }

    Result<Value> operator()(const Unary& node) const {
        TRY(const Value value, evaluator.eval(*node.operand, scope));
        if (node.op == UnaryOp::logical_not) return Value::boolean(!value.truthy());
        Int integer = 0;
        double number = 0;
        if (value.as_integer(integer)) {
            const Int result = node.op == UnaryOp::negate ? -integer : integer;
            if (!fits(result)) {
                return evaluator.error(position, ErrorKind::unsupported,
                                       "the number does not fit 64 bits");
            }
            return Value::integer(result);
        }
        if (value.as_number(number))
            return Value::floating(node.op == UnaryOp::negate ? -number : number);
        return evaluator.error(
            position, ErrorKind::invalid_input,
            fmt::format("a sign before a value of type '{}'", value.type_name()));
    }

    Result<Value> operator()(const Arithmetic& node) const {
        TRY(const Value left, evaluator.eval(*node.left, scope));
        TRY(const Value right, evaluator.eval(*node.right, scope));
        return evaluator.at(position, arithmetic(node.op, left, right, evaluator.heap_));
    }

    Result<Value> operator()(const Logical& node) const {
        TRY(Value left, evaluator.eval(*node.left, scope));
        if (left.truthy() == node.is_or) return left;
        return evaluator.eval(*node.right, scope);
    }

    Result<Value> operator()(const Concatenation& node) const {
        TextBuilder out(evaluator.heap_);
        for (const auto& part : node.parts) {
            TRY(const Value value, evaluator.eval(*part, scope));
            TRY_STATUS(evaluator.print(value, position, out));
        }
        return evaluator.at(position, out.finish());
    }

    Result<Value> operator()(const Comparison& node) const {
        TRY(Value left, evaluator.eval(*node.first, scope));
        for (const auto& [op, operand] : node.rest) {
            TRY(Value right, evaluator.eval(*operand, scope));
            TRY(const bool holds,
                evaluator.at(position, evaluator.eval_comparison(op, left, right)));
            if (!holds) return Value::boolean(false);
            left = std::move(right);
        }
        return Value::boolean(true);
    }

    Result<Value> operator()(const Conditional& node) const {
        TRY(const Value test, evaluator.eval(*node.test, scope));
        if (test.truthy()) return evaluator.eval(*node.value, scope);
        if (node.otherwise) return evaluator.eval(*node.otherwise, scope);
        return Value::undefined("an inline if without else was false");
    }

    Result<Value> operator()(const AttributeAccess& node) const {
        TRY(const Value object, evaluator.eval(*node.object, scope));
        return evaluator.at(position, get_attribute(object, node.name, evaluator.heap_));
    }

    Result<Value> operator()(const ItemAccess& node) const {
        TRY(const Value object, evaluator.eval(*node.object, scope));
        TRY(const Value key, evaluator.eval(*node.key, scope));
        return evaluator.at(position, get_item(object, key, evaluator.heap_));
    }

    Result<Value> operator()(const SliceAccess& node) const {
        TRY(const Value object, evaluator.eval(*node.object, scope));
        TRY(const Value start, evaluator.eval_optional(node.start, scope));
        TRY(const Value stop, evaluator.eval_optional(node.stop, scope));
        TRY(const Value step, evaluator.eval_optional(node.step, scope));
        return evaluator.at(position, get_slice(object, start, stop, step, evaluator.heap_));
    }

    Result<Value> operator()(const Call& node) const {
        TRY(const Value callee, evaluator.eval(*node.callee, scope));
        TRY(CallArguments arguments, evaluator.eval_arguments(node.arguments, position, scope));
        return evaluator.call(callee, std::move(arguments), position);
    }

    Result<Value> operator()(const FilterCall& node) const {
        Value input;
        if (node.input) {
            TRY(input, evaluator.eval(*node.input, scope, block_value));
        } else if (block_value != nullptr) {
            input = *block_value;
        }
        if (node.function == nullptr) {
            return evaluator.error(position, ErrorKind::unsupported,
                                   fmt::format("no filter named '{}'", node.name));
        }
        TRY(const CallArguments arguments,
            evaluator.eval_arguments(node.arguments, position, scope));
        TRY_STATUS(evaluator.at(position, evaluator.heap_.spend(1)));
        return evaluator.at(position, node.function(evaluator.context_, input, arguments));
    }

    Result<Value> operator()(const TestCall& node) const {
        TRY(const Value input, evaluator.eval(*node.input, scope));
        if (node.function == nullptr) {
            return evaluator.error(position, ErrorKind::unsupported,
                                   fmt::format("no test named '{}'", node.name));
        }
        TRY(const CallArguments arguments,
            evaluator.eval_arguments(node.arguments, position, scope));
        TRY(const bool holds,
            evaluator.at(position, node.function(evaluator.context_, input, arguments)));
        return Value::boolean(holds);
    }
};

Result<Value> Evaluator::eval(const Expression& expression, const ScopePtr& scope,
                              const Value* block_value) {
    const Depth depth(*this);
    TRY_STATUS(depth.check(expression.position));
    TRY_STATUS(at(expression.position, heap_.spend(1)));
    const ExpressionRunner runner{.evaluator = *this,
                                  .position = expression.position,
                                  .scope = scope,
                                  .block_value = block_value};
    return std::visit(runner, expression.node);
}

Result<Value> Evaluator::eval_optional(const ExpressionPtr& expression, const ScopePtr& scope) {
    if (!expression) return Value::none();
    return eval(*expression, scope);
}

Result<Value> Evaluator::look_up(std::string_view name, const ScopePtr& scope) {
    size_t visited = 0;
    const Value* found = scope->find(name, visited);
    TRY_STATUS(heap_.spend(visited / 16));
    if (found != nullptr) return *found;
    const auto global = globals_.find(name);
    if (global != globals_.end()) return global->second;
    return Value::undefined(fmt::format("'{}' is undefined", name));
}

Result<bool> Evaluator::eval_comparison(CompareOp op, const Value& left, const Value& right) {
    const auto negated = [](Result<bool> result) -> Result<bool> {
        if (!result) return result;
        return !*result;
    };
    const auto ordered = [&](const Value& a, const Value& b, bool or_equal) -> Result<bool> {
        if (a.is_undefined()) return undefined_error(a, "compare");
        if (b.is_undefined()) return undefined_error(b, "compare");
        TRY(const bool is_less, less(a, b, heap_));
        if (is_less || !or_equal) return is_less;
        return equal(a, b, heap_);
    };
    switch (op) {
        case CompareOp::eq: return equal(left, right, heap_);
        case CompareOp::ne: return negated(equal(left, right, heap_));
        case CompareOp::lt: return ordered(left, right, false);
        case CompareOp::le: return ordered(left, right, true);
        case CompareOp::gt: return ordered(right, left, false);
        case CompareOp::ge: return ordered(right, left, true);
        case CompareOp::in: return contains(right, left, heap_);
        case CompareOp::not_in: return negated(contains(right, left, heap_));
    }
    return false;
}

Result<CallArguments> Evaluator::eval_arguments(const ArgumentList& list, Position position,
                                                const ScopePtr& scope) {
    CallArguments arguments;
    for (const auto& expression : list.positional) {
        TRY(Value value, eval(*expression, scope));
        arguments.positional.push_back(std::move(value));
    }
    for (const auto& [name, expression] : list.keyword) {
        TRY(Value value, eval(*expression, scope));
        arguments.keyword.emplace_back(name, std::move(value));
    }
    if (list.star) {
        TRY(const Value sequence, eval(*list.star, scope));
        TRY(const auto items, at(position, iterate(sequence, heap_)));
        TRY_STATUS(at(position, heap_.spend(items->items.size())));
        arguments.positional.insert(arguments.positional.end(), items->items.begin(),
                                    items->items.end());
    }
    if (list.double_star) {
        TRY(const Value mapping, eval(*list.double_star, scope));
        const DictBox* dict = mapping.as_dict();
        if (dict == nullptr) {
            return error(position, ErrorKind::invalid_input,
                         fmt::format("'**' needs a mapping, not a '{}'", mapping.type_name()));
        }
        for (const auto& [key, value] : dict->entries) {
            const TrackedText* name = key.as_text();
            if (name == nullptr) {
                return error(position, ErrorKind::invalid_input, "keywords must be strings");
            }
            TRY_STATUS(at(position, heap_.spend_bytes(name->size())));
            arguments.keyword.emplace_back(name->bytes(), value);
        }
    }
    return arguments;
}

}  // namespace colibri::jinja

#include "text/jinja/evaluator.h"

#include <fmt/format.h>

namespace colibri::jinja {
namespace {

// Scopes that macros keep alive until the render ends; real templates define a few dozen macros.
constexpr size_t kCapturedScopesMax = 100'000;

ScopePtr child_of(const ScopePtr& parent) {
    return std::make_shared<Scope>(Scope{.parent = parent, .variables = {}});
}

}  // namespace

const Value* Scope::find(std::string_view name, size_t& visited) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->parent.get()) {
        for (const auto& [variable, value] : scope->variables) {
            ++visited;
            if (variable == name) return &value;
        }
    }
    return nullptr;
}

size_t Scope::set(std::string_view name, Value value) {
    size_t visited = 0;
    for (auto& [variable, current] : variables) {
        ++visited;
        if (variable == name) {
            current = std::move(value);
            return visited;
        }
    }
    variables.emplace_back(name, std::move(value));
    return visited;
}

Evaluator::Evaluator(const TemplateTree& tree, Heap& heap, const std::tm& now)
    : tree_(tree), heap_(heap), context_{.heap = heap, .now = now} {
    const auto add = [&](std::string_view name, Function function) {
        globals_.emplace(name,
                         Value(Value::Data(FunctionRef{.function = function, .loop = nullptr})));
    };
    add("range", Function::range);
    add("dict", Function::dict);
    add("namespace", Function::make_namespace);
    add("raise_exception", Function::raise_exception);
    add("strftime_now", Function::strftime_now);
}

Evaluator::~Evaluator() {
    for (const ScopePtr& scope : captured_scopes_) scope->variables.clear();
    for (const auto& space : namespaces_) space->attributes.clear();
}

void Evaluator::set_global(std::string name, Value value) {
    globals_.insert_or_assign(std::move(name), std::move(value));
}

Status Evaluator::Depth::check(Position position) const {
    if (evaluator.depth_ <= evaluator.heap_.limits().call_depth_max) return {};
    return evaluator.error(
        position, ErrorKind::out_of_budget,
        fmt::format("the template nests {} evaluations; the limit is {} (a macro that "
                    "calls itself without end?)",
                    evaluator.depth_, evaluator.heap_.limits().call_depth_max));
}

tl::unexpected<Error> Evaluator::error(Position position, ErrorKind kind,
                                       std::string_view message) const {
    return fail(kind, fmt::format("{}: {}", at_position(tree_.file_name, position), message));
}

tl::unexpected<Error> Evaluator::placed(Position position, Error error) const {
    return tl::unexpected(std::move(error).within(at_position(tree_.file_name, position)));
}

Result<TrackedText> Evaluator::render() {
    const auto scope = std::make_shared<Scope>();
    TextBuilder out(heap_);
    TRY_STATUS(run(tree_.body, scope, out));
    return out.take();
}

struct Evaluator::StatementRunner {
    Evaluator& evaluator;
    Position position;
    const ScopePtr& scope;
    TextBuilder& out;

    static Result<Flow> normally(Status status) {
        if (!status) return tl::unexpected(std::move(status).error());
        return Flow::normal;
    }

    Result<Flow> operator()(const Data& node) const {
        return normally(evaluator.print(node.text, position, out));
    }
    Result<Flow> operator()(const Print& node) const {
        TRY(const Value value, evaluator.eval(*node.value, scope));
        return normally(evaluator.print(value, position, out));
    }
    Result<Flow> operator()(const If& node) const { return evaluator.run_if(node, scope, out); }
    Result<Flow> operator()(const For& node) const {
        return evaluator.run_for(node, position, scope, out);
    }
    Result<Flow> operator()(const Set& node) const {
        TRY(const Value value, evaluator.eval(*node.value, scope));
        return normally(evaluator.assign(node.target, value, scope));
    }
    Result<Flow> operator()(const SetBlock& node) const {
        TRY(const Value text, evaluator.block_text(node.body, node.filter, scope));
        return normally(evaluator.assign(node.target, text, scope));
    }
    Result<Flow> operator()(const DefineMacro& node) const {
        TRY(Value macro, evaluator.make_macro(node.macro, scope));
        return normally(evaluator.set(scope, node.macro->name, std::move(macro), position));
    }
    Result<Flow> operator()(const CallBlock& node) const {
        return normally(evaluator.run_call_block(node, scope, out));
    }
    Result<Flow> operator()(const FilterBlock& node) const {
        TRY(const Value text, evaluator.block_text(node.body, node.filter, scope));
        return normally(evaluator.print(text, position, out));
    }
    Result<Flow> operator()(const With& node) const {
        const ScopePtr inner = child_of(scope);
        for (const auto& [target, expression] : node.variables) {
            TRY(const Value value, evaluator.eval(*expression, scope));
            TRY_STATUS(evaluator.assign(target, value, inner));
        }
        return evaluator.run(node.body, inner, out);
    }
    Result<Flow> operator()(const Scoped& node) const {
        return evaluator.run(node.body, child_of(scope), out);
    }
    Result<Flow> operator()(const Break&) const { return Flow::leaves_loop; }
    Result<Flow> operator()(const Continue&) const { return Flow::next_iteration; }
};

Result<Evaluator::Flow> Evaluator::run(const Block& block, const ScopePtr& scope,
                                       TextBuilder& out) {
    const Depth depth(*this);
    for (const Statement& statement : block) {
        TRY_STATUS(depth.check(statement.position));
        TRY_STATUS(at(statement.position, heap_.spend(1)));
        const StatementRunner runner{
            .evaluator = *this, .position = statement.position, .scope = scope, .out = out};
        TRY(const Flow flow, std::visit(runner, statement.node));
        if (flow != Flow::normal) return flow;
    }
    return Flow::normal;
}

Status Evaluator::print(const Value& value, Position position, TextBuilder& out) {
    if (const TrackedText* text = value.as_text()) return at(position, out.append(*text));
    TRY(const TrackedText text, at(position, to_text(value, heap_)));
    return at(position, out.append(text));
}

Result<Evaluator::Flow> Evaluator::run_if(const If& node, const ScopePtr& scope, TextBuilder& out) {
    for (const auto& [test, body] : node.arms) {
        TRY(const Value value, eval(*test, scope));
        if (value.truthy()) return run(body, scope, out);
    }
    return run(node.otherwise, scope, out);
}

Result<Evaluator::Flow> Evaluator::run_for(const For& node, Position position,
                                           const ScopePtr& scope, TextBuilder& out) {
    TRY(const Value iterable, eval(*node.iterable, scope));
    TRY_STATUS(run_loop(node, position, iterable, 0, scope, out));
    return Flow::normal;
}

Result<bool> Evaluator::keeps(const For& node, const Value& item, const ScopePtr& scope) {
    if (!node.filter) return true;
    const ScopePtr inner = child_of(scope);
    TRY_STATUS(assign(node.target, item, inner));
    TRY(const Value kept, eval(*node.filter, inner));
    return kept.truthy();
}

Result<std::shared_ptr<const ListBox>> Evaluator::kept_items(
    const For& node, Position position, const std::shared_ptr<const ListBox>& items,
    const ScopePtr& scope) {
    std::vector<Value> kept;
    for (const Value& item : items->items) {
        TRY(const bool is_kept, keeps(node, item, scope));
        if (is_kept) kept.push_back(item);
    }
    TRY(const Value list, at(position, heap_.list(std::move(kept))));
    return std::get<std::shared_ptr<const ListBox>>(list.data());
}

Status Evaluator::run_loop(const For& node, Position position, const Value& iterable, size_t depth0,
                           const ScopePtr& scope, TextBuilder& out) {
    TRY(auto items, at(position, iterate(iterable, heap_)));
    // `loop` counts what the filter keeps. Without it each item is judged only when its turn comes,
    // so that the body can change what the filter sees of a namespace, as in Jinja.
    const bool filters_first = node.filter != nullptr && node.uses_loop;
    if (filters_first) {
        TRY(items, kept_items(node, position, items, scope));
    }
    const auto loop = std::make_shared<LoopState>();
    loop->items = items;
    loop->depth0 = depth0;
    loop->recursive_for = node.recursive ? &node : nullptr;
    loop->outer_scope = scope;
    bool visited = false;
    for (size_t i = 0; i < items->items.size(); ++i) {
        TRY_STATUS(at(position, heap_.spend(1)));
        if (!filters_first) {
            TRY(const bool is_kept, keeps(node, items->items[i], scope));
            if (!is_kept) continue;
        }
        visited = true;
        loop->index0 = i;
        const ScopePtr inner = child_of(scope);
        inner->set("loop", Value(Value::Data(loop)));
        TRY_STATUS(assign(node.target, items->items[i], inner));
        TRY(const Flow flow, run(node.body, inner, out));
        if (flow == Flow::leaves_loop) break;
    }
    if (!visited) TRY_STATUS(run(node.otherwise, child_of(scope), out));
    return {};
}

Status Evaluator::set(const ScopePtr& scope, std::string_view name, Value value,
                      Position position) {
    return at(position, heap_.spend(scope->set(name, std::move(value)) / 16));
}

Status Evaluator::assign(const Target& target, const Value& value, const ScopePtr& scope) {
    switch (target.kind) {
        case Target::Kind::name: return set(scope, target.name, value, target.position);
        case Target::Kind::attribute: {
            TRY(const Value holder, at(target.position, look_up(target.name, scope)));
            const auto* space = std::get_if<std::shared_ptr<Namespace>>(&holder.data());
            if (space == nullptr) {
                return error(
                    target.position, ErrorKind::invalid_input,
                    fmt::format("'{}' is no namespace; only namespaces have attributes that can "
                                "be set",
                                target.name));
            }
            TRY_STATUS(at(target.position, heap_.spend((*space)->attributes.size() / 16)));
            for (auto& [name, current] : (*space)->attributes) {
                if (name == target.attribute) {
                    current = value;
                    return {};
                }
            }
            (*space)->attributes.emplace_back(target.attribute, value);
            return {};
        }
        case Target::Kind::tuple: break;
    }
    TRY(const auto items, at(target.position, iterate(value, heap_)));
    if (items->items.size() != target.items.size()) {
        return error(target.position, ErrorKind::invalid_input,
                     fmt::format("cannot unpack {} values into {} names", items->items.size(),
                                 target.items.size()));
    }
    for (size_t i = 0; i < target.items.size(); ++i) {
        TRY_STATUS(assign(target.items[i], items->items[i], scope));
    }
    return {};
}

Result<Value> Evaluator::block_text(const Block& body, const ExpressionPtr& filter,
                                    const ScopePtr& scope) {
    TextBuilder text(heap_);
    const ScopePtr inner = child_of(scope);
    TRY_STATUS(run(body, inner, text));
    TRY(Value value, text.finish());
    if (!filter) return value;
    return eval(*filter, inner, &value);
}

Result<Value> Evaluator::make_macro(const std::shared_ptr<const MacroDefinition>& definition,
                                    const ScopePtr& scope) {
    if (captured_scopes_.empty() || captured_scopes_.back() != scope) {
        if (captured_scopes_.size() == kCapturedScopesMax) {
            return fail(ErrorKind::out_of_budget,
                        fmt::format("the template defines macros in more than {} scopes",
                                    kCapturedScopesMax));
        }
        captured_scopes_.push_back(scope);
    }
    return Value(Value::Data(
        std::make_shared<const Macro>(Macro{.definition = definition, .scope = scope})));
}

Status Evaluator::run_call_block(const CallBlock& node, const ScopePtr& scope, TextBuilder& out) {
    const auto& expression = std::get<Call>(node.call->node);
    const Position position = node.call->position;
    TRY(const Value callee, eval(*expression.callee, scope));
    TRY(CallArguments arguments, eval_arguments(expression.arguments, position, scope));
    TRY(Value caller, at(position, make_macro(node.caller, scope)));
    arguments.keyword.emplace_back("caller", std::move(caller));
    TRY(const Value text, call(callee, std::move(arguments), position));
    return print(text, position, out);
}

}  // namespace colibri::jinja

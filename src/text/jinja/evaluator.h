// Runs a parsed template once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "text/jinja/ast.h"
#include "text/jinja/builtins.h"
#include "text/jinja/value.h"

namespace colibri::jinja {

// Variables of one block. Names point into the syntax tree. `set` writes to the innermost scope, so
// that nothing leaks out of a loop or macro; only namespaces carry values out.
struct Scope {
    std::shared_ptr<Scope> parent;
    std::vector<std::pair<std::string_view, Value>> variables;

    // `visited` counts the variables that were looked at.
    [[nodiscard]] const Value* find(std::string_view name, size_t& visited) const;
    // The number of variables that were looked at.
    size_t set(std::string_view name, Value value);
};
using ScopePtr = std::shared_ptr<Scope>;

// A macro and the scope that it was defined in, whose later changes it sees.
struct Macro {
    std::shared_ptr<const MacroDefinition> definition;
    ScopePtr scope;
};

// Used for one render by one thread. `tree`, `heap` and `now` must outlive it.
class Evaluator {
public:
    Evaluator(const TemplateTree& tree, Heap& heap, const std::tm& now);
    Evaluator(const Evaluator&) = delete;
    Evaluator& operator=(const Evaluator&) = delete;
    ~Evaluator();

    void set_global(std::string name, Value value);
    [[nodiscard]] Result<TrackedText> render();

private:
    enum class Flow : uint8_t { normal, leaves_loop, next_iteration };
    struct Depth;
    struct StatementRunner;
    struct ExpressionRunner;

    // Statements (evaluator.cpp).
    Result<Flow> run(const Block& block, const ScopePtr& scope, TextBuilder& out);
    Result<Flow> run_if(const If& node, const ScopePtr& scope, TextBuilder& out);
    Result<Flow> run_for(const For& node, Position position, const ScopePtr& scope,
                         TextBuilder& out);
    Status run_loop(const For& node, Position position, const Value& iterable, size_t depth0,
                    const ScopePtr& scope, TextBuilder& out);
    // Whether the filter of a loop lets an item through, and all that it does.
    Result<bool> keeps(const For& node, const Value& item, const ScopePtr& scope);
    Result<std::shared_ptr<const ListBox>> kept_items(const For& node, Position position,
                                                      const std::shared_ptr<const ListBox>& items,
                                                      const ScopePtr& scope);
    Status set(const ScopePtr& scope, std::string_view name, Value value, Position position);
    Status assign(const Target& target, const Value& value, const ScopePtr& scope);
    Result<Value> block_text(const Block& body, const ExpressionPtr& filter, const ScopePtr& scope);
    Status run_call_block(const CallBlock& node, const ScopePtr& scope, TextBuilder& out);
    Status print(const Value& value, Position position, TextBuilder& out);
    Result<Value> make_macro(const std::shared_ptr<const MacroDefinition>& definition,
                             const ScopePtr& scope);

    // Expressions (expressions.cpp). `block_value` is what a filter without input works on.
    Result<Value> eval(const Expression& expression, const ScopePtr& scope,
                       const Value* block_value = nullptr);
    Result<Value> eval_optional(const ExpressionPtr& expression, const ScopePtr& scope);
    Result<CallArguments> eval_arguments(const ArgumentList& list, Position position,
                                         const ScopePtr& scope);
    Result<bool> eval_comparison(CompareOp op, const Value& left, const Value& right);
    Result<Value> look_up(std::string_view name, const ScopePtr& scope);

    // Calls (calls.cpp).
    Result<Value> call(const Value& callee, CallArguments arguments, Position position);
    Result<Value> call_function(const FunctionRef& function, const CallArguments& arguments);
    Result<Value> call_macro(const Macro& macro, CallArguments arguments, Position position);
    Status bind_parameters(const Macro& macro, CallArguments& arguments, Position position,
                           const ScopePtr& scope);
    Status bind_special_names(const Macro& macro, CallArguments& arguments, Position position,
                              const ScopePtr& scope);
    Result<Value> call_loop(const LoopState& loop, const CallArguments& arguments,
                            Position position);
    Result<Value> make_namespace(const CallArguments& arguments);

    [[nodiscard]] tl::unexpected<Error> error(Position position, ErrorKind kind,
                                              std::string_view message) const;
    [[nodiscard]] tl::unexpected<Error> placed(Position position, Error error) const;
    // Adds the place to the error of an operation that does not know it.
    template <class T>
    [[nodiscard]] Result<T> at(Position position, Result<T> result) const {
        if (result) return result;
        return placed(position, std::move(result).error());
    }

    const TemplateTree& tree_;
    Heap& heap_;
    BuiltinContext context_;
    std::map<std::string, Value, std::less<>> globals_;
    size_t depth_ = 0;
    // Kept to the end of the render and emptied then: macros and namespaces can refer to themselves
    // through these.
    std::vector<ScopePtr> captured_scopes_;
    std::vector<std::shared_ptr<Namespace>> namespaces_;
};

struct Evaluator::Depth {
    explicit Depth(Evaluator& owner) : evaluator(owner) { ++evaluator.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    ~Depth() { --evaluator.depth_; }
    [[nodiscard]] Status check(Position position) const;

    Evaluator& evaluator;
};

}  // namespace colibri::jinja

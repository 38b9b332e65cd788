// Calls of the evaluator: methods, global functions, macros, recursive loops.
#include <fmt/format.h>

#include <algorithm>

#include "text/jinja/evaluator.h"

namespace colibri::jinja {
namespace {

// Takes the keyword argument `name` out of the list; false if it is not there.
bool take_keyword(CallArguments& arguments, std::string_view name, Value& value) {
    const auto found = std::find_if(arguments.keyword.begin(), arguments.keyword.end(),
                                    [&](const auto& entry) { return entry.first == name; });
    if (found == arguments.keyword.end()) return false;
    value = found->second;
    arguments.keyword.erase(found);
    return true;
}

}  // namespace

Result<Value> Evaluator::call(const Value& callee, CallArguments arguments, Position position) {
    const Value::Data& data = callee.data();
    if (const auto* bound = std::get_if<std::shared_ptr<const BoundMethod>>(&data)) {
        return at(position, call_method(context_, **bound, arguments));
    }
    if (const auto* function = std::get_if<FunctionRef>(&data)) {
        return at(position, call_function(*function, arguments));
    }
    if (const auto* macro = std::get_if<std::shared_ptr<const Macro>>(&data)) {
        return call_macro(**macro, std::move(arguments), position);
    }
    if (const auto* loop = std::get_if<std::shared_ptr<LoopState>>(&data)) {
        return call_loop(**loop, arguments, position);
    }
    if (callee.is_undefined()) {
        return at(position, Result<Value>(undefined_error(callee, "call")));
    }
    return error(position, ErrorKind::invalid_input,
                 fmt::format("a value of type '{}' cannot be called", callee.type_name()));
}

Result<Value> Evaluator::call_function(const FunctionRef& function,
                                       const CallArguments& arguments) {
    switch (function.function) {
        case Function::range: return call_range(context_, arguments);
        case Function::dict: return call_dict(context_, arguments);
        case Function::make_namespace: return make_namespace(arguments);
        case Function::raise_exception: return call_raise_exception(context_, arguments);
        case Function::strftime_now: return call_strftime_now(context_, arguments);
        case Function::loop_cycle: break;
    }
    if (arguments.positional.empty() || !arguments.keyword.empty()) {
        return fail(ErrorKind::invalid_input, "loop.cycle needs the values to cycle through");
    }
    return arguments.positional[function.loop->index0 % arguments.positional.size()];
}

Result<Value> Evaluator::make_namespace(const CallArguments& arguments) {
    TRY(const Value initial, call_dict(context_, arguments));
    TRY(const auto space, heap_.make_namespace());
    namespaces_.push_back(space);
    for (const auto& [key, value] : initial.as_dict()->entries) {
        const TrackedText* name = key.as_text();
        if (name != nullptr) space->attributes.emplace_back(name->bytes(), value);
    }
    return Value(Value::Data(space));
}

Status Evaluator::bind_parameters(const Macro& macro, CallArguments& arguments, Position position,
                                  const ScopePtr& scope) {
    const auto& parameters = macro.definition->parameters;
    for (size_t i = 0; i < parameters.size(); ++i) {
        const auto& [name, default_value] = parameters[i];
        Value value;
        TRY_STATUS(at(position, heap_.spend(1 + arguments.keyword.size() / 16)));
        if (i < arguments.positional.size()) {
            value = arguments.positional[i];
            Value repeated;
            if (take_keyword(arguments, name, repeated)) {
                return error(position, ErrorKind::invalid_input,
                             fmt::format("macro '{}' got two values for '{}'",
                                         macro.definition->name, name));
            }
        } else if (!take_keyword(arguments, name, value)) {
            if (default_value) {
                TRY(value, eval(*default_value, scope));
            } else {
                value = Value::undefined(fmt::format("parameter '{}' was not provided", name));
            }
        }
        TRY_STATUS(set(scope, name, std::move(value), position));
    }
    return {};
}

Status Evaluator::bind_special_names(const Macro& macro, CallArguments& arguments,
                                     Position position, const ScopePtr& scope) {
    const MacroDefinition& definition = *macro.definition;
    const size_t bound = std::min(definition.parameters.size(), arguments.positional.size());
    if (definition.uses_varargs) {
        const auto first = arguments.positional.begin() + static_cast<std::ptrdiff_t>(bound);
        TRY(Value rest,
            at(position, heap_.list({first, arguments.positional.end()}, ListShape::tuple)));
        scope->set("varargs", std::move(rest));
    } else if (arguments.positional.size() > bound) {
        return error(position, ErrorKind::invalid_input,
                     fmt::format("macro '{}' takes at most {} arguments, found {}", definition.name,
                                 definition.parameters.size(), arguments.positional.size()));
    }
    const bool names_caller =
        std::any_of(definition.parameters.begin(), definition.parameters.end(),
                    [](const auto& entry) { return entry.first == "caller"; });
    if (definition.uses_caller && !names_caller) {
        Value caller =
            Value::undefined("no caller is defined: the macro was not used in a call block");
        (void)take_keyword(arguments, "caller", caller);
        scope->set("caller", std::move(caller));
    }
    if (definition.uses_kwargs) {
        std::vector<DictEntry> entries;
        for (const auto& [name, value] : arguments.keyword) {
            TRY(Value key, at(position, heap_.string(name, false)));
            entries.emplace_back(std::move(key), value);
        }
        TRY(Value rest, at(position, heap_.dict(std::move(entries))));
        scope->set("kwargs", std::move(rest));
    } else if (!arguments.keyword.empty()) {
        return error(position, ErrorKind::invalid_input,
                     fmt::format("macro '{}' has no parameter '{}'", definition.name,
                                 arguments.keyword.front().first));
    }
    return {};
}

Result<Value> Evaluator::call_macro(const Macro& macro, CallArguments arguments,
                                    Position position) {
    const Depth depth(*this);
    TRY_STATUS(depth.check(position));
    const auto scope = std::make_shared<Scope>(Scope{.parent = macro.scope, .variables = {}});
    TRY_STATUS(bind_parameters(macro, arguments, position, scope));
    TRY_STATUS(bind_special_names(macro, arguments, position, scope));
    TextBuilder out(heap_);
    TRY_STATUS(run(macro.definition->body, scope, out));
    return at(position, out.finish());
}

Result<Value> Evaluator::call_loop(const LoopState& loop, const CallArguments& arguments,
                                   Position position) {
    const auto scope = std::static_pointer_cast<Scope>(loop.outer_scope.lock());
    if (loop.recursive_for == nullptr || scope == nullptr) {
        return error(position, ErrorKind::invalid_input,
                     "loop(...) works only inside a loop marked 'recursive'");
    }
    if (arguments.positional.size() != 1 || !arguments.keyword.empty()) {
        return error(position, ErrorKind::invalid_input, "loop(...) takes the items to visit");
    }
    const Depth depth(*this);
    TRY_STATUS(depth.check(position));
    TextBuilder out(heap_);
    const For& node = *static_cast<const For*>(loop.recursive_for);
    TRY_STATUS(run_loop(node, position, arguments.positional[0], loop.depth0 + 1, scope, out));
    return at(position, out.finish());
}

}  // namespace colibri::jinja

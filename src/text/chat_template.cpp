#include "text/chat_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "text/jinja/ast.h"
#include "text/jinja/evaluator.h"
#include "text/jinja/json_input.h"

namespace colibri {
namespace {

using Json = nlohmann::ordered_json;
using jinja::Heap;
using jinja::Value;

// Roles that carry no text of their own. Any other spelling stays input and can form no marker.
constexpr std::array<std::string_view, 8> kKnownRoles = {
    "system", "developer", "user", "assistant", "tool", "function", "ipython", "observation"};

bool is_known_role(const Json& role) {
    return role.is_string() && std::find(kKnownRoles.begin(), kKnownRoles.end(),
                                         role.get_ref<const std::string&>()) != kKnownRoles.end();
}

Result<Value> message_value(const Json& message, size_t index, Heap& heap) {
    if (!message.is_object()) {
        return fail(ErrorKind::invalid_input,
                    fmt::format("message {} is {}, expected an object with 'role' and 'content'",
                                index, message.type_name()));
    }
    std::vector<jinja::DictEntry> entries;
    for (const auto& item : message.items()) {
        const bool is_trusted = item.key() == "role" && is_known_role(item.value());
        TRY(Value key, heap.string(item.key(), true));
        TRY(Value value, jinja::value_from_json(item.value(), is_trusted, heap));
        entries.emplace_back(std::move(key), std::move(value));
    }
    return heap.dict(std::move(entries));
}

Result<Value> messages_value(const Json* messages, Heap& heap) {
    if (messages == nullptr || !messages->is_array()) {
        return fail(ErrorKind::invalid_input,
                    fmt::format("messages are {}, expected an array of objects",
                                messages == nullptr ? "missing" : messages->type_name()));
    }
    std::vector<Value> values;
    for (size_t i = 0; i < messages->size(); ++i) {
        TRY(Value message, message_value((*messages)[i], i, heap));
        values.push_back(std::move(message));
    }
    return heap.list(std::move(values));
}

Status set_variables(const Json& variables, jinja::Evaluator& evaluator, Heap& heap) {
    if (!variables.is_object()) {
        return fail(
            ErrorKind::invalid_input,
            fmt::format("template variables are {}, expected an object", variables.type_name()));
    }
    for (const auto& item : variables.items()) {
        for (const std::string_view reserved : {"messages", "tools", "add_generation_prompt"}) {
            if (item.key() == reserved) {
                return fail(
                    ErrorKind::invalid_input,
                    fmt::format("'{}' cannot be given as a template variable: it has its own place "
                                "in the request",
                                reserved));
            }
        }
        TRY(Value value, jinja::value_from_json(item.value(), false, heap));
        evaluator.set_global(item.key(), std::move(value));
    }
    return {};
}

}  // namespace

Result<ChatTemplate> ChatTemplate::parse(std::string_view source, std::string_view file_name) {
    TRY(jinja::TemplateTree tree, jinja::parse_template(source, file_name));
    ChatTemplate result;
    result.tree_ = std::make_shared<const jinja::TemplateTree>(std::move(tree));
    result.source_ = std::string(source);
    result.think_tags_ = detect_think_tags(source);
    return result;
}

bool ChatTemplate::mentions(std::string_view word) const {
    return source_.find(word) != std::string::npos;
}

Result<jinja::TrackedText> ChatTemplate::render_tracked(const ChatTemplateInput& input) const {
    Heap heap(input.limits);
    jinja::Evaluator evaluator(*tree_, heap, input.now);
    for (const auto& [name, token] : input.special_tokens) {
        TRY(Value value, heap.string(token, false));
        evaluator.set_global(name, std::move(value));
    }
    evaluator.set_global("documents", Value::none());
    if (input.variables != nullptr && !input.variables->is_null()) {
        TRY_STATUS(set_variables(*input.variables, evaluator, heap));
    }
    TRY(Value messages, messages_value(input.messages, heap));
    evaluator.set_global("messages", std::move(messages));
    Value tools = Value::none();
    if (input.tools != nullptr) {
        TRY(tools, jinja::value_from_json(*input.tools, false, heap));
    }
    evaluator.set_global("tools", std::move(tools));
    evaluator.set_global("add_generation_prompt", Value::boolean(input.add_generation_prompt));
    return evaluator.render();
}

Result<std::vector<PromptPiece>> ChatTemplate::render_pieces(const ChatTemplateInput& input) const {
    TRY(const jinja::TrackedText text, render_tracked(input));
    std::vector<PromptPiece> pieces;
    size_t at = 0;
    const auto add = [&](size_t end, bool from_user) {
        if (end > at)
            pieces.push_back({.text = text.bytes().substr(at, end - at), .from_user = from_user});
        at = end;
    };
    for (const ByteRange& range : text.input_ranges()) {
        add(range.begin, false);
        add(range.end, true);
    }
    add(text.size(), false);
    return pieces;
}

Result<std::string> ChatTemplate::render(const ChatTemplateInput& input) const {
    TRY(const jinja::TrackedText text, render_tracked(input));
    return text.bytes();
}

}  // namespace colibri

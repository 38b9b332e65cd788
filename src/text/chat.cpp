#include "text/chat.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

namespace colibri {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 7> kSpecialTokenNames = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

// The message member under which a template looks for reasoning.
std::string reasoning_key(const ChatTemplate& chat_template) {
    for (const std::string_view key : {"reasoning_content", "reasoning", "thinking"}) {
        if (chat_template.mentions("." + std::string(key)) ||
            chat_template.mentions("['" + std::string(key) + "']") ||
            chat_template.mentions("[\"" + std::string(key) + "\"]")) {
            return std::string(key);
        }
    }
    return "reasoning_content";
}

// A token is a string, or an object with its text and flags.
const Json* token_text(const Json& token) {
    if (token.is_string()) return &token;
    if (!token.is_object()) return nullptr;
    const auto content = token.find("content");
    return content != token.end() && content->is_string() ? &*content : nullptr;
}

Result<std::optional<std::string>> config_template(const Json& config, std::string_view file_name) {
    const auto found = config.find("chat_template");
    if (found == config.end() || found->is_null()) return std::nullopt;
    if (found->is_string()) return found->get<std::string>();
    if (found->is_array()) {
        for (const Json& entry : *found) {
            const auto name = entry.is_object() ? entry.find("name") : entry.end();
            const auto text = entry.is_object() ? entry.find("template") : entry.end();
            if (name == entry.end() || text == entry.end() || !name->is_string() ||
                !text->is_string())
                continue;
            if (name->get_ref<const std::string&>() == "default") return text->get<std::string>();
        }
        return std::nullopt;
    }
    return fail(
        ErrorKind::invalid_input,
        fmt::format("{}: chat_template is {}, expected a string or a list of named templates",
                    file_name, found->type_name()));
}

}  // namespace

Result<ChatPrompt> render_chat(const ChatTemplate& chat_template,
                               std::span<const ChatMessage> messages, const ChatOptions& options) {
    const std::string reasoning = reasoning_key(chat_template);
    Json list = Json::array();
    for (const ChatMessage& message : messages) {
        Json entry = {{"role", message.role}, {"content", message.content}};
        if (message.reasoning) entry[reasoning] = *message.reasoning;
        list.push_back(std::move(entry));
    }
    Json variables = Json::object();
    if (options.think) {  // families differ in the name
        variables["enable_thinking"] = *options.think;
        variables["thinking"] = *options.think;
    }
    if (options.reasoning_effort) variables["reasoning_effort"] = *options.reasoning_effort;
    TRY(std::vector<PromptPiece> pieces,
        chat_template.render_pieces({.messages = &list,
                                     .variables = &variables,
                                     .special_tokens = options.special_tokens,
                                     .add_generation_prompt = options.add_generation_prompt,
                                     .now = options.now}));
    ReasoningStart start = ReasoningStart::outside;
    const std::optional<ThinkTags>& tags = chat_template.think_tags();
    if (options.add_generation_prompt && tags) start = reasoning_start(pieces, *tags);
    return ChatPrompt{.pieces = std::move(pieces), .start = start};
}

Result<PromptConfig> parse_prompt_config(std::string_view json, std::string_view file_name) {
    const Json config = Json::parse(json, nullptr, false);
    if (!config.is_object()) {
        return fail(ErrorKind::invalid_input, fmt::format("{}: expected a JSON object", file_name));
    }
    PromptConfig result;
    TRY(result.chat_template, config_template(config, file_name));
    for (const std::string_view name : kSpecialTokenNames) {
        const auto found = config.find(std::string(name));
        if (found == config.end() || found->is_null()) continue;
        const Json* text = token_text(*found);
        if (text == nullptr) {
            return fail(
                ErrorKind::invalid_input,
                fmt::format("{}: {} is {}, expected a string or an object with a string 'content'",
                            file_name, name, found->type_name()));
        }
        result.special_tokens.emplace_back(name, text->get<std::string>());
    }
    return result;
}

}  // namespace colibri

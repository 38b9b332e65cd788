// What a conversation needs above a chat template: messages, options, and the files that bring
// templates along.
#pragma once

#include <ctime>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/chat_template.h"

namespace colibri {

struct ChatMessage {
    std::string role;  // "system", "user", "assistant"
    std::string content;
    std::optional<std::string> reasoning = std::nullopt;  // of an assistant's turn, without tags
};

struct ChatOptions {
    std::optional<bool> think = std::nullopt;  // not given: the template's default
    std::optional<std::string> reasoning_effort =
        std::nullopt;  // "low", "high", ...: as the template knows them
    TemplateTokens special_tokens = {};
    bool add_generation_prompt = true;
    std::tm now = {};  // local time
};

struct ChatPrompt {
    std::vector<PromptPiece> pieces;
    ReasoningStart start = ReasoningStart::outside;  // where the model's output begins
};

// Fails if the template refuses the conversation or does not accept it.
[[nodiscard]] Result<ChatPrompt> render_chat(const ChatTemplate& chat_template,
                                             std::span<const ChatMessage> messages,
                                             const ChatOptions& options);

// The parts of tokenizer_config.json that concern prompts.
struct PromptConfig {
    std::optional<std::string> chat_template;  // the one named "default" where there are several
    TemplateTokens special_tokens;             // bos_token, eos_token, ... as strings
};

// `json` is the text of the file, `file_name` names it in errors. Absent and null members are
// skipped; a chat_template.jinja beside the file takes precedence over its chat_template.
[[nodiscard]] Result<PromptConfig> parse_prompt_config(std::string_view json,
                                                       std::string_view file_name);

}  // namespace colibri

// Chat templates: conversations to prompts, in the Jinja dialect that published checkpoints use.
#pragma once

#include <ctime>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "text/jinja/limits.h"
#include "text/prompt_piece.h"
#include "text/think_tags.h"

namespace colibri {

namespace jinja {
struct TemplateTree;
class TrackedText;
}  // namespace jinja

using TemplateTokens =
    std::vector<std::pair<std::string, std::string>>;  // {"bos_token", "<s>"}, ...

// What a template is rendered with. The pointed-to JSON must outlive the call.
struct ChatTemplateInput {
    const nlohmann::ordered_json* messages = nullptr;  // array of objects; required
    const nlohmann::ordered_json* tools = nullptr;     // array; absent: the template sees none
    const nlohmann::ordered_json* variables =
        nullptr;  // object: enable_thinking, reasoning_effort, documents, ...
    TemplateTokens special_tokens = {};  // from the tokenizer's configuration, hence trusted
    bool add_generation_prompt = true;
    std::tm now = {};  // local time that strftime_now shows
    jinja::RenderLimits limits = {};
};

// A parsed template. Rendering is a pure function of template and input; one template may be
// rendered by several threads.
//
// The environment is that of Hugging Face's apply_chat_template: trim_blocks and lstrip_blocks,
// break and continue, the generation block, tojson without HTML escapes, raise_exception,
// strftime_now. A template cannot read files, loop forever or use memory without bound
// (RenderLimits); every failure is an error that names file, line and column.
class ChatTemplate {
public:
    [[nodiscard]] static Result<ChatTemplate> parse(std::string_view source,
                                                    std::string_view file_name);

    // The prompt in pieces of the template and from outside; see PromptPiece for how to tokenize
    // it. Equal neighbours are merged and no piece is empty. A message's role counts as the
    // template's own text if it is one of the known roles, because some templates build their
    // markers from it.
    [[nodiscard]] Result<std::vector<PromptPiece>> render_pieces(
        const ChatTemplateInput& input) const;
    // The same prompt as one string.
    [[nodiscard]] Result<std::string> render(const ChatTemplateInput& input) const;

    [[nodiscard]] const std::optional<ThinkTags>& think_tags() const { return think_tags_; }
    // Whether the source names this word anywhere; tells which optional inputs a template could
    // know.
    [[nodiscard]] bool mentions(std::string_view word) const;

private:
    ChatTemplate() = default;
    [[nodiscard]] Result<jinja::TrackedText> render_tracked(const ChatTemplateInput& input) const;

    std::shared_ptr<const jinja::TemplateTree> tree_;
    std::string source_;
    std::optional<ThinkTags> think_tags_;
};

}  // namespace colibri

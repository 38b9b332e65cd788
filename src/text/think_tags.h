// The marks around a model's reasoning, and where a prompt leaves the model with respect to them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "text/prompt_piece.h"

namespace colibri {

struct ThinkTags {
    std::string open;   // "<think>"
    std::string close;  // "</think>"

    bool operator==(const ThinkTags&) const = default;
};

// Where the model's output begins.
enum class ReasoningStart : uint8_t {
    outside,  // the prompt has no open reasoning; the model may open one itself
    inside,   // the prompt ends in an opened reasoning: output is reasoning until the closing tag
    closed,   // the prompt ends with a closed reasoning ("no thinking"): output is the answer
};

// The tags that a chat template writes or looks for; none if it knows no reasoning (then everything
// a model says is answer).
[[nodiscard]] std::optional<ThinkTags> detect_think_tags(std::string_view template_source);

// Judges by the template's own text after the last message, never by what a message says.
[[nodiscard]] ReasoningStart reasoning_start(std::span<const PromptPiece> prompt,
                                             const ThinkTags& tags);

}  // namespace colibri

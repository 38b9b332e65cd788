#include "text/think_tags.h"

#include <array>

namespace colibri {

std::string prompt_text(std::span<const PromptPiece> prompt) {
    std::string text;
    for (const PromptPiece& piece : prompt) text += piece.text;
    return text;
}

std::optional<ThinkTags> detect_think_tags(std::string_view template_source) {
    constexpr std::array<std::array<std::string_view, 2>, 5> kKnown = {
        {{"<think>", "</think>"},
         {"<mm:think>", "</mm:think>"},
         {"<seed:think>", "</seed:think>"},
         {"[THINK]", "[/THINK]"},
         {"<thinking>", "</thinking>"}}};
    for (const auto& [open, close] : kKnown) {
        if (template_source.find(close) != std::string_view::npos ||
            template_source.find(open) != std::string_view::npos) {
            return ThinkTags{.open = std::string(open), .close = std::string(close)};
        }
    }
    return std::nullopt;
}

ReasoningStart reasoning_start(std::span<const PromptPiece> prompt, const ThinkTags& tags) {
    if (prompt.empty() || prompt.back().from_user) return ReasoningStart::outside;
    std::string_view tail = prompt.back().text;
    const size_t open = tail.rfind(tags.open);
    const size_t close = tail.rfind(tags.close);
    if (open != std::string_view::npos && (close == std::string_view::npos || close < open)) {
        return ReasoningStart::inside;
    }
    const size_t last = tail.find_last_not_of(" \t\r\n");
    tail = tail.substr(0, last == std::string_view::npos ? 0 : last + 1);
    return tail.ends_with(tags.close) ? ReasoningStart::closed : ReasoningStart::outside;
}

}  // namespace colibri

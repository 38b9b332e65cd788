// A rendered prompt in pieces that say who wrote them.
#pragma once

#include <span>
#include <string>

namespace colibri {

// Consecutive pieces make up the prompt. Special tokens may be recognised only where they lie
// entirely in pieces of the template; text from outside (messages of any role, tool declarations
// and results, request options) stays text, whatever it spells. The borders are otherwise no
// borders: ordinary tokens may span them, so a tokenizer must split the whole prompt, not each
// piece, or the ids differ from those the model was trained on.
struct PromptPiece {
    std::string text;
    bool from_user = false;  // from outside the template, in the sense above

    bool operator==(const PromptPiece&) const = default;
};

[[nodiscard]] std::string prompt_text(std::span<const PromptPiece> prompt);

}  // namespace colibri

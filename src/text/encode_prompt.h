// A rendered prompt to token ids: control tokens only where the template itself wrote them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "text/prompt_piece.h"
#include "text/tokenizer.h"

namespace colibri {

// Ordinary tokens may span pieces; an added token counts only where it lies entirely in pieces of
// the template. Errors as Tokenizer::encode.
[[nodiscard]] Result<std::vector<int32_t>> encode_prompt(const Tokenizer& tokenizer,
                                                         std::span<const PromptPiece> prompt);

}  // namespace colibri

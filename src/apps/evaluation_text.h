// Texts that a model is measured on, as token sequences.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/notices.h"

namespace colibri {

// A longer file of texts to evaluate is refused.
inline constexpr uint64_t kEvaluationBytesMax = 1ULL << 30;

// A plain text is one sequence; of a *.jsonl file, each line is one: {"text"}, or {"messages":
// [{"role", "content"}...]} rendered with the model's own template. Conversations with tools are
// passed over and counted in a notice. Sequences are cut to `window` tokens (a text into several),
// at most `limit` tokens in all (0: no limit). "-" is standard input. Errors: as the tokenizer and
// template; invalid_input when nothing is left.
[[nodiscard]] Result<std::vector<std::vector<int32_t>>> read_sequences(
    const std::string& model_directory, const std::string& file, uint32_t window, uint64_t limit,
    Notices& notices);

}  // namespace colibri

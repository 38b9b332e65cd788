// The files beside the weights that an engine reads: tokenizer, template, recommended sampling.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/notices.h"
#include "colibri/engine.h"
#include "text/chat.h"
#include "text/tokenizer.h"

namespace colibri {

struct ModelFiles {
    std::optional<Tokenizer> tokenizer;
    std::optional<ChatTemplate> chat_template;
    TemplateTokens template_tokens;
    SamplingOptions sampling;        // generation_config.json over the defaults
    std::vector<int32_t> extra_eos;  // of generation_config.json
};

// Errors: not_found when a tokenizer is required and absent, and whatever is wrong with a file that
// is there, naming it.
[[nodiscard]] Result<ModelFiles> read_model_files(const std::string& directory,
                                                  bool tokenizer_required, Notices& notices);

}  // namespace colibri

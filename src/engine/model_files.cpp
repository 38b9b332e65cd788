#include "engine/model_files.h"

#include <fmt/format.h>

#include <cmath>

#include "model/config.h"
#include "platform/file.h"

namespace colibri {

namespace {

constexpr uint64_t kTemplateBytesMax = 4 << 20;

// Empty when the file is absent; other failures are errors.
Result<std::optional<std::string>> read_if_there(const std::string& path, uint64_t limit_bytes) {
    auto text = read_file(path, limit_bytes);
    if (text) return std::optional(std::move(*text));
    if (text.error().kind == ErrorKind::not_found) return std::optional<std::string>();
    return tl::unexpected(std::move(text).error());
}

Status read_tokenizer(const std::string& directory, bool required, ModelFiles& files) {
    const std::string path = directory + "/tokenizer.json";
    TRY(const auto text, read_if_there(path, Tokenizer::kMaxFileBytes));
    if (text) {
        TRY(files.tokenizer, Tokenizer::from_json(*text, path));
        return {};
    }
    if (!required) return {};
    return fail(ErrorKind::not_found, fmt::format("{} is missing: text needs it. Copy it from the "
                                                  "model's source, or use coli eval with token ids",
                                                  path));
}

Status read_template(const std::string& directory, ModelFiles& files) {
    std::string path = directory + "/chat_template.jinja";
    TRY(auto source, read_if_there(path, kTemplateBytesMax));
    const std::string config_path = directory + "/tokenizer_config.json";
    TRY(const auto config, read_if_there(config_path, Tokenizer::kMaxFileBytes));
    if (config) {
        TRY(PromptConfig prompt, parse_prompt_config(*config, config_path));
        files.template_tokens = std::move(prompt.special_tokens);
        if (!source && prompt.chat_template) {
            source = std::move(prompt.chat_template);
            path = config_path;
        }
    }
    if (source) {
        TRY(files.chat_template, ChatTemplate::parse(*source, path));
    }
    return {};
}

// A number of generation_config.json inside [low, high]; the fallback, with a notice, when it is
// not.
Result<float> sampling_number(const Config& config, std::string_view key, float fallback,
                              double low, double high, Notices& notices) {
    TRY(const double value, config.number_or(key, double(fallback)));
    if (value >= low && value <= high) return float(value);
    notices.add(fmt::format("{}: {} is {}, expected {} to {}; {} is used", config.file(), key,
                            value, low, high, fallback));
    return fallback;
}

Status read_generation_config(const std::string& directory, ModelFiles& files, Notices& notices) {
    const std::string path = directory + "/generation_config.json";
    TRY(const auto text, read_if_there(path, kConfigBytesMax));
    if (!text) return {};
    TRY(const Config config, Config::parse(*text, path));
    SamplingOptions& s = files.sampling;
    TRY(s.temperature, sampling_number(config, "temperature", s.temperature, 0, 100, notices));
    TRY(s.top_p, sampling_number(config, "top_p", s.top_p, 1e-6, 1, notices));
    TRY(s.min_p, sampling_number(config, "min_p", s.min_p, 0, 1, notices));
    TRY(s.top_k, config.count_or("top_k", s.top_k, 0));
    TRY(const bool sample, config.flag_or("do_sample", true));
    if (!sample) s.temperature = 0;
    TRY(files.extra_eos, config.token_ids("eos_token_id"));
    return {};
}

}  // namespace

Result<ModelFiles> read_model_files(const std::string& directory, bool tokenizer_required,
                                    Notices& notices) {
    ModelFiles files;
    TRY_STATUS(read_tokenizer(directory, tokenizer_required, files));
    if (!files.tokenizer) return files;
    TRY_STATUS(read_template(directory, files));
    TRY_STATUS(read_generation_config(directory, files, notices));
    return files;
}

}  // namespace colibri

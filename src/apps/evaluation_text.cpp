#include "apps/evaluation_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "apps/setup.h"
#include "engine/model_files.h"
#include "platform/file.h"
#include "text/encode_prompt.h"

namespace colibri {

namespace {

// One line of a .jsonl: a conversation, or a plain text.
struct Line {
    std::vector<ChatMessage> messages;
    std::optional<std::string> text;
};

std::optional<std::string> text_of(const nlohmann::json& object, const char* key) {
    if (!object.is_object()) return std::nullopt;
    const auto found = object.find(key);
    if (found == object.end() || !found->is_string()) return std::nullopt;
    return found->get<std::string>();
}

// Nothing for a conversation that needs more than roles and texts.
Result<std::optional<Line>> parse_line(std::string_view line, size_t number,
                                       const std::string& file) {
    const nlohmann::json json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    Line out{.messages = {}, .text = text_of(json, "text")};
    if (out.text) return out;
    if (!json.is_object() || !json.contains("messages") || !json["messages"].is_array())
        return fail(
            ErrorKind::invalid_input,
            fmt::format("{}:{}: expected a JSON object with a list \"messages\" or a string "
                        "\"text\"",
                        file, number));
    if (json.contains("tools")) return std::nullopt;
    for (const nlohmann::json& message : json["messages"]) {
        auto role = text_of(message, "role");
        auto content = text_of(message, "content");
        if (!role || !content || *role == "tool" || message.contains("tool_calls"))
            return std::nullopt;
        out.messages.push_back({.role = *std::move(role), .content = *std::move(content)});
    }
    return out;
}

Result<std::vector<int32_t>> encode_line(const ModelFiles& files, const Line& line,
                                         const std::string& file) {
    if (line.text) return files.tokenizer->encode(*line.text, SpecialTokens::plain);
    if (!files.chat_template)
        return fail(ErrorKind::unsupported,
                    fmt::format("{}: the model has no chat template to render conversations with; "
                                "use a plain text",
                                file));
    TRY(const ChatPrompt prompt,
        render_chat(*files.chat_template, line.messages,
                    {.special_tokens = files.template_tokens, .add_generation_prompt = false}));
    return encode_prompt(*files.tokenizer, prompt.pieces);
}

}  // namespace

Result<std::vector<std::vector<int32_t>>> read_sequences(const std::string& model_directory,
                                                         const std::string& file, uint32_t window,
                                                         uint64_t limit, Notices& notices) {
    TRY(const std::string text,
        file == "-" ? read_standard_input() : read_file(file, kEvaluationBytesMax));
    TRY(const ModelFiles files, read_model_files(model_directory, true, notices));
    std::vector<std::vector<int32_t>> sequences;
    uint64_t total = 0;
    const auto add = [&](std::span<const int32_t> tokens) {
        for (size_t begin = 0; begin < tokens.size() && (limit == 0 || total < limit);
             begin += window) {
            const size_t count = std::min<size_t>(
                {window, tokens.size() - begin, limit == 0 ? window : limit - total});
            if (count < 2) break;
            sequences.emplace_back(tokens.begin() + ptrdiff_t(begin),
                                   tokens.begin() + ptrdiff_t(begin + count));
            total += count;
        }
    };
    if (!file.ends_with(".jsonl")) {
        TRY(const std::vector<int32_t> tokens, files.tokenizer->encode(text, SpecialTokens::plain));
        add(tokens);
    } else {
        uint64_t passed = 0;
        size_t number = 0;
        for (std::string_view rest = text; !rest.empty() && (limit == 0 || total < limit);) {
            const size_t end = rest.find('\n');
            const std::string_view line = rest.substr(0, end);
            rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
            ++number;
            if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
            TRY(const auto parsed, parse_line(line, number, file));
            if (!parsed) {
                ++passed;
                continue;
            }
            TRY(const std::vector<int32_t> tokens, encode_line(files, *parsed, file));
            add(std::span(tokens).first(std::min<size_t>(tokens.size(), window)));
        }
        if (passed > 0)
            notices.add(
                fmt::format("{}: {} conversations with tools were passed over", file, passed));
    }
    if (sequences.empty())
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}: holds no sequence of at least 2 tokens", file));
    return sequences;
}

}  // namespace colibri

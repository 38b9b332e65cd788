// From sampled tokens to shown text: characters, reasoning and answer apart, control tokens left
// out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "decode/stop.h"
#include "text/reasoning_splitter.h"
#include "text/stream_decoder.h"
#include "text/tokenizer.h"

namespace colibri {

class AnswerStream {
public:
    using Sink = std::function<void(std::string_view text, bool reasoning)>;

    // `tags`: absent for models without thinking. The tokenizer and the sink must outlive the
    // stream.
    AnswerStream(const Tokenizer& tokenizer, std::optional<ThinkTags> tags, ReasoningStart start,
                 StopMatcher stops, const Sink& sink);

    void push(int32_t token);
    // A stop string has come: nothing is shown any more.
    [[nodiscard]] bool stopped() const { return stops_.stopped(); }
    void finish();

    [[nodiscard]] const std::string& text() const { return text_; }
    [[nodiscard]] const std::string& reasoning() const { return reasoning_; }
    [[nodiscard]] bool inside_reasoning() const { return splitter_.inside_reasoning(); }

private:
    void take(const ReasoningSplitter::Delta& delta);
    void show(std::string_view answer);

    const Tokenizer& tokenizer_;
    StreamDecoder decoder_;
    std::optional<ThinkTags> tags_;
    ReasoningSplitter splitter_;
    StopMatcher stops_;
    const Sink& sink_;
    std::string text_, reasoning_;
};

}  // namespace colibri

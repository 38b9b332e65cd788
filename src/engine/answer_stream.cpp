#include "engine/answer_stream.h"

namespace colibri {

AnswerStream::AnswerStream(const Tokenizer& tokenizer, std::optional<ThinkTags> tags,
                           ReasoningStart start, const Sink& sink)
    : tokenizer_(tokenizer),
      decoder_(tokenizer),
      tags_(std::move(tags)),
      splitter_(tags_, start),
      sink_(sink) {}

void AnswerStream::push(int32_t token) {
    // Special tokens are not shown, but thinking tags among them must reach the splitter.
    if (tags_ && tokenizer_.is_special(token)) {
        const std::string_view bytes = tokenizer_.token_bytes(token);
        if (bytes == tags_->open || bytes == tags_->close) {
            take(splitter_.push(decoder_.flush()));
            take(splitter_.push(bytes));
            return;
        }
    }
    take(splitter_.push(decoder_.push(token)));
}

void AnswerStream::finish() {
    take(splitter_.push(decoder_.flush()));
    take(splitter_.finish());
}

void AnswerStream::take(const ReasoningSplitter::Delta& delta) {
    if (delta.earlier_answer_was_reasoning) {
        reasoning_ += text_;
        text_.clear();
    }
    reasoning_ += delta.reasoning;
    text_ += delta.answer;
    if (!sink_) return;
    if (!delta.reasoning.empty()) sink_(delta.reasoning, true);
    if (!delta.answer.empty()) sink_(delta.answer, false);
}

}  // namespace colibri

#include "engine/answer_stream.h"

namespace colibri {

AnswerStream::AnswerStream(const Tokenizer& tokenizer, std::optional<ThinkTags> tags,
                           ReasoningStart start, StopMatcher stops, const Sink& sink)
    : tokenizer_(tokenizer),
      decoder_(tokenizer),
      tags_(std::move(tags)),
      splitter_(tags_, start),
      stops_(std::move(stops)),
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
    std::string held;
    stops_.flush(held);
    show(held);
}

void AnswerStream::take(const ReasoningSplitter::Delta& delta) {
    if (stops_.stopped()) return;
    if (delta.earlier_answer_was_reasoning) {
        std::string held;
        stops_.flush(held);
        reasoning_ += text_ + held;
        text_.clear();
    }
    reasoning_ += delta.reasoning;
    if (sink_ && !delta.reasoning.empty()) sink_(delta.reasoning, true);
    std::string released;
    (void)stops_.feed(delta.answer, released);
    show(released);
}

void AnswerStream::show(std::string_view answer) {
    text_ += answer;
    if (sink_ && !answer.empty()) sink_(answer, false);
}

}  // namespace colibri

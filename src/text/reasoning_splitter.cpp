#include "text/reasoning_splitter.h"

#include <algorithm>
#include <utility>

namespace colibri {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

// The length of the longest end of `text` that is a beginning of `tag`, but not all of it.
size_t partial_tag_size(std::string_view text, std::string_view tag) {
    for (size_t size = std::min(text.size(), tag.size() - 1); size > 0; --size) {
        if (tag.starts_with(text.substr(text.size() - size))) return size;
    }
    return 0;
}

bool could_become(std::string_view text, std::string_view tag) {
    return text.size() < tag.size() && tag.starts_with(text);
}

}  // namespace

ReasoningSplitter::ReasoningSplitter(const std::optional<ThinkTags>& tags, ReasoningStart start)
    : has_tags_(tags && !tags->open.empty() && !tags->close.empty()),
      tags_(tags.value_or(ThinkTags{})),
      state_(!has_tags_                        ? State::answer
             : start == ReasoningStart::inside ? State::reasoning_start
                                               : State::answer_start),
      began_outside_(start == ReasoningStart::outside) {}

ReasoningSplitter::Delta ReasoningSplitter::push(std::string_view text) {
    Delta delta;
    if (!has_tags_) {
        delta.answer = std::string(text);
        return delta;
    }
    pending_ += text;
    while (step(delta)) {
    }
    return delta;
}

ReasoningSplitter::Delta ReasoningSplitter::finish() {
    Delta delta;
    switch (state_) {
        case State::reasoning_start:
        case State::reasoning: add_reasoning(pending_, delta); break;
        case State::answer_start:
            // Blanks after a tag, or before nothing at all.
            if (!tag_seen_ || !pending_.empty())
                delta.answer = (tag_seen_ ? "" : blanks_) + pending_;
            break;
        case State::answer: delta.answer = pending_; break;
    }
    pending_.clear();
    blanks_.clear();
    return delta;
}

bool ReasoningSplitter::step(Delta& delta) {
    switch (state_) {
        case State::reasoning_start: return step_reasoning_start();
        case State::reasoning: return step_reasoning(delta);
        case State::answer_start: return step_answer_start(delta);
        case State::answer: return step_answer(delta);
    }
    return false;
}

void ReasoningSplitter::hold_blanks() {
    const size_t text = std::min(pending_.find_first_not_of(kBlanks), pending_.size());
    blanks_ += pending_.substr(0, text);
    pending_.erase(0, text);
}

// Gives out text with the blanks held before it, and holds back the blanks at its end.
void ReasoningSplitter::add_reasoning(std::string_view text, Delta& delta) {
    const size_t last = text.find_last_not_of(kBlanks);
    if (last == std::string_view::npos) {
        blanks_ += text;
        return;
    }
    delta.reasoning += blanks_;
    delta.reasoning += text.substr(0, last + 1);
    blanks_ = std::string(text.substr(last + 1));
}

bool ReasoningSplitter::step_reasoning_start() {
    hold_blanks();
    blanks_.clear();
    if (pending_.starts_with(tags_.open)) {
        pending_.erase(0, tags_.open.size());
        return true;
    }
    if (pending_.empty() || could_become(pending_, tags_.open)) return false;
    state_ = State::reasoning;
    return true;
}

bool ReasoningSplitter::step_reasoning(Delta& delta) {
    const size_t close = pending_.find(tags_.close);
    if (close == std::string::npos) {
        const size_t decided = pending_.size() - partial_tag_size(pending_, tags_.close);
        add_reasoning(std::string_view(pending_).substr(0, decided), delta);
        pending_.erase(0, decided);
        return false;
    }
    add_reasoning(std::string_view(pending_).substr(0, close), delta);
    pending_.erase(0, close + tags_.close.size());
    blanks_.clear();
    tag_seen_ = true;
    state_ = State::answer_start;
    return true;
}

bool ReasoningSplitter::step_answer_start(Delta& delta) {
    hold_blanks();
    if (pending_.starts_with(tags_.close)) {
        pending_.erase(0, tags_.close.size());
        blanks_.clear();
        tag_seen_ = true;
        return true;
    }
    if (pending_.starts_with(tags_.open)) {
        pending_.erase(0, tags_.open.size());
        blanks_.clear();
        tag_seen_ = true;
        state_ = State::reasoning_start;
        return true;
    }
    if (pending_.empty() || could_become(pending_, tags_.open) ||
        could_become(pending_, tags_.close)) {
        return false;
    }
    if (!tag_seen_) delta.answer += blanks_;
    blanks_.clear();
    state_ = State::answer;
    return true;
}

bool ReasoningSplitter::step_answer(Delta& delta) {
    if (!began_outside_ || tag_seen_) {
        delta.answer += std::exchange(pending_, {});
        return false;
    }
    const size_t close = pending_.find(tags_.close);
    if (close == std::string::npos) {
        const size_t decided = pending_.size() - partial_tag_size(pending_, tags_.close);
        delta.answer += pending_.substr(0, decided);
        pending_.erase(0, decided);
        return false;
    }
    // Everything so far was reasoning whose opener the model left out.
    delta.earlier_answer_was_reasoning = true;
    delta.reasoning = std::exchange(delta.answer, {}) + pending_.substr(0, close);
    pending_.erase(0, close + tags_.close.size());
    tag_seen_ = true;
    state_ = State::answer_start;
    return true;
}

}  // namespace colibri

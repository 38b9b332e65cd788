// Splits a model's streamed text into reasoning and answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "text/think_tags.h"

namespace colibri {

// Text may be cut anywhere, also inside a tag; the totals do not depend on the cuts.
//
// Models do not always write exactly one pair of tags, so: a repeated opener or closer at a border
// is dropped, blanks next to tags are dropped, reasoning that is never closed is all reasoning, and
// a closer without opener (in a stream that began outside) makes what came before it reasoning,
// which the Delta reports. Once the answer has begun, tags are text. Without tags everything is
// answer, verbatim.
class ReasoningSplitter {
public:
    struct Delta {
        // A closer came without opener: all answer text so far was reasoning. Apply before
        // appending the rest.
        bool earlier_answer_was_reasoning = false;
        std::string reasoning;
        std::string answer;
    };

    ReasoningSplitter(const std::optional<ThinkTags>& tags, ReasoningStart start);

    [[nodiscard]] Delta push(std::string_view text);
    // The end of the stream: whatever was held back as the beginning of a tag.
    [[nodiscard]] Delta finish();
    // True while the stream, ended now, would have ended in the middle of its reasoning.
    [[nodiscard]] bool inside_reasoning() const {
        return state_ == State::reasoning_start || state_ == State::reasoning;
    }

private:
    enum class State : uint8_t { reasoning_start, reasoning, answer_start, answer };

    // Each takes what it can decide from pending_ and returns false if more text is needed.
    bool step(Delta& delta);
    bool step_reasoning_start();
    bool step_reasoning(Delta& delta);
    bool step_answer_start(Delta& delta);
    bool step_answer(Delta& delta);
    void hold_blanks();
    void add_reasoning(std::string_view text, Delta& delta);

    bool has_tags_;
    ThinkTags tags_;
    State state_;
    bool began_outside_;
    bool tag_seen_ = false;
    std::string pending_;  // not yet decided
    std::string blanks_;   // held back: dropped if a tag follows, given out if text does
};

}  // namespace colibri

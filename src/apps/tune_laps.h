// What `coli tune` measures: a few texts, token by token, through an open model.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "apps/tune_search.h"
#include "base/cancel.h"
#include "base/error.h"
#include "runtime/model.h"
#include "text/tokenizer.h"

namespace colibri {

// Texts of several kinds, tokenized; pseudo-random tokens without a tokenizer.
[[nodiscard]] Result<std::vector<std::vector<int32_t>>> tuning_texts(const Tokenizer* tokenizer,
                                                                     uint32_t vocabulary);

// A lap runs the beginnings of the texts one after the other, each from an empty context, as decode
// steps: every lap does the same work. With several texts a lap comes back to a text only after the
// others, so that its experts have had to hold their places in the cache.
class TuneLaps {
public:
    // Nothing of this is owned.
    TuneLaps(Model& model, std::vector<std::vector<int32_t>> texts, const CancelToken* cancel);

    // Finds a length of laps that takes about `lap_s`, and whether the cache must be emptied before
    // each: where a lap is so short that it would find its own experts in memory, though a real
    // conversation (of `expected_hit_rate`) would not. When a dozen tokens take longer than
    // `left_s`, laps are single tokens. Errors: as lap().
    [[nodiscard]] Status prepare(double lap_s, double left_s, double expected_hit_rate,
                                 const Tunables& tunables);

    [[nodiscard]] Result<TuneLap> lap(const Tunables& tunables);

    [[nodiscard]] uint32_t tokens() const { return texts_used_ * tokens_per_text_; }
    [[nodiscard]] uint32_t texts() const { return texts_used_; }
    [[nodiscard]] bool starts_empty() const { return starts_empty_; }
    [[nodiscard]] double hit_rate() const { return hit_rate_; }  // of the last lap

private:
    [[nodiscard]] Result<double> timed(const Tunables& tunables);
    [[nodiscard]] Status size_laps(double lap_s, const Tunables& tunables);

    Model& model_;
    std::vector<std::vector<int32_t>> texts_;
    const CancelToken* cancel_;
    SequenceState state_;
    uint32_t texts_used_ = 0;
    uint32_t tokens_per_text_ = 1;
    bool starts_empty_ = false;
    double hit_rate_ = 1;
};

}  // namespace colibri

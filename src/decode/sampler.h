// From logits to a token. A pure function of (logits, options, random state): nothing else has an
// influence, and the same inputs give the same token on every machine.
//
// Order: mask (padded vocabulary rows, banned ids) -> temperature -> softmax -> top-k -> top-p ->
// min-p -> draw. Candidates are ranked by probability, ties by the lower id. Sums are double, in a
// fixed order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/rng.h"

namespace colibri {

struct SamplerOptions {
    float temperature = 1;  // 0: greedy, i.e. the largest logit, the lowest id among equals
    uint32_t top_k = 0;     // keeps the k most probable ids; 0: off
    float top_p = 1;        // keeps the fewest ids that hold this share of what top-k kept; 1: off
    float min_p = 0;        // keeps ids at least min_p times as probable as the best; 0: off
};

// Errors: invalid_input naming the option, its value and the limits (NaN and infinities included).
[[nodiscard]] Status check_sampler_options(const SamplerOptions& options);

// What may never be drawn.
struct TokenMask {
    uint32_t valid_ids = 0;  // ids from here on are padding of the vocabulary; 0: all ids are valid
    std::span<const int32_t> banned = {};  // any order; ids outside the vocabulary are ignored
};

// The largest allowed logit, the lowest id among equals. Errors as Sampler::sample.
[[nodiscard]] Result<int32_t> greedy_token(std::span<const float> logits, const TokenMask& mask);

// Keeps scratch memory between calls (12 bytes per vocabulary id), so that a steady state allocates
// nothing. One thread.
class Sampler {
public:
    // Plans and takes the scratch memory for a vocabulary.
    explicit Sampler(uint32_t vocab);
    [[nodiscard]] static uint64_t memory_bytes(uint32_t vocab);

    // Draws once from `random` unless greedy. Errors: invalid_input (options, or nothing is
    // allowed); corrupt when a logit is not finite, naming the id (masked ids included: they come
    // from the same weights).
    [[nodiscard]] Result<int32_t> sample(std::span<const float> logits,
                                         const SamplerOptions& options, const TokenMask& mask,
                                         Rng& random);

private:
    [[nodiscard]] int32_t draw_ranked(const SamplerOptions& options, double total, Rng& random);

    std::vector<double> weights_;  // [vocab], e^((logit - max) / temperature); 0 where masked
    std::vector<int32_t> ranked_;  // [<= vocab], ids that may be drawn
};

}  // namespace colibri

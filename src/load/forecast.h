// What a plan means for speed: bytes and seconds per token, before anything has run.
#pragma once

#include <cstdint>
#include <optional>

#include "load/plan.h"

namespace colibri {

struct MachineSpeeds {
    double drive_bytes_per_s = 0;   // reads of the experts' size, all drives together
    double memory_bytes_per_s = 0;  // plain reads by all threads
};

struct Forecast {
    double cached_share = 1;  // of the experts
    double hit_rate = 1;
    bool hit_rate_given = false;  // false: the prior below
    uint64_t read_bytes_per_token = 0;
    uint64_t multiplied_bytes_per_token = 0;  // weights that a decode step walks through
    double read_s = 0;
    double compute_s = 0;
    double token_s = 0;  // reads hide computation, or the other way round
};

// The share of chosen experts that a cache holding `cached_share` of all finds in memory: what the
// default policy reached on routes recorded from two models with 128 experts a layer, the mean of
// both, straight lines between (docs/cache.md). Nothing cached: 0; everything: 1.
[[nodiscard]] double prior_hit_rate(double cached_share);

// Computation runs at about this share of the memory's speed.
inline constexpr double kComputeShareOfMemory = 0.7;

// Decode of one token with a full cache. Speeds of 0 leave the times that need them at 0.
[[nodiscard]] Forecast forecast(const MemoryPlan& plan, const MachineSpeeds& speeds,
                                std::optional<double> hit_rate);

}  // namespace colibri

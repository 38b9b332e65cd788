// What a plan means for speed: bytes and seconds per token, before anything has run.
#pragma once

#include <cstdint>
#include <optional>

#include "load/plan.h"
#include "store/usage.h"

namespace colibri {

struct MachineSpeeds {
    double drive_bytes_per_s = 0;   // reads of the experts' size, all drives together
    double memory_bytes_per_s = 0;  // plain reads by all threads
};

enum class HitRateSource : uint8_t {
    prior,    // prior_hit_rate()
    history,  // history_hit_rate()
    given,
};

struct Forecast {
    double cached_share = 1;  // of the experts
    double hit_rate = 1;
    HitRateSource hit_rate_from = HitRateSource::prior;
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

// Fewer tokens than this say more about themselves than about the next ones.
inline constexpr double kForecastStepsMin = 512;

// The same for one model, from what it has used: the share of all uses that fell to the most used
// experts, as many as fit. Nothing when the history has fewer than kForecastStepsMin tokens.
[[nodiscard]] std::optional<double> history_hit_rate(const UsageHistory& history,
                                                     const MemoryPlan& plan);

// Computation runs at about this share of the memory's speed.
inline constexpr double kComputeShareOfMemory = 0.7;

// Decode of one token with a full cache. The hit rate is the given one, else the history's, else
// the prior. Speeds of 0 leave the times that need them at 0.
[[nodiscard]] Forecast forecast(const MemoryPlan& plan, const MachineSpeeds& speeds,
                                std::optional<double> given, std::optional<double> history);

}  // namespace colibri

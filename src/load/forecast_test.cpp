#include "load/forecast.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace colibri {
namespace {

MemoryPlan some_plan() {
    MemoryPlan plan;
    plan.expert_slots = 25;
    plan.expert_count = 100;
    plan.experts_per_token = 80;
    plan.expert_read_bytes = 20'000'000;
    plan.expert_slot_bytes = 20'000'000;
    plan.dense_bytes_per_token = 400'000'000;
    return plan;
}

// Goal: the prior goes from nothing to everything, never down, through the recorded points.
// Method: a fine sweep, and the points of docs/cache.md.
TEST(Forecast, PriorRisesWithTheCache) {
    EXPECT_EQ(prior_hit_rate(0), 0);
    EXPECT_EQ(prior_hit_rate(1), 1);
    EXPECT_EQ(prior_hit_rate(7), 1);
    EXPECT_NEAR(prior_hit_rate(0.25), (0.8028 + 0.8258) / 2, 0.001);
    EXPECT_NEAR(prior_hit_rate(0.125), (0.6432 + 0.6481) / 2, 0.001);
    for (int i = 1; i <= 1000; ++i)
        EXPECT_GE(prior_hit_rate(i / 1000.0), prior_hit_rate((i - 1) / 1000.0)) << i;
}

// Goal: bytes and seconds are those of the missed experts and of the weights that are multiplied.
// Method: round numbers, computed by hand: 80 experts, half of them missed, 20 MB each, 2 GB/s.
TEST(Forecast, CountsWhatIsMissed) {
    const Forecast f =
        forecast(some_plan(), {.drive_bytes_per_s = 2e9, .memory_bytes_per_s = 20e9}, 0.5, 0.9);
    EXPECT_EQ(f.read_bytes_per_token, 800'000'000U);
    EXPECT_DOUBLE_EQ(f.read_s, 0.4);
    EXPECT_EQ(f.multiplied_bytes_per_token, 2'000'000'000U);
    EXPECT_NEAR(f.compute_s, 2.0 / 20 / 0.7, 1e-12);
    EXPECT_DOUBLE_EQ(f.token_s, 0.4);
    EXPECT_EQ(f.hit_rate_from, HitRateSource::given);
}

// Goal: without a hit rate the prior for the cache's share counts; with all experts cached nothing
// is read. Method: a quarter of the experts in slots, then all of them.
TEST(Forecast, UsesThePriorOfTheCachedShare) {
    MemoryPlan plan = some_plan();
    const Forecast f = forecast(plan, {}, std::nullopt, std::nullopt);
    EXPECT_DOUBLE_EQ(f.cached_share, 0.25);
    EXPECT_DOUBLE_EQ(f.hit_rate, prior_hit_rate(0.25));
    EXPECT_EQ(f.hit_rate_from, HitRateSource::prior);
    EXPECT_EQ(f.token_s, 0);
    plan.expert_slots = plan.expert_count;
    EXPECT_EQ(forecast(plan, {}, std::nullopt, std::nullopt).read_bytes_per_token, 0U);
}

// Goal: a history gives the share of uses of the experts that fit, once it is long enough, and is
// preferred to the prior.
// Method: uses 50, 30, 10, 5, 5 of six experts, in no order; expected shares by hand.
TEST(Forecast, UsesAHistoryThatIsLongEnough) {
    UsageHistory history{
        .steps = 1000,
        .entries = {{{1, 0}, 5}, {{1, 3}, 50}, {{2, 1}, 10}, {{2, 2}, 30}, {{3, 0}, 5}}};
    MemoryPlan plan = some_plan();
    plan.expert_count = 6;
    plan.expert_slots = 2;
    EXPECT_DOUBLE_EQ(history_hit_rate(history, plan).value(), 0.8);
    plan.expert_slots = 3;
    EXPECT_DOUBLE_EQ(history_hit_rate(history, plan).value(), 0.9);
    plan.expert_slots = 6;
    EXPECT_DOUBLE_EQ(history_hit_rate(history, plan).value(), 1);
    const Forecast f = forecast(plan, {}, std::nullopt, 0.75);
    EXPECT_EQ(f.hit_rate, 0.75);
    EXPECT_EQ(f.hit_rate_from, HitRateSource::history);
    history.steps = kForecastStepsMin - 1;
    EXPECT_FALSE(history_hit_rate(history, plan));
    EXPECT_FALSE(history_hit_rate(UsageHistory{.steps = 1e6, .entries = {}}, plan));
}

}  // namespace
}  // namespace colibri

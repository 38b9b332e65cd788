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
        forecast(some_plan(), {.drive_bytes_per_s = 2e9, .memory_bytes_per_s = 20e9}, 0.5);
    EXPECT_EQ(f.read_bytes_per_token, 800'000'000U);
    EXPECT_DOUBLE_EQ(f.read_s, 0.4);
    EXPECT_EQ(f.multiplied_bytes_per_token, 2'000'000'000U);
    EXPECT_NEAR(f.compute_s, 2.0 / 20 / 0.7, 1e-12);
    EXPECT_DOUBLE_EQ(f.token_s, 0.4);
    EXPECT_TRUE(f.hit_rate_given);
}

// Goal: without a hit rate the prior for the cache's share counts; with all experts cached nothing
// is read. Method: a quarter of the experts in slots, then all of them.
TEST(Forecast, UsesThePriorOfTheCachedShare) {
    MemoryPlan plan = some_plan();
    const Forecast f = forecast(plan, {}, std::nullopt);
    EXPECT_DOUBLE_EQ(f.cached_share, 0.25);
    EXPECT_DOUBLE_EQ(f.hit_rate, prior_hit_rate(0.25));
    EXPECT_FALSE(f.hit_rate_given);
    EXPECT_EQ(f.token_s, 0);
    plan.expert_slots = plan.expert_count;
    EXPECT_EQ(forecast(plan, {}, std::nullopt).read_bytes_per_token, 0U);
}

}  // namespace
}  // namespace colibri

#include "store/frequency.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "base/rng.h"

namespace colibri {

namespace {

// Keys of `layers` layers with `experts` each, all of class 0.
struct Grid {
    std::vector<uint32_t> layers;
    std::vector<uint8_t> classes;
    Grid(uint32_t layer_count, uint32_t experts) {
        for (uint32_t layer = 0; layer < layer_count; ++layer)
            layers.insert(layers.end(), experts, layer);
        classes.assign(layers.size(), 0);
    }
    [[nodiscard]] PolicyShape shape(uint32_t slots) const {
        return {.layers = layers, .classes = classes, .slot_class = 0, .slots = slots};
    }
};

void add(FrequencyPolicy& policy, uint32_t key) {
    policy.insert(key);
    policy.release(key);
}

// A step that asks for resident, free keys.
void use(FrequencyPolicy& policy, const std::vector<uint32_t>& keys) {
    policy.begin_step(keys);
    for (const uint32_t key : keys) policy.hold(key);
    for (const uint32_t key : keys) policy.release(key);
    for (const uint32_t key : keys) policy.touch(key);
}

// A policy and a plain account of what it should know.
class PolicyWorld {
public:
    explicit PolicyWorld(Rng& rng)
        : layer_count_(uint32_t(1 + rng.below(4))),
          experts_(uint32_t(4 + rng.below(12))),
          slots_(uint32_t(1 + rng.below(layer_count_ * experts_))),
          grid_(layer_count_, experts_),
          policy_(grid_.shape(slots_)),
          uses_(grid_.layers.size()),
          steps_(layer_count_, 0) {}

    void step(Rng& rng) {
        const auto layer = uint32_t(rng.below(layer_count_));
        const bool skewed = rng.below(4) != 0;
        std::set<uint32_t> keys;
        for (int i = 0; i < 2; ++i)
            keys.insert(layer * experts_ + uint32_t(rng.below(skewed ? 4 : experts_)));
        policy_.begin_step(std::vector<uint32_t>(keys.begin(), keys.end()));
        ++steps_[layer];
        for (const uint32_t key : keys) {
            uses_[key].push_back(steps_[layer]);
            if (free_.erase(key) == 0) continue;
            policy_.hold(key);
            held_.insert(key);
        }
        for (const uint32_t key : keys)
            if (!held_.contains(key)) bring_in(key, rng.below(20) == 0);
        for (const uint32_t key : std::vector<uint32_t>(held_.begin(), held_.end())) {
            if (rng.below(8) == 0) continue;  // kept over the step's end
            policy_.release(key);
            held_.erase(key);
            free_.insert(key);
        }
        for (const uint32_t key : keys)
            if (free_.contains(key)) policy_.touch(key);
    }

private:
    void bring_in(uint32_t key, bool fails) {
        if (free_.size() + held_.size() == slots_) {
            const auto victim = policy_.evict(key);
            ASSERT_EQ(victim.has_value(), !free_.empty());
            if (!victim) return;
            check(*victim, grid_.layers[key]);
            free_.erase(*victim);
        }
        policy_.insert(key);
        if (fails)
            policy_.erase(key);
        else
            held_.insert(key);
    }

    void check(uint32_t victim, uint32_t layer) const {
        constexpr double kResolution =
            1.13;  // an eighth of an octave: two roundings of a sixteenth
        constexpr double kFaded = 1.0 / 900;  // ten octaves below one use
        ASSERT_TRUE(free_.contains(victim));
        const uint32_t donor = grid_.layers[victim];
        const bool own_free = std::any_of(free_.begin(), free_.end(),
                                          [&](uint32_t key) { return grid_.layers[key] == layer; });
        if (resident(layer) >= std::max(1U, slots_ / layer_count_) && own_free) {
            ASSERT_EQ(donor, layer);
        } else {
            for (const uint32_t key : free_)
                ASSERT_LE(resident(grid_.layers[key]), resident(donor));
        }
        for (const uint32_t key : free_)
            if (grid_.layers[key] == donor) {
                ASSERT_TRUE(count(victim) <= count(key) * kResolution || count(victim) < kFaded);
            }
    }

    [[nodiscard]] double count(uint32_t key) const {
        double sum = 0;
        for (const uint32_t step : uses_[key])
            sum += std::exp2(-double(steps_[grid_.layers[key]] - step) / 32);
        return sum;
    }
    [[nodiscard]] uint32_t resident(uint32_t layer) const {
        const auto in = [&](uint32_t key) { return grid_.layers[key] == layer; };
        return uint32_t(std::count_if(free_.begin(), free_.end(), in) +
                        std::count_if(held_.begin(), held_.end(), in));
    }

    uint32_t layer_count_, experts_, slots_;
    Grid grid_;
    FrequencyPolicy policy_;
    std::vector<std::vector<uint32_t>> uses_;  // of each key: steps of its layer
    std::vector<uint32_t> steps_;
    std::set<uint32_t> free_, held_;
};

}  // namespace

// Goal: frequent keys outlive recent ones, and held keys are never chosen.
// Method: one layer; a key used three times long ago against one used once, just now.
TEST(FrequencyPolicy, EvictsTheLeastFrequentFreeKey) {
    const Grid grid(1, 8);
    FrequencyPolicy policy(grid.shape(4));
    for (uint32_t key = 0; key < 4; ++key) add(policy, key);
    for (int i = 0; i < 3; ++i) use(policy, {0});
    use(policy, {1, 2});
    use(policy, {3});
    use(policy, {2});
    policy.hold(1);
    EXPECT_EQ(policy.evict(7), 3U) << "used once; 1 is held";
    policy.release(1);
    EXPECT_EQ(policy.evict(7), 1U);
    EXPECT_EQ(policy.evict(7), 2U);
    EXPECT_EQ(policy.evict(7), 0U);
    EXPECT_EQ(policy.evict(7), std::nullopt);
}

// Goal: counts fade: after enough half-lives, one new use outweighs many old ones.
// Method: 8 uses of a key, then other keys for 4 half-lives: the count is below 8 / 16.
TEST(FrequencyPolicy, OldUsesFade) {
    const Grid grid(1, 8);
    FrequencyPolicy policy(grid.shape(4));
    for (uint32_t key = 0; key < 3; ++key) add(policy, key);
    for (int i = 0; i < 8; ++i) use(policy, {0});
    for (uint32_t i = 0; i < 4 * FrequencyPolicy::kHalfLifeSteps; ++i) use(policy, {1});
    use(policy, {2});
    EXPECT_EQ(policy.evict(7), 0U);
}

// Goal: a layer at its share pays for itself, one below it takes from the layer that has most.
// Method: two layers and 6 slots: the first has borrowed two; then the second claims its three.
TEST(FrequencyPolicy, LayersHaveShares) {
    const Grid grid(2, 8);
    FrequencyPolicy policy(grid.shape(6));
    for (uint32_t key = 0; key < 5; ++key) add(policy, key);
    for (int i = 0; i < 9; ++i) use(policy, {0, 1, 2, 3, 4});
    add(policy, 8);
    policy.begin_step(std::vector<uint32_t>{9});
    EXPECT_EQ(policy.evict(9), 0U) << "9's layer has 1 of 3: the other gives, however frequent";
    add(policy, 9);
    EXPECT_EQ(policy.evict(10), 1U);
    add(policy, 10);
    EXPECT_EQ(policy.evict(11), 8U) << "at its share: its own least frequent, never used";
    add(policy, 11);
    for (const uint32_t key : {9U, 10U, 11U}) policy.hold(key);
    EXPECT_EQ(policy.evict(12), 2U) << "nothing of its own is free";
}

// Goal: without shares the least frequent key of all layers leaves, but no layer falls below its
// floor while another has more.
// Method: two layers; the second one's keys are rarer; floor of 2.
TEST(FrequencyPolicy, GlobalBalanceKeepsAFloor) {
    const Grid grid(2, 8);
    FrequencyPolicy policy(grid.shape(6), Balance::global, 2);
    for (const uint32_t key : {0U, 1U, 2U, 8U, 9U, 10U}) add(policy, key);
    for (int i = 0; i < 3; ++i) use(policy, {0, 1, 2});
    use(policy, {8, 9});
    EXPECT_EQ(policy.evict(3), 10U);
    EXPECT_EQ(policy.evict(3), 0U) << "the second layer is at its floor";
}

// Goal: what earlier runs know decides as long as this one knows nothing.
// Method: remembered frequencies in another order than the keys.
TEST(FrequencyPolicy, RemembersEarlierRuns) {
    const Grid grid(1, 8);
    FrequencyPolicy policy(grid.shape(3));
    policy.remember(0, 0.9);
    policy.remember(1, 0.01);
    policy.remember(2, 0.2);
    for (uint32_t key = 0; key < 3; ++key) add(policy, key);
    EXPECT_EQ(policy.evict(7), 1U);
    add(policy, 1);
    use(policy, {1});
    EXPECT_EQ(policy.evict(7), 1U) << "one use is less than a fifth of all steps";
    EXPECT_EQ(policy.evict(7), 2U);
}

// Goal: the buckets do what the definition says, whatever the sequence.
// Method: random steps, holds and failures against counts kept as plain sums with exp2
// (PolicyWorld): the victim's count is within the resolution of the smallest free one of the layer
// that must give, or both have faded below what is told apart.
TEST(FrequencyPolicy, AgreesWithTheDefinition) {
    Rng rng(3);
    for (int round = 0; round < 30; ++round) {
        PolicyWorld world(rng);
        for (int step = 0; step < 600; ++step) world.step(rng);
    }
}

// Goal: choosing a victim costs the same in a small and in a large cache.
// Method: time of evict + insert + release at 8 and at 4096 resident keys, best of several; a
// search through the keys would be hundreds of times slower.
TEST(FrequencyPolicy, VictimChoiceDoesNotDependOnTheNumberOfKeys) {
    const auto best_ns = [](uint32_t keys) {
        const Grid grid(1, 2 * keys);
        FrequencyPolicy policy(grid.shape(keys));
        for (uint32_t key = 0; key < keys; ++key) add(policy, key);
        double best = 1e18;
        for (int trial = 0; trial < 7; ++trial) {
            const auto begin = std::chrono::steady_clock::now();
            for (int i = 0; i < 4096; ++i) {
                const auto victim = policy.evict(0);
                add(policy, *victim);
            }
            const std::chrono::duration<double, std::nano> spent =
                std::chrono::steady_clock::now() - begin;
            best = std::min(best, spent.count() / 4096);
        }
        return best;
    };
    EXPECT_LT(best_ns(4096), 20 * best_ns(8) + 100);
}

// Goal: when a slot is given up for nobody, the layer with most keys loses its least frequent one;
// and the layers' shares follow the number of slots.
// Method: layers with four and two keys; shrunk from eight slots to four, where both have a right
// to two.
TEST(FrequencyPolicy, GivesUpSlotsForNobody) {
    const Grid grid(2, 8);
    FrequencyPolicy policy(grid.shape(8));
    for (const uint32_t key : {0U, 1U, 2U, 3U, 8U, 9U}) add(policy, key);
    use(policy, {0, 2, 3});
    use(policy, {8, 9});
    policy.resize(4);
    EXPECT_EQ(policy.evict(kNobody), 1U) << "never used";
    EXPECT_EQ(policy.evict(kNobody), 0U) << "the first of three that were used alike";
    EXPECT_EQ(policy.evict(4), 2U) << "at its share of two: takes from itself";
    for (const uint32_t key : {3U, 8U, 9U}) {
        (void)key;
        EXPECT_TRUE(policy.evict(kNobody));
    }
    EXPECT_EQ(policy.evict(kNobody), std::nullopt);
}

}  // namespace colibri

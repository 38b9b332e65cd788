#include "store/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/rng.h"
#include "store/belady.h"
#include "store/frequency.h"

namespace colibri {

namespace {

using Sets = std::vector<std::vector<ExpertId>>;

constexpr uint32_t kLayers = 4;
constexpr uint32_t kExperts = 32;

PlacementShape grid(uint32_t slots, uint32_t ring_slots) {
    PlacementShape shape;
    for (uint32_t layer = 0; layer < kLayers; ++layer)
        for (uint32_t index = 0; index < kExperts; ++index) shape.ids.push_back({layer, index});
    shape.classes.assign(shape.ids.size(), 0);
    shape.pools.push_back({.slots = slots, .ring_slots = ring_slots});
    return shape;
}

// Routes with the two properties that real ones have: some experts are popular, and the last
// token's tend to come again.
Sets make_routes(uint64_t seed, int tokens) {
    Rng rng(seed);
    Sets sets;
    std::map<uint32_t, std::vector<ExpertId>> last;
    for (int token = 0; token < tokens; ++token) {
        for (uint32_t layer = 0; layer < kLayers; ++layer) {
            std::set<ExpertId> chosen;
            for (const ExpertId id : last[layer])
                if (rng.uniform() < 0.35) chosen.insert(id);
            while (chosen.size() < 4) {
                const double skewed = rng.uniform() * rng.uniform();
                chosen.insert({layer, uint32_t(skewed * kExperts)});
            }
            last[layer].assign(chosen.begin(), chosen.end());
            sets.push_back(last[layer]);
        }
    }
    return sets;
}

// The definition of LRU over sets, written the slow way: hits are those present before the step;
// every miss pushes out the expert whose last step (and place in it) is longest ago and which this
// step does not use.
struct BruteForce {
    uint64_t hits = 0, misses = 0, evictions = 0;

    BruteForce(const Sets& sets, size_t slots) {
        std::vector<ExpertId> recency;  // oldest first
        for (const std::vector<ExpertId>& set : sets) {
            std::vector<ExpertId> missing;
            for (const ExpertId id : set) {
                const bool present = std::count(recency.begin(), recency.end(), id) > 0;
                ++(present ? hits : misses);
                if (!present) missing.push_back(id);
            }
            for (const ExpertId id : missing) {
                if (recency.size() == slots) {
                    const auto victim = std::find_if(
                        recency.begin(), recency.end(),
                        [&](ExpertId r) { return std::count(set.begin(), set.end(), r) == 0; });
                    recency.erase(victim);
                    ++evictions;
                }
                recency.push_back(id);
            }
            for (const ExpertId id : set) {
                std::erase(recency, id);
                recency.push_back(id);
            }
        }
    }
};

// The most hits that any policy could have that gives every missed expert a slot: evict what is
// needed again last, but nothing that the step uses.
uint64_t belady_hits(const Sets& sets, size_t slots) {
    std::map<ExpertId, std::vector<size_t>> uses;
    for (size_t step = 0; step < sets.size(); ++step)
        for (const ExpertId id : sets[step]) uses[id].push_back(step);
    const auto next_use = [&](ExpertId id, size_t step) {
        const std::vector<size_t>& steps = uses[id];
        const auto next = std::upper_bound(steps.begin(), steps.end(), step);
        return next == steps.end() ? SIZE_MAX : *next;
    };
    std::set<ExpertId> cache;
    uint64_t hits = 0;
    for (size_t step = 0; step < sets.size(); ++step) {
        for (const ExpertId id : sets[step]) hits += cache.count(id);
        cache.insert(sets[step].begin(), sets[step].end());
        const auto rank = [&](ExpertId id) {
            const bool in_use = std::count(sets[step].begin(), sets[step].end(), id) > 0;
            return in_use ? 0 : next_use(id, step);
        };
        while (cache.size() > slots)
            cache.erase(std::max_element(cache.begin(), cache.end(), [&](ExpertId a, ExpertId b) {
                return rank(a) < rank(b);
            }));
    }
    return hits;
}

}  // namespace

// Goal: the cache's hits, misses and evictions are those of LRU, and never more than possible.
// Method: a generated trace at five capacities against a brute-force LRU and the optimal bound.
TEST(Replay, RoutesGiveTheHitsOfPlainLru) {
    const Sets sets = make_routes(3, 300);
    uint64_t hits_before = 0;
    for (const uint32_t slots : {4U, 8U, 16U, 48U, 128U}) {
        const auto result = replay_routes(sets, grid(slots, 2), policy_factory(PolicyKind::lru));
        ASSERT_TRUE(result) << result.error().message;
        const BruteForce expected(sets, slots);
        EXPECT_EQ(result->hits, expected.hits) << slots;
        EXPECT_EQ(result->misses, expected.misses) << slots;
        EXPECT_EQ(result->evictions, expected.evictions) << slots;
        EXPECT_LE(result->hits, belady_hits(sets, slots)) << slots;
        EXPECT_GE(result->hits, hits_before) << "LRU with more room never hits less";
        hits_before = result->hits;
    }
    EXPECT_GT(hits_before, 4000U) << "everything fits: only first uses miss";
}

// Goal: the bound is the optimum, and no policy is above it.
// Method: a generated trace at five capacities against brute-force MIN; every policy and balance.
TEST(Replay, NoPolicyBeatsBelady) {
    const Sets sets = make_routes(4, 200);
    std::vector<std::vector<uint32_t>> steps;
    for (const auto& set : sets) {
        steps.emplace_back();
        for (const ExpertId id : set) steps.back().push_back(id.layer * kExperts + id.index);
    }
    const PolicyFactory belady = [&](const PolicyShape& shape) -> std::unique_ptr<Policy> {
        return std::make_unique<BeladyPolicy>(uint32_t(shape.layers.size()), steps);
    };
    const PolicyFactory global = [](const PolicyShape& shape) -> std::unique_ptr<Policy> {
        return std::make_unique<FrequencyPolicy>(shape, Balance::global, 4);
    };
    for (const uint32_t slots : {4U, 8U, 16U, 48U, 128U}) {
        const auto bound = replay_routes(sets, grid(slots, 4), belady);
        ASSERT_TRUE(bound) << bound.error().message;
        EXPECT_EQ(bound->hits, belady_hits(sets, slots)) << slots;
        for (const PolicyFactory& policy :
             {policy_factory(PolicyKind::lru), policy_factory(PolicyKind::frequency), global}) {
            const auto result = replay_routes(sets, grid(slots, 4), policy);
            ASSERT_TRUE(result) << result.error().message;
            EXPECT_LE(result->hits, bound->hits) << slots;
            uint64_t misses = 0;
            for (const uint64_t count : result->misses_of) misses += count;
            EXPECT_EQ(misses, result->misses);
        }
    }
}

// Goal: on routes like those of real models, frequency with shares hits more than LRU.
// Method: a generated trace with popular experts, at a quarter and a half of all slots.
TEST(Replay, FrequencyBeatsLruOnSkewedRoutes) {
    const Sets sets = make_routes(5, 400);
    for (const uint32_t slots : {32U, 64U}) {
        const auto lru = replay_routes(sets, grid(slots, 2), policy_factory(PolicyKind::lru));
        const auto frequency =
            replay_routes(sets, grid(slots, 2), policy_factory(PolicyKind::frequency));
        ASSERT_TRUE(lru && frequency);
        EXPECT_GT(frequency->hits, lru->hits * 102 / 100) << slots;
    }
}

// Goal: the same routes give the same result every time, and sets beyond all slots end.
// Method: unions of 32 experts through 2 slots, twice.
TEST(Replay, UnionsBeyondTheSlotsAreDeterministic) {
    Sets sets;
    for (uint32_t layer = 0; layer < kLayers; ++layer) {
        sets.emplace_back();
        for (uint32_t index = 0; index < kExperts; ++index) sets.back().push_back({layer, index});
    }
    for (const auto& [slots, ring] : {std::pair(0U, 2U), std::pair(1U, 2U), std::pair(5U, 3U)}) {
        const auto first = replay_routes(sets, grid(slots, ring), policy_factory(PolicyKind::lru));
        const auto second = replay_routes(sets, grid(slots, ring), policy_factory(PolicyKind::lru));
        ASSERT_TRUE(first && second);
        EXPECT_EQ(first->misses, uint64_t(kLayers * kExperts));
        EXPECT_EQ(first->evictions, second->evictions);
    }
}

// Goal: a log that cannot be of such a store is refused with the event's place, and never trips a
// check. Method: hand-made impossible histories, then random events.
TEST(Replay, RefusesImpossibleHistories) {
    using Kind = StoreEvent::Kind;
    const std::vector<std::vector<StoreEvent>> impossible = {
        {{Kind::land, {0, 0}}},
        {{Kind::close, {}}},
        {{Kind::open_decode, {}}, {Kind::open_decode, {}}},
        {{Kind::open_decode, {}}, {Kind::ask, {9, 9}}},
        {{Kind::open_decode, {}}, {Kind::ask, {0, 1}}, {Kind::ask, {0, 1}}},
        {{Kind::open_decode, {}}, {Kind::ask, {0, 1}}, {Kind::take, {0, 1}}},
        {{Kind::open_decode, {}}, {Kind::ask, {0, 1}}, {Kind::release, {0, 1}}},
    };
    for (const auto& log : impossible) {
        const auto result = replay(log, grid(2, 2), policy_factory(PolicyKind::lru));
        ASSERT_FALSE(result);
        EXPECT_EQ(result.error().kind, ErrorKind::invalid_input);
        EXPECT_NE(result.error().message.find("event "), std::string::npos);
    }
    Rng rng(5);
    for (int round = 0; round < 2000; ++round) {
        std::vector<StoreEvent> log{{Kind::open_decode, {}}};
        for (uint32_t index = 0; index < 4; ++index) log.push_back({Kind::ask, {0, index}});
        for (int i = 0; i < 12; ++i)
            log.push_back({Kind(rng.below(14)), {0, uint32_t(rng.below(5))}});
        (void)replay(log, grid(2, 2), policy_factory(PolicyKind::lru));
    }
}

}  // namespace colibri

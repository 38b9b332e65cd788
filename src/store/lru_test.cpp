#include "store/lru.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <set>
#include <vector>

#include "base/rng.h"

namespace colibri {

// Goal: the oldest free key leaves first; held keys never do.
// Method: a hand-written sequence with its expected victims.
TEST(LruPolicy, EvictsTheOldestFreeKey) {
    LruPolicy lru(5);
    for (uint32_t key = 0; key < 4; ++key) lru.insert(key);
    EXPECT_EQ(lru.evict(0), std::nullopt) << "all are held";
    for (const uint32_t key : {2U, 0U, 3U, 1U}) lru.release(key);
    lru.hold(2);
    lru.touch(0);
    EXPECT_EQ(lru.evict(0), 3U);
    lru.release(2);
    lru.erase(1);
    EXPECT_EQ(lru.evict(0), 0U);
    EXPECT_EQ(lru.evict(0), 2U);
    EXPECT_EQ(lru.evict(0), std::nullopt);
    lru.insert(2);
    lru.release(2);
    EXPECT_EQ(lru.evict(0), 2U) << "a key may come back after it was evicted";
}

// Goal: the linked list behaves as the definition says, whatever the sequence.
// Method: random operations against a plain std::list, compared at every eviction.
TEST(LruPolicy, AgreesWithAPlainList) {
    Rng rng(7);
    for (int round = 0; round < 50; ++round) {
        const auto keys = uint32_t(1 + rng.below(20));
        LruPolicy lru(keys);
        std::list<uint32_t> free;
        std::set<uint32_t> held;
        for (int step = 0; step < 2000; ++step) {
            const auto key = uint32_t(rng.below(keys));
            const bool is_free = std::find(free.begin(), free.end(), key) != free.end();
            const bool is_held = held.contains(key);
            switch (rng.below(5)) {
                case 0:
                    if (is_free || is_held) break;
                    lru.insert(key);
                    held.insert(key);
                    break;
                case 1:
                    if (is_free) {
                        lru.hold(key);
                        free.remove(key);
                        held.insert(key);
                    } else if (is_held) {
                        lru.release(key);
                        held.erase(key);
                        free.push_back(key);
                    }
                    break;
                case 2:
                    if (!is_free) break;
                    lru.touch(key);
                    free.remove(key);
                    free.push_back(key);
                    break;
                case 3:
                    if ((!is_free && !is_held) || rng.below(4) != 0) break;
                    lru.erase(key);
                    free.remove(key);
                    held.erase(key);
                    break;
                default: {
                    const auto victim = lru.evict(0);
                    ASSERT_EQ(victim.has_value(), !free.empty());
                    if (!victim) break;
                    ASSERT_EQ(*victim, free.front());
                    free.pop_front();
                }
            }
        }
    }
}

// Goal: choosing a victim costs the same in a large cache as in a small one.
// Method: time of evict + insert + release at 8 and at 4096 keys, best of several; a linear search
// would be 512 times slower.
TEST(LruPolicy, VictimChoiceDoesNotDependOnTheNumberOfKeys) {
    const auto best_ns = [](uint32_t keys) {
        LruPolicy lru(2 * keys);
        for (uint32_t key = 0; key < keys; ++key) lru.insert(key);
        for (uint32_t key = 0; key < keys; ++key) lru.release(key);
        double best = 1e18;
        uint32_t next = keys;
        for (int repeat = 0; repeat < 10; ++repeat) {
            constexpr int kSteps = 20000;
            const auto begin = std::chrono::steady_clock::now();
            for (int step = 0; step < kSteps; ++step) {
                const auto victim = lru.evict(0);
                lru.insert(next);
                lru.release(next);
                next = *victim;
            }
            const auto end = std::chrono::steady_clock::now();
            best = std::min(best, std::chrono::duration<double, std::nano>(end - begin).count());
        }
        return best;
    };
    EXPECT_LT(best_ns(4096), 30 * best_ns(8));
}

}  // namespace colibri

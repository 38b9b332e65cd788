// A cache that gives memory back while it is in use.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/rng.h"
#include "platform/machine.h"
#include "store/expert_store.h"
#include "store/store_fixture.h"

namespace colibri {

namespace {

std::vector<uint32_t> least(const ExpertStore& store) {
    std::vector<uint32_t> slots;
    for (const CacheClass& c : store.cache()) slots.push_back(c.slots_min);
    return slots;
}

}  // namespace

// Goal: memory that is given up leaves the process, so that a guard which looks again sees it; what
// is taken back works as before.
// Method: 60 slots of 300 KB filled; shrunk to the least, grown again, read again.
TEST(ExpertStoreResize, GivesMemoryBack) {
    const StoreFixture fixture(
        {.layers = 2, .experts = 32, .extent_bytes = 100'000, .slots = 60, .ring_slots = 2});
    const auto store = make_store(fixture.config());
    ASSERT_TRUE(read_all(fixture, *store, fixture.all(), StreamKind::decode));
    ASSERT_EQ(store->counters().resident, 60U);
    const uint64_t full_bytes = resident_bytes();
    store->resize(least(*store));
    const uint64_t shrunk_bytes = resident_bytes();
    EXPECT_LT(shrunk_bytes + 58 * 300'000 * 9 / 10, full_bytes);
    EXPECT_EQ(store->counters().resident, 2U);
    ASSERT_TRUE(read_all(fixture, *store, fixture.all(), StreamKind::decode));
    EXPECT_LT(resident_bytes() + 50 * 300'000, full_bytes);

    store->resize(std::vector<uint32_t>{60});
    for (int pass = 0; pass < 2; ++pass)
        ASSERT_TRUE(read_all(fixture, *store, fixture.all(), StreamKind::decode));
    EXPECT_EQ(store->counters().resident, 60U);
}

// Goal: after shrinking, the cache never climbs back.
// Method: ten slots shrunk to three; streams, guesses and warming until ten thousand more experts
// were missing; residents after each never exceed three.
TEST(ExpertStoreResize, NeverExceedsTheNewSize) {
    for (const PolicyKind policy : {PolicyKind::lru, PolicyKind::frequency}) {
        const StoreFixture fixture({.extent_bytes = 40, .slots = 10, .ring_slots = 4});
        StoreConfig config = fixture.config();
        config.policy = policy;
        const auto store = make_store(std::move(config));
        ASSERT_TRUE(read_all(fixture, *store, fixture.all(), StreamKind::decode));
        ASSERT_EQ(store->counters().resident, 10U);
        store->resize(std::vector<uint32_t>{3});
        Rng rng(3);
        const uint64_t until = store->counters().misses + 10'000;
        for (int step = 0; store->counters().misses < until; ++step) {
            const std::vector<ExpertId> set = fixture.random_set(rng, 12);
            if (step % 7 == 0) store->warm(fixture.random_set(rng, 9));
            ASSERT_TRUE(read_all(fixture, *store, set,
                                 step % 5 == 0 ? StreamKind::scan : StreamKind::decode));
            ASSERT_LE(store->counters().resident, 3U) << step;
        }
    }
}

// Goal: an expert on loan is not touched by a cache that shrinks under it.
// Method: four leases over a shrink to two and many misses; their bytes are right to the end.
TEST(ExpertStoreResize, LeasesKeepTheirBytes) {
    const StoreFixture fixture({.slots = 6, .ring_slots = 2});
    const auto store = make_store(fixture.config());
    const std::vector<ExpertId> held_set{{0, 1}, {0, 2}, {1, 3}, {2, 4}};
    ASSERT_TRUE(store->open_stream(held_set, StreamKind::decode));
    std::vector<ExpertLease> held;
    for (size_t i = 0; i < held_set.size(); ++i) held.push_back(*store->next());
    store->close_stream();
    store->resize(least(*store));
    for (uint32_t index = 6; index < 16; ++index)
        ASSERT_TRUE(
            read_all(fixture, *store, std::vector<ExpertId>{{1, index}}, StreamKind::decode));
    for (const ExpertLease& lease : held) EXPECT_TRUE(fixture.right(lease));
    held.clear();
    EXPECT_LE(store->counters().resident, 2U);
}

// Goal: a guard that fires all the time, between everything else, harms nothing.
// Method: a cache of two slots and of three, resized between them at every step, with guesses,
// landing threads and streams left early. Made for the sanitizers.
TEST(ExpertStoreResize, AGuardMayFireConstantly) {
    for (const bool in_place : {false, true}) {
        const StoreFixture fixture(
            {.extent_bytes = 200, .slots = 3, .ring_slots = 3, .in_place = in_place});
        StoreConfig config = fixture.config();
        config.landing_threads = 3;
        const auto store = make_store(std::move(config));
        Rng rng(17);
        for (int step = 0; step < 1500; ++step) {
            const auto guard = [&] {
                store->resize(std::vector<uint32_t>{uint32_t(2 + rng.below(2))});
            };
            guard();
            store->prefetch(fixture.random_set(rng, 3));
            guard();
            const std::vector<ExpertId> set = fixture.random_set(rng, 5);
            ASSERT_TRUE(
                store->open_stream(set, step % 4 == 0 ? StreamKind::scan : StreamKind::decode));
            while (true) {
                guard();
                const auto lease = store->next();
                ASSERT_TRUE(lease) << lease.error().message;
                if (!*lease) break;
                EXPECT_TRUE(fixture.right(*lease));
                if (rng.below(9) == 0) break;
            }
            store->close_stream();
            EXPECT_LE(store->counters().resident, 3U);
        }
    }
}

// Goal: where the ring cannot move streams on, every expert keeps its slot.
// Method: a class without ring, all of whose experts have slots.
TEST(ExpertStoreResize, WithoutARingNothingIsGivenUp) {
    const StoreFixture fixture({.layers = 1, .experts = 8, .slots = 8, .ring_slots = 0});
    const auto store = make_store(fixture.config());
    store->resize(std::vector<uint32_t>{0});
    EXPECT_EQ(store->cache()[0].slots, 8U);
    ASSERT_TRUE(read_all(fixture, *store, fixture.all(), StreamKind::scan));
    ASSERT_TRUE(read_all(fixture, *store, fixture.all(), StreamKind::decode));
    EXPECT_EQ(store->counters().resident, 8U);
}

}  // namespace colibri

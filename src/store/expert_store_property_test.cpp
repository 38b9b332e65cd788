// Random lives of random stores, with everything that can be said about any of them checked.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <set>
#include <vector>

#include "platform/read_faults.h"
#include "store/expert_store.h"
#include "store/replay.h"
#include "store/store_fixture.h"

namespace colibri {

namespace {

using Kind = StoreEvent::Kind;

struct World {
    FixtureShape shape;
    StoreFixture fixture;
    ReadFaults disk;
    StoreConfig config;

    explicit World(Rng& rng) : shape(random_shape(rng)), fixture(shape), config(fixture.config()) {
        config.landing_threads = uint32_t(1 + rng.below(3));
        config.staging_buffers = uint32_t(1 + rng.below(6));
        const auto threads = uint32_t(1 + rng.below(4));
        const auto counter = std::make_shared<std::atomic<uint64_t>>(rng.next());
        const uint64_t delay_us_max = rng.below(3) * 60;
        const ReaderKind kind = rng.below(2) == 0 ? ReaderKind::automatic : ReaderKind::pread;
        config.make_reader = [=, hook = disk.hook()](ReadSink& sink, uint32_t requests) {
            const auto slow = [=](const SystemRead& call, int64_t result) {
                if (delay_us_max > 0)
                    std::this_thread::sleep_for(
                        std::chrono::microseconds(Rng(counter->fetch_add(1)).below(delay_us_max)));
                return hook(call, result);
            };
            return make_reader(sink, {.kind = kind,
                                      .threads = threads,
                                      .queue_capacity = requests,
                                      .chunk_bytes = kDirectBlockBytes,
                                      .hook = slow});
        };
    }

    static FixtureShape random_shape(Rng& rng) {
        FixtureShape shape;
        shape.layers = uint32_t(1 + rng.below(3));
        shape.experts = uint32_t(2 + rng.below(11));
        shape.extent_bytes = uint32_t(1 + rng.below(300));
        shape.classes = uint32_t(1 + rng.below(std::min(3U, shape.experts)));
        shape.files = uint32_t(1 + rng.below(3));
        shape.slots = uint32_t(rng.below(shape.layers * shape.experts + 1));
        shape.ring_slots = uint32_t(2 + rng.below(3));
        shape.in_place = rng.below(2) == 0;
        shape.mirrors = rng.below(4) == 0 ? 1 : 0;
        shape.check_arrivals = rng.below(2) == 0;
        if (rng.below(3) == 0) shape.extent_bytes *= 30;  // several chunks
        return shape;
    }

    [[nodiscard]] PlacementShape placement() const {
        const auto table = ExpertTable::build(config);
        CHECK(table.has_value());
        return placement_shape(*table, useful_classes(config));
    }
};

struct StreamResult {
    std::vector<ExpertId> order;
    bool ended = false;
    bool failed = false;
};

// Reads a stream with random holding and, if told so, leaves it at a random moment.
StreamResult consume(
    const World& world, ExpertStore& store, Rng& rng, bool may_leave,
    const std::function<void()>& between = [] {}) {
    StreamResult result;
    std::vector<ExpertLease> held;
    while (true) {
        between();
        while (held.size() >= store.max_held() || (!held.empty() && rng.below(3) == 0)) {
            const size_t place = rng.below(held.size());
            std::swap(held[place], held.back());
            held.pop_back();
        }
        if (may_leave && rng.below(12) == 0) {
            if (rng.below(2) == 0) store.close_stream();
            return result;
        }
        auto lease = store.next();
        if (!lease) {
            EXPECT_EQ(lease.error().kind, ErrorKind::io) << lease.error().message;
            result.failed = true;
            return result;
        }
        if (!*lease) {
            result.ended = true;
            return result;
        }
        EXPECT_TRUE(world.fixture.right(*lease));
        result.order.push_back(lease->id());
        held.push_back(*std::move(lease));
    }
}

// Hits of the last stream in a log.
std::vector<ExpertId> hits_of_last_stream(const std::vector<StoreEvent>& log) {
    std::vector<ExpertId> hits;
    for (const StoreEvent& event : log) {
        if (event.kind == Kind::open_decode || event.kind == Kind::open_scan) hits.clear();
        if (event.kind == Kind::hit) hits.push_back(event.expert);
    }
    return hits;
}

void check_replay(const World& world, const std::vector<StoreEvent>& log,
                  const StoreCounters& counters) {
    const auto replayed = replay(log, world.placement(), policy_factory(world.config.policy));
    ASSERT_TRUE(replayed) << replayed.error().message;
    EXPECT_EQ(replayed->hits, counters.hits);
    EXPECT_EQ(replayed->misses, counters.misses);
    EXPECT_EQ(replayed->evictions, counters.evictions);
    EXPECT_EQ(replayed->events, log);
}

void append(std::vector<StoreEvent>& log, const std::vector<StoreEvent>& more) {
    log.insert(log.end(), more.begin(), more.end());
}

}  // namespace

// Goal: complete streams deliver every expert once, with the right bytes, in the promised order;
// counters add up; the log replays to the same decisions. Method: 60 random stores, 12 random
// streams each, random delays, random holding and release orders; every third store forgets.
TEST(ExpertStoreProperty, CompleteStreams) {
    Rng rng(2024);
    for (int round = 0; round < 60; ++round) {
        World world(rng);
        const auto store = make_store(world.config);
        store->record_events(true);
        std::vector<StoreEvent> log;
        uint64_t asked = 0;
        for (int stream = 0; stream < 12; ++stream) {
            std::vector<ExpertId> set = world.fixture.random_set(rng, 40);
            const StreamKind kind = rng.below(2) == 0 ? StreamKind::decode : StreamKind::scan;
            asked += set.size();
            if (stream == 6 && round % 3 == 0) {
                store->forget();
                EXPECT_EQ(store->counters().resident, 0U);
            }
            ASSERT_TRUE(store->open_stream(set, kind));
            StreamResult result = consume(world, *store, rng, false);
            ASSERT_TRUE(result.ended);
            append(log, store->take_events());
            std::sort(set.begin(), set.end());
            if (kind == StreamKind::decode) {
                const std::vector<ExpertId> hits = hits_of_last_stream(log);
                ASSERT_LE(hits.size(), result.order.size());
                EXPECT_TRUE(std::equal(hits.begin(), hits.end(), result.order.begin()))
                    << "residents come first, ascending";
                std::sort(result.order.begin(), result.order.end());
            }
            EXPECT_EQ(result.order, set);
        }
        const StoreCounters counters = store->counters();
        EXPECT_EQ(counters.hits + counters.misses, asked);
        EXPECT_EQ(counters.reads, counters.misses);
        EXPECT_LE(counters.resident,
                  uint64_t(world.shape.classes) * (world.shape.slots + world.shape.ring_slots));
        check_replay(world, log, counters);
    }
}

// Goal: streams left early, failing reads and reopening never lose, mix up or hang anything; the
// log still replays exactly. Method: as above, with streams closed or replaced at random moments
// and EIO on random ranges for a while; at the end, with a healthy disk, everything can be read.
TEST(ExpertStoreProperty, LeftAndFailingStreams) {
    Rng rng(77);
    uint32_t failures = 0;
    for (int round = 0; round < 60; ++round) {
        World world(rng);
        const auto store = make_store(world.config);
        store->record_events(true);
        std::vector<StoreEvent> log;
        for (int stream = 0; stream < 20; ++stream) {
            if (rng.below(4) == 0) {
                const uint64_t begin = rng.below(4000);
                world.disk.add({.kind = ReadFault::Kind::io_error,
                                .begin = begin,
                                .end = begin + 1 + rng.below(200),
                                .times = uint32_t(1 + rng.below(8))});
            }
            const std::vector<ExpertId> set = world.fixture.random_set(rng, 30);
            const StreamKind kind = rng.below(2) == 0 ? StreamKind::decode : StreamKind::scan;
            ASSERT_TRUE(store->open_stream(set, kind));
            const StreamResult result = consume(world, *store, rng, rng.below(2) == 0);
            failures += result.failed ? 1 : 0;
            const std::set<ExpertId> unique(result.order.begin(), result.order.end());
            EXPECT_EQ(unique.size(), result.order.size());
            for (const ExpertId id : unique) EXPECT_EQ(std::count(set.begin(), set.end(), id), 1);
            if (result.ended) {
                EXPECT_EQ(unique.size(), set.size());
            }
        }
        world.disk.clear();
        const auto order = read_all(world.fixture, *store, world.fixture.all(), StreamKind::scan);
        ASSERT_TRUE(order) << order.error().message;
        EXPECT_EQ(*order, world.fixture.all());
        append(log, store->take_events());
        check_replay(world, log, store->counters());
    }
    EXPECT_GT(failures, 20U) << "the faults did not reach the streams";
}

// Goal: what hits, misses and is evicted depends on what was asked for, not on the disk's timing.
// Method: the same streams, small enough for the slots, through stores with different threads and
// delays; every decision is equal.
TEST(ExpertStoreProperty, DecisionsDoNotDependOnTiming) {
    const StoreFixture fixture({.layers = 3, .experts = 12, .extent_bytes = 50, .slots = 10});
    const auto decisions = [&](PolicyKind policy, uint32_t threads, uint32_t delay_us) {
        const ReadFaults disk;
        disk.add({.kind = ReadFault::Kind::delay,
                  .begin = 500,
                  .pause = std::chrono::microseconds(delay_us)});
        StoreConfig config = fixture.config();
        config.make_reader = disk.reader(threads);
        config.landing_threads = threads;
        config.policy = policy;
        const auto store = make_store(config);
        store->record_events(true);
        Rng rng(9);
        for (int step = 0; step < 150; ++step) {
            const std::vector<ExpertId> set = fixture.random_set(rng, 6);
            EXPECT_TRUE(read_all(fixture, *store, set,
                                 step % 10 == 9 ? StreamKind::scan : StreamKind::decode));
        }
        std::vector<StoreEvent> decided;
        for (const StoreEvent& event : store->take_events())
            if (event.kind >= Kind::hit) decided.push_back(event);
        return decided;
    };
    for (const PolicyKind policy : {PolicyKind::lru, PolicyKind::frequency}) {
        const std::vector<StoreEvent> quick = decisions(policy, 1, 0);
        EXPECT_GT(quick.size(), 150U);
        EXPECT_EQ(decisions(policy, 4, 0), quick);
        EXPECT_EQ(decisions(policy, 3, 100), quick);
    }
}

// Goal: guesses, right, wrong or failing, and warming never lose, mix up or hang anything; counters
// add up and the log still replays exactly.
// Method: as above, with a warm start and random guesses between streams and within them.
TEST(ExpertStoreProperty, GuessesAndWarming) {
    Rng rng(99);
    uint64_t useful = 0, wasted = 0;
    for (int round = 0; round < 60; ++round) {
        World world(rng);
        world.config.policy = rng.below(2) == 0 ? PolicyKind::lru : PolicyKind::frequency;
        const auto store = make_store(world.config);
        store->record_events(true);
        if (rng.below(2) == 0) store->warm(world.fixture.random_set(rng, 40));
        std::vector<StoreEvent> log;
        uint64_t asked = 0;
        for (int stream = 0; stream < 30; ++stream) {
            if (rng.below(5) == 0) {
                const uint64_t begin = rng.below(4000);
                world.disk.add({.kind = ReadFault::Kind::io_error,
                                .begin = begin,
                                .end = begin + 1 + rng.below(200),
                                .times = uint32_t(1 + rng.below(8))});
            }
            const std::vector<ExpertId> set = world.fixture.random_set(rng, 12);
            if (rng.below(3) == 0) store->hold_warming(rng.below(2) == 0);
            const auto guess = [&] {
                std::vector<ExpertId> guesses = world.fixture.random_set(rng, 12);
                guesses.insert(guesses.end(), set.begin(),
                               set.begin() + int64_t(rng.below(set.size() + 1)));
                store->prefetch(guesses, rng.below(2) == 0 ? StreamKind::scan : StreamKind::decode);
            };
            if (rng.below(3) != 0) guess();
            const StreamKind kind = rng.below(4) != 0 ? StreamKind::decode : StreamKind::scan;
            ASSERT_TRUE(store->open_stream(set, kind));
            asked += set.size();
            if (rng.below(2) == 0) guess();
            const StreamResult result = consume(world, *store, rng, rng.below(4) == 0);
            if (result.ended) {
                EXPECT_EQ(result.order.size(), set.size());
            }
        }
        world.disk.clear();
        const auto order = read_all(world.fixture, *store, world.fixture.all(), StreamKind::scan);
        ASSERT_TRUE(order) << order.error().message;
        EXPECT_EQ(*order, world.fixture.all());
        const StoreCounters counters = store->counters();
        EXPECT_EQ(counters.hits + counters.misses, asked + world.fixture.all().size());
        EXPECT_LE(counters.useful_guesses + counters.wasted_guesses, counters.guesses);
        useful += counters.useful_guesses;
        wasted += counters.wasted_guesses;
        append(log, store->take_events());
        check_replay(world, log, counters);
    }
    EXPECT_GT(useful, 100U);
    EXPECT_GT(wasted, 20U) << "most are broken off before they have begun";
}

// Goal: a cache that shrinks and grows at any moment loses, mixes up and hangs nothing, stays
// within what it was told, and its log still replays exactly. Method: as above with guesses,
// warming, faults and streams left early, and a new size at random moments between and within
// streams.
TEST(ExpertStoreProperty, Resizing) {
    Rng rng(4711);
    uint64_t resized = 0;
    for (int round = 0; round < 60; ++round) {
        World world(rng);
        world.config.policy = rng.below(2) == 0 ? PolicyKind::lru : PolicyKind::frequency;
        const auto store = make_store(world.config);
        store->record_events(true);
        if (rng.below(2) == 0) store->warm(world.fixture.random_set(rng, 40));
        const auto maybe_resize = [&] {
            if (rng.below(4) != 0) return;
            std::vector<uint32_t> slots;
            for (const CacheClass& c : store->cache())
                slots.push_back(uint32_t(rng.below(c.slots_max + 2)));
            store->resize(slots);
            const std::vector<CacheClass> cache = store->cache();
            for (size_t i = 0; i < slots.size(); ++i)
                EXPECT_EQ(cache[i].slots,
                          std::clamp(slots[i], cache[i].slots_min, cache[i].slots_max));
            ++resized;
        };
        for (int stream = 0; stream < 30; ++stream) {
            if (rng.below(6) == 0) {
                const uint64_t begin = rng.below(4000);
                world.disk.add({.kind = ReadFault::Kind::io_error,
                                .begin = begin,
                                .end = begin + 1 + rng.below(200),
                                .times = uint32_t(1 + rng.below(4))});
            }
            const std::vector<ExpertId> set = world.fixture.random_set(rng, 12);
            maybe_resize();
            if (rng.below(3) == 0)
                store->prefetch(world.fixture.random_set(rng, 5),
                                rng.below(2) == 0 ? StreamKind::scan : StreamKind::decode);
            maybe_resize();
            const StreamKind kind = rng.below(3) != 0 ? StreamKind::decode : StreamKind::scan;
            ASSERT_TRUE(store->open_stream(set, kind));
            const StreamResult result =
                consume(world, *store, rng, rng.below(4) == 0, maybe_resize);
            if (result.ended) {
                EXPECT_EQ(result.order.size(), set.size());
            }
        }
        world.disk.clear();
        const auto order = read_all(world.fixture, *store, world.fixture.all(), StreamKind::scan);
        ASSERT_TRUE(order) << order.error().message;
        EXPECT_EQ(*order, world.fixture.all());
        uint64_t cap = 0;
        for (const CacheClass& c : store->cache()) cap += c.slots;
        const StoreCounters counters = store->counters();
        EXPECT_LE(counters.resident, cap);
        check_replay(world, store->take_events(), counters);
    }
    EXPECT_GT(resized, 500U);
}

}  // namespace colibri

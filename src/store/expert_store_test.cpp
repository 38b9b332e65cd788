#include "store/expert_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "platform/machine.h"
#include "platform/read_faults.h"
#include "store/store_fixture.h"

namespace colibri {

namespace {

using std::chrono::milliseconds;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

}  // namespace

// Goal: a stream yields each expert once, with its own bytes, in the order of its kind.
// Method: all experts of a store with few slots, as decode and scan in turn.
TEST(ExpertStore, YieldsEveryExpertOnceWithItsBytes) {
    const StoreFixture fixture;
    const auto store = make_store(fixture.config());
    const std::vector<ExpertId> all = fixture.all();
    for (const StreamKind kind :
         {StreamKind::decode, StreamKind::scan, StreamKind::decode, StreamKind::scan}) {
        auto order = read_all(fixture, *store, all, kind);
        ASSERT_TRUE(order) << order.error().message;
        if (kind == StreamKind::decode) std::sort(order->begin(), order->end());
        EXPECT_EQ(*order, all);
    }
    const StoreCounters counters = store->counters();
    EXPECT_EQ(counters.hits + counters.misses, 4 * all.size());
    EXPECT_EQ(counters.reads, counters.misses);
    EXPECT_EQ(counters.read_bytes, counters.reads * fixture.slot_bytes(0));
    EXPECT_EQ(counters.resident, 4U);
}

// Goal: decode hands out residents first and at once; misses are read meanwhile.
// Method: two residents and two misses on a disk that answers later.
TEST(ExpertStore, DecodeHandsOutResidentsFirst) {
    const StoreFixture fixture;
    const ReadFaults disk;
    StoreConfig config = fixture.config();
    config.make_reader = disk.reader(4);
    const auto store = make_store(config);
    const std::vector<ExpertId> residents = {{0, 5}, {2, 9}};
    ASSERT_TRUE(read_all(fixture, *store, residents, StreamKind::decode));

    disk.add({.kind = ReadFault::Kind::blocked});
    const std::vector<ExpertId> set = {{2, 9}, {0, 1}, {0, 5}, {1, 1}};
    const uint64_t waited_us = store->counters().wait_us;
    ASSERT_TRUE(store->open_stream(set, StreamKind::decode));
    EXPECT_EQ(store->ready(), 2U);
    std::vector<ExpertLease> leases;
    for (int i = 0; i < 2; ++i) leases.push_back(*store->next());
    EXPECT_EQ(leases[0].id(), (ExpertId{0, 5}));
    EXPECT_EQ(leases[1].id(), (ExpertId{2, 9}));
    EXPECT_EQ(store->counters().wait_us, waited_us);
    std::jthread other([&] {
        std::this_thread::sleep_for(milliseconds(50));
        disk.clear();
    });
    for (int i = 0; i < 2; ++i) {
        leases.push_back(*store->next());
        EXPECT_TRUE(fixture.right(leases.back()));
    }
    EXPECT_FALSE(*store->next()) << "the end";
    EXPECT_FALSE(*store->next()) << "and again";
    EXPECT_GT(store->counters().wait_us, waited_us);
    EXPECT_EQ(store->counters().hits, 2U);
    EXPECT_EQ(store->counters().misses, 4U);
}

// Goal: all that is ready can be held together, and the rest still comes.
// Method: a decode union four times the slots, always taking up to max_held leases before releasing
// any.
TEST(ExpertStore, LeasesMayBeHeldUpToTheLimit) {
    const StoreFixture fixture;
    const auto store = make_store(fixture.config());
    for (const StreamKind kind : {StreamKind::decode, StreamKind::scan}) {
        std::vector<ExpertId> all = fixture.all();
        ASSERT_TRUE(store->open_stream(all, kind));
        EXPECT_EQ(store->max_held(), kind == StreamKind::decode ? 5U : 1U);
        std::vector<ExpertId> order;
        std::vector<ExpertLease> held;
        while (true) {
            auto lease = store->next();
            ASSERT_TRUE(lease) << lease.error().message;
            if (!*lease) break;
            order.push_back(lease->id());
            held.push_back(*std::move(lease));
            if (held.size() < store->max_held()) continue;
            for (const ExpertLease& one : held) EXPECT_TRUE(fixture.right(one));
            held.clear();
        }
        std::sort(order.begin(), order.end());
        EXPECT_EQ(order, all);
    }
}

// Goal: holding too much ends in an error that says so, not in a hang; the store goes on.
// Method: a consumer that never releases.
TEST(ExpertStore, HoldingEverySlotIsAnError) {
    const StoreFixture fixture;
    const auto store = make_store(fixture.config());
    ASSERT_TRUE(store->open_stream(fixture.all(), StreamKind::decode));
    std::vector<ExpertLease> held;
    std::string message;
    while (message.empty() && held.size() < 100) {
        auto lease = store->next();
        if (lease) {
            ASSERT_TRUE(*lease);
            held.push_back(*std::move(lease));
        } else {
            EXPECT_EQ(lease.error().kind, ErrorKind::invalid_input);
            message = lease.error().message;
        }
    }
    EXPECT_EQ(held.size(), 6U);
    EXPECT_NE(message.find("6 leases are out, at most 5"), std::string::npos) << message;
    held.clear();
    EXPECT_TRUE(read_all(fixture, *store, fixture.all(), StreamKind::decode));
}

// Goal: the smallest stores work, also with several classes of different size.
// Method: every combination of small numbers of slots, both kinds, everything read twice.
TEST(ExpertStore, WorksFromTwoSlotsOn) {
    for (const uint32_t classes : {1U, 3U})
        for (const uint32_t slots : {0U, 1U, 2U, 5U})
            for (const uint32_t ring_slots : {2U, 3U})
                for (const uint32_t staging : {1U, 4U}) {
                    const StoreFixture fixture({.layers = 2,
                                                .experts = 9,
                                                .extent_bytes = 100,
                                                .classes = classes,
                                                .slots = slots,
                                                .ring_slots = ring_slots});
                    StoreConfig config = fixture.config();
                    config.staging_buffers = staging;
                    const auto store = make_store(config);
                    for (const StreamKind kind : {StreamKind::decode, StreamKind::scan,
                                                  StreamKind::decode, StreamKind::scan}) {
                        auto order = read_all(fixture, *store, fixture.all(), kind);
                        ASSERT_TRUE(order) << order.error().message;
                        if (kind == StreamKind::decode) std::sort(order->begin(), order->end());
                        ASSERT_EQ(*order, fixture.all());
                    }
                }
}

// Goal: when everything fits no ring is needed, and the second pass reads nothing.
// Method: as many slots as experts, no ring.
TEST(ExpertStore, EverythingResidentNeedsNoRing) {
    const StoreFixture fixture({.slots = 48, .ring_slots = 0});
    const auto store = make_store(fixture.config());
    for (int pass = 0; pass < 2; ++pass) {
        ASSERT_TRUE(read_all(fixture, *store, fixture.all(), StreamKind::scan));
        ASSERT_TRUE(read_all(fixture, *store, fixture.all(), StreamKind::decode));
        EXPECT_EQ(store->counters().reads, 48U);
    }
    EXPECT_EQ(store->max_held(), 48U);
}

// Goal: many misses never make the store larger than its slots.
// Method: 10,000 misses through 3 slots; residents are counted and the process must not grow.
TEST(ExpertStore, ManyMissesStayInsideTheSlots) {
    const StoreFixture fixture({.extent_bytes = 3000, .slots = 3});
    const auto store = make_store(fixture.config());
    const std::vector<ExpertId> all = fixture.all();
    uint64_t resident_before = 0;
    Rng rng(1);
    while (store->counters().misses < 10000) {
        std::vector<ExpertId> set;
        for (int i = 0; i < 8; ++i) set.push_back(all[(rng.below(6) * 8 + i) % all.size()]);
        ASSERT_TRUE(store->open_stream(set, StreamKind::decode));
        while (true) {
            const auto lease = store->next();
            ASSERT_TRUE(lease);
            if (!*lease) break;
            ASSERT_LE(store->counters().resident, 5U);
        }
        if (resident_before == 0 && store->counters().misses > 1000)
            resident_before = resident_bytes();
    }
    if (!kSanitized) {
        EXPECT_LT(resident_bytes(), resident_before + (1U << 20));
    }
}

// Goal: the announced memory is what the process grows by.
// Method: resident set before creation and after every slot and staging buffer was filled.
TEST(ExpertStore, MemoryIsWhatWasAnnounced) {
    if (kSanitized) GTEST_SKIP() << "a sanitizer's shadow memory counts too";
    const StoreFixture fixture(
        {.layers = 2, .experts = 40, .extent_bytes = 200000, .slots = 60, .ring_slots = 4});
    StoreConfig config = fixture.config();
    config.landing_threads = 2;
    const uint64_t before = resident_bytes();
    const uint64_t announced = store_memory_bytes(config);
    const auto store = make_store(std::move(config));
    EXPECT_EQ(store->memory_bytes(), announced);
    for (const StreamKind kind : {StreamKind::scan, StreamKind::scan, StreamKind::decode}) {
        ASSERT_TRUE(store->open_stream(fixture.all(), kind));
        while (*store->next()) {
        }
    }
    const uint64_t grown = resident_bytes() - before;
    EXPECT_LE(grown, announced + announced / 100);
    EXPECT_GE(grown, announced - announced / 100);
}

// Goal: expert files are read, never mapped: a mapping would page the machine to a standstill.
// Method: the process's map after reading everything.
TEST(ExpertStore, MapsNoExpertFile) {
    const StoreFixture fixture;
    const auto store = make_store(fixture.config());
    ASSERT_TRUE(read_all(fixture, *store, fixture.all(), StreamKind::scan));
    std::ifstream maps("/proc/self/maps");
    size_t lines = 0;
    for (std::string line; std::getline(maps, line); ++lines)
        EXPECT_EQ(line.find(fixture.tree().root()), std::string::npos) << line;
    EXPECT_GT(lines, 0U);
}

// Goal: a config that cannot work is refused with what was found and where.
// Method: one broken config for each rule.
TEST(ExpertStore, RefusesBrokenConfigs) {
    const StoreFixture fixture;
    const auto expect = [&](auto change, ErrorKind kind, const char* text) {
        StoreConfig config = fixture.config();
        change(config);
        const auto store = ExpertStore::create(std::move(config));
        ASSERT_FALSE(store) << text;
        EXPECT_EQ(store.error().kind, kind) << store.error().message;
        EXPECT_NE(store.error().message.find(text), std::string::npos) << store.error().message;
    };
    const auto invalid = ErrorKind::invalid_input;
    expect([](StoreConfig& c) { c.classes[0] = {.slot_bytes = 3000, .slots = 1, .ring_slots = 0}; },
           invalid, "slot class 0: found 1 slots and 0 ring slots for 48 experts");
    expect([](StoreConfig& c) { c.classes[0].ring_slots = 1; }, invalid, "at least 2 ring slots");
    expect([](StoreConfig& c) { c.classes[0].slot_bytes = 0; }, invalid, "slots of 0 bytes");
    expect([](StoreConfig& c) { c.classes[0].slot_bytes = UINT64_MAX; }, invalid, "expected 1 to");
    expect([](StoreConfig& c) { c.classes.resize(5); }, invalid, "found 5 slot classes");
    expect([](StoreConfig& c) { c.experts[3].slot_class = 7; }, invalid, "found slot class 7");
    expect([](StoreConfig& c) { c.experts[3] = c.experts[4]; }, invalid, "listed twice");
    expect([](StoreConfig& c) { c.experts[3].extents.clear(); }, invalid, "found no extents");
    expect([](StoreConfig& c) { c.experts[3].extents[1].file = 2; }, invalid,
           "found file number 2, expected less than 2");
    expect([](StoreConfig& c) { c.experts[3].id.index = 1U << 30; }, invalid, "expert 1073741824");
    expect([](StoreConfig& c) { c.experts[3].extents[0].offset = UINT64_MAX - 5; },
           ErrorKind::corrupt, "outside the file");
    expect([](StoreConfig& c) { c.experts[3].extents[0].size_bytes = UINT64_MAX; },
           ErrorKind::corrupt, "outside the file");
    // More than a process can address.
    expect([](StoreConfig& c) { c.classes[0] = {.slot_bytes = 1ULL << 43, .slots = 40}; },
           ErrorKind::out_of_budget, "expert slots, class 0");
}

// Goal: a set that the store cannot serve is refused, and the store goes on.
// Method: an unknown layer, an unknown index, a duplicate; then a good set; then the empty one.
TEST(ExpertStore, RefusesBrokenSets) {
    const StoreFixture fixture;
    const auto store = make_store(fixture.config());
    for (const std::vector<ExpertId>& set :
         {std::vector<ExpertId>{{0, 0}, {3, 0}}, {{0, 16}}, {{1, 2}, {0, 0}, {1, 2}}}) {
        const Status status = store->open_stream(set, StreamKind::decode);
        ASSERT_FALSE(status);
        EXPECT_EQ(status.error().kind, ErrorKind::invalid_input);
        EXPECT_FALSE(*store->next());
    }
    EXPECT_TRUE(read_all(fixture, *store, fixture.all(), StreamKind::scan));
    EXPECT_TRUE(read_all(fixture, *store, {}, StreamKind::decode));
    EXPECT_EQ(store->ready(), 0U);
}

// Goal: a lease can be moved, replaced and released early, and each slot is given back once.
// Method: the life of three leases; the store would refuse to end with one lost or returned twice.
TEST(ExpertLease, MovesAndReleasesOnce) {
    const StoreFixture fixture({.slots = 48});
    const auto store = make_store(fixture.config());
    ASSERT_TRUE(store->open_stream(std::vector<ExpertId>{{0, 0}, {0, 1}}, StreamKind::scan));
    ExpertLease first = *store->next();
    ExpertLease moved = std::move(first);
    EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): a moved-from lease is empty
    EXPECT_TRUE(moved);
    moved = *store->next();
    EXPECT_EQ(moved.id(), (ExpertId{0, 1}));
    moved.release();
    moved.release();
    EXPECT_FALSE(moved);
    EXPECT_EQ(store->counters().resident, 2U);
}

// Goal: starting cold with the fewest slots and many threads always works.
// Method: 1000 stores, one stream each, ended in different states.
TEST(ExpertStore, StartsColdAThousandTimes) {
    const StoreFixture fixture(
        {.layers = 1, .experts = 8, .extent_bytes = 64, .slots = 0, .ring_slots = 2});
    const std::vector<ExpertId> all = fixture.all();
    for (uint32_t run = 0; run < 1000; ++run) {
        StoreConfig config = fixture.config();
        config.reader.threads = 1 + run % 8;
        config.landing_threads = 1 + run % 3;
        config.staging_buffers = 1 + run % 5;
        const auto store = make_store(std::move(config));
        ASSERT_TRUE(store->open_stream(all, run % 2 == 0 ? StreamKind::decode : StreamKind::scan));
        const uint32_t wanted = run % 10;
        uint32_t got = 0;
        while (got < wanted) {
            const auto lease = store->next();
            ASSERT_TRUE(lease) << lease.error().message;
            if (!*lease) break;
            ASSERT_TRUE(fixture.right(*lease));
            ++got;
        }
        ASSERT_EQ(got, std::min(wanted, 8U));
    }
}

// Goal: warming fills the free slots with the best that fit, and reads them in file order; streams
// then hit.
// Method: a list of more experts than slots, best first; a decode stream over the first ones.
TEST(ExpertStore, WarmingFillsTheCache) {
    const StoreFixture fixture({.layers = 2, .experts = 8, .slots = 5});
    const auto store = make_store(fixture.config());
    const std::vector<ExpertId> best{{1, 7}, {0, 3}, {9, 9}, {1, 2}, {0, 0}, {1, 1}, {0, 7}};
    store->warm(best);
    const std::vector<ExpertId> first{{1, 7}, {0, 3}, {1, 2}, {0, 0}, {1, 1}};
    ASSERT_TRUE(read_all(fixture, *store, first, StreamKind::decode));
    EXPECT_EQ(store->counters().hits, 5U);
    EXPECT_EQ(store->counters().reads, 5U);
    const std::vector<ExpertUse> uses = store->take_uses();
    ASSERT_EQ(uses.size(), 5U);
    EXPECT_EQ(uses.front().id, (ExpertId{0, 0}));
    EXPECT_EQ(uses.front().count, 1U);
    EXPECT_TRUE(store->take_uses().empty());
}

// Goal: a store goes on with another reader, its residents in place; forgetting empties it; with
// reads under way too, and with a stream left open.
// Method: random streams, some left early, with guesses and warm reads in between; every reader
// after every other, in place and staged; bytes checked; counters by hand.
TEST(ExpertStore, ChangesReadersAndForgets) {
    for (const bool in_place : {false, true}) {
        const StoreFixture fixture({.in_place = in_place});
        const auto store = make_store(fixture.config());
        Rng rng(in_place ? 1 : 2);
        for (int round = 0; round < 60; ++round) {
            const std::vector<ExpertId> set = fixture.random_set(rng, 12);
            const StreamKind kind = round % 3 == 0 ? StreamKind::scan : StreamKind::decode;
            if (round % 2 == 0) {
                ASSERT_TRUE(read_all(fixture, *store, set, kind));
                store->prefetch(fixture.random_set(rng, 6));
                if (round % 5 == 0) store->warm(fixture.all());
            } else {
                ASSERT_TRUE(store->open_stream(set, kind));
            }
            const ReaderKind reader = round % 4 < 2 ? ReaderKind::pread : ReaderKind::buffered;
            const Status used = store->use_reader({.kind = reader,
                                                   .threads = uint32_t(1 + round % 5),
                                                   .chunk_bytes = kDirectBlockBytes});
            ASSERT_TRUE(used) << used.error().message;
            if (round % 7 == 0) {
                store->forget();
                EXPECT_EQ(store->counters().resident, 0U);
            }
        }
    }
    const StoreFixture fixture;
    const auto store = make_store(fixture.config());
    const std::vector<ExpertId> set = {{0, 1}, {1, 2}, {2, 3}};
    ASSERT_TRUE(read_all(fixture, *store, set, StreamKind::decode));
    ASSERT_TRUE(store->use_reader({.kind = ReaderKind::pread}));
    ASSERT_TRUE(read_all(fixture, *store, set, StreamKind::decode));
    EXPECT_EQ(store->counters().hits, 3U);
    store->forget();
    ASSERT_TRUE(read_all(fixture, *store, set, StreamKind::decode));
    EXPECT_EQ(store->counters().hits, 3U);
    EXPECT_EQ(store->counters().misses, 6U);
}

// Goal: a scan's drive goes on with the next scan's experts while the consumer is busy elsewhere,
// and each is read once; wrong guesses cost what the ring holds and nothing else.
// Method: two layers scanned one after the other, the second guessed within the first, right and
// wrong in turn; in place and staged; reads counted before the second scan opens and after it.
TEST(ExpertStore, ScansReadAhead) {
    for (const LandingWay way : kLandingWays) {
        const FixtureShape shape{.slots = 2,
                                 .ring_slots = 4,
                                 .in_place = way.in_place,
                                 .check_arrivals = way.check_arrivals};
        const StoreFixture fixture(shape);
        const auto store = make_store(fixture.config());
        const auto layer = [&](uint32_t number) {
            std::vector<ExpertId> ids = fixture.all();
            std::erase_if(ids, [&](ExpertId id) { return id.layer != number; });
            return ids;
        };
        const std::vector<ExpertId> residents{{2, 0}, {2, 1}};
        ASSERT_TRUE(read_all(fixture, *store, residents, StreamKind::decode));
        for (const bool right : {true, false}) {
            const StoreCounters before = store->counters();
            ASSERT_TRUE(store->open_stream(layer(0), StreamKind::scan));
            store->prefetch(layer(right ? 1 : 2), StreamKind::scan);
            for (size_t i = 0; i < layer(0).size(); ++i) {
                const auto lease = store->next();
                ASSERT_TRUE(lease && *lease);
                EXPECT_TRUE(fixture.right(*lease));
            }
            store->close_stream();
            const uint64_t ahead = before.reads + 16 + 3;
            for (int i = 0; i < 5000 && store->counters().reads < ahead; ++i) {
                (void)store->ready();
                std::this_thread::sleep_for(milliseconds(1));
            }
            EXPECT_EQ(store->counters().reads, ahead);
            const auto order = read_all(fixture, *store, layer(1), StreamKind::scan);
            ASSERT_TRUE(order) << order.error().message;
            EXPECT_EQ(*order, layer(1));
            const StoreCounters after = store->counters();
            EXPECT_EQ(after.reads, before.reads + (right ? 32U : 35U));
            EXPECT_EQ(after.useful_guesses - before.useful_guesses, right ? 3U : 0U);
            EXPECT_EQ(after.wasted_guesses - before.wasted_guesses, right ? 0U : 3U);
            EXPECT_EQ(after.resident, 2U);
        }
    }
}

class WarmReads : public ::testing::TestWithParam<bool> {};

// Goal: what was guessed or warmed and not read yet cannot lock up a consumer that holds as many
// leases as it may.
// Method: one staging buffer. Every cache slot waits for a warm read; the stream's first experts
// are held in all other slots, and the next one fills the staging buffer without a slot. Once more
// with warming on hold.
TEST_P(WarmReads, DoNotLockUpHeldLeases) {
    const StoreFixture fixture({.slots = 3, .ring_slots = 2});
    const ReadFaults disk;
    StoreConfig config = fixture.config();
    config.staging_buffers = 1;
    config.make_reader = disk.reader(1);
    const auto store = make_store(config);
    disk.add({.kind = ReadFault::Kind::blocked, .times = 1});
    ASSERT_TRUE(store->open_stream(std::vector<ExpertId>{{0, 0}}, StreamKind::decode));
    store->warm(std::vector<ExpertId>{{0, 8}, {0, 9}});
    store->hold_warming(GetParam());
    CancelToken late;
    const std::vector<ExpertId> set{{1, 1}, {1, 2}, {1, 3}, {1, 4}};
    ASSERT_TRUE(store->open_stream(set, StreamKind::decode, &late));
    disk.clear();
    std::jthread watchdog([&](const std::stop_token& done) {
        for (int i = 0; i < 5000 && !done.stop_requested(); ++i)
            std::this_thread::sleep_for(milliseconds(1));
        late.cancel();
    });
    std::vector<ExpertLease> held;
    for (size_t i = 0; i < set.size(); ++i) {
        auto lease = store->next();
        ASSERT_TRUE(lease) << lease.error().message;
        EXPECT_TRUE(fixture.right(*lease));
        ASSERT_LT(held.size(), store->max_held());
        held.push_back(*std::move(lease));
    }
}

INSTANTIATE_TEST_SUITE_P(ExpertStore, WarmReads, ::testing::Bool());

// Goal: while warming is on hold only what a stream asks for is read; afterwards warming goes on.
// Method: a drive that blocks its first read, of a warm expert, while the hold begins; a stream
// beside it; reads counted for 50 ms, in which a drive that is free would have read them all.
TEST(ExpertStore, WarmingOnHoldReadsNothing) {
    const StoreFixture fixture({.slots = 6});
    const ReadFaults disk;
    StoreConfig config = fixture.config();
    config.make_reader = disk.reader(1);
    const auto store = make_store(config);
    disk.add({.kind = ReadFault::Kind::blocked, .times = 1});
    store->warm(std::vector<ExpertId>{{0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 5}});
    store->hold_warming(true);
    disk.clear();
    const std::vector<ExpertId> set{{1, 1}};
    ASSERT_TRUE(read_all(fixture, *store, set, StreamKind::decode));
    for (int i = 0; i < 50; ++i) {
        std::this_thread::sleep_for(milliseconds(1));
        EXPECT_EQ(store->ready(), 0U);
        ASSERT_LE(store->counters().reads, 2U);
    }
    store->hold_warming(false);
    for (int i = 0; i < 5000 && store->counters().resident < 6; ++i) {
        (void)store->ready();
        std::this_thread::sleep_for(milliseconds(1));
    }
    EXPECT_EQ(store->counters().resident, 6U);
    EXPECT_EQ(store->counters().reads, 6U);
}

// Goal: what a scan reads, and what is read ahead for one, goes in bulk; a decode step's reads and
// guesses do not.
// Method: the largest call of each, with different chunks for the two.
TEST(ExpertStore, ScansReadInBulk) {
    const StoreFixture fixture({.extent_bytes = 8 * 1024, .ring_slots = 4, .in_place = true});
    std::mutex mutex;
    uint64_t largest = 0;
    StoreConfig config = fixture.config();
    config.reader.chunk_bytes = 4 * kKiB;
    config.reader.bulk_chunk_bytes = 12 * kKiB;
    config.reader.hook = [&](const SystemRead& call, int64_t result) {
        const std::lock_guard lock(mutex);
        largest = std::max(largest, uint64_t(call.into.size()));
        return result;
    };
    const auto store = make_store(std::move(config));
    const auto largest_of = [&](StreamKind kind, bool ahead) {
        store->forget();
        largest = 0;
        const std::vector<ExpertId> set{{0, 0}, {0, 1}};
        if (ahead) {
            store->prefetch(set, kind);
            const auto resident = [&] {
                (void)store->ready();
                return store->counters().resident;
            };
            while (resident() < set.size()) std::this_thread::yield();
        } else {
            EXPECT_TRUE(read_all(fixture, *store, set, kind));
        }
        const std::lock_guard lock(mutex);
        return largest;
    };
    for (const bool ahead : {false, true}) {
        EXPECT_EQ(largest_of(StreamKind::scan, ahead), 12 * kKiB) << ahead;
        EXPECT_EQ(largest_of(StreamKind::decode, ahead), 4 * kKiB) << ahead;
    }
}

// Goal: a scan never has more in flight than a quarter of its ring: the rest is what is computed
// meanwhile. Method: calls of a blocked device counted.
TEST(ExpertStore, ScansKeepMostOfTheRingFree) {
    const StoreFixture fixture(
        {.extent_bytes = 8 * 1024, .slots = 2, .ring_slots = 8, .in_place = true});
    const ReadFaults disk;
    StoreConfig config = fixture.config();
    config.reader = {.kind = ReaderKind::pread,
                     .threads = 16,
                     .chunk_bytes = 4 * kKiB,
                     .in_flight_bytes = 4 * kKiB,
                     .bulk_chunk_bytes = 12 * kKiB,
                     .hook = disk.hook()};
    const auto store = make_store(std::move(config));
    disk.add({.kind = ReadFault::Kind::blocked});
    const std::vector<ExpertId> all = fixture.all();
    ASSERT_TRUE(store->open_stream(all, StreamKind::scan));
    while (disk.calls() < 4) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(disk.calls(), 4U) << "two of eight experts are four chunks";
    disk.clear();
    EXPECT_TRUE(read_all(fixture, *store, all, StreamKind::scan));
}

}  // namespace colibri

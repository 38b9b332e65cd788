// What goes wrong between disk and slot, and that it ends in one clear error and a store that goes
// on.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "platform/faulty_reader.h"
#include "platform/read_faults.h"
#include "store/expert_store.h"
#include "store/store_fixture.h"

namespace colibri {

namespace {

using std::chrono::milliseconds;

// A store on a disk that can be told to misbehave.
struct FaultyStore {
    StoreFixture fixture;
    ReadFaults disk;
    std::unique_ptr<ExpertStore> store;

    explicit FaultyStore(const FixtureShape& shape = {}, uint32_t readers = 3)
        : fixture(with_own_blocks(shape)) {
        StoreConfig config = fixture.config();
        config.make_reader = disk.reader(readers);
        config.landing = checked(config.landing);
        store = make_store(std::move(config));
    }

    // Large enough that a bad block in the middle of an extent is nobody else's.
    static FixtureShape with_own_blocks(FixtureShape shape) {
        shape.extent_bytes = 2 * kDirectBlockBytes + 1000;
        return shape;
    }

    static uint64_t middle(const Extent& extent) { return extent.offset + extent.size_bytes / 2; }

    // A fault in the middle of part `part` of an expert.
    void add(ExpertId id, uint32_t part, ReadFault fault, uint32_t copy = 0) const {
        const ExpertSource& source = fixture.source(id);
        const Extent& extent = source.extents[part];
        fault.file =
            fixture.files()[copy == 0 ? extent.file : source.mirrors[copy - 1][part]].get();
        fault.begin = middle(extent);
        fault.end = fault.begin + 1;
        disk.add(fault);
    }

    // Reads until the error; EXPECTs exactly one, and the end afterwards.
    Error expect_error(const std::vector<ExpertId>& set, StreamKind kind) const {
        const auto order = read_all(fixture, *store, set, kind);
        EXPECT_FALSE(order.has_value()) << "no error came";
        const auto after = store->next();
        EXPECT_TRUE(after.has_value() && !*after) << "the error came twice";
        if (order) return {ErrorKind::invalid_input, "none", std::source_location::current()};
        return order.error();
    }

    void expect_healthy() const {
        for (const StreamKind kind : {StreamKind::decode, StreamKind::scan}) {
            const auto order = read_all(fixture, *store, fixture.all(), kind);
            ASSERT_TRUE(order) << order.error().message;
            EXPECT_EQ(order->size(), fixture.all().size());
        }
    }
};

testing::AssertionResult contains(const std::string& text, const std::string& part) {
    if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "\"" << part << "\" is not in \"" << text << "\"";
}

}  // namespace

// Goal: an error that the second attempt does not see stays invisible.
// Method: EIO once on each of three experts; everything arrives, and the retries are counted.
TEST(ExpertStoreFault, OneReadErrorIsRetried) {
    FaultyStore world;
    for (uint32_t part = 0; part < 3; ++part)
        world.add({part, 4}, part, {.kind = ReadFault::Kind::io_error, .times = 1});
    world.expect_healthy();
    EXPECT_EQ(world.store->counters().retries, 3U);
}

// Goal: a read error that stays is reported once, with expert, file and offset; nothing else is
// lost. Method: EIO for ever on each part of one expert, both kinds of stream; then the disk
// recovers.
TEST(ExpertStoreFault, ALastingReadErrorNamesExpertFileAndOffset) {
    for (const StreamKind kind : {StreamKind::decode, StreamKind::scan}) {
        for (uint32_t part = 0; part < 3; ++part) {
            FaultyStore world;
            const ExpertId bad{1, 7};
            const Extent& extent = world.fixture.source(bad).extents[part];
            world.add(bad, part, {.kind = ReadFault::Kind::io_error});
            const Error error = world.expect_error(world.fixture.all(), kind);
            EXPECT_EQ(error.kind, ErrorKind::io);
            EXPECT_TRUE(contains(error.message, "layer 1 expert 7"));
            EXPECT_TRUE(contains(error.message, world.fixture.files()[extent.file]->path()));
            EXPECT_TRUE(
                contains(error.message,
                         "at offset " + std::to_string(FaultyStore::middle(extent)) + " failed"));
            // Everybody else can be read, the bad one fails again, and recovers with the disk.
            std::vector<ExpertId> others = world.fixture.all();
            std::erase(others, bad);
            EXPECT_TRUE(read_all(world.fixture, *world.store, others, kind));
            EXPECT_EQ(world.expect_error({bad}, kind).kind, ErrorKind::io);
            world.disk.clear();
            world.expect_healthy();
        }
    }
}

// Goal: bytes that were wrong once are read again, and nobody hears of it.
// Method: one byte flipped on the way, once; staged and in place.
TEST(ExpertStoreFault, WrongBytesAreReadAgain) {
    for (const auto& [in_place, check_arrivals] : kLandingWays) {
        FaultyStore world({.in_place = in_place, .check_arrivals = check_arrivals});
        world.add({2, 3}, 0, {.kind = ReadFault::Kind::wrong_byte, .times = 1});
        world.expect_healthy();
        EXPECT_EQ(world.store->counters().corrupt_reads, 1U);
        EXPECT_EQ(world.store->counters().retries, 1U);
        EXPECT_EQ(world.store->counters().mirror_reads, 0U);
    }
}

// Goal: wrong bytes never reach a consumer.
// Method: a byte that stays wrong; the landing function refuses it twice, the store names expert,
// file and offset, and goes on when the disk has recovered.
TEST(ExpertStoreFault, LastingWrongBytesAreRefused) {
    for (const StreamKind kind : {StreamKind::decode, StreamKind::scan})
        for (const auto& [in_place, check_arrivals] : kLandingWays) {
            FaultyStore world({.in_place = in_place, .check_arrivals = check_arrivals});
            world.add({2, 3}, 0, {.kind = ReadFault::Kind::wrong_byte});
            const Error error = world.expect_error(world.fixture.all(), kind);
            EXPECT_EQ(error.kind, ErrorKind::corrupt);
            const Extent& extent = world.fixture.source({2, 3}).extents[0];
            EXPECT_TRUE(contains(error.message, "layer 2 expert 3: "));
            EXPECT_TRUE(contains(error.message, world.fixture.files()[extent.file]->path()));
            EXPECT_TRUE(
                contains(error.message, "bytes at offset " + std::to_string(extent.offset)));
            EXPECT_TRUE(contains(error.message, ", read twice: checksum of gate differs"));
            EXPECT_EQ(world.store->counters().corrupt_reads, 2U);
            world.disk.clear();
            world.expect_healthy();
        }
}

// Goal: losing one copy costs speed, never the answer.
// Method: the first copy of an expert fails in each way for ever; the bytes come from the mirror,
// each time anew. Then every mirror fails too: one error that names both.
TEST(ExpertStoreFault, MirrorsAnswerWhenTheFirstCopyFails) {
    using Kind = ReadFault::Kind;
    for (const auto& [in_place, check_arrivals] : kLandingWays)
        for (const Kind fault : {Kind::io_error, Kind::wrong_byte, Kind::end_of_file}) {
            FaultyStore world(
                {.slots = 0, .in_place = in_place, .mirrors = 2, .check_arrivals = check_arrivals});
            world.add({1, 5}, 0, {.kind = fault});
            world.expect_healthy();
            EXPECT_GE(world.store->counters().mirror_reads, 2U) << "a decode and a scan";
            world.add({1, 5}, 0, {.kind = fault}, 1);
            world.expect_healthy();
            world.add({1, 5}, 0, {.kind = fault}, 2);
            const Error error = world.expect_error(world.fixture.all(), StreamKind::decode);
            EXPECT_EQ(error.kind, fault == Kind::io_error ? ErrorKind::io : ErrorKind::corrupt);
            const uint32_t file = world.fixture.source({1, 5}).extents[0].file;
            EXPECT_TRUE(contains(error.message, world.fixture.files()[file]->path()));
            EXPECT_TRUE(contains(error.message, "its mirror failed too: "));
            EXPECT_TRUE(contains(error.message, "mirror-2-" + std::to_string(file)));
        }
}

// Goal: a file that became shorter is noticed, whether the fault is injected or real.
// Method: end of file inside an expert; then the file itself cut in half.
TEST(ExpertStoreFault, AFileThatShrankIsReported) {
    FaultyStore world;
    world.add({0, 6}, 0, {.kind = ReadFault::Kind::end_of_file});
    const Error injected = world.expect_error(world.fixture.all(), StreamKind::decode);
    EXPECT_EQ(injected.kind, ErrorKind::corrupt);
    EXPECT_TRUE(contains(injected.message, "layer 0 expert 6"));
    EXPECT_TRUE(contains(injected.message, "the file ends at byte"));
    world.disk.clear();
    world.expect_healthy();

    const std::string path = world.fixture.files()[0]->path();
    const auto size_bytes = std::filesystem::file_size(path);
    std::filesystem::resize_file(path, size_bytes / 2);
    const Error real = world.expect_error(world.fixture.all(), StreamKind::scan);
    EXPECT_EQ(real.kind, ErrorKind::corrupt);
    EXPECT_TRUE(contains(real.message, path));
}

// Goal: short reads, interruptions and a busy device only cost time.
// Method: each of them many times, all experts read.
TEST(ExpertStoreFault, ShortAndInterruptedReadsAreContinued) {
    for (const ReadFault::Kind kind :
         {ReadFault::Kind::short_read, ReadFault::Kind::interrupted, ReadFault::Kind::again}) {
        FaultyStore world;
        world.disk.add({.kind = kind, .times = 200});
        world.expect_healthy();
    }
}

// Goal: the failure of a read that nobody waits for any more harms nobody.
// Method: a stream is closed while a doomed read may be under way; the next streams are good.
TEST(ExpertStoreFault, AFailureAfterCloseIsForgotten) {
    FaultyStore world({.slots = 6});
    world.disk.add({.kind = ReadFault::Kind::delay, .times = 1, .pause = milliseconds(5)});
    world.add({0, 0}, 0, {.kind = ReadFault::Kind::io_error, .times = 2});
    for (int round = 0; round < 5; ++round) {
        ASSERT_TRUE(world.store->open_stream(std::vector<ExpertId>{{0, 0}}, StreamKind::decode));
        world.store->close_stream();
        const std::vector<ExpertId> others{{0, 1}, {1, 1}, {2, 2}};
        ASSERT_TRUE(read_all(world.fixture, *world.store, others, StreamKind::decode));
    }
    (void)read_all(world.fixture, *world.store, std::vector<ExpertId>{{0, 0}}, StreamKind::decode);
    world.disk.clear();
    world.expect_healthy();
}

// Goal: a stream does not inherit the failure of a read that an earlier stream had started.
// Method: the landing of an expert is held up while its stream is closed and another one asks for
// the expert; then it fails. The second stream makes its own attempt.
TEST(ExpertStoreFault, AStreamGetsItsOwnAttempt) {
    const StoreFixture fixture;
    StoreConfig config = fixture.config();
    config.staging_buffers = 1;
    const auto landings = std::make_shared<std::atomic<int>>(0);
    const auto gate = std::make_shared<std::atomic<bool>>(false);
    config.landing = [=, copy = config.landing](ExpertId id,
                                                std::span<const std::span<const std::byte>> raw,
                                                std::span<std::byte> slot) -> Status {
        if (landings->fetch_add(1) > 0) return copy(id, raw, slot);
        gate->wait(false);
        return fail(ErrorKind::corrupt, "gate is not finite");
    };
    const auto store = make_store(std::move(config));
    ASSERT_TRUE(store->open_stream(std::vector<ExpertId>{{1, 1}}, StreamKind::decode));
    while (landings->load() == 0) std::this_thread::yield();
    store->close_stream();
    const std::vector<ExpertId> set{{0, 3}, {1, 1}, {1, 2}};
    ASSERT_TRUE(store->open_stream(set, StreamKind::scan));
    gate->store(true);
    gate->notify_all();
    for (const ExpertId id : set) {
        const auto lease = store->next();
        ASSERT_TRUE(lease) << lease.error().message;
        EXPECT_EQ(lease->id(), id);
        EXPECT_TRUE(fixture.right(*lease));
    }
    EXPECT_EQ(landings->load(), 4);
}

// Goal: leases stay valid over an error of the same stream.
// Method: two experts held while the third fails.
TEST(ExpertStoreFault, LeasesSurviveAnError) {
    FaultyStore world;
    world.add({0, 2}, 0, {.kind = ReadFault::Kind::io_error});
    ASSERT_TRUE(world.store->open_stream(std::vector<ExpertId>{{0, 0}, {0, 1}, {0, 2}},
                                         StreamKind::decode));
    std::vector<ExpertLease> held;
    while (true) {
        auto lease = world.store->next();
        if (!lease) break;
        ASSERT_TRUE(*lease);
        held.push_back(*std::move(lease));
    }
    world.disk.clear();
    std::vector<ExpertId> others;
    for (uint32_t index = 3; index < 16; ++index) others.push_back({0, index});
    ASSERT_TRUE(read_all(world.fixture, *world.store, others, StreamKind::decode));
    for (const ExpertLease& lease : held) EXPECT_TRUE(world.fixture.right(lease));
}

// Goal: a raised token ends the wait although the disk does not answer, and the store goes on.
// Method: reads blocked for ten seconds; the token is raised after 20 ms by another thread.
TEST(ExpertStoreFault, CancelWakesTheConsumer) {
    for (const auto& [kind, in_place] :
         {std::pair(StreamKind::decode, false), std::pair(StreamKind::decode, true),
          std::pair(StreamKind::scan, false), std::pair(StreamKind::scan, true)}) {
        FaultyStore world({.in_place = in_place});
        world.disk.add({.kind = ReadFault::Kind::blocked});
        CancelToken token;
        ASSERT_TRUE(world.store->open_stream(world.fixture.all(), kind, &token));
        std::jthread other([&] {
            std::this_thread::sleep_for(milliseconds(20));
            token.cancel();
        });
        const uint64_t begin_us = now_us();
        const auto lease = world.store->next();
        EXPECT_LT(now_us() - begin_us, 5000000U);
        ASSERT_FALSE(lease);
        EXPECT_EQ(lease.error().kind, ErrorKind::cancelled);
        EXPECT_FALSE(*world.store->next());
        world.disk.clear();
        world.expect_healthy();
    }
}

// Goal: a token raised before the stream is read cancels it; one that was raised for another stream
// does not. Method: both orders.
TEST(ExpertStoreFault, CancelBelongsToOneStream) {
    FaultyStore world;
    CancelToken token;
    token.cancel();
    ASSERT_TRUE(world.store->open_stream(world.fixture.all(), StreamKind::scan, &token));
    EXPECT_EQ(world.store->next().error().kind, ErrorKind::cancelled);
    world.expect_healthy();
}

// Goal: closing a stream drops what was not started.
// Method: one reader, blocked in its first read; after the close only that expert is read.
TEST(ExpertStoreFault, CloseDropsReadsThatWereNotStarted) {
    for (const StreamKind kind : {StreamKind::decode, StreamKind::scan}) {
        FaultyStore world({.slots = 8}, 1);
        world.disk.add({.kind = ReadFault::Kind::blocked});
        ASSERT_TRUE(world.store->open_stream(world.fixture.all(), kind));
        while (world.disk.calls() == 0) std::this_thread::yield();
        world.store->close_stream();
        world.disk.clear();
        std::this_thread::sleep_for(milliseconds(20));
        EXPECT_LE(world.disk.calls(), 3U) << "one expert has three parts";
        world.expect_healthy();
    }
}

// Goal: a store may end at any moment.
// Method: destroyed with reads queued, under way, landed and failing, and with an unread stream.
TEST(ExpertStoreFault, DestructionWithReadsInFlight) {
    for (uint32_t round = 0; round < 30; ++round) {
        FaultyStore world(
            {.slots = round % 7, .in_place = round % 3 == 0, .check_arrivals = round % 2 == 0});
        world.disk.add({.kind = ReadFault::Kind::delay,
                        .times = 5,
                        .pause = std::chrono::microseconds(round * 100)});
        world.add({0, round % 8}, 0, {.kind = ReadFault::Kind::io_error});
        const StreamKind kind = round % 2 == 0 ? StreamKind::decode : StreamKind::scan;
        ASSERT_TRUE(world.store->open_stream(world.fixture.all(), kind));
        for (uint32_t i = 0; i < round % 4; ++i) (void)world.store->next();
        world.store.reset();
    }
}

// Goal: whatever fails, an expert that is handed out is right, and every stream ends.
// Method: every reader wrapped by one that fails, flips bits, delays and reorders at random; 60
// streams each; in the end a healthy store.
TEST(ExpertStoreFault, AnyMixOfFaultsGivesRightBytesOrOneError) {
    using Kind = RequestFault::Kind;
    for (const auto& [kind, mirrors] :
         {std::pair(ReaderKind::automatic, 0U), std::pair(ReaderKind::pread, 1U),
          std::pair(ReaderKind::buffered, 0U)}) {
        const auto faults = std::make_shared<RequestFaults>(uint64_t(kind) + 7);
        const StoreFixture fixture({.slots = 7,
                                    .in_place = kind != ReaderKind::buffered,
                                    .mirrors = mirrors,
                                    .check_arrivals = kind == ReaderKind::automatic});
        StoreConfig config = fixture.config();
        config.landing = checked(config.landing);
        config.make_reader = [=, kind = kind](ReadSink& sink, uint32_t requests) {
            return FaultyReader::create(sink, faults, [=, kind = kind](ReadSink& inner) {
                return make_reader(inner, {.kind = kind, .queue_capacity = requests});
            });
        };
        const auto store = make_store(std::move(config));
        faults->add({.kind = Kind::io_error, .one_in = 40});
        faults->add({.kind = Kind::short_read, .one_in = 40});
        faults->add({.kind = Kind::bit_flip, .one_in = 20});
        faults->add({.kind = Kind::delay, .one_in = 5, .pause = std::chrono::microseconds(300)});
        faults->add({.kind = Kind::out_of_turn, .one_in = 3, .pause = milliseconds(1)});
        Rng rng(uint64_t(kind) + 1);
        uint32_t failed = 0;
        for (int step = 0; step < 60; ++step) {
            const std::vector<ExpertId> set = fixture.random_set(rng, 20);
            const auto order = read_all(fixture, *store, set,
                                        step % 3 == 0 ? StreamKind::scan : StreamKind::decode);
            if (!order) {
                ++failed;
                EXPECT_TRUE(contains(order.error().message, "layer "));
                EXPECT_FALSE(*store->next());
            } else {
                EXPECT_EQ(order->size(), set.size());
            }
        }
        EXPECT_GT(faults->hits(), 60U);
        EXPECT_LT(failed, mirrors > 0 ? 10U : 60U);
        // What happens to an attempt at a place is drawn from the seed; how many attempts there are
        // depends on the order of arrivals alone. Least of 200 runs: 18, 20 and 17.
        EXPECT_GT(store->counters().corrupt_reads, 8U);
        if (mirrors > 0) {
            EXPECT_GT(store->counters().mirror_reads, 10U);
        } else {
            EXPECT_GT(failed, 8U);
        }
        faults->clear();
        EXPECT_TRUE(read_all(fixture, *store, fixture.all(), StreamKind::scan));
        EXPECT_TRUE(read_all(fixture, *store, fixture.all(), StreamKind::decode));
    }
}

// Goal: landing functions fail as other steps do: named, once, and not for ever.
// Method: a landing function that refuses its first ten calls.
TEST(ExpertStoreFault, LandingErrorsReachTheConsumer) {
    const StoreFixture fixture;
    StoreConfig config = fixture.config();
    const auto calls = std::make_shared<std::atomic<int>>(0);
    config.landing_threads = 2;
    config.landing = [calls, copy = config.landing](ExpertId id,
                                                    std::span<const std::span<const std::byte>> raw,
                                                    std::span<std::byte> slot) -> Status {
        if (calls->fetch_add(1) < 10) return fail(ErrorKind::corrupt, "gate is not finite");
        return copy(id, raw, slot);
    };
    const auto store = make_store(std::move(config));
    int errors = 0;
    for (int attempt = 0; attempt < 20; ++attempt) {
        const auto order = read_all(fixture, *store, fixture.all(), StreamKind::decode);
        if (order) break;
        ++errors;
        EXPECT_TRUE(contains(order.error().message, "gate is not finite"));
        EXPECT_TRUE(contains(order.error().message, "layer "));
    }
    EXPECT_GE(errors, 1);
    EXPECT_LE(errors, 10);
    EXPECT_TRUE(read_all(fixture, *store, fixture.all(), StreamKind::scan));
}

}  // namespace colibri

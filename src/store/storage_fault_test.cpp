// Drives that fail, and copies that answer for them: through a whole store.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "platform/read_faults.h"
#include "store/expert_store.h"
#include "store/store_fixture.h"

namespace colibri {

namespace {

using std::chrono::milliseconds;
using State = StorageState;

struct DrivesOptions {
    FixtureShape shape;
    PolicyKind policy = PolicyKind::frequency;
    uint64_t pause_us = StorageHealth::kPauseMinUs;
    bool alternate = false;  // every second expert is read from the first mirror to begin with
    bool split = false;      // each file on a drive of its own
};

// A store whose original and mirrors are on drives of their own, which can be told to fail.
class Drives {
public:
    explicit Drives(const DrivesOptions& options) : fixture(with_own_blocks(options.shape)) {
        StoreConfig config = fixture.config();
        const uint32_t files = options.shape.files;
        for (uint32_t file = 0; file < config.files.size(); ++file)
            config.places.of_file.push_back(options.split ? file : file / files);
        const uint32_t places = options.split ? files : options.shape.mirrors + 1;
        for (uint32_t place = 0; place < places; ++place)
            config.places.directories.push_back("drive-" + std::to_string(place));
        for (ExpertSource& source : config.experts)
            if (options.alternate && source.id.index % 2 == 1)
                for (size_t i = 0; i < source.extents.size(); ++i)
                    std::swap(source.extents[i].file, source.mirrors[0][i]);
        config.policy = options.policy;
        config.storage_pause_us = options.pause_us;
        config.landing = checked(config.landing);
        config.make_reader = [this, files](ReadSink& sink, uint32_t requests) {
            return make_reader(sink, {.kind = ReaderKind::pread,
                                      .threads = 3,
                                      .queue_capacity = requests,
                                      .hook = [this, files](const SystemRead& call, int64_t got) {
                                          ++calls[place_of(call.file, files)];
                                          return faults.hook()(call, got);
                                      }});
        };
        store = make_store(std::move(config));
    }

    // All of the first drive.
    void break_original(ReadFault fault, uint32_t files = 2) const {
        for (uint32_t file = 0; file < files; ++file) {
            fault.file = fixture.files()[file].get();
            faults.add(fault);
        }
    }
    // The middle of an expert there.
    void break_expert(ExpertId id, ReadFault fault) const {
        const Extent& extent = fixture.source(id).extents[0];
        fault.file = fixture.files()[extent.file].get();
        fault.begin = extent.offset + extent.size_bytes / 2;
        fault.end = fault.begin + 1;
        faults.add(fault);
    }
    void expect_all(StreamKind kind) const {
        const auto order = read_all(fixture, *store, fixture.all(), kind);
        ASSERT_TRUE(order) << order.error().message;
        EXPECT_EQ(order->size(), fixture.all().size());
    }

    StoreFixture fixture;
    ReadFaults faults;
    std::array<std::atomic<uint64_t>, 4> calls{};
    std::unique_ptr<ExpertStore> store;

private:
    static FixtureShape with_own_blocks(FixtureShape shape) {
        shape.extent_bytes = 2 * kDirectBlockBytes + 1000;
        return shape;
    }
    [[nodiscard]] uint32_t place_of(const File* file, uint32_t files) const {
        for (uint32_t i = 0; i < fixture.files().size(); ++i)
            if (fixture.files()[i].get() == file) return i / files;
        return 0;
    }
};

// How many lines of each kind the store had for the user.
struct Lines {
    uint32_t all = 0, place_failed = 0, model_failed = 0, recovered = 0;
};
Lines take_lines(ExpertStore& store) {
    Lines lines;
    for (const StorageEvent& event : store.take_storage_events()) {
        ++lines.all;
        lines.place_failed += event.place_state == State::failed ? 1 : 0;
        lines.model_failed += event.model_state == State::failed ? 1 : 0;
        lines.recovered += event.model_state == State::ok ? 1 : 0;
    }
    return lines;
}

// What a round of random streams did.
struct Tally {
    uint64_t streams = 0, experts = 0, errors = 0, wrong = 0, hangs = 0;
};

// A stream that is not at its end after ten seconds counts as one that hangs.
void run_stream(const Drives& world, std::span<const ExpertId> set, StreamKind kind, Tally& tally) {
    ++tally.streams;
    CancelToken late;
    std::atomic<bool> done = false;
    std::jthread watchdog([&] {
        const uint64_t begin_us = now_us();
        while (!done && now_us() - begin_us < 10'000'000)
            std::this_thread::sleep_for(milliseconds(1));
        if (!done) late.cancel();
    });
    if (!world.store->open_stream(set, kind, &late)) ++tally.errors;
    uint64_t got = 0;
    while (true) {
        const auto lease = world.store->next();
        if (!lease) {
            ++(lease.error().kind == ErrorKind::cancelled ? tally.hangs : tally.errors);
            break;
        }
        if (!*lease) {
            EXPECT_EQ(got, set.size());
            break;
        }
        ++got;
        ++tally.experts;
        tally.wrong += world.fixture.right(*lease) ? 0 : 1;
    }
    done = true;
}

bool lasts(ReadFault::Kind kind) {
    using Fault = ReadFault::Kind;
    return kind == Fault::io_error || kind == Fault::wrong_byte || kind == Fault::end_of_file;
}

}  // namespace

// Goal: whatever the fault, the policy and the number of copies: no wrong byte, no hang; and no
// error as long as one copy is good.
// Method: nine kinds of fault, of one expert or of all of the original, under both policies with 0,
// 1 and 2 mirrors, staged and in place; random streams, then a healthy disk.
TEST(StorageFaults, Matrix) {
    using Kind = ReadFault::Kind;
    Tally all;
    uint64_t cells = 0;
    for (const Kind kind :
         {Kind::short_read, Kind::short_block, Kind::io_error, Kind::interrupted, Kind::again,
          Kind::refused, Kind::wrong_byte, Kind::end_of_file, Kind::delay})
        for (const PolicyKind policy : {PolicyKind::lru, PolicyKind::frequency})
            for (const uint32_t mirrors : {0U, 1U, 2U})
                for (const bool in_place : {false, true})
                    for (const bool whole : {false, true}) {
                        const std::string cell =
                            std::to_string(int(kind)) + std::string(to_string(policy)) +
                            std::to_string(mirrors) + (in_place ? "p" : "s") + (whole ? "w" : "e");
                        Drives world({.shape = {.layers = 2,
                                                .experts = 8,
                                                .slots = 4,
                                                .in_place = in_place,
                                                .mirrors = mirrors,
                                                .check_arrivals = in_place},
                                      .policy = policy});
                        ReadFault fault{.kind = kind};
                        if (!lasts(kind)) fault.times = 8;
                        if (kind == Kind::delay) fault.pause = std::chrono::microseconds(200);
                        for (const ExpertId id : world.fixture.all())
                            if (whole || id == ExpertId{1, 5}) world.break_expert(id, fault);
                        Tally tally;
                        Rng rng(cells);
                        for (int step = 0; step < 6; ++step)
                            run_stream(world, world.fixture.random_set(rng, 8),
                                       step % 3 == 2 ? StreamKind::scan : StreamKind::decode,
                                       tally);
                        run_stream(world, world.fixture.all(), StreamKind::scan, tally);
                        const bool answered = mirrors > 0 || !lasts(kind);
                        EXPECT_EQ(tally.errors == 0, answered) << cell;
                        EXPECT_EQ(world.store->storage().state, !lasts(kind)  ? State::ok
                                                                : mirrors > 0 ? State::degraded
                                                                              : State::failed)
                            << cell;
                        world.faults.clear();
                        world.expect_all(StreamKind::scan);
                        world.expect_all(StreamKind::decode);
                        all.streams += tally.streams;
                        all.experts += tally.experts;
                        all.errors += tally.errors;
                        all.wrong += tally.wrong;
                        all.hangs += tally.hangs;
                        ++cells;
                    }
    EXPECT_EQ(all.wrong, 0U);
    EXPECT_EQ(all.hangs, 0U);
    EXPECT_EQ(cells, 216U);
    std::printf(
        "fault matrix: %lu cells, %lu streams, %lu experts, %lu errors reported, wrong "
        "%lu, hangs %lu\n",
        cells, all.streams, all.experts, all.errors, all.wrong, all.hangs);
}

// Goal: a dead drive is asked a few times, not for every expert, and the user hears of it once.
// Method: no slots, so that everything is read every time; the original dead from the start;
// sixteen passes over all experts. Then it comes back.
TEST(StorageFaults, ADeadOriginalIsLeftAlone) {
    for (const bool in_place : {false, true}) {
        Drives world({.shape = {.slots = 0, .in_place = in_place, .mirrors = 1}});
        world.break_original({.kind = ReadFault::Kind::io_error});
        for (int pass = 0; pass < 8; ++pass) {
            world.expect_all(StreamKind::decode);
            world.expect_all(StreamKind::scan);
        }
        // Reads under way when it was condemned, and one trial a second at most; three parts each
        // with two calls.
        EXPECT_LE(world.calls[0], 6U * (2 * 6 + 10)) << "in place: " << in_place;
        EXPECT_GE(world.calls[1], 16 * world.fixture.all().size());
        const Lines lines = take_lines(*world.store);
        EXPECT_EQ(lines.all, 2U) << "degraded, then failed";
        EXPECT_EQ(lines.place_failed, 1U);
        EXPECT_EQ(lines.model_failed, 0U);
        const StorageReport report = world.store->storage();
        EXPECT_EQ(report.state, State::degraded);
        EXPECT_EQ(report.places[0].state, State::failed);
        EXPECT_GE(report.places[0].errors, 3U);
        EXPECT_EQ(report.places[1].state, State::ok);
    }
}

// Goal: a drive that returns is found and used again, and the user hears of that once.
// Method: pauses of 10 ms; the original fails, then answers; experts are read until the store says
// that all is well.
TEST(StorageFaults, AReturningDriveIsUsedAgain) {
    Drives world({.shape = {.slots = 0, .mirrors = 1}, .pause_us = 10'000});
    world.break_original({.kind = ReadFault::Kind::io_error});
    world.expect_all(StreamKind::decode);
    ASSERT_EQ(world.store->storage().places[0].state, State::failed);
    (void)take_lines(*world.store);
    world.faults.clear();
    const uint64_t begin_us = now_us();
    while (world.store->storage().state != State::ok && now_us() - begin_us < 10'000'000) {
        std::this_thread::sleep_for(milliseconds(5));
        world.expect_all(StreamKind::scan);
    }
    const Lines lines = take_lines(*world.store);
    EXPECT_EQ(lines.all, 1U);
    EXPECT_EQ(lines.recovered, 1U);
    const uint64_t before = world.calls[1];
    world.expect_all(StreamKind::scan);
    EXPECT_EQ(world.calls[1], before) << "the mirror is no longer needed";
}

// Goal: one bad sector, or an expert with wrong bytes, condemns nothing: the others are still read
// from their own drive, and the bad expert's copy at once from then on.
// Method: one expert of the original fails for ever; all are read eight times.
TEST(StorageFaults, OneBadExpertCondemnsNothing) {
    for (const ReadFault::Kind kind :
         {ReadFault::Kind::io_error, ReadFault::Kind::wrong_byte, ReadFault::Kind::end_of_file}) {
        Drives world({.shape = {.slots = 0, .mirrors = 1}});
        world.break_expert({1, 5}, {.kind = kind});
        for (int pass = 0; pass < 8; ++pass) world.expect_all(StreamKind::decode);
        EXPECT_EQ(world.store->storage().places[0].state, State::degraded);
        EXPECT_EQ(world.store->storage().places[0].errors, 1U);
        EXPECT_EQ(world.store->counters().mirror_reads, 8U);
        EXPECT_EQ(take_lines(*world.store).all, 1U);
    }
}

// Goal: without another copy a drive that fails is still asked: nothing that could work is refused.
// Method: the only drive dead, then alive again, with pauses of an hour in between if there were
// any.
TEST(StorageFaults, TheOnlyCopyIsAlwaysAsked) {
    Drives world({.shape = {.slots = 0}, .pause_us = 3'600'000'000});
    world.break_original({.kind = ReadFault::Kind::io_error});
    for (int pass = 0; pass < 5; ++pass)
        EXPECT_FALSE(
            read_all(world.fixture, *world.store, world.fixture.all(), StreamKind::decode));
    EXPECT_EQ(world.store->storage().state, State::failed);
    const Lines lines = take_lines(*world.store);
    // An expert is lost, the drive does not answer: the first is not said when reads under way at
    // the same time have shown the second before.
    EXPECT_GE(lines.all, 1U);
    EXPECT_LE(lines.all, 2U);
    world.faults.clear();
    world.expect_all(StreamKind::decode);
    world.expect_all(StreamKind::decode);
    EXPECT_EQ(world.store->storage().state, State::ok);
    // Once, and once more for each read of the last failed stream that failed after a good one.
    EXPECT_GE(take_lines(*world.store).recovered, 1U);
}

// Goal: of a model whose files lie on two drives without copies, what is on the good one is still
// read when the other dies; the error names the dead one; all is well when it returns.
// Method: in place, so that an expert is on one drive; the second file fails for ever, then
// answers.
TEST(StorageFaults, ASplitModelLosesOnlyWhatIsOnTheDeadDrive) {
    Drives world({.shape = {.slots = 0, .in_place = true}, .split = true});
    const auto on_drive = [&](uint32_t drive) {
        std::vector<ExpertId> ids = world.fixture.all();
        std::erase_if(ids, [&](ExpertId id) { return id.index % 2 != drive; });
        return ids;
    };
    world.faults.add({.kind = ReadFault::Kind::io_error, .file = world.fixture.files()[1].get()});
    for (const StreamKind kind : {StreamKind::decode, StreamKind::scan}) {
        for (int pass = 0; pass < 4; ++pass) {
            std::vector<ExpertId> wanted = on_drive(1);  // every pass fails at another expert
            wanted.erase(wanted.begin(), wanted.begin() + 3 * pass);
            const auto lost = read_all(world.fixture, *world.store, wanted, kind);
            ASSERT_FALSE(lost);
            EXPECT_EQ(lost.error().kind, ErrorKind::io);
            EXPECT_NE(lost.error().message.find("experts-1.bin"), std::string::npos)
                << lost.error().message;
            const auto good = read_all(world.fixture, *world.store, on_drive(0), kind);
            ASSERT_TRUE(good) << good.error().message;
            EXPECT_EQ(good->size(), on_drive(0).size());
        }
    }
    const StorageReport report = world.store->storage();
    EXPECT_EQ(report.state, State::failed);
    EXPECT_EQ(report.places[0].state, State::ok);
    EXPECT_EQ(report.places[0].errors, 0U);
    EXPECT_EQ(report.places[1].state, State::failed);
    world.faults.clear();
    world.expect_all(StreamKind::decode);
    world.expect_all(StreamKind::scan);
    EXPECT_EQ(world.store->storage().state, State::ok);
}

// Goal: a mirror that vanishes in the middle of a run costs nothing but speed.
// Method: every second expert is read from the mirror first; it dies after one pass.
TEST(StorageFaults, AMirrorMayVanish) {
    Drives world({.shape = {.slots = 5, .mirrors = 1}, .alternate = true});
    world.expect_all(StreamKind::decode);
    EXPECT_GT(world.calls[0], 0U);
    EXPECT_GT(world.calls[1], 0U);
    for (uint32_t file = 2; file < 4; ++file)
        world.faults.add(
            {.kind = ReadFault::Kind::io_error, .file = world.fixture.files()[file].get()});
    for (int pass = 0; pass < 4; ++pass) world.expect_all(StreamKind::scan);
    const StorageReport report = world.store->storage();
    EXPECT_EQ(report.state, State::degraded);
    EXPECT_EQ(report.places[0].state, State::ok);
    EXPECT_EQ(report.places[1].state, State::failed);
    EXPECT_EQ(take_lines(*world.store).all, 2U);
}

}  // namespace colibri

// Who is read before whom: reads that somebody waits for, and guesses.
#include "store/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "platform/read_faults.h"
#include "platform/thread_slice.h"
#include "store/store_fixture.h"

namespace colibri {

namespace {

using std::chrono::milliseconds;

// Notes what is asked of another reader.
class NotingReader final : public Reader {
public:
    NotingReader(std::unique_ptr<Reader> inner, std::mutex& mutex, std::vector<uint32_t>& asked)
        : inner_(std::move(inner)), mutex_(mutex), asked_(asked) {}
    bool submit(const ReadRequest& request) override {
        {
            const std::lock_guard lock(mutex_);
            asked_.push_back(uint32_t(request.tag));
        }
        return inner_->submit(request);
    }
    bool cancel(uint64_t tag) override { return inner_->cancel(tag); }
    void promote(uint64_t tag) override { inner_->promote(tag); }
    bool abandon(uint64_t tag) override { return inner_->abandon(tag); }

private:
    std::unique_ptr<Reader> inner_;
    std::mutex& mutex_;
    std::vector<uint32_t>& asked_;
};

// A pipeline on a disk that does one read at a time, in the order in which they are started.
struct DiskWorld {
    StoreFixture fixture;
    ReadFaults disk;
    StoreConfig config;
    ExpertTable table;
    AlignedBuffer memory;
    std::unique_ptr<Pipeline> pipeline;
    std::mutex mutex;
    std::vector<uint32_t> asked;    // of the reader
    std::vector<uint32_t> started;  // by the reader

    // A chunk of 0: the reader's own size, larger than an expert.
    explicit DiskWorld(bool in_place = true, uint64_t chunk_bytes = 0)
        : fixture({.layers = 1, .experts = 16, .extent_bytes = 9000, .in_place = in_place}),
          config(fixture.config()),
          table(ExpertTable::build(config).value()),
          memory(AlignedBuffer::allocate(16 * stride()).value()) {
        config.staging_buffers = 8;
        config.make_reader = [this, chunk_bytes](
                                 ReadSink& sink,
                                 uint32_t requests) -> Result<std::unique_ptr<Reader>> {
            ReaderOptions options{.kind = ReaderKind::pread,
                                  .threads = 1,
                                  .queue_capacity = requests,
                                  .hook = [this](const SystemRead& call, int64_t result) {
                                      note(call);
                                      return disk.hook()(call, result);
                                  }};
            if (chunk_bytes != 0) options.chunk_bytes = chunk_bytes;
            TRY(auto reader, make_reader(sink, std::move(options)));
            return std::make_unique<NotingReader>(std::move(reader), mutex, asked);
        };
        auto made = Pipeline::create(table, config);
        CHECK(made.has_value());
        pipeline = *std::move(made);
    }

    [[nodiscard]] uint64_t stride() const {
        return round_up(fixture.slot_bytes(0), kDirectBlockBytes);
    }
    [[nodiscard]] std::vector<uint32_t> asked_so_far() {
        const std::lock_guard lock(mutex);
        return asked;
    }
    [[nodiscard]] std::vector<uint32_t> started_so_far() {
        const std::lock_guard lock(mutex);
        return started;
    }
    void note(const SystemRead& call) {
        const std::lock_guard lock(mutex);
        for (uint32_t expert = 0; expert < table.size(); ++expert)
            for (const ExpertRun& run : table.runs(expert))
                if (fixture.files()[run.file].get() == call.file &&
                    run.offset / kDirectBlockBytes <= call.offset / kDirectBlockBytes &&
                    call.offset < run.offset + run.size_bytes &&
                    (started.empty() || started.back() != expert))
                    started.push_back(expert);
    }
    [[nodiscard]] Pipeline::Order order(uint32_t expert, bool speculative) const {
        return {.expert = expert,
                .slot = memory.bytes().subspan(expert * stride(), fixture.slot_bytes(0)),
                .keep = true,
                .speculative = speculative};
    }
    void request(std::initializer_list<uint32_t> experts, bool speculative) const {
        std::vector<Pipeline::Order> orders;
        for (const uint32_t expert : experts) orders.push_back(order(expert, speculative));
        pipeline->request(orders);
    }
    // Waits for so many completions; none may have failed.
    void finish(size_t count) const {
        std::vector<Pipeline::Completion> done;
        while (done.size() < count) {
            ASSERT_TRUE(pipeline->wait(nullptr));
            pipeline->drain(done);
        }
        for (const auto& completion : done) EXPECT_TRUE(completion.status);
    }
    // Holds the disk up in its first read from now on.
    void block() const { disk.add({.kind = ReadFault::Kind::blocked, .times = 1}); }
    void wait_until_blocked() const {
        while (disk.calls() == 0) std::this_thread::yield();
    }
};

}  // namespace

// Goal: a guess is never in front of a read that somebody waits for.
// Method: six guesses while the disk hangs in the first; then two experts are wanted.
TEST(Pipeline, DemandOvertakesGuesses) {
    DiskWorld world;
    world.block();
    world.request({0, 1, 2, 3, 4, 5}, true);
    world.wait_until_blocked();
    world.request({8, 9}, false);
    world.disk.clear();
    world.finish(8);
    EXPECT_EQ(world.started, (std::vector<uint32_t>{0, 8, 9, 1, 2, 3, 4, 5}));
}

// Goal: guesses wait while anything else does, whether it was asked for earlier or later.
// Method: the disk hangs in a demand read with more behind it than tickets; guesses come last.
TEST(Pipeline, GuessesWaitForAllOthers) {
    DiskWorld world(/*in_place=*/false);
    world.block();
    world.request({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, false);
    world.wait_until_blocked();
    world.request({12, 13}, true);
    world.disk.clear();
    world.finish(12);
    EXPECT_EQ(std::vector<uint32_t>(world.started.end() - 2, world.started.end()),
              (std::vector<uint32_t>{12, 13}));
}

// Goal: a guess does not join a read that somebody waits for.
// Method: the disk hangs in a demand read; a guess is handed to the reader only after it.
TEST(Pipeline, GuessesWaitForReadsUnderWay) {
    DiskWorld world;
    world.block();
    world.request({8}, false);
    world.request({0}, true);
    EXPECT_EQ(world.asked_so_far(), (std::vector<uint32_t>{8}));
    world.disk.clear();
    world.finish(2);
    EXPECT_EQ(world.asked_so_far(), (std::vector<uint32_t>{8, 0}));
}

// Goal: the drive is free for guesses once a demand read is in staging, slot or no slot.
// Method: an expert is read that has no slot yet; a guess behind it is delivered before it.
TEST(Pipeline, GuessesDoNotWaitForSlotsOfOthers) {
    DiskWorld world(/*in_place=*/false);
    const std::vector<Pipeline::Order> orders{{.expert = 8}};
    world.pipeline->request(orders);
    world.request({0}, true);
    world.finish(1);
    EXPECT_EQ(world.asked_so_far(), (std::vector<uint32_t>{8, 0}));
    world.pipeline->assign(world.order(8, false));
    world.finish(1);
}

// Goal: landing threads ask for short time slices, as readers do.
// Method: a landing function that looks at its own thread, for a guess: what the consumer waits for
// it may land itself.
TEST(Pipeline, LandingThreadsHaveShortSlices) {
    DiskWorld world;
    ThreadTreatment landing;
    StoreConfig config = world.config;
    config.landing = [&](ExpertId, std::span<const std::span<const std::byte>>,
                         std::span<std::byte>) -> Status {
        landing = this_thread_treatment();
        return {};
    };
    world.pipeline = Pipeline::create(world.table, config).value();
    world.request({3}, true);
    world.finish(1);
    EXPECT_EQ(landing, treatment_with_short_slices());
}

// Goal: a guess that turns out right is read in the order in which it was wanted.
// Method: guesses queued behind a hanging one; one of them is wanted, after another demand read.
TEST(Pipeline, APromotedGuessIsDemand) {
    DiskWorld world;
    world.block();
    world.request({0, 1, 2, 3}, true);
    world.wait_until_blocked();
    world.request({8}, false);
    world.pipeline->promote(3);
    world.pipeline->promote(0);   // under way
    world.pipeline->promote(11);  // never asked for
    world.disk.clear();
    world.finish(5);
    EXPECT_EQ(world.started, (std::vector<uint32_t>{0, 8, 3, 1, 2}));
}

// Goal: stale guesses cost nothing, and what is under way completes.
// Method: five guesses, the disk hangs in the first; cancelled; then a demand read of one of them.
TEST(Pipeline, GuessesCanBeCancelled) {
    DiskWorld world;
    world.block();
    world.request({0, 1, 2, 3, 4}, true);
    world.wait_until_blocked();
    std::vector<uint32_t> dropped;
    world.pipeline->cancel_speculative(dropped);
    std::sort(dropped.begin(), dropped.end());
    EXPECT_EQ(dropped, (std::vector<uint32_t>{1, 2, 3, 4}));
    world.request({2}, false);
    world.disk.clear();
    world.finish(2);
    EXPECT_EQ(world.started, (std::vector<uint32_t>{0, 2}));
}

// Goal: the end of a stream does not touch guesses.
// Method: a demand read hangs, two more and a guess wait; the stream is cancelled.
TEST(Pipeline, CancelLeavesGuessesAlone) {
    DiskWorld world;
    world.block();
    world.request({0, 1, 2}, false);
    world.request({7}, true);
    world.wait_until_blocked();
    std::vector<uint32_t> dropped;
    std::vector<Pipeline::Completion> done;
    world.pipeline->cancel(dropped, done);
    EXPECT_EQ(dropped, (std::vector<uint32_t>{1, 2}));
    world.disk.clear();
    world.finish(2);
    EXPECT_EQ(world.started, (std::vector<uint32_t>{0, 7}));
}

// Goal: a guess that fails poisons nobody: it is parked, and whoever wants the expert gets an
// attempt of their own.
// Method: EIO for one guess; the completion says parked, a retry succeeds.
TEST(Pipeline, AFailedGuessIsParked) {
    DiskWorld world;
    world.disk.add({.kind = ReadFault::Kind::io_error, .times = 2});
    world.request({4}, true);
    std::vector<Pipeline::Completion> done;
    ASSERT_TRUE(world.pipeline->wait(nullptr));
    world.pipeline->drain(done);
    ASSERT_EQ(done.size(), 1U);
    EXPECT_FALSE(done[0].status);
    EXPECT_TRUE(done[0].parked);
    world.pipeline->retry(4);
    world.finish(1);
}

// Goal: a read in place waits for its slot, and does not hold up others.
// Method: one expert without slot in front of two with one; the slot is named later.
TEST(Pipeline, ReadsInPlaceStartWhenTheirSlotIsKnown) {
    DiskWorld world;
    const Pipeline::Order known = world.order(3, false);
    const std::vector<Pipeline::Order> orders{
        {.expert = 3}, world.order(4, false), world.order(5, false)};
    world.pipeline->request(orders);
    world.finish(2);
    std::this_thread::sleep_for(milliseconds(5));
    EXPECT_FALSE(world.pipeline->has_completions());
    world.pipeline->assign(known);
    world.finish(1);
    EXPECT_EQ(world.started, (std::vector<uint32_t>{4, 5, 3}));
    for (uint64_t at = 0; at < known.slot.size(); ++at)
        ASSERT_EQ(known.slot[at], expert_byte({0, 3}, at));
}

// Goal: a guess gives the drive up between two chunks when somebody waits for another expert, and
// not when it is the one that is waited for.
// Method: chunks of one block; the disk hangs in the first one of a guess.
TEST(Pipeline, AGuessStopsForDemand) {
    for (const bool promoted : {false, true}) {
        DiskWorld world(/*in_place=*/true, kDirectBlockBytes);
        world.block();
        world.request({0}, true);
        world.wait_until_blocked();
        if (promoted) world.pipeline->promote(0);
        world.request({8}, false);
        world.disk.clear();
        world.finish(2);
        EXPECT_EQ(world.started,
                  promoted ? (std::vector<uint32_t>{0, 8}) : (std::vector<uint32_t>{0, 8, 0}));
    }
}

// Goal: what is left of a guess that nobody wants any more is not read; a failure of nobody's.
// Method: cancelled with a chunk in flight, and while a demand read holds the disk; the expert is
// read whole when it is wanted again.
TEST(Pipeline, AStaleGuessIsBrokenOff) {
    for (const bool in_flight : {true, false}) {
        DiskWorld world(/*in_place=*/true, kDirectBlockBytes);
        const ExpertRun& other = world.table.runs(8)[0];
        world.disk.add({.kind = in_flight ? ReadFault::Kind::blocked : ReadFault::Kind::delay,
                        .times = 1,
                        .pause = milliseconds(30)});
        world.disk.add({.kind = ReadFault::Kind::blocked,
                        .file = world.fixture.files()[other.file].get(),
                        .begin = other.offset,
                        .end = other.offset + 1});
        world.request({0}, true);
        world.wait_until_blocked();
        if (!in_flight) {
            world.request({8}, false);
            while (world.started_so_far().back() != 8) std::this_thread::yield();
        }
        std::vector<uint32_t> dropped;
        world.pipeline->cancel_speculative(dropped);
        EXPECT_EQ(dropped.size(), in_flight ? 0U : 1U);
        world.disk.clear();
        if (in_flight) {
            std::vector<Pipeline::Completion> done;
            while (done.empty()) {
                ASSERT_TRUE(world.pipeline->wait(nullptr));
                world.pipeline->drain(done);
            }
            ASSERT_FALSE(done[0].status);
            EXPECT_EQ(done[0].status.error().kind, ErrorKind::cancelled);
            EXPECT_TRUE(done[0].parked);
            world.pipeline->give_up(0);
        } else {
            world.finish(1);
        }
        EXPECT_EQ(world.pipeline->storage().state, StorageState::ok);
        const uint64_t calls = world.disk.calls();
        world.request({0}, false);
        world.finish(1);
        EXPECT_EQ(world.disk.calls() - calls, 7U) << "27,000 bytes in blocks of 4,096";
    }
}

// Goal: bytes in place are looked at while the rest is under way, each once and in order.
// Method: the disk hangs in the fourth of seven chunks; a check that notes how far it has come.
TEST(Pipeline, ChecksWhatHasArrived) {
    struct Noting final : ArrivalCheck {
        Noting(std::atomic<uint64_t>& noted, const FixtureShape& shape)
            : noted_(noted), content_(shape) {}
        void begin(ExpertId id) override {
            noted_ = 0;
            content_.begin(id);
        }
        void take(std::span<const std::byte> bytes) override {
            content_.take(bytes);
            noted_ += bytes.size();
        }
        Status finish() override { return content_.finish(); }
        std::atomic<uint64_t>& noted_;
        ContentCheck content_;
    };
    DiskWorld world(/*in_place=*/true, kDirectBlockBytes);
    std::atomic<uint64_t> noted{0};
    StoreConfig config = world.config;
    config.make_arrival_check = [&noted] {
        return std::make_unique<Noting>(noted, FixtureShape{.extent_bytes = 9000});
    };
    world.pipeline = Pipeline::create(world.table, config).value();
    const ExpertRun& run = world.table.runs(3)[0];
    world.disk.add({.kind = ReadFault::Kind::blocked,
                    .begin = run.offset + 3 * kDirectBlockBytes,
                    .end = run.offset + 4 * kDirectBlockBytes});
    world.request({3}, true);
    while (noted < 3 * kDirectBlockBytes) std::this_thread::yield();
    EXPECT_EQ(noted, 3 * kDirectBlockBytes);
    EXPECT_FALSE(world.pipeline->has_completions());
    world.disk.clear();
    world.finish(1);
    EXPECT_EQ(noted, 27000U);
}

}  // namespace colibri

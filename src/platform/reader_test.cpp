// One suite for every reader: they differ in speed alone.
#include "platform/reader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/check.h"
#include "base/rng.h"
#include "base/units.h"
#include "platform/drive_speed.h"
#include "platform/machine.h"
#include "platform/read_faults.h"
#include "platform/test_tree.h"
#include "platform/thread_slice.h"
#include "platform/uring_reader.h"

namespace colibri {

namespace {

class Sink final : public ReadSink {
public:
    struct Outcome {
        Status status;
        uint32_t retries = 0;
        size_t place = 0;  // in the order of completion
    };

    void read_done(uint64_t tag, Status status, uint32_t retries) override {
        const std::lock_guard lock(mutex_);
        outcomes_.insert({tag, {std::move(status), retries, outcomes_.size()}});
        came_.notify_all();
    }
    // Waits until `count` requests are done.
    std::map<uint64_t, Outcome> wait(size_t count) {
        std::unique_lock lock(mutex_);
        EXPECT_TRUE(came_.wait_for(lock, std::chrono::seconds(60),
                                   [&] { return outcomes_.size() >= count; }));
        return outcomes_;
    }

private:
    std::mutex mutex_;
    std::condition_variable came_;
    std::map<uint64_t, Outcome> outcomes_;
};

// A file that is no multiple of the block long.
struct Fixture {
    TestTree tree;
    std::string content;
    std::shared_ptr<const File> file;

    explicit Fixture(size_t size_bytes = (1 << 20) + 1234) {
        Rng rng(4);
        for (size_t i = 0; i < size_bytes; ++i) content.push_back(char(rng.next()));
        tree.write("data", content);
        file = File::open(tree.path("data")).value();
    }
    [[nodiscard]] bool equal(const ReadRange& range) const {
        return content.compare(range.offset, range.out.size(),
                               reinterpret_cast<const char*>(range.out.data()),
                               range.out.size()) == 0;
    }
};

// Memory for one range, with room for the blocks around it, and a mark before and after them.
class Place {
public:
    Place(const Fixture& fixture, uint64_t offset, uint64_t size_bytes, bool roomy = true)
        : blocks_(round_up(offset % kBlock + size_bytes, kBlock)),
          buffer_(AlignedBuffer::allocate(blocks_ + 2 * kBlock).value()) {
        std::fill(buffer_.bytes().begin(), buffer_.bytes().end(), kMark);
        const uint64_t shift = roomy ? offset % kBlock : offset % 7;
        range_ = {.file = fixture.file.get(),
                  .offset = offset,
                  .out = buffer_.bytes().subspan(kBlock + shift, size_bytes),
                  .roomy = roomy};
    }
    [[nodiscard]] const ReadRange& range() const { return range_; }
    // Nothing outside of what the reader may overwrite has changed.
    [[nodiscard]] bool kept_inside() const {
        const auto marked = [](std::span<const std::byte> bytes) {
            return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == kMark; });
        };
        if (marked(buffer_.bytes().first(kBlock)) && marked(buffer_.bytes().last(kBlock)))
            return range_.roomy ||
                   (marked(buffer_.bytes().first(size_t(range_.out.data() - buffer_.data()))) &&
                    marked({range_.out.data() + range_.out.size(),
                            buffer_.data() + buffer_.size_bytes()}));
        return false;
    }

private:
    static constexpr uint64_t kBlock = kDirectBlockBytes;
    static constexpr std::byte kMark{0xA5};
    uint64_t blocks_;
    AlignedBuffer buffer_;
    ReadRange range_;
};

struct Variant {
    const char* name;
    ReaderKind kind;
    bool roomy;
};

void PrintTo(const Variant& variant, std::ostream* out) {
    *out << variant.name;
}

class ReaderConformance : public testing::TestWithParam<Variant> {
protected:
    void SetUp() override {
        if (GetParam().kind == ReaderKind::uring && !why_no_uring().empty())
            GTEST_SKIP() << why_no_uring();
    }
    static std::unique_ptr<Reader> reader(ReadSink& sink, ReaderOptions options = {}) {
        options.kind = GetParam().kind;
        auto made = make_reader(sink, std::move(options));
        if (!made) ADD_FAILURE() << made.error().message;
        CHECK(made.has_value());
        return *std::move(made);
    }
    static ReaderOptions small(const ReadFaults& faults = {}) {
        return {.threads = 2,
                .queue_capacity = 64,
                .chunk_bytes = 16 * kKiB,
                .in_flight_bytes = 64 * kKiB,
                .hook = faults.hook()};
    }
    static bool roomy() { return GetParam().roomy; }
    static bool direct() { return roomy() && GetParam().kind != ReaderKind::buffered; }

    // The outcome of reading one range with a fault in the middle of it.
    Sink::Outcome outcome_with(const Fixture& fixture, ReadFault fault, uint64_t offset = 4500,
                               uint64_t size_bytes = 9000) {
        fault.begin = offset + 500;
        fault.end = fault.begin + 1;
        const ReadFaults disk;
        disk.add(fault);
        Sink sink;
        const Place place(fixture, offset, size_bytes, roomy());
        const ReadRange range = place.range();
        ReaderOptions options = small(disk);
        options.chunk_bytes = kDirectBlockBytes;
        const auto made = reader(sink, options);
        EXPECT_TRUE(made->submit({.tag = 9, .ranges = {&range, 1}}));
        Sink::Outcome outcome = sink.wait(1).at(9);
        if (outcome.status) {
            EXPECT_TRUE(fixture.equal(range));
        }
        EXPECT_TRUE(place.kept_inside());
        return outcome;
    }
};

INSTANTIATE_TEST_SUITE_P(Readers, ReaderConformance,
                         testing::Values(Variant{"uring", ReaderKind::uring, true},
                                         Variant{"uring_not_roomy", ReaderKind::uring, false},
                                         Variant{"pread", ReaderKind::pread, true},
                                         Variant{"pread_not_roomy", ReaderKind::pread, false},
                                         Variant{"buffered", ReaderKind::buffered, true}),
                         [](const auto& at) { return std::string(at.param.name); });

// Goal: threads that hand reads to the drive ask for short time slices.
// Method: the hook runs on them; a thread that has asked is the comparison.
TEST_P(ReaderConformance, ThreadsHaveShortSlices) {
    const Fixture fixture;
    std::mutex mutex;
    std::vector<ThreadTreatment> seen;
    ReaderOptions options = small();
    options.hook = [&](const SystemRead&, int64_t result) {
        const std::lock_guard lock(mutex);
        seen.push_back(this_thread_treatment());
        return result;
    };
    Sink sink;
    const Place place(fixture, 0, 64 * kKiB, roomy());
    const ReadRange range = place.range();
    const auto made = reader(sink, options);
    ASSERT_TRUE(made->submit({.tag = 1, .ranges = {&range, 1}}));
    EXPECT_TRUE(sink.wait(1).at(1).status);
    ASSERT_FALSE(seen.empty());
    for (const ThreadTreatment& treatment : seen)
        EXPECT_EQ(treatment, treatment_with_short_slices());
}

// Those whose reads are direct.
class DirectReads : public ReaderConformance {};
INSTANTIATE_TEST_SUITE_P(Readers, DirectReads,
                         testing::Values(Variant{"uring", ReaderKind::uring, true},
                                         Variant{"pread", ReaderKind::pread, true}),
                         [](const auto& at) { return std::string(at.param.name); });

}  // namespace

// Goal: any range comes back with the file's bytes, and nothing else in memory changes.
// Method: 10,000 random ranges (tiny to several chunks, some empty, up to the very end of the file)
// in requests of one to four, compared with the content; short reads and interruptions thrown in.
TEST_P(ReaderConformance, ReadsWhatTheFileHolds) {
    const Fixture fixture;
    const ReadFaults disk;
    disk.add({.kind = ReadFault::Kind::short_read, .times = 300});
    disk.add({.kind = ReadFault::Kind::short_block, .times = 300});
    disk.add({.kind = ReadFault::Kind::interrupted, .times = 300});
    Rng rng(8);
    uint64_t ranges_done = 0;
    while (ranges_done < 10000) {
        Sink sink;
        std::vector<Place> places;
        std::vector<std::vector<ReadRange>> requests(50);
        for (auto& ranges : requests)
            for (uint64_t i = rng.below(4) + 1; i > 0; --i) {
                const uint64_t most = std::array<uint64_t, 4>{3, 600, 9000, 70000}[rng.below(4)];
                const uint64_t offset = rng.below(fixture.content.size());
                const uint64_t left = fixture.content.size() - offset;
                const uint64_t size_bytes = rng.below(20) == 0 ? left : rng.below(most);
                places.emplace_back(fixture, offset, std::min({size_bytes, left, most}), roomy());
                ranges.push_back(places.back().range());
                ++ranges_done;
            }
        const auto made = reader(sink, small(disk));
        for (size_t i = 0; i < requests.size(); ++i)
            ASSERT_TRUE(made->submit({.tag = i, .ranges = requests[i]}));
        const auto outcomes = sink.wait(requests.size());
        for (size_t i = 0; i < requests.size(); ++i)
            ASSERT_TRUE(outcomes.at(i).status) << outcomes.at(i).status.error().message;
        for (const Place& place : places) {
            ASSERT_TRUE(fixture.equal(place.range())) << place.range().offset;
            ASSERT_TRUE(place.kept_inside()) << place.range().offset;
        }
    }
}

// Goal: a direct read moves the blocks that hold the range and no others, and only such reads stay
// out of the page cache. Method: bytes of the calls counted.
TEST_P(ReaderConformance, MovesWholeBlocksOnce) {
    const Fixture fixture;
    const auto moved = [&](uint64_t offset, uint64_t size_bytes) {
        const ReadFaults disk;
        Sink sink;
        const Place place(fixture, offset, size_bytes, roomy());
        const ReadRange range = place.range();
        const auto made = reader(sink, small(disk));
        EXPECT_TRUE(made->submit({.tag = 1, .ranges = {&range, 1}}));
        EXPECT_TRUE(sink.wait(1).at(1).status);
        EXPECT_EQ(direct() ? disk.buffered_bytes() : disk.direct_bytes(), 0U);
        return disk.buffered_bytes() + disk.direct_bytes();
    };
    EXPECT_EQ(moved(8192, 40960), 40960U);
    EXPECT_EQ(moved(100, 10), direct() ? 4096U : 10U);
    EXPECT_EQ(moved(4000, 200), direct() ? 8192U : 200U);
    EXPECT_EQ(moved(4097, 100000), direct() ? 102400U : 100000U);
}

// Goal: large ranges go out in chunks, neither too many bytes nor more than the bound in flight;
// reads in bulk have bounds of their own. Method: calls of a blocked device counted, then all.
TEST_P(ReaderConformance, CutsLargeRangesAndBoundsBytesInFlight) {
    const Fixture fixture;
    const ReadFaults disk;
    Sink sink;
    std::mutex mutex;
    std::vector<uint64_t> sizes;
    ReaderOptions options = small();
    options.threads = 8;
    options.bulk_chunk_bytes = 32 * kKiB;
    options.bulk_in_flight_bytes = 192 * kKiB;
    options.hook = [&, inner = disk.hook()](const SystemRead& call, int64_t result) {
        {
            const std::lock_guard lock(mutex);
            sizes.push_back(call.into.size());
        }
        return inner(call, result);
    };
    const auto made = reader(sink, options);
    for (const bool bulk : {false, true}) {
        const Place place(fixture, 8192, 256 * kKiB, roomy());
        const ReadRange range = place.range();
        const uint64_t calls = disk.calls();
        if (GetParam().kind != ReaderKind::uring) disk.add({.kind = ReadFault::Kind::blocked});
        ASSERT_TRUE(made->submit({.tag = bulk, .ranges = {&range, 1}, .bulk = bulk}));
        if (GetParam().kind != ReaderKind::uring) {
            const uint64_t chunks = bulk ? 192 / 32 : 64 / 16;
            while (disk.calls() < calls + chunks) std::this_thread::yield();
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            EXPECT_EQ(disk.calls(), calls + chunks) << "as many as are in flight";
        }
        disk.clear();
        ASSERT_TRUE(sink.wait(1 + bulk).at(bulk).status);
        EXPECT_TRUE(fixture.equal(range));
        const uint64_t chunk_bytes = (bulk ? 32 : 16) * kKiB;
        EXPECT_EQ(std::exchange(sizes, {}),
                  std::vector<uint64_t>(256 * kKiB / chunk_bytes, chunk_bytes));
    }
}

// Goal: EIO is tried twice, EAGAIN waited for, EINTR ignored; what lasts is reported with file,
// offset and reason. Method: faults in the second of three chunks.
TEST_P(ReaderConformance, RetriesThenReports) {
    using Kind = ReadFault::Kind;
    const Fixture fixture;
    const auto once = outcome_with(fixture, {.kind = Kind::io_error, .times = 1});
    EXPECT_TRUE(once.status);
    EXPECT_EQ(once.retries, 1U);
    const auto always = outcome_with(fixture, {.kind = Kind::io_error});
    ASSERT_FALSE(always.status);
    EXPECT_EQ(always.status.error().kind, ErrorKind::io);
    EXPECT_EQ(always.retries, 1U);
    const std::string& message = always.status.error().message;
    EXPECT_NE(message.find(fixture.file->path()), std::string::npos) << message;
    EXPECT_NE(message.find("at offset 5000 failed: Input/output error"), std::string::npos)
        << message;
    const auto busy = outcome_with(fixture, {.kind = Kind::again, .times = 5});
    EXPECT_TRUE(busy.status);
    EXPECT_EQ(busy.retries, 5U);
    EXPECT_TRUE(outcome_with(fixture, {.kind = Kind::interrupted, .times = 50}).status);
    const auto end = outcome_with(fixture, {.kind = Kind::end_of_file});
    ASSERT_FALSE(end.status);
    EXPECT_EQ(end.status.error().kind, ErrorKind::corrupt);
    EXPECT_NE(end.status.error().message.find("ends at byte 5000"), std::string::npos)
        << end.status.error().message;
}

// Goal: a file that became shorter is noticed.
// Method: cut behind the reader's back, in the middle of the range.
TEST_P(ReaderConformance, AFileThatShrankIsReported) {
    const Fixture fixture;
    Sink sink;
    const Place place(fixture, 100000, 50000, roomy());
    const ReadRange range = place.range();
    const auto made = reader(sink, small());
    std::filesystem::resize_file(fixture.tree.path("data"), 120001);
    ASSERT_TRUE(made->submit({.tag = 1, .ranges = {&range, 1}}));
    const auto outcome = sink.wait(1).at(1);
    ASSERT_FALSE(outcome.status);
    EXPECT_EQ(outcome.status.error().kind, ErrorKind::corrupt);
    EXPECT_NE(outcome.status.error().message.find("the file ends at byte 120001"),
              std::string::npos)
        << outcome.status.error().message;
}

// Goal: a file system that accepts O_DIRECT and then refuses the reads is read all the same.
// Method: EINVAL for the first direct read; right bytes, and no direct call afterwards.
TEST_P(DirectReads, RefusedOnesGoThroughThePageCache) {
    const Fixture fixture;
    const ReadFaults disk;
    disk.add({.kind = ReadFault::Kind::refused});
    Sink sink;
    ReaderOptions options = small(disk);
    options.threads = 1;
    options.in_flight_bytes = 1;
    const auto made = reader(sink, options);
    const Place place(fixture, 5000, 60000, roomy());
    const ReadRange range = place.range();
    ASSERT_TRUE(made->submit({.tag = 1, .ranges = {&range, 1}}));
    const auto outcome = sink.wait(1).at(1);
    ASSERT_TRUE(outcome.status) << outcome.status.error().message;
    EXPECT_TRUE(fixture.equal(range));
    EXPECT_EQ(outcome.retries, 0U);
    EXPECT_EQ(disk.direct_bytes(), 16 * kKiB) << "only the first chunk";
    EXPECT_EQ(fixture.file->direct_descriptor(), -1);
}

// Goal: requests start in the order of submission; a full queue and a cancelled request say so.
// Method: one chunk in flight at a time, kept busy by the first request.
TEST_P(ReaderConformance, IsFirstInFirstOutBoundedAndCancellable) {
    const Fixture fixture;
    const ReadFaults disk;
    disk.add({.kind = ReadFault::Kind::delay, .times = 1, .pause = std::chrono::milliseconds(50)});
    Sink sink;
    std::vector<Place> places;
    for (size_t i = 0; i < 6; ++i) places.emplace_back(fixture, i * 10, 10, roomy());
    const auto request = [&](size_t i) {
        return ReadRequest{.tag = i, .ranges = {&places[i].range(), 1}};
    };
    ReaderOptions options = small(disk);
    options.threads = 1;
    options.queue_capacity = 4;
    options.in_flight_bytes = 1;
    const auto made = reader(sink, options);
    ASSERT_TRUE(made->submit(request(0)));
    while (disk.calls() == 0) std::this_thread::yield();
    for (size_t i = 1; i < 5; ++i) ASSERT_TRUE(made->submit(request(i)));
    EXPECT_FALSE(made->submit(request(5))) << "the queue is full";
    EXPECT_TRUE(made->cancel(2));
    EXPECT_FALSE(made->cancel(2)) << "gone already";
    EXPECT_FALSE(made->cancel(0)) << "in flight";
    const auto outcomes = sink.wait(4);
    EXPECT_EQ(outcomes.size(), 4U);
    EXPECT_FALSE(outcomes.contains(2));
    EXPECT_EQ(outcomes.at(0).place, 0U);
    EXPECT_EQ(outcomes.at(1).place, 1U);
    EXPECT_EQ(outcomes.at(3).place, 2U);
    EXPECT_EQ(outcomes.at(4).place, 3U);
}

// Goal: a request in the background gets the drive when no other wants it, unless somebody waits
// for it after all; what is left of one that nobody wants is not read.
// Method: one chunk in flight at a time, the first one slow; then a request that is waited for.
TEST_P(ReaderConformance, BackgroundReadsYield) {
    const Fixture fixture;
    enum class After : uint8_t { nothing, promoted, abandoned };
    for (const After after : {After::nothing, After::promoted, After::abandoned}) {
        const ReadFaults disk;
        disk.add(
            {.kind = ReadFault::Kind::delay, .times = 1, .pause = std::chrono::milliseconds(50)});
        Sink sink;
        const Place large(fixture, 8192, 8 * kDirectBlockBytes, roomy());
        const Place small_one(fixture, 100, 10, roomy());
        const Place later(fixture, 200, 10, roomy());
        ReaderOptions options = small(disk);
        options.threads = 1;
        options.chunk_bytes = kDirectBlockBytes;
        options.in_flight_bytes = 1;
        const auto made = reader(sink, options);
        ASSERT_TRUE(made->submit({.tag = 1, .ranges = {&large.range(), 1}, .background = true}));
        ASSERT_TRUE(made->submit({.tag = 3, .ranges = {&later.range(), 1}, .background = true}));
        while (disk.calls() == 0) std::this_thread::yield();
        ASSERT_TRUE(made->submit({.tag = 2, .ranges = {&small_one.range(), 1}}));
        if (after == After::promoted) made->promote(1);
        if (after == After::abandoned) {
            EXPECT_FALSE(made->abandon(1)) << "in flight";
            EXPECT_TRUE(made->abandon(3));
        }
        const auto outcomes = sink.wait(after == After::abandoned ? 2 : 3);
        EXPECT_TRUE(outcomes.at(2).status);
        if (after == After::abandoned) {
            EXPECT_FALSE(outcomes.contains(3));
            ASSERT_FALSE(outcomes.at(1).status);
            EXPECT_EQ(outcomes.at(1).status.error().kind, ErrorKind::cancelled);
            EXPECT_EQ(disk.calls(), 2U);
        } else {
            EXPECT_TRUE(outcomes.at(1).status);
            EXPECT_TRUE(fixture.equal(large.range()));
            EXPECT_EQ(outcomes.at(2).place, after == After::promoted ? 1U : 0U);
            EXPECT_EQ(outcomes.at(3).place, 2U);
        }
    }
}

// Goal: what a reader says has come has come, from the beginning on.
// Method: chunks of one block whose calls end in any order; at each word of progress every byte
// before it is compared with the file.
TEST_P(ReaderConformance, ProgressIsInOrder) {
    struct Watching final : ReadSink {
        Watching(const Fixture& all, const ReadRange& wanted) : fixture(all), range(wanted) {}
        void read_done(uint64_t, Status status, uint32_t) override {
            EXPECT_TRUE(status);
            done = true;
        }
        void read_progress(uint64_t tag, uint64_t bytes) override {
            EXPECT_EQ(tag, 5U);
            EXPECT_LT(bytes, range.out.size());
            ReadRange part = range;
            part.out = part.out.first(bytes);
            EXPECT_TRUE(fixture.equal(part));
            ++words;
        }
        const Fixture& fixture;
        const ReadRange& range;
        std::atomic<uint32_t> words{0};
        std::atomic<bool> done{false};
    };
    const Fixture fixture;
    const Place place(fixture, 4096 + 100, 30 * kDirectBlockBytes, roomy());
    Watching sink(fixture, place.range());
    Rng rng(11);
    std::mutex mutex;
    ReaderOptions options = small();
    options.threads = 4;
    options.chunk_bytes = kDirectBlockBytes;
    options.hook = [&](const SystemRead&, int64_t result) {
        uint64_t pause_us = 0;
        {
            const std::lock_guard lock(mutex);
            pause_us = rng.below(300);
        }
        std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
        return result;
    };
    for (int round = 0; round < 5; ++round) {
        sink.done = false;
        const auto made = reader(sink, options);
        ASSERT_TRUE(made->submit({.tag = 5, .ranges = {&place.range(), 1}}));
        while (!sink.done) std::this_thread::yield();
    }
    EXPECT_GT(sink.words, 0U) << "the first chunk came last five times";
}

// Goal: no reader makes the drive deliver more than was asked for.
// Method: 64 random blocks of 64 KiB of a file that is not in the page cache; the bytes that the
// system counts for this process are at most 5 % more.
TEST_P(ReaderConformance, TheDriveDeliversWhatWasAskedFor) {
    constexpr uint64_t kBlockBytes = 64 * kKiB;
    const Fixture fixture(32 * kMiB);
    ASSERT_EQ(::fsync(fixture.file->descriptor()), 0);
    drop_page_cache(*fixture.file);
    (void)fixture.file->direct_descriptor();  // tries one block
    std::vector<Place> places;
    Rng rng(3);
    for (uint64_t i = 0; i < 64; ++i)
        places.emplace_back(fixture, (8 * i + rng.below(8)) * kBlockBytes, kBlockBytes, roomy());
    Sink sink;
    const uint64_t before = device_read_bytes();
    const auto made = reader(sink, {.threads = 4, .queue_capacity = 64});
    for (size_t i = 0; i < places.size(); ++i)
        ASSERT_TRUE(made->submit({.tag = i, .ranges = {&places[i].range(), 1}}));
    for (const auto& [tag, outcome] : sink.wait(places.size())) EXPECT_TRUE(outcome.status);
    const uint64_t delivered = device_read_bytes() - before;
    if (delivered == 0) GTEST_SKIP() << "the temporary directory is not on a drive";
    EXPECT_GE(delivered, 64 * kBlockBytes);
    EXPECT_LE(double(delivered), 1.05 * 64 * double(kBlockBytes));
}

// Goal: a request without bytes is done like any other.
// Method: no ranges, and an empty one, before and after a real one.
TEST_P(ReaderConformance, EmptyRequestsAreDone) {
    const Fixture fixture;
    Sink sink;
    const auto made = reader(sink, small());
    const Place empty(fixture, 70, 0, roomy());
    const Place real(fixture, 70, 7, roomy());
    ASSERT_TRUE(made->submit({.tag = 1, .ranges = {}}));
    ASSERT_TRUE(made->submit({.tag = 2, .ranges = {&real.range(), 1}}));
    ASSERT_TRUE(made->submit({.tag = 3, .ranges = {&empty.range(), 1}}));
    for (const auto& [tag, outcome] : sink.wait(3)) EXPECT_TRUE(outcome.status) << tag;
}

// Goal: a reader can end while it works.
// Method: destroyed with requests queued; those that were started are completed, the others never
// heard of.
TEST_P(ReaderConformance, EndsWithRequestsInTheQueue) {
    const Fixture fixture;
    for (int round = 0; round < 50; ++round) {
        const ReadFaults disk;
        disk.add({.kind = ReadFault::Kind::delay, .pause = std::chrono::microseconds(300)});
        Sink sink;
        std::vector<Place> places;
        for (size_t i = 0; i < 8; ++i) places.emplace_back(fixture, 40000 * i, 40000, roomy());
        auto made = reader(sink, small(disk));
        for (size_t i = 0; i < places.size(); ++i)
            ASSERT_TRUE(made->submit({.tag = i, .ranges = {&places[i].range(), 1}}));
        std::this_thread::sleep_for(std::chrono::microseconds(round * 20));
        made.reset();
        for (const auto& [tag, outcome] : sink.wait(0)) {
            EXPECT_TRUE(outcome.status);
            EXPECT_TRUE(fixture.equal(places[tag].range()));
        }
    }
}

// Goal: the choice says what will happen, and why it is less than was asked for.
// Method: a file that takes direct reads, one that refuses them, both, and a machine as it is.
TEST(ReaderChoice, NamesReaderAndReason) {
    const Fixture willing;
    const Fixture refusing;
    refusing.file->refuse_direct();
    const std::vector<std::shared_ptr<const File>> both{willing.file, refusing.file};
    const std::vector<std::shared_ptr<const File>> none{refusing.file};
    const ReaderChoice buffered = choose_reader(ReaderKind::buffered, both);
    EXPECT_EQ(buffered.kind, ReaderKind::buffered);
    EXPECT_FALSE(buffered.direct);
    EXPECT_EQ(buffered.remark, "");
    const ReaderChoice mixed = choose_reader(ReaderKind::pread, both);
    EXPECT_EQ(mixed.kind, ReaderKind::pread);
    EXPECT_FALSE(mixed.direct);
    EXPECT_NE(mixed.remark.find("1 of 2 files"), std::string::npos) << mixed.remark;
    EXPECT_NE(mixed.remark.find(refusing.tree.path("data")), std::string::npos) << mixed.remark;
    EXPECT_EQ(choose_reader(ReaderKind::automatic, none).kind, ReaderKind::buffered);
    const ReaderChoice best = choose_reader(ReaderKind::automatic, {both.data(), 1});
    EXPECT_EQ(best.kind, why_no_uring().empty() ? ReaderKind::uring : ReaderKind::pread);
}

}  // namespace colibri

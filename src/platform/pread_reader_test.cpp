#include "platform/pread_reader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/rng.h"
#include "platform/faulty_preadv.h"
#include "platform/test_tree.h"

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

struct Fixture {
    TestTree tree;
    std::string content;
    std::shared_ptr<const File> file;

    explicit Fixture(size_t size_bytes = 1 << 20) {
        Rng rng(4);
        for (size_t i = 0; i < size_bytes; ++i) content.push_back(char(rng.next()));
        tree.write("data", content);
        file = File::open(tree.path("data")).value();
    }
    [[nodiscard]] bool equal(uint64_t offset, std::span<const std::byte> bytes) const {
        return content.compare(offset, bytes.size(), reinterpret_cast<const char*>(bytes.data()),
                               bytes.size()) == 0;
    }
};

std::unique_ptr<Reader> make_reader(Sink& sink, PreadvFunction preadv = {}, uint32_t threads = 2,
                                    uint32_t queue_capacity = 64) {
    auto reader = make_pread_reader(
        sink, {.threads = threads, .queue_capacity = queue_capacity, .preadv = std::move(preadv)});
    CHECK(reader.has_value());
    return *std::move(reader);
}

}  // namespace

// Goal: any ranges come back with the file's bytes.
// Method: 3000 random requests of up to 5 random ranges (near and far, overlapping, empty),
// compared with the content; short reads and interruptions thrown in.
TEST(PreadReader, ReadsWhatTheFileHolds) {
    const Fixture fixture;
    const FaultyPreadv disk;
    disk.add({.kind = ReadFault::Kind::short_read, .times = 300});
    disk.add({.kind = ReadFault::Kind::interrupted, .times = 300});
    Rng rng(8);
    for (int batch = 0; batch < 60; ++batch) {
        Sink sink;
        std::vector<std::vector<std::byte>> buffers;
        std::vector<std::vector<ReadRange>> requests(50);
        for (auto& ranges : requests) {
            uint64_t at = rng.below(fixture.content.size());
            for (uint64_t i = rng.below(5) + 1; i > 0; --i) {
                const uint64_t size_bytes = rng.below(3000) * rng.below(2);
                if (at + size_bytes > fixture.content.size()) break;
                buffers.emplace_back(size_bytes);
                ranges.push_back({fixture.file.get(), at, buffers.back()});
                at = rng.below(4) == 0 ? rng.below(fixture.content.size())
                                       : at + size_bytes + rng.below(150000) * rng.below(2);
            }
        }
        const auto reader = make_reader(sink, disk.function());
        for (size_t i = 0; i < requests.size(); ++i)
            ASSERT_TRUE(reader->submit({.tag = i, .ranges = requests[i]}));
        const auto outcomes = sink.wait(requests.size());
        for (size_t i = 0; i < requests.size(); ++i) {
            ASSERT_TRUE(outcomes.at(i).status) << outcomes.at(i).status.error().message;
            for (const ReadRange& range : requests[i])
                ASSERT_TRUE(fixture.equal(range.offset, range.out));
        }
    }
}

// Goal: neighbours come in one read, distant ranges do not.
// Method: calls counted for gaps below, at and above the limit, and for another file.
TEST(PreadReader, MergesNeighbours) {
    const Fixture fixture;
    const auto calls_for = [&](std::vector<uint64_t> offsets) {
        const FaultyPreadv disk;
        Sink sink;
        std::vector<std::vector<std::byte>> buffers(offsets.size(), std::vector<std::byte>(100));
        std::vector<ReadRange> ranges;
        for (size_t i = 0; i < offsets.size(); ++i)
            ranges.push_back({fixture.file.get(), offsets[i], buffers[i]});
        const auto reader = make_reader(sink, disk.function());
        EXPECT_TRUE(reader->submit({.tag = 1, .ranges = ranges}));
        EXPECT_TRUE(sink.wait(1).at(1).status);
        for (const ReadRange& range : ranges) EXPECT_TRUE(fixture.equal(range.offset, range.out));
        return disk.calls();
    };
    EXPECT_EQ(calls_for({0, 100, 200}), 1U);
    EXPECT_EQ(calls_for({500, 600 + kMergeGapBytes, 1000 + kMergeGapBytes}), 1U);
    EXPECT_EQ(calls_for({500, 601 + kMergeGapBytes}), 2U);
    EXPECT_EQ(calls_for({500, 400}), 2U) << "not in file order";
}

// Goal: EIO is tried twice, EAGAIN waited for; what lasts is reported with file, offset and reason.
// Method: faults on the second of two merged ranges.
TEST(PreadReader, RetriesThenReports) {
    const Fixture fixture;
    const auto outcome_with = [&](ReadFault fault) {
        fault.begin = 5000;
        fault.end = 5001;
        const FaultyPreadv disk;
        disk.add(fault);
        Sink sink;
        std::vector<std::byte> first(1000);
        std::vector<std::byte> second(1000);
        const std::vector<ReadRange> ranges{{fixture.file.get(), 1000, first},
                                            {fixture.file.get(), 4500, second}};
        const auto reader = make_reader(sink, disk.function());
        EXPECT_TRUE(reader->submit({.tag = 9, .ranges = ranges}));
        Sink::Outcome outcome = sink.wait(1).at(9);
        if (outcome.status) {
            EXPECT_TRUE(fixture.equal(4500, second));
        }
        return outcome;
    };
    using Kind = ReadFault::Kind;
    const auto once = outcome_with({.kind = Kind::io_error, .times = 1});
    EXPECT_TRUE(once.status);
    EXPECT_EQ(once.retries, 1U);
    const auto always = outcome_with({.kind = Kind::io_error});
    ASSERT_FALSE(always.status);
    EXPECT_EQ(always.status.error().kind, ErrorKind::io);
    EXPECT_EQ(always.retries, 1U);
    const std::string& message = always.status.error().message;
    EXPECT_NE(message.find(fixture.file->path()), std::string::npos) << message;
    EXPECT_NE(message.find("500 bytes at offset 5000 failed: Input/output error"),
              std::string::npos)
        << message;
    const auto busy = outcome_with({.kind = Kind::again, .times = 5});
    EXPECT_TRUE(busy.status);
    EXPECT_EQ(busy.retries, 5U);
    EXPECT_TRUE(outcome_with({.kind = Kind::interrupted, .times = 50}).status);
    const auto end = outcome_with({.kind = Kind::end_of_file});
    ASSERT_FALSE(end.status);
    EXPECT_EQ(end.status.error().kind, ErrorKind::corrupt);
    EXPECT_NE(end.status.error().message.find("ends at byte 5000"), std::string::npos);
}

// Goal: requests start in the order of submission; a full queue and a cancelled request say so.
// Method: one thread kept busy by the first request.
TEST(PreadReader, IsFirstInFirstOutBoundedAndCancellable) {
    const Fixture fixture;
    const FaultyPreadv disk;
    disk.add({.kind = ReadFault::Kind::delay, .times = 1, .pause = std::chrono::milliseconds(50)});
    Sink sink;
    std::vector<std::vector<std::byte>> buffers(6, std::vector<std::byte>(10));
    std::vector<std::vector<ReadRange>> ranges;
    for (size_t i = 0; i < buffers.size(); ++i)
        ranges.push_back({{fixture.file.get(), i * 10, buffers[i]}});
    const auto reader = make_reader(sink, disk.function(), 1, 4);
    ASSERT_TRUE(reader->submit({.tag = 0, .ranges = ranges[0]}));
    while (disk.calls() == 0) std::this_thread::yield();
    for (size_t i = 1; i < 5; ++i) ASSERT_TRUE(reader->submit({.tag = i, .ranges = ranges[i]}));
    EXPECT_FALSE(reader->submit({.tag = 5, .ranges = ranges[5]})) << "the queue is full";
    EXPECT_TRUE(reader->cancel(2));
    EXPECT_FALSE(reader->cancel(2)) << "gone already";
    EXPECT_FALSE(reader->cancel(0)) << "started already";
    const auto outcomes = sink.wait(4);
    EXPECT_EQ(outcomes.size(), 4U);
    EXPECT_FALSE(outcomes.contains(2));
    EXPECT_EQ(outcomes.at(0).place, 0U);
    EXPECT_EQ(outcomes.at(1).place, 1U);
    EXPECT_EQ(outcomes.at(3).place, 2U);
    EXPECT_EQ(outcomes.at(4).place, 3U);
}

// Goal: a reader can end while it works.
// Method: destroyed with requests queued; those that were started are completed, the others never
// heard of.
TEST(PreadReader, EndsWithRequestsInTheQueue) {
    const Fixture fixture;
    for (int round = 0; round < 50; ++round) {
        const FaultyPreadv disk;
        disk.add({.kind = ReadFault::Kind::delay, .pause = std::chrono::microseconds(300)});
        Sink sink;
        std::vector<std::byte> buffer(10 * 8);
        std::vector<ReadRange> ranges;
        for (size_t i = 0; i < 8; ++i)
            ranges.push_back({fixture.file.get(), 10 * i, std::span(buffer).subspan(10 * i, 10)});
        auto reader = make_reader(sink, disk.function());
        for (size_t i = 0; i < 8; ++i)
            ASSERT_TRUE(reader->submit({.tag = i, .ranges = std::span(ranges).subspan(i, 1)}));
        std::this_thread::sleep_for(std::chrono::microseconds(round * 20));
        reader.reset();
        for (const auto& [tag, outcome] : sink.wait(0)) {
            EXPECT_TRUE(outcome.status);
            EXPECT_TRUE(fixture.equal(10 * tag, ranges[tag].out));
        }
    }
}

}  // namespace colibri

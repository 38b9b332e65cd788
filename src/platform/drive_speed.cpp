#include "platform/drive_speed.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/threads.h"
#include "base/units.h"
#include "platform/read_loop.h"

namespace colibri {

namespace {

struct Place {
    const File* file = nullptr;
    uint64_t offset = 0;
};

// Where the next block is; thread-safe.
class Places {
public:
    static Result<std::unique_ptr<Places>> create(
        std::span<const std::shared_ptr<const File>> files, const ReadPattern& pattern) {
        std::unique_ptr<Places> places(new Places(pattern));
        if (!pattern.offsets.empty() && !files.empty()) {
            places->files_.push_back(files.front().get());
            return places;
        }
        for (const std::shared_ptr<const File>& file : files) {
            if (pattern.block_bytes == 0 || file->size_bytes() < pattern.block_bytes) continue;
            places->files_.push_back(file.get());
            const uint64_t room = file->size_bytes() - pattern.block_bytes;
            places->blocks_.push_back(room / pattern.block_bytes + 1);
            places->total_ += places->blocks_.back();
        }
        if (places->total_ > 0) return places;
        return fail(ErrorKind::invalid_input,
                    fmt::format("none of {} files holds a block of {} bytes; use a smaller one",
                                files.size(), pattern.block_bytes));
    }

    Place next() {
        const std::lock_guard lock(mutex_);
        if (!pattern_.offsets.empty())
            return {files_[0],
                    pattern_.offsets[(pattern_.first + at_++) % pattern_.offsets.size()]};
        uint64_t block = pattern_.sequential ? at_++ % total_ : rng_.below(total_);
        size_t file = 0;
        while (block >= blocks_[file]) block -= blocks_[file++];
        return {files_[file], block * pattern_.block_bytes};
    }

private:
    explicit Places(const ReadPattern& pattern) : pattern_(pattern), rng_(pattern.seed) {}

    const ReadPattern pattern_;
    std::mutex mutex_;
    Rng rng_;
    std::vector<const File*> files_;
    std::vector<uint64_t> blocks_;  // places for a block in each file
    uint64_t total_ = 0;
    uint64_t at_ = 0;
};

// Where the blocks go. One piece of memory, of huge pages as the engine's own: small pages cost a
// share of the speed.
class Targets {
public:
    static Result<Targets> create(const ReadPattern& pattern) {
        Targets targets;
        targets.depth_ = std::max(1U, pattern.depth);
        targets.block_bytes_ = pattern.block_bytes;
        targets.stride_bytes_ = round_up(pattern.block_bytes, kDirectBlockBytes);
        const uint64_t round_bytes = targets.depth_ * targets.stride_bytes_;
        targets.rounds_ = std::max<uint64_t>(1, pattern.memory_bytes / round_bytes);
        TRY(targets.memory_, AlignedBuffer::allocate(targets.rounds_ * round_bytes));
        // The system's first touch of a page is not the drive's.
        std::memset(targets.memory_.data(), 0, targets.memory_.size_bytes());
        return targets;
    }
    // Of the reader's own `turn`-th read.
    [[nodiscard]] std::span<std::byte> at(uint64_t reader, uint64_t turn) const {
        const uint64_t place = turn % rounds_ * depth_ + reader;
        return memory_.bytes().subspan(place * stride_bytes_, block_bytes_);
    }

private:
    AlignedBuffer memory_;
    uint64_t depth_ = 1, block_bytes_ = 0, stride_bytes_ = 0, rounds_ = 1;
};

// What all threads of a measurement add to; thread-safe.
class Tally {
public:
    explicit Tally(const ReadPattern& pattern)
        : pattern_(pattern), end_us_(begin_us_ + uint64_t(pattern.seconds * 1e6)) {}

    [[nodiscard]] bool over() const { return now_us() >= end_us_ || is_cancelled(pattern_.cancel); }
    void add(uint64_t latency_us) {
        const std::lock_guard lock(mutex_);
        latencies_us_.push_back(uint32_t(std::min<uint64_t>(latency_us, UINT32_MAX)));
    }
    void add(Error error) {
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::move(error);
    }
    [[nodiscard]] bool failed() {
        const std::lock_guard lock(mutex_);
        return error_.has_value();
    }

    Result<ReadSpeed> result() {
        const double seconds = double(now_us() - begin_us_) / 1e6;
        if (error_) return tl::unexpected(*std::move(error_));
        if (is_cancelled(pattern_.cancel))
            return fail(ErrorKind::cancelled, "measuring the drive: cancelled");
        std::sort(latencies_us_.begin(), latencies_us_.end());
        const auto at = [&](double share) {
            return double(latencies_us_[size_t(share * double(latencies_us_.size() - 1))]);
        };
        const auto reads = double(latencies_us_.size());
        return ReadSpeed{.bytes_per_second = reads * double(pattern_.block_bytes) / seconds,
                         .reads_per_second = reads / seconds,
                         .reads = latencies_us_.size(),
                         .latency_us_median = at(0.5),
                         .latency_us_p99 = at(0.99)};
    }

private:
    const ReadPattern& pattern_;
    const uint64_t begin_us_ = now_us();
    const uint64_t end_us_;
    std::mutex mutex_;
    std::vector<uint32_t> latencies_us_;
    std::optional<Error> error_;
};

Status read_block(const Place& place, std::span<std::byte> into) {
    const int direct = place.file->direct_descriptor();
    const int descriptor = direct >= 0 ? direct : place.file->descriptor();
    const ReadOutcome outcome =
        read_fully([&](std::byte* to, size_t size_bytes,
                       uint64_t at) { return ::pread(descriptor, to, size_bytes, off_t(at)); },
                   place.offset, into);
    if (outcome.error == 0 && outcome.read_bytes == into.size()) return {};
    return fail(ErrorKind::io,
                fmt::format("{}: reading {} bytes at offset {}: {}", place.file->path(),
                            into.size(), place.offset,
                            outcome.error == 0 ? "the file ended"
                                               : std::generic_category().message(outcome.error)));
}

// Keeps the reader busy: each finished request makes room for the next.
class Feeder final : public ReadSink {
public:
    Feeder(const ReadPattern& pattern, Places& places, const Targets& targets, Tally& tally)
        : pattern_(pattern), places_(places), targets_(targets), tally_(tally) {}

    Status run(const ReaderOptions& options) {
        slots_.resize(std::max(1U, pattern_.depth));
        TRY(reader_, make_reader(*this, options));
        {
            const std::lock_guard lock(mutex_);
            for (size_t i = 0; i < slots_.size(); ++i) submit(i);
        }
        std::unique_lock lock(mutex_);
        done_.wait(lock, [this] { return under_way_ == 0; });
        lock.unlock();
        reader_.reset();
        return {};
    }

private:
    struct Slot {
        ReadRange range;
        uint64_t turn = 0;
        uint64_t begin_us = 0;
    };

    void submit(size_t number) {
        Slot& slot = slots_[number];
        const Place place = places_.next();
        slot.range = {.file = place.file,
                      .offset = place.offset,
                      .out = targets_.at(number, slot.turn++),
                      .roomy = true};
        slot.begin_us = now_us();
        if (reader_->submit({.tag = number, .ranges = {&slot.range, 1}})) ++under_way_;
    }

    void read_done(uint64_t tag, Status status, uint32_t) override {
        if (!status) {
            tally_.add(std::move(status).error());
        } else {
            tally_.add(now_us() - slots_[tag].begin_us);
        }
        const std::lock_guard lock(mutex_);
        --under_way_;
        if (!tally_.over() && !tally_.failed()) submit(tag);
        if (under_way_ == 0) done_.notify_all();
    }

    const ReadPattern& pattern_;
    Places& places_;
    const Targets& targets_;
    Tally& tally_;
    std::mutex mutex_;
    std::condition_variable done_;
    std::vector<Slot> slots_;
    size_t under_way_ = 0;
    std::unique_ptr<Reader> reader_;
};

}  // namespace

Result<ReadSpeed> measure_raw(std::span<const std::shared_ptr<const File>> files,
                              const ReadPattern& pattern) {
    TRY(const auto places, Places::create(files, pattern));
    const uint32_t depth = std::max(1U, pattern.depth);
    TRY(const Targets targets, Targets::create(pattern));
    Tally tally(pattern);
    const auto work = [&](uint32_t reader) {
        for (uint64_t turn = 0; turn == 0 || !tally.over(); ++turn) {
            const uint64_t begin_us = now_us();
            if (Status status = read_block(places->next(), targets.at(reader, turn)); !status)
                return tally.add(std::move(status).error());
            tally.add(now_us() - begin_us);
        }
    };
    std::atomic<uint32_t> readers{0};
    std::vector<std::jthread> threads;
    TRY_STATUS(start_threads(threads, depth, "measuring thread", [&] { work(readers++); }));
    threads.clear();
    return tally.result();
}

Result<ReadSpeed> measure_reader(std::span<const std::shared_ptr<const File>> files,
                                 const ReadPattern& pattern, const ReaderOptions& options) {
    TRY(const auto places, Places::create(files, pattern));
    TRY(const Targets targets, Targets::create(pattern));
    Tally tally(pattern);
    Feeder feeder(pattern, *places, targets, tally);
    ReaderOptions own = options;
    own.queue_capacity = std::max(1U, pattern.depth);
    TRY_STATUS(feeder.run(own));
    return tally.result();
}

Result<double> measure_random_reads(std::span<const std::shared_ptr<const File>> files,
                                    uint64_t block_bytes, double seconds, uint64_t memory_bytes) {
    const uint64_t block = round_up(std::max<uint64_t>(block_bytes, 1), kDirectBlockBytes);
    TRY(const ReadSpeed speed,
        measure_raw(
            files,
            {.block_bytes = block, .memory_bytes = memory_bytes, .depth = 4, .seconds = seconds}));
    return speed.bytes_per_second;
}

void drop_page_cache(const File& file) {
    (void)::posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_DONTNEED);
}

}  // namespace colibri

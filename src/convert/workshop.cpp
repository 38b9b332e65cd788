#include "convert/workshop.h"

#include <utility>

#include "base/clock.h"
#include "base/threads.h"
#include "platform/output_file.h"

namespace colibri {

namespace {

// Hints run ahead of the workers by this much, so that the drive is never without work.
constexpr uint64_t kReadAheadBytes = 64 << 20;

}  // namespace

Workshop::Workshop(const Checkpoint& checkpoint, const ConvertPlan& plan, const Producer& producer,
                   std::vector<uint32_t> units, uint64_t window_bytes)
    : checkpoint_(checkpoint),
      plan_(plan),
      producer_(producer),
      units_(std::move(units)),
      window_bytes_(window_bytes),
      results_(units_.size()) {}

Status Workshop::start(uint32_t threads) {
    return start_threads(threads_, threads, "conversion thread", [this] { worker(); });
}

Workshop::~Workshop() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    room_.notify_all();
}

void Workshop::prefetch(size_t from) {
    uint64_t ahead = 0;
    for (size_t at = from; at < units_.size() && ahead < kReadAheadBytes; ++at) {
        ahead += plan_.units[units_[at]].in_bytes;
        if (at < prefetched_) continue;
        prefetched_ = at + 1;
        for_each_range(plan_, plan_.units[units_[at]],
                       [&](uint32_t file, uint64_t offset, uint64_t size_bytes) {
                           will_read(*checkpoint_.files()[file].file, offset, size_bytes);
                       });
    }
}

void Workshop::worker() {
    std::unique_lock lock(mutex_);
    while (true) {
        room_.wait(lock, [&] {
            return stop_ || claimed_ == units_.size() || held_bytes_ == 0 ||
                   held_bytes_ + cost(claimed_) <= window_bytes_;
        });
        if (stop_ || claimed_ == units_.size()) return;
        const size_t at = claimed_++;
        held_bytes_ += cost(at);
        prefetch(at + 1);
        lock.unlock();
        const uint64_t begin_us = now_us();
        auto made = producer_.run(plan_.units[units_[at]]);
        const uint64_t took_us = now_us() - begin_us;
        for_each_range(plan_, plan_.units[units_[at]],
                       [&](uint32_t file, uint64_t offset, uint64_t size_bytes) {
                           drop_from_cache(*checkpoint_.files()[file].file, offset, size_bytes);
                       });
        lock.lock();
        busy_us_ += took_us;
        results_[at].emplace(std::move(made));
        ready_.notify_one();
    }
}

Result<Produced> Workshop::take() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return results_[taken_].has_value(); });
    Result<Produced> made = *std::exchange(results_[taken_], std::nullopt);
    ++taken_;
    return made;
}

void Workshop::done() {
    {
        const std::lock_guard lock(mutex_);
        held_bytes_ -= cost(taken_ - 1);
    }
    room_.notify_all();
}

uint64_t Workshop::busy_us() const {
    const std::lock_guard lock(mutex_);
    return busy_us_;
}

}  // namespace colibri

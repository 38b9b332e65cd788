// A reader that fails, for tests: it wraps any other and spoils what that one delivers.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/rng.h"
#include "platform/file.h"
#include "platform/reader.h"

namespace colibri {

// A whole request fails, where ReadFaults (read_faults.h) spoils single calls inside of a reader.
struct RequestFault {
    enum class Kind : uint8_t {
        io_error,     // the device failed for good
        short_read,   // the file ended inside a range
        bit_flip,     // one bit of the bytes is wrong, and nothing says so
        delay,        // comes `pause` later
        out_of_turn,  // comes after the next request of this kind, or after `pause`
    };
    Kind kind = Kind::io_error;
    const File* file = nullptr;  // null: any file
    uint64_t begin = 0;          // applies to requests that touch [begin, end) of it
    uint64_t end = UINT64_MAX;
    uint32_t times = UINT32_MAX;  // how many requests it hits
    uint32_t one_in = 1;          // hits one request in so many: drawn for each attempt at a place
    std::chrono::microseconds pause{0};
};

// Faults and what they did; thread-safe, shared by the readers made with it. What happens to the
// n-th request for a place in a file follows from the seed, whatever the order of requests.
class RequestFaults {
public:
    explicit RequestFaults(uint64_t seed = 1) : seed_(seed) {}
    void add(const RequestFault& fault) {
        const std::lock_guard lock(mutex_);
        faults_.push_back(fault);
    }
    void clear() {
        const std::lock_guard lock(mutex_);
        faults_.clear();
    }
    [[nodiscard]] uint64_t hits() {
        const std::lock_guard lock(mutex_);
        return hits_;
    }
    // The first fault that applies.
    [[nodiscard]] bool pick(std::span<const ReadRange> ranges, RequestFault& picked) {
        const std::lock_guard lock(mutex_);
        const uint64_t attempt = begin_attempt(ranges.front());
        for (RequestFault& fault : faults_) {
            const auto touches = [&](const ReadRange& range) {
                return (fault.file == nullptr || fault.file == range.file) &&
                       range.offset < fault.end && range.offset + range.out.size() > fault.begin;
            };
            if (fault.times == 0 || std::none_of(ranges.begin(), ranges.end(), touches)) continue;
            const auto number = uint64_t(&fault - faults_.data());
            if (fault.one_in > 1 && Rng(attempt + number).below(fault.one_in) != 0) continue;
            --fault.times;
            ++hits_;
            picked = fault;
            return true;
        }
        return false;
    }
    // For the request that was picked last at this place.
    [[nodiscard]] Rng dice(const ReadRange& first) {
        const std::lock_guard lock(mutex_);
        return Rng(~attempt_of(first));
    }

private:
    using Place = std::pair<std::string, uint64_t>;
    static Place place_of(const ReadRange& range) {
        const std::string& path = range.file->path();
        return {file_name_of(path), range.offset};
    }
    // A number that stands for this attempt at this place.
    uint64_t begin_attempt(const ReadRange& first) {
        ++attempts_[place_of(first)];
        return attempt_of(first);
    }
    uint64_t attempt_of(const ReadRange& first) {
        const Place place = place_of(first);
        uint64_t number = seed_;
        for (const char letter : place.first) number = Rng(number + uint8_t(letter)).next();
        return Rng(Rng(number + place.second).next() + attempts_[place]).next();
    }

    std::mutex mutex_;
    const uint64_t seed_;
    std::vector<RequestFault> faults_;
    std::map<Place, uint64_t> attempts_;
    uint64_t hits_ = 0;
};

class FaultyReader final : public Reader, private ReadSink {
public:
    using Make = std::function<Result<std::unique_ptr<Reader>>(ReadSink&)>;

    [[nodiscard]] static Result<std::unique_ptr<Reader>> create(
        ReadSink& sink, std::shared_ptr<RequestFaults> faults, const Make& make) {
        std::unique_ptr<FaultyReader> reader(new FaultyReader(sink, std::move(faults)));
        TRY(reader->inner_, make(*reader));
        return std::unique_ptr<Reader>(std::move(reader));
    }

    ~FaultyReader() override {
        inner_.reset();
        {
            const std::lock_guard lock(mutex_);
            stop_ = true;
        }
        came_.notify_all();
        late_.join();
    }

    bool submit(const ReadRequest& request) override {
        {
            const std::lock_guard lock(mutex_);
            requests_[request.tag] = request;
        }
        if (inner_->submit(request)) return true;
        const std::lock_guard lock(mutex_);
        requests_.erase(request.tag);
        return false;
    }
    bool cancel(uint64_t tag) override { return inner_->cancel(tag); }
    void promote(uint64_t tag) override { inner_->promote(tag); }
    bool abandon(uint64_t tag) override { return inner_->abandon(tag); }

private:
    using Clock = std::chrono::steady_clock;
    struct Late {
        Clock::time_point due;
        bool out_of_turn = false;
        uint64_t tag = 0;
        Status status;
        uint32_t retries = 0;
    };

    FaultyReader(ReadSink& sink, std::shared_ptr<RequestFaults> faults)
        : sink_(sink), faults_(std::move(faults)), late_([this] { deliver_late(); }) {}

    void read_done(uint64_t tag, Status status, uint32_t retries) override {
        std::span<const ReadRange> ranges;
        {
            const std::lock_guard lock(mutex_);
            ranges = requests_.at(tag).ranges;
            requests_.erase(tag);
        }
        RequestFault fault;
        if (!status || !faults_->pick(ranges, fault))
            return sink_.read_done(tag, std::move(status), retries);
        const std::string where = ranges.front().file->path();
        switch (fault.kind) {
            case RequestFault::Kind::io_error:
                status = fail(ErrorKind::io, where + ": injected: Input/output error");
                break;
            case RequestFault::Kind::short_read:
                status = fail(ErrorKind::corrupt, where + ": injected: the file ends early");
                break;
            case RequestFault::Kind::bit_flip: flip(ranges); break;
            case RequestFault::Kind::delay:
            case RequestFault::Kind::out_of_turn: {
                const std::lock_guard lock(mutex_);
                const bool out_of_turn = fault.kind == RequestFault::Kind::out_of_turn;
                for (Late& late : waiting_)
                    if (out_of_turn && late.out_of_turn) late.due = Clock::now();
                waiting_.push_back(
                    {Clock::now() + fault.pause, out_of_turn, tag, std::move(status), retries});
                came_.notify_all();
                return;
            }
        }
        sink_.read_done(tag, std::move(status), retries);
    }

    void flip(std::span<const ReadRange> ranges) {
        Rng dice = faults_->dice(ranges.front());
        const ReadRange& range = ranges[dice.below(ranges.size())];
        if (range.out.empty()) return;
        range.out[dice.below(range.out.size())] ^= std::byte(1U << dice.below(8));
    }

    void deliver_late() {
        std::unique_lock lock(mutex_);
        while (!stop_ || !waiting_.empty()) {
            if (waiting_.empty()) {
                came_.wait(lock);
                continue;
            }
            const auto first =
                std::min_element(waiting_.begin(), waiting_.end(),
                                 [](const Late& a, const Late& b) { return a.due < b.due; });
            // A copy: more may be added, which moves them, while the wait reads its argument.
            if (const Clock::time_point due = first->due; due > Clock::now()) {
                came_.wait_until(lock, due);
                continue;
            }
            Late late = std::move(*first);
            waiting_.erase(first);
            lock.unlock();
            sink_.read_done(late.tag, std::move(late.status), late.retries);
            lock.lock();
        }
    }

    ReadSink& sink_;
    const std::shared_ptr<RequestFaults> faults_;
    std::mutex mutex_;
    std::condition_variable came_;
    std::map<uint64_t, ReadRequest> requests_;
    std::vector<Late> waiting_;
    bool stop_ = false;
    std::unique_ptr<Reader> inner_;
    std::thread late_;
};

}  // namespace colibri

#include "platform/uring_reader.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/threads.h"
#include "platform/request_queue.h"
#include "platform/scheduling.h"
#include "platform/uring.h"

namespace colibri {

namespace {

// More small reads at a time than this make no drive faster.
constexpr uint32_t kChunksMax = 64;
constexpr uint64_t kWakeTag = UINT64_MAX;

RequestQueue::Limits uring_limits(const ReaderOptions& options) {
    return {.requests = options.queue_capacity,
            .chunks = kChunksMax,
            .chunk_bytes = options.chunk_bytes,
            .in_flight_bytes = options.in_flight_bytes,
            .bulk_chunk_bytes = options.bulk_chunk_bytes,
            .bulk_in_flight_bytes = options.bulk_in_flight_bytes,
            .direct = true};
}

// The ring belongs to the thread; others only queue requests and wake it.
class UringReader final : public Reader {
public:
    UringReader(ReadSink& sink, const ReaderOptions& options, Uring ring, int wake)
        : sink_(sink),
          hook_(options.hook),
          wake_(wake),
          ring_(std::move(ring)),
          queue_(uring_limits(options)) {}

    Status start() {
        return start_threads(thread_, 1, "reader thread", [this] { work(); });
    }

    ~UringReader() override {
        {
            const std::lock_guard lock(mutex_);
            stop_ = true;
            queue_.clear_waiting();
        }
        wake();
        thread_.clear();
        (void)::close(wake_);
    }

    bool submit(const ReadRequest& request) override {
        {
            const std::lock_guard lock(mutex_);
            if (!queue_.push(request)) return false;
            if (!std::exchange(sleeps_, false)) return true;
        }
        wake();
        return true;
    }

    bool cancel(uint64_t tag) override {
        const std::lock_guard lock(mutex_);
        return queue_.cancel(tag);
    }

    bool abandon(uint64_t tag) override {
        const std::lock_guard lock(mutex_);
        return queue_.abandon(tag);
    }

    void promote(uint64_t tag) override {
        {
            const std::lock_guard lock(mutex_);
            if (!queue_.promote(tag) || !std::exchange(sleeps_, false)) return;
        }
        wake();
    }

private:
    void wake() const {
        const uint64_t one = 1;
        while (::write(wake_, &one, sizeof one) < 0 && errno == EINTR) {
        }
    }

    void work() {
        prefer_short_slices();
        while (true) {
            if (!std::exchange(wake_armed_, true))
                ring_.push_read(wake_, std::as_writable_bytes(std::span(&wake_count_, 1)), 0,
                                kWakeTag);
            {
                const std::lock_guard lock(mutex_);
                if (stop_ && queue_.is_idle() && outcomes_.empty()) return;
                while (ChunkRead* chunk = queue_.next()) {
                    if (chunk->is_done()) {
                        outcomes_.push_back(queue_.finish(chunk));
                    } else {
                        push(*chunk);
                    }
                }
                sleeps_ = outcomes_.empty();  // what the sink submits when told needs no wake
            }
            if (outcomes_.empty()) {
                ring_.submit_and_wait();
            } else {
                // The drive goes on meanwhile.
                ring_.submit();
                tell_outcomes();
            }
            take_completions();
        }
    }

    // Many chunks come at once. Of the progress of a request the last word is enough.
    void tell_outcomes() {
        for (size_t i = 0; i < outcomes_.size(); ++i) {
            const bool more_follows = i + 1 < outcomes_.size() && outcomes_[i].progress &&
                                      outcomes_[i].progress->tag == outcomes_[i + 1].tag();
            if (!more_follows) std::move(outcomes_[i]).tell(sink_);
        }
        outcomes_.clear();
    }

    void take_completions() {
        Uring::Completion completion;
        while (ring_.pop(completion)) {
            if (completion.tag == kWakeTag) {
                wake_armed_ = false;
                continue;
            }
            auto* chunk = reinterpret_cast<ChunkRead*>(completion.tag);
            int64_t result = completion.result;
            if (hook_) result = hook_(chunk->call(), result);
            switch (chunk->take(result)) {
                case ChunkRead::Step::pause:
                    std::this_thread::sleep_for(std::chrono::microseconds(ChunkRead::kPauseUs));
                    push(*chunk);
                    break;
                case ChunkRead::Step::again: push(*chunk); break;
                case ChunkRead::Step::done:
                case ChunkRead::Step::failed: {
                    const std::lock_guard lock(mutex_);
                    outcomes_.push_back(queue_.finish(chunk));
                }
            }
        }
    }

    void push(ChunkRead& chunk) {
        const SystemRead call = chunk.call();
        ring_.push_read(call.descriptor, call.into, call.offset,
                        reinterpret_cast<uint64_t>(&chunk));
    }

    ReadSink& sink_;
    const ReadHook hook_;
    const int wake_;  // an eventfd that the ring reads
    // Of the thread:
    Uring ring_;
    uint64_t wake_count_ = 0;
    bool wake_armed_ = false;
    std::vector<RequestQueue::Outcome> outcomes_;  // that the sink has not been told yet

    std::mutex mutex_;
    RequestQueue queue_;
    bool sleeps_ = false;
    bool stop_ = false;
    std::vector<std::jthread> thread_;  // one
};

}  // namespace

std::string why_no_uring() {
    const auto ring = Uring::create(4);
    return ring ? "" : ring.error().message;
}

Result<std::unique_ptr<Reader>> make_uring_reader(ReadSink& sink, const ReaderOptions& options) {
    TRY(Uring ring, Uring::create(kChunksMax + 1));
    const int wake = ::eventfd(0, EFD_CLOEXEC);
    if (wake < 0)
        return fail(ErrorKind::out_of_budget, fmt::format("the system refused an eventfd: {}",
                                                          std::generic_category().message(errno)));
    auto reader = std::make_unique<UringReader>(sink, options, std::move(ring), wake);
    TRY_STATUS(reader->start());
    return std::unique_ptr<Reader>(std::move(reader));
}

uint64_t uring_reader_memory_bytes(const ReaderOptions& options) {
    return kThreadStackBytes + Uring::memory_bytes(kChunksMax + 1) +
           RequestQueue::memory_bytes(uring_limits(options));
}

}  // namespace colibri

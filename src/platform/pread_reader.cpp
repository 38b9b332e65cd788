#include "platform/pread_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/threads.h"
#include "platform/request_queue.h"
#include "platform/scheduling.h"

namespace colibri {

namespace {

RequestQueue::Limits pread_limits(const ReaderOptions& options) {
    return {.requests = options.queue_capacity,
            .chunks = std::max(1U, options.threads),
            .chunk_bytes = options.chunk_bytes,
            .in_flight_bytes = options.in_flight_bytes,
            .bulk_chunk_bytes = options.bulk_chunk_bytes,
            .bulk_in_flight_bytes = options.bulk_in_flight_bytes,
            .direct = options.kind != ReaderKind::buffered};
}

class PreadReader final : public Reader {
public:
    PreadReader(ReadSink& sink, const ReaderOptions& options)
        : sink_(sink), hook_(options.hook), queue_(pread_limits(options)) {}

    Status start(uint32_t threads) {
        return start_threads(threads_, threads, "reader thread", [this] { work(); });
    }

    ~PreadReader() override {
        {
            const std::lock_guard lock(mutex_);
            stop_ = true;
            queue_.clear_waiting();
        }
        work_came_.notify_all();
    }

    bool submit(const ReadRequest& request) override {
        {
            const std::lock_guard lock(mutex_);
            if (!queue_.push(request)) return false;
        }
        work_came_.notify_one();
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
            if (!queue_.promote(tag)) return;
        }
        work_came_.notify_one();
    }

private:
    void work() {
        prefer_short_slices();
        std::unique_lock lock(mutex_);
        while (true) {
            ChunkRead* chunk = nullptr;
            work_came_.wait(lock, [&] {
                chunk = queue_.next();
                return chunk != nullptr || (stop_ && queue_.is_idle());
            });
            if (chunk == nullptr) break;
            lock.unlock();
            // There may be more to do for a sleeper; whoever finds nothing sleeps again.
            work_came_.notify_one();
            read(*chunk);
            lock.lock();
            RequestQueue::Outcome outcome = queue_.finish(chunk);
            lock.unlock();
            std::move(outcome).tell(sink_);
            lock.lock();
        }
        lock.unlock();
        work_came_.notify_all();  // the others may end too
    }

    void read(ChunkRead& chunk) const {
        ChunkRead::Step step = chunk.is_done() ? ChunkRead::Step::done : ChunkRead::Step::again;
        while (step == ChunkRead::Step::again || step == ChunkRead::Step::pause) {
            if (step == ChunkRead::Step::pause)
                std::this_thread::sleep_for(std::chrono::microseconds(ChunkRead::kPauseUs));
            const SystemRead call = chunk.call();
            int64_t result =
                ::pread(call.descriptor, call.into.data(), call.into.size(), off_t(call.offset));
            if (result < 0) result = -errno;
            step = chunk.take(hook_ ? hook_(call, result) : result);
        }
    }

    ReadSink& sink_;
    const ReadHook hook_;
    std::mutex mutex_;
    std::condition_variable work_came_;
    RequestQueue queue_;
    bool stop_ = false;
    std::vector<std::jthread> threads_;  // last: joined before the rest goes away
};

}  // namespace

Result<std::unique_ptr<Reader>> make_pread_reader(ReadSink& sink, const ReaderOptions& options) {
    auto reader = std::make_unique<PreadReader>(sink, options);
    TRY_STATUS(reader->start(std::max(1U, options.threads)));
    return std::unique_ptr<Reader>(std::move(reader));
}

uint64_t pread_reader_memory_bytes(const ReaderOptions& options) {
    return std::max(1U, options.threads) * kThreadStackBytes +
           RequestQueue::memory_bytes(pread_limits(options));
}

}  // namespace colibri

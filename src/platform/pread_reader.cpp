#include "platform/pread_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/units.h"

namespace colibri {

namespace {

// Larger reads gain nothing on the drives measured, and a long one delays what is queued behind it.
constexpr uint64_t kMergedBytesMax = 8 * kMiB;
constexpr size_t kPartsMax = 64;
// EAGAIN on a regular file passes within milliseconds or means a broken file system.
constexpr uint32_t kAgainRetriesMax = 1000;
constexpr std::chrono::milliseconds kAgainPause{1};
constexpr uint64_t kThreadStackBytes = 16 * kKiB;  // touched part of a thread's stack

// One vectored read: consecutive bytes of a file, gaps included.
struct Run {
    const File* file = nullptr;
    uint64_t offset = 0;
    std::array<iovec, kPartsMax> parts;
    size_t part_count = 0;

    void add(std::span<std::byte> out) {
        if (out.empty()) return;
        parts[part_count++] = {out.data(), out.size()};
    }
};

class RunReader {
public:
    explicit RunReader(const PreadvFunction& preadv) : preadv_(preadv), gap_(kMergeGapBytes) {}

    Status read(std::span<const ReadRange> ranges, uint32_t& retries) {
        while (!ranges.empty()) {
            ranges = ranges.subspan(gather(ranges));
            TRY_STATUS(read_run(retries));
        }
        return {};
    }

private:
    // Fills run_ with the first range and the neighbours that can be read along; returns how many.
    size_t gather(std::span<const ReadRange> ranges) {
        run_.file = ranges[0].file;
        run_.offset = ranges[0].offset;
        run_.part_count = 0;
        run_.add(ranges[0].out);
        uint64_t end = ranges[0].offset + ranges[0].out.size();
        size_t count = 1;
        for (; count < ranges.size() && run_.part_count + 2 <= kPartsMax; ++count) {
            const ReadRange& next = ranges[count];
            if (next.file != run_.file || next.offset < end) break;
            const uint64_t gap_bytes = next.offset - end;
            const uint64_t next_end = next.offset + next.out.size();
            if (gap_bytes > kMergeGapBytes || next_end - run_.offset > kMergedBytesMax) break;
            run_.add(std::span(gap_).first(gap_bytes));
            run_.add(next.out);
            end = next_end;
        }
        return count;
    }

    Status read_run(uint32_t& retries) {
        uint32_t io_errors = 0;
        uint32_t again = 0;
        size_t first = 0;
        while (first < run_.part_count) {
            const ssize_t got = preadv_(run_.file->descriptor(), &run_.parts[first],
                                        int(run_.part_count - first), off_t(run_.offset));
            if (got > 0) {
                first = advance(first, size_t(got));
                continue;
            }
            if (got == 0)
                return fail(ErrorKind::corrupt,
                            fmt::format("{}: the file ends at byte {}, expected at least {} more; "
                                        "it was cut after it had been opened, copy it again",
                                        run_.file->path(), run_.offset, missing_bytes(first)));
            const int error = errno;
            if (error == EINTR) continue;
            ++retries;
            if (error == EIO && ++io_errors < 2) continue;
            if (error == EAGAIN && ++again < kAgainRetriesMax) {
                std::this_thread::sleep_for(kAgainPause);
                continue;
            }
            --retries;
            return fail(ErrorKind::io,
                        fmt::format("{}: reading {} bytes at offset {} failed: {}; check the drive",
                                    run_.file->path(), missing_bytes(first), run_.offset,
                                    std::generic_category().message(error)));
        }
        return {};
    }

    size_t advance(size_t first, size_t got) {
        run_.offset += got;
        while (first < run_.part_count && got >= run_.parts[first].iov_len)
            got -= run_.parts[first++].iov_len;
        if (got > 0) {
            run_.parts[first].iov_base = static_cast<std::byte*>(run_.parts[first].iov_base) + got;
            run_.parts[first].iov_len -= got;
        }
        return first;
    }

    [[nodiscard]] uint64_t missing_bytes(size_t first) const {
        uint64_t bytes = 0;
        for (size_t part = first; part < run_.part_count; ++part) bytes += run_.parts[part].iov_len;
        return bytes;
    }

    const PreadvFunction& preadv_;
    std::vector<std::byte> gap_;  // where bytes between the wanted ones go
    Run run_;
};

class PreadReader final : public Reader {
public:
    PreadReader(ReadSink& sink, PreadReaderOptions options)
        : sink_(sink), preadv_(std::move(options.preadv)), queue_capacity_(options.queue_capacity) {
        if (!preadv_) preadv_ = ::preadv;
        queue_.reserve(queue_capacity_);
    }

    Status start(uint32_t threads) {
        try {
            while (threads_.size() < threads) threads_.emplace_back([this] { work(); });
        } catch (const std::system_error& error) {
            return fail(ErrorKind::out_of_budget,
                        fmt::format("the system refused reader thread {} of {}: {}",
                                    threads_.size() + 1, threads, error.what()));
        }
        return {};
    }

    ~PreadReader() override {
        {
            const std::lock_guard lock(mutex_);
            stop_ = true;
            queue_.clear();
        }
        work_came_.notify_all();
    }

    bool submit(const ReadRequest& request) override {
        {
            const std::lock_guard lock(mutex_);
            if (queue_.size() >= queue_capacity_) return false;
            queue_.push_back(request);
        }
        work_came_.notify_one();
        return true;
    }

    bool cancel(uint64_t tag) override {
        const std::lock_guard lock(mutex_);
        return std::erase_if(queue_, [&](const ReadRequest& r) { return r.tag == tag; }) > 0;
    }

private:
    void work() {
        RunReader run_reader(preadv_);
        while (true) {
            ReadRequest request;
            {
                std::unique_lock lock(mutex_);
                work_came_.wait(lock, [this] { return stop_ || !queue_.empty(); });
                if (stop_) return;
                request = queue_.front();
                queue_.erase(queue_.begin());  // the queue is a handful of requests
            }
            uint32_t retries = 0;
            Status status = run_reader.read(request.ranges, retries);
            sink_.read_done(request.tag, std::move(status), retries);
        }
    }

    ReadSink& sink_;
    PreadvFunction preadv_;
    const uint32_t queue_capacity_;
    std::mutex mutex_;
    std::condition_variable work_came_;
    std::vector<ReadRequest> queue_;  // oldest first
    bool stop_ = false;
    std::vector<std::jthread> threads_;  // last: joined before the rest goes away
};

}  // namespace

Result<std::unique_ptr<Reader>> make_pread_reader(ReadSink& sink, PreadReaderOptions options) {
    const uint32_t threads = std::max(1U, options.threads);
    auto reader = std::make_unique<PreadReader>(sink, std::move(options));
    TRY_STATUS(reader->start(threads));
    return std::unique_ptr<Reader>(std::move(reader));
}

uint64_t pread_reader_memory_bytes(uint32_t threads) {
    return uint64_t(std::max(1U, threads)) * (kMergeGapBytes + sizeof(Run) + kThreadStackBytes);
}

}  // namespace colibri

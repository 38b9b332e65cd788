// Faults on the read path, for tests: calls to the system that misbehave where they are told to.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "platform/reader.h"

namespace colibri {

struct ReadFault {
    enum class Kind : uint8_t {
        short_read,   // one byte only
        short_block,  // one block only (a direct read goes on after it)
        io_error,     // what lies before the range is read, then EIO
        interrupted,  // EINTR
        again,        // EAGAIN
        refused,      // EINVAL for direct reads
        wrong_byte,   // the first byte of the range comes back inverted
        end_of_file,  // the file ends where the range begins
        delay,        // sleeps, then the data
        blocked,      // waits for clear() (for ten seconds at most), then the data
    };
    Kind kind = Kind::io_error;
    const File* file = nullptr;  // null: any file
    uint64_t begin = 0;          // applies to calls that touch [begin, end)
    uint64_t end = UINT64_MAX;
    uint32_t times = UINT32_MAX;  // how many calls it hits
    std::chrono::microseconds pause{0};
};

// Thread-safe; copies share their faults. The first fault that applies to a call wins.
class ReadFaults {
public:
    void add(ReadFault fault) const {
        const std::lock_guard lock(state_->mutex);
        state_->faults.push_back(fault);
    }
    void clear() const {
        const std::lock_guard lock(state_->mutex);
        state_->faults.clear();
        ++state_->clears;
        state_->cleared.notify_all();
    }
    [[nodiscard]] uint64_t calls() const {
        const std::lock_guard lock(state_->mutex);
        return state_->calls;
    }
    // Bytes that the calls asked for, of direct ones and of the others.
    [[nodiscard]] uint64_t direct_bytes() const {
        const std::lock_guard lock(state_->mutex);
        return state_->direct_bytes;
    }
    [[nodiscard]] uint64_t buffered_bytes() const {
        const std::lock_guard lock(state_->mutex);
        return state_->buffered_bytes;
    }

    [[nodiscard]] ReadHook hook() const {
        return [self = *this](const SystemRead& call, int64_t result) {
            return self.after(call, result);
        };
    }
    // For StoreConfig::make_reader.
    [[nodiscard]] std::function<Result<std::unique_ptr<Reader>>(ReadSink&, uint32_t)> reader(
        uint32_t threads, ReaderKind kind = ReaderKind::pread) const {
        return [hook = hook(), threads, kind](ReadSink& sink, uint32_t requests) {
            return make_reader(
                sink, {.kind = kind, .threads = threads, .queue_capacity = requests, .hook = hook});
        };
    }

private:
    using Kind = ReadFault::Kind;
    struct State {
        std::mutex mutex;
        std::vector<ReadFault> faults;
        uint64_t calls = 0;
        uint64_t direct_bytes = 0;
        uint64_t buffered_bytes = 0;
        uint64_t clears = 0;
        std::condition_variable cleared;
    };

    // `clears` tells how often clear() had been called when the fault was picked.
    ReadFault pick(const SystemRead& call, uint64_t& clears) const {
        const std::lock_guard lock(state_->mutex);
        clears = state_->clears;
        ++state_->calls;
        (call.direct ? state_->direct_bytes : state_->buffered_bytes) += call.into.size();
        for (ReadFault& fault : state_->faults) {
            if (fault.times == 0 || call.offset >= fault.end ||
                call.offset + call.into.size() <= fault.begin)
                continue;
            if (fault.file != nullptr && fault.file != call.file) continue;
            if (fault.kind == Kind::refused && !call.direct) continue;
            // A read that stops before the bad spot has not failed yet.
            if (fault.kind != Kind::io_error || fault.begin <= call.offset) --fault.times;
            return fault;
        }
        return {.kind = Kind::delay};
    }

    // As if the system had stopped there: what it did read beyond is spoiled.
    static int64_t cut(const SystemRead& call, int64_t result, uint64_t limit) {
        if (result <= 0 || uint64_t(result) <= limit) return result;
        std::fill(call.into.begin() + int64_t(limit), call.into.begin() + result, std::byte{0xEE});
        return int64_t(limit);
    }

    int64_t after(const SystemRead& call, int64_t result) const {
        uint64_t clears = 0;
        const ReadFault fault = pick(call, clears);
        const uint64_t before = fault.begin > call.offset ? fault.begin - call.offset : 0;
        switch (fault.kind) {
            case Kind::short_read: return cut(call, result, 1);
            case Kind::short_block: return cut(call, result, kDirectBlockBytes);
            case Kind::io_error:
                return before > 0 ? cut(call, result, before) : spoil(call, result, EIO);
            case Kind::interrupted: return spoil(call, result, EINTR);
            case Kind::again: return spoil(call, result, EAGAIN);
            case Kind::refused: return spoil(call, result, EINVAL);
            case Kind::wrong_byte:
                if (result > 0 && before < uint64_t(result)) call.into[before] = ~call.into[before];
                return result;
            case Kind::end_of_file: return before > 0 ? cut(call, result, before) : 0;
            case Kind::delay:
                if (fault.pause.count() > 0) std::this_thread::sleep_for(fault.pause);
                return result;
            case Kind::blocked: wait_for_clear(clears); return result;
        }
        return -EINVAL;
    }

    static int64_t spoil(const SystemRead& call, int64_t result, int error) {
        (void)cut(call, result, 0);
        return -error;
    }

    void wait_for_clear(uint64_t before) const {
        std::unique_lock lock(state_->mutex);
        state_->cleared.wait_for(lock, std::chrono::seconds(10),
                                 [&] { return state_->clears > before; });
    }

    std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace colibri

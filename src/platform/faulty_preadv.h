// Faults on the read path, for tests: a preadv that misbehaves where it is told to.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

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

#include "platform/pread_reader.h"

namespace colibri {

struct ReadFault {
    enum class Kind : uint8_t {
        short_read,   // one byte only
        io_error,     // what lies before the range is read, then EIO
        interrupted,  // EINTR
        again,        // EAGAIN
        wrong_byte,   // the first byte of the range comes back inverted
        end_of_file,  // the file ends where the range begins
        delay,        // sleeps, then reads
        blocked,      // waits for clear() (for ten seconds at most), then reads
    };
    Kind kind = Kind::io_error;
    int descriptor = -1;  // -1: any file
    uint64_t begin = 0;   // applies to calls that touch [begin, end)
    uint64_t end = UINT64_MAX;
    uint32_t times = UINT32_MAX;  // how many calls it hits
    std::chrono::microseconds pause{0};
};

// Thread-safe; copies share their faults. The first fault that applies to a call wins.
class FaultyPreadv {
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

    [[nodiscard]] PreadvFunction function() const {
        return [self = *this](int descriptor, const iovec* parts, int count, off_t offset) {
            return self.call(descriptor, {parts, parts + count}, offset);
        };
    }
    // For StoreConfig::make_reader.
    [[nodiscard]] std::function<Result<std::unique_ptr<Reader>>(ReadSink&, uint32_t)> reader(
        uint32_t threads) const {
        return [preadv = function(), threads](ReadSink& sink, uint32_t requests) {
            return make_pread_reader(
                sink, {.threads = threads, .queue_capacity = requests, .preadv = preadv});
        };
    }

private:
    using Kind = ReadFault::Kind;
    struct State {
        std::mutex mutex;
        std::vector<ReadFault> faults;
        uint64_t calls = 0;
        uint64_t clears = 0;
        std::condition_variable cleared;
    };

    static uint64_t size_of(const std::vector<iovec>& parts) {
        uint64_t bytes = 0;
        for (const iovec& part : parts) bytes += part.iov_len;
        return bytes;
    }

    // `clears` tells how often clear() had been called when the fault was picked.
    ReadFault pick(int descriptor, uint64_t begin, uint64_t end, uint64_t& clears) const {
        const std::lock_guard lock(state_->mutex);
        clears = state_->clears;
        ++state_->calls;
        for (ReadFault& fault : state_->faults) {
            if (fault.times == 0 || begin >= fault.end || end <= fault.begin) continue;
            if (fault.descriptor >= 0 && fault.descriptor != descriptor) continue;
            // A read that stops before the bad spot has not failed yet.
            if (fault.kind != Kind::io_error || fault.begin <= begin) --fault.times;
            return fault;
        }
        return {.kind = Kind::delay};
    }

    static ssize_t read(int descriptor, std::vector<iovec> parts, off_t offset, uint64_t limit) {
        for (iovec& part : parts) {
            part.iov_len = size_t(std::min<uint64_t>(part.iov_len, limit));
            limit -= part.iov_len;
        }
        return ::preadv(descriptor, parts.data(), int(parts.size()), offset);
    }

    static ssize_t refuse(int error) {
        errno = error;
        return -1;
    }

    static void invert(const std::vector<iovec>& parts, uint64_t at) {
        for (const iovec& part : parts) {
            if (at < part.iov_len) {
                auto& byte = static_cast<std::byte*>(part.iov_base)[at];
                byte = ~byte;
                return;
            }
            at -= part.iov_len;
        }
    }

    ssize_t call(int descriptor, const std::vector<iovec>& parts, off_t offset) const {
        const auto begin = uint64_t(offset);
        const uint64_t size_bytes = size_of(parts);
        uint64_t clears = 0;
        const ReadFault fault = pick(descriptor, begin, begin + size_bytes, clears);
        const uint64_t before = fault.begin > begin ? fault.begin - begin : 0;
        switch (fault.kind) {
            case Kind::short_read: return read(descriptor, parts, offset, 1);
            case Kind::io_error:
                return before > 0 ? read(descriptor, parts, offset, before) : refuse(EIO);
            case Kind::interrupted: return refuse(EINTR);
            case Kind::again: return refuse(EAGAIN);
            case Kind::wrong_byte: {
                const ssize_t got = read(descriptor, parts, offset, size_bytes);
                if (got > 0 && before < uint64_t(got)) invert(parts, before);
                return got;
            }
            case Kind::end_of_file: return before > 0 ? read(descriptor, parts, offset, before) : 0;
            case Kind::delay:
                if (fault.pause.count() > 0) std::this_thread::sleep_for(fault.pause);
                return read(descriptor, parts, offset, size_bytes);
            case Kind::blocked:
                wait_for_clear(clears);
                return read(descriptor, parts, offset, size_bytes);
        }
        return refuse(EINVAL);
    }

    void wait_for_clear(uint64_t before) const {
        std::unique_lock lock(state_->mutex);
        state_->cleared.wait_for(lock, std::chrono::seconds(10),
                                 [&] { return state_->clears > before; });
    }

    std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace colibri

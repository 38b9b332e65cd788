#include "platform/read_loop.h"

#include <cerrno>
#include <chrono>
#include <thread>

namespace colibri {

ReadOutcome read_fully(ReadCall call, uint64_t offset, std::span<std::byte> out) {
    ReadOutcome outcome;
    uint32_t again_retries = 0;
    uint32_t io_retries = 0;
    while (outcome.read_bytes < out.size()) {
        const ssize_t got = call(out.data() + outcome.read_bytes, out.size() - outcome.read_bytes,
                                 offset + outcome.read_bytes);
        if (got > 0) {
            outcome.read_bytes += size_t(got);
            continue;
        }
        if (got == 0) return outcome;
        const int error = errno;
        if (error == EINTR) continue;
        if (error == EAGAIN && again_retries++ < kAgainRetriesMax) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            continue;
        }
        if (error == EIO && io_retries++ < kIoRetriesMax) continue;
        outcome.error = error;
        return outcome;
    }
    return outcome;
}

}  // namespace colibri

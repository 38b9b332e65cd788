// One piece of a file on its way into memory: which call comes next, given what the last returned.
// The readers differ only in who makes the call.
#pragma once

#include <cstdint>
#include <optional>

#include "platform/reader.h"

namespace colibri {

class ChunkRead {
public:
    ChunkRead() = default;
    // The part of `range` that lies in [begin, end) of the file. `direct_descriptor` -1: through
    // the page cache. Otherwise begin and end are the range's or multiples of kDirectBlockBytes.
    ChunkRead(const ReadRange& range, uint64_t begin, uint64_t end, int direct_descriptor);

    [[nodiscard]] bool is_done() const { return at_ >= wanted_end_; }
    // Bytes that the calls still to come move.
    [[nodiscard]] uint64_t call_bytes() const {
        return (is_direct() ? block_end_ : wanted_end_) - at_;
    }
    // When not done.
    [[nodiscard]] SystemRead call() const;

    enum class Step : uint8_t {
        done,
        again,  // make call() now
        pause,  // make call() after kPause
        failed,
    };
    static constexpr uint32_t kPauseUs = 1000;
    // What the call returned: bytes moved, 0 at the end of the file, or -errno.
    [[nodiscard]] Step take(int64_t result);

    [[nodiscard]] Status take_status();  // when done or failed, once
    [[nodiscard]] uint32_t retries() const { return retries_; }

private:
    [[nodiscard]] bool is_direct() const { return direct_descriptor_ >= 0; }
    Step take_error(int error);

    const File* file_ = nullptr;
    uint64_t begin_ = 0;
    uint64_t at_ = 0;  // next byte of the file
    uint64_t wanted_end_ = 0;
    uint64_t block_end_ = 0;
    std::byte* into_ = nullptr;   // where byte at_ goes
    int direct_descriptor_ = -1;  // -1: not (or no longer) direct
    uint32_t retries_ = 0;
    uint32_t io_errors_ = 0;
    uint32_t again_ = 0;
    std::optional<Error> error_;
};

}  // namespace colibri

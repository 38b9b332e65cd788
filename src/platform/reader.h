// Reads of many byte ranges under way at the same time, finished in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "platform/file.h"

namespace colibri {

struct ReadRange {
    const File* file = nullptr;  // stays open until the request is done
    uint64_t offset = 0;
    std::span<std::byte> out;
};

// Ranges that are wanted together. In file order if possible: ranges whose gap is at most
// kMergeGapBytes are fetched by one read.
struct ReadRequest {
    uint64_t tag = 0;                   // unique among the requests under way
    std::span<const ReadRange> ranges;  // owned by the caller, unchanged until the request is done
};

inline constexpr uint64_t kMergeGapBytes = 64 * 1024;

// Gets each finished request once, on a thread of the reader, several at a time. It may call submit
// and cancel; it must not wait for another request. After an error the bytes of `out` are
// unspecified.
class ReadSink {
public:
    // Errors: io (file, offset, errno text), corrupt when the file ends inside a range. `retries`
    // counts the attempts that were repeated, successful in the end or not.
    virtual void read_done(uint64_t tag, Status status, uint32_t retries) = 0;

protected:
    ~ReadSink() = default;
};

// Thread-safe. First in, first out: requests are started in the order of submission. The destructor
// drops what was not started (no call to the sink) and waits for the rest (with its call).
class Reader {
public:
    virtual ~Reader() = default;
    // False when the queue is full: nothing happened then.
    [[nodiscard]] virtual bool submit(const ReadRequest& request) = 0;
    // True when the request was not started: it is dropped, the sink will not hear of it.
    [[nodiscard]] virtual bool cancel(uint64_t tag) = 0;
};

}  // namespace colibri

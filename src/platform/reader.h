// Reads of many byte ranges under way at the same time, finished in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "platform/file.h"

namespace colibri {

// Direct reads move whole blocks of a file to addresses that are multiples of it. Every file system
// met is content with it; one that wants more refuses, and is read through the page cache.
inline constexpr uint64_t kDirectBlockBytes = 4096;

struct ReadRange {
    const File* file = nullptr;  // stays open until the request is done
    uint64_t offset = 0;
    std::span<std::byte> out;
    // `out` begins at an address that equals `offset` modulo kDirectBlockBytes, and the bytes
    // around it are the reader's to overwrite, as far as the blocks reach in which the range begins
    // and ends. Ranges without it are read through the page cache.
    bool roomy = false;
};

// Ranges that are wanted together.
struct ReadRequest {
    uint64_t tag = 0;                   // unique among the requests under way
    std::span<const ReadRange> ranges;  // owned by the caller, unchanged until the request is done
    // Nobody waits for it: it gets the drive while no other request wants it, a few chunks at a
    // time unless in bulk, and stops between two of them when one comes.
    bool background = false;
    // One of many that are wanted one after the other: nobody waits for this one alone. What counts
    // is that the drive never runs dry.
    bool bulk = false;
};

// Gets each finished request once, on a thread of the reader, several at a time. It may call submit
// and cancel; it must not wait for another request. After an error the bytes of `out` are
// unspecified.
class ReadSink {
public:
    // Errors: io (file, offset, errno text), corrupt when the file ends inside a range, cancelled
    // when it was abandoned. `retries` counts the attempts that were repeated, successful in the
    // end or not.
    virtual void read_done(uint64_t tag, Status status, uint32_t retries) = 0;
    // Before that, of a request with one range: its first `bytes` bytes have come. May be late,
    // even later than read_done.
    virtual void read_progress(uint64_t /*tag*/, uint64_t /*bytes*/) {}

protected:
    ~ReadSink() = default;
};

// Thread-safe. First in, first out: requests are started in the order of submission, those in the
// background apart. Large ranges are cut into chunks, and the bytes in flight are bounded: a
// flooded device finishes everything last. The destructor drops what was not started (no call to
// the sink) and waits for the rest (with its call).
//
// Short reads are continued, EINTR is retried, EAGAIN for at most a second, EIO once for each
// chunk. Direct reads that are refused are repeated through the page cache, whose pages are dropped
// again: a model that is streamed past would push everything else out.
class Reader {
public:
    virtual ~Reader() = default;
    // False when the queue is full: nothing happened then.
    [[nodiscard]] virtual bool submit(const ReadRequest& request) = 0;
    // True when the request was not started: it is dropped, the sink will not hear of it.
    [[nodiscard]] virtual bool cancel(uint64_t tag) = 0;
    // Somebody waits for this request from now on: it leaves the background. Nothing happens to any
    // other.
    virtual void promote(uint64_t tag) = 0;
    // Nobody wants this request of the background any more. True when nothing of it is in flight:
    // it is dropped as by cancel(). Otherwise it ends soon, with an error of kind cancelled if a
    // part of it was not read.
    [[nodiscard]] virtual bool abandon(uint64_t tag) = 0;
};

enum class ReaderKind : uint8_t {
    automatic,  // uring where it is allowed, else pread
    uring,      // io_uring, direct reads
    pread,      // threads in preadv, direct reads
    buffered,   // threads in preadv through the page cache
};
[[nodiscard]] std::string_view to_string(ReaderKind kind);  // "auto", "uring", ...

// One call to the system: whole blocks when it is direct.
struct SystemRead {
    const File* file = nullptr;
    int descriptor = -1;
    bool direct = false;
    uint64_t offset = 0;
    std::span<std::byte> into;
};

// Sees each call after it was made, on a thread of the reader, and may change bytes and result (a
// count of bytes or -errno): where tests put faults.
using ReadHook = std::function<int64_t(const SystemRead& call, int64_t result)>;

struct ReaderOptions {
    ReaderKind kind = ReaderKind::automatic;
    uint32_t threads = 8;                         // of the pread reader
    uint32_t queue_capacity = 16;                 // requests waiting to be started
    uint64_t chunk_bytes = 1024 * 1024;           // a multiple of kDirectBlockBytes
    uint64_t in_flight_bytes = 12 * 1024 * 1024;  // one chunk may always be in flight
    uint64_t bulk_chunk_bytes = 4 * 1024 * 1024;  // as the two above, of requests in bulk
    uint64_t bulk_in_flight_bytes = 64 * 1024 * 1024;
    ReadHook hook;
};

// `sink` must outlive the reader. Errors: out_of_budget when the system refuses a thread;
// unsupported when io_uring was asked for and cannot be had, naming the system's reason.
[[nodiscard]] Result<std::unique_ptr<Reader>> make_reader(ReadSink& sink, ReaderOptions options);

// What such a reader keeps in memory.
[[nodiscard]] uint64_t reader_memory_bytes(const ReaderOptions& options);

// What a reader of some kind will do with some files.
struct ReaderChoice {
    ReaderKind kind = ReaderKind::automatic;  // never automatic once chosen
    bool direct = true;                       // for all of the files
    std::string remark;  // why it is less than was asked for; empty when it is not
};
[[nodiscard]] ReaderChoice choose_reader(ReaderKind wanted,
                                         std::span<const std::shared_ptr<const File>> files);

}  // namespace colibri

// The reader that works everywhere: a pool of threads in positioned, buffered reads.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "base/error.h"
#include "platform/reader.h"

namespace colibri {

// What preadv(2) does: bytes read, 0 at the end of the file, -1 with errno. Tests put faults here.
using PreadvFunction =
    std::function<ssize_t(int descriptor, const iovec* parts, int part_count, off_t offset)>;

struct PreadReaderOptions {
    uint32_t threads = 4;
    uint32_t queue_capacity = 16;  // requests waiting to be started
    PreadvFunction preadv;         // empty: the system's
};

// Continues short reads, retries EINTR, EAGAIN (for at most a second) and, once for each merged
// read, EIO. `sink` must outlive the reader. Errors: out_of_budget when the system refuses a
// thread.
[[nodiscard]] Result<std::unique_ptr<Reader>> make_pread_reader(ReadSink& sink,
                                                                PreadReaderOptions options);

// What such a reader keeps in memory.
[[nodiscard]] uint64_t pread_reader_memory_bytes(uint32_t threads);

}  // namespace colibri

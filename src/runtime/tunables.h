// What decides speed alone and may be changed between two passes of a model.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "platform/reader.h"
#include "runtime/prefetch_control.h"

namespace colibri {

struct Tunables {
    uint32_t threads = 0;  // 0: as many as the model was opened with
    ReaderKind reader = ReaderKind::automatic;
    uint64_t in_flight_bytes = 0;  // 0: the reader's default
    uint64_t chunk_bytes = 0;      // 0: the reader's default
    PrefetchMode prefetch = PrefetchMode::automatic;
};

// Smaller chunks are seeks, larger ones leave nothing to be spread over a drive's queues.
inline constexpr uint64_t kChunkBytesMin = 64 * 1024;
inline constexpr uint64_t kChunkBytesMax = 64 * 1024 * 1024;
inline constexpr uint64_t kInFlightBytesMin = 64 * 1024;
inline constexpr uint64_t kInFlightBytesMax = 1024 * 1024 * 1024;

// Bounds of 0 are the reader's defaults; chunks are rounded up to whole blocks. A reader of threads
// has one chunk a thread under way, so that given bounds say how many threads it gets. Bounds above
// those of reads in bulk raise these. Errors:
// invalid_input naming the option, its value and the limits.
[[nodiscard]] Result<ReaderOptions> reader_options(ReaderKind kind, uint64_t in_flight_bytes,
                                                   uint64_t chunk_bytes);

}  // namespace colibri

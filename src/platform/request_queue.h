// Requests under way, cut into chunks that are handed out in the order of submission while the
// bytes in flight stay within a bound; those in the background only while no other has a chunk to
// hand out or in flight. What every reader does, whoever makes the calls.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "platform/chunk_read.h"
#include "platform/reader.h"

namespace colibri {

// Not thread-safe: the reader's mutex guards it. A chunk that was handed out may be worked on
// without the mutex until finish().
class RequestQueue {
public:
    struct Limits {
        uint32_t requests = 16;  // waiting to be started
        uint32_t chunks = 8;     // in flight
        uint64_t chunk_bytes = 0;
        uint64_t in_flight_bytes = 0;
        uint64_t bulk_chunk_bytes = 0, bulk_in_flight_bytes = 0;
        bool direct = true;
    };
    explicit RequestQueue(const Limits& limits);

    // False when as many are waiting as may.
    [[nodiscard]] bool push(const ReadRequest& request);
    // True when the request was waiting.
    [[nodiscard]] bool cancel(uint64_t tag);
    // True when there may be more to hand out now.
    [[nodiscard]] bool promote(uint64_t tag);
    // True when nothing of it is in flight: it is gone.
    [[nodiscard]] bool abandon(uint64_t tag);
    void clear_waiting();

    // The next chunk to read, if there is one and the bounds allow it. It may be done already (a
    // request of no bytes).
    [[nodiscard]] ChunkRead* next();
    struct Finished {
        uint64_t tag = 0;
        Status status;
        uint32_t retries = 0;
    };
    // What a request with one range has got so far.
    struct Progress {
        uint64_t tag = 0;
        uint64_t bytes = 0;  // from the beginning of the range
    };
    // One of the two, or neither.
    struct Outcome {
        std::optional<Finished> finished;  // the chunk was the last of its request
        std::optional<Progress> progress;  // there is more of its request now
        // Of the request, if there is something to tell.
        [[nodiscard]] std::optional<uint64_t> tag() const;
        void tell(ReadSink& sink) &&;
    };
    // A chunk is done or has failed.
    [[nodiscard]] Outcome finish(ChunkRead* chunk);

    [[nodiscard]] bool is_idle() const {
        return foreground_.is_empty() && background_.is_empty() && in_flight_ == 0;
    }
    [[nodiscard]] static uint64_t memory_bytes(const Limits& limits);

private:
    static constexpr uint32_t kNone = UINT32_MAX;

    struct Active {
        ReadRequest request;
        uint32_t chunks = 0;  // in flight
        uint32_t retries = 0;
        std::optional<Error> error;  // of the first chunk that failed, whatever came back first
        uint32_t error_place = 0;
        uint32_t places = 0;   // chunks handed out
        uint64_t arrived = 0;  // as last told
    };
    struct Piece {  // of the chunk of the same number
        uint32_t active = kNone;
        uint64_t begin = 0;  // offset in the file
        uint32_t place = 0;  // among the chunks of its request
        uint64_t bytes = 0;
    };

    // Requests in the order of submission.
    struct Lane {
        std::vector<ReadRequest> waiting;  // oldest first
        // The request that is being handed out, and how far.
        bool partial = false;
        uint32_t current = kNone;
        size_t range = 0;
        uint64_t range_at = 0;  // offset in the file
        [[nodiscard]] bool is_empty() const { return waiting.empty() && !partial; }
    };

    [[nodiscard]] bool has_room(const Lane& lane) const;
    [[nodiscard]] Lane* next_lane();
    [[nodiscard]] ChunkRead* hand_out(Lane& lane);
    void start_next(Lane& lane);
    void skip_read_ranges(Lane& lane);
    [[nodiscard]] bool is_being_handed_out(uint32_t number) const;
    [[nodiscard]] std::optional<Progress> progress_of(uint32_t number);

    const Limits limits_;
    Lane foreground_;
    Lane background_;
    std::vector<Active> active_;
    std::vector<uint32_t> free_active_;
    std::vector<ChunkRead> chunks_;
    std::vector<Piece> pieces_;
    std::vector<uint32_t> free_chunks_;
    uint32_t in_flight_ = 0;
    uint32_t waited_for_ = 0;  // of these: not in the background
    uint64_t in_flight_bytes_ = 0;
};

}  // namespace colibri

#include "platform/request_queue.h"

#include <algorithm>
#include <source_location>
#include <utility>

#include "base/check.h"
#include "base/units.h"

namespace colibri {

namespace {

// What somebody who comes has to wait for. With two the drive ran dry between them (decision 014).
constexpr uint64_t kBackgroundChunks = 6;

}  // namespace

RequestQueue::RequestQueue(const Limits& limits) : limits_(limits) {
    for (const uint64_t chunk_bytes : {limits.chunk_bytes, limits.bulk_chunk_bytes})
        CHECK(chunk_bytes > 0 && chunk_bytes % kDirectBlockBytes == 0);
    CHECK(limits.chunks > 0);
    foreground_.waiting.reserve(limits.requests);
    background_.waiting.reserve(limits.requests);
    // Each request under way has a chunk in flight, or is one of the two being handed out.
    active_.resize(limits.chunks + 2);
    chunks_.resize(limits.chunks);
    pieces_.resize(limits.chunks);
    for (uint32_t i = 0; i < active_.size(); ++i) free_active_.push_back(i);
    for (uint32_t i = 0; i < chunks_.size(); ++i) free_chunks_.push_back(i);
}

bool RequestQueue::push(const ReadRequest& request) {
    if (foreground_.waiting.size() + background_.waiting.size() >= limits_.requests) return false;
    for (const ReadRange& range : request.ranges)
        CHECK(!range.roomy ||
              (reinterpret_cast<uintptr_t>(range.out.data()) - range.offset) % kDirectBlockBytes ==
                  0);
    (request.background ? background_ : foreground_).waiting.push_back(request);
    return true;
}

bool RequestQueue::cancel(uint64_t tag) {
    const auto is_it = [&](const ReadRequest& r) { return r.tag == tag; };
    return std::erase_if(foreground_.waiting, is_it) + std::erase_if(background_.waiting, is_it) >
           0;
}

bool RequestQueue::promote(uint64_t tag) {
    std::vector<ReadRequest>& waiting = background_.waiting;
    const auto found = std::find_if(waiting.begin(), waiting.end(),
                                    [&](const ReadRequest& r) { return r.tag == tag; });
    if (found != waiting.end()) {
        foreground_.waiting.push_back(*found);
        foreground_.waiting.back().background = false;
        waiting.erase(found);
        return true;
    }
    for (uint32_t i = 0; i < active_.size(); ++i) {
        Active& active = active_[i];
        const bool current = background_.partial && background_.current == i;
        if (!active.request.background || active.request.tag != tag ||
            (active.chunks == 0 && !current))
            continue;
        active.request.background = false;
        waited_for_ += active.chunks;
        return current;
    }
    return false;
}

bool RequestQueue::abandon(uint64_t tag) {
    if (cancel(tag)) return true;
    if (!background_.partial || active_[background_.current].request.tag != tag) return false;
    background_.partial = false;
    Active& active = active_[background_.current];
    if (active.chunks == 0) {
        free_active_.push_back(background_.current);
        return true;
    }
    // What a chunk in flight may still have to say is of more use.
    active.error_place = active.places;
    active.error = Error{ErrorKind::cancelled, "reading ahead: nobody wants it any more",
                         std::source_location::current()};
    return false;
}

void RequestQueue::clear_waiting() {
    foreground_.waiting.clear();
    background_.waiting.clear();
}

// For the next chunk of a lane that is not empty.
bool RequestQueue::has_room(const Lane& lane) const {
    if (in_flight_ == 0) return true;
    const ReadRequest& request =
        lane.partial ? active_[lane.current].request : lane.waiting.front();
    uint64_t bytes = request.bulk ? limits_.bulk_in_flight_bytes : limits_.in_flight_bytes;
    if (request.background && !request.bulk)
        bytes = std::min(bytes, kBackgroundChunks * limits_.chunk_bytes);
    return in_flight_ < limits_.chunks && in_flight_bytes_ < bytes &&
           (!request.background || waited_for_ == 0);
}

// A request that has left the background half handed out goes on first.
RequestQueue::Lane* RequestQueue::next_lane() {
    const bool promoted = background_.partial && !active_[background_.current].request.background;
    Lane& lane = promoted || foreground_.is_empty() ? background_ : foreground_;
    return !lane.is_empty() && has_room(lane) ? &lane : nullptr;
}

void RequestQueue::start_next(Lane& lane) {
    lane.current = free_active_.back();
    free_active_.pop_back();
    active_[lane.current] = {.request = lane.waiting.front()};
    lane.waiting.erase(lane.waiting.begin());  // the queue is a handful of requests
    lane.partial = true;
    lane.range = 0;
    const std::span<const ReadRange> ranges = active_[lane.current].request.ranges;
    lane.range_at = ranges.empty() ? 0 : ranges.front().offset;
}

void RequestQueue::skip_read_ranges(Lane& lane) {
    const std::span<const ReadRange> ranges = active_[lane.current].request.ranges;
    while (lane.range < ranges.size() &&
           lane.range_at >= ranges[lane.range].offset + ranges[lane.range].out.size())
        if (++lane.range < ranges.size()) lane.range_at = ranges[lane.range].offset;
    lane.partial = lane.range < ranges.size();
}

ChunkRead* RequestQueue::next() {
    Lane* lane = next_lane();
    return lane == nullptr ? nullptr : hand_out(*lane);
}

ChunkRead* RequestQueue::hand_out(Lane& lane) {
    if (!lane.partial) start_next(lane);
    Active& active = active_[lane.current];
    const uint32_t number = free_chunks_.back();
    free_chunks_.pop_back();
    ChunkRead& chunk = chunks_[number];
    chunk = {};
    Piece& piece = pieces_[number];
    piece = {.active = lane.current, .begin = 0, .place = active.places++, .bytes = 0};
    skip_read_ranges(lane);
    if (lane.partial) {
        const ReadRange& range = active.request.ranges[lane.range];
        const int direct = limits_.direct && range.roomy ? range.file->direct_descriptor() : -1;
        if (direct < 0) range.file->expect_random_reads();
        // Cut at multiples of the chunk size from the block in which the range begins.
        const uint64_t from =
            direct >= 0 ? lane.range_at / kDirectBlockBytes * kDirectBlockBytes : lane.range_at;
        const uint64_t chunk_bytes =
            active.request.bulk ? limits_.bulk_chunk_bytes : limits_.chunk_bytes;
        const uint64_t end = std::min(from + chunk_bytes, range.offset + range.out.size());
        chunk = ChunkRead(range, lane.range_at, end, direct);
        piece.begin = lane.range_at;
        piece.bytes = chunk.call_bytes();
        lane.range_at = end;
        skip_read_ranges(lane);
    }
    ++active.chunks;
    ++in_flight_;
    if (!active.request.background) ++waited_for_;
    in_flight_bytes_ += piece.bytes;
    return &chunk;
}

RequestQueue::Outcome RequestQueue::finish(ChunkRead* chunk) {
    const auto index = size_t(chunk - chunks_.data());
    Piece& piece = pieces_[index];
    const uint32_t number = std::exchange(piece.active, kNone);
    Active& active = active_[number];
    active.retries += chunk->retries();
    if (Status status = chunk->take_status();
        !status && (!active.error || piece.place < active.error_place)) {
        active.error = std::move(status).error();
        active.error_place = piece.place;
    }
    in_flight_bytes_ -= piece.bytes;
    --in_flight_;
    if (!active.request.background) --waited_for_;
    free_chunks_.push_back(uint32_t(index));
    --active.chunks;
    if (active.error)  // the rest is no use
        for (Lane* lane : {&foreground_, &background_})
            if (lane->partial && lane->current == number) lane->partial = false;
    if (active.chunks > 0 || is_being_handed_out(number))
        return {.finished = std::nullopt, .progress = progress_of(number)};
    Finished finished{.tag = active.request.tag, .status = {}, .retries = active.retries};
    if (active.error) finished.status = tl::unexpected(*std::exchange(active.error, std::nullopt));
    free_active_.push_back(number);
    return {.finished = std::move(finished), .progress = std::nullopt};
}

std::optional<uint64_t> RequestQueue::Outcome::tag() const {
    if (finished) return finished->tag;
    if (progress) return progress->tag;
    return std::nullopt;
}

void RequestQueue::Outcome::tell(ReadSink& sink) && {
    if (finished) sink.read_done(finished->tag, std::move(finished->status), finished->retries);
    if (progress) sink.read_progress(progress->tag, progress->bytes);
}

bool RequestQueue::is_being_handed_out(uint32_t number) const {
    return (foreground_.partial && foreground_.current == number) ||
           (background_.partial && background_.current == number);
}

// Up to the first chunk that is in flight or was not handed out.
std::optional<RequestQueue::Progress> RequestQueue::progress_of(uint32_t number) {
    Active& active = active_[number];
    if (active.request.ranges.size() != 1 || active.error) return std::nullopt;
    const ReadRange& range = active.request.ranges.front();
    uint64_t end = range.offset + range.out.size();
    for (const Lane* lane : {&foreground_, &background_})
        if (lane->partial && lane->current == number) end = std::min(end, lane->range_at);
    for (const Piece& piece : pieces_)
        if (piece.active == number) end = std::min(end, piece.begin);
    const uint64_t bytes = end - range.offset;
    if (bytes <= active.arrived) return std::nullopt;
    active.arrived = bytes;
    return Progress{.tag = active.request.tag, .bytes = bytes};
}

uint64_t RequestQueue::memory_bytes(const Limits& limits) {
    return 2 * limits.requests * sizeof(ReadRequest) +
           limits.chunks *
               (sizeof(ChunkRead) + sizeof(Piece) + sizeof(Active) + 2 * sizeof(uint32_t)) +
           2 * sizeof(Active);
}

}  // namespace colibri

#include "platform/request_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/units.h"

namespace colibri {

RequestQueue::RequestQueue(const Limits& limits) : limits_(limits) {
    CHECK(limits.chunk_bytes > 0 && limits.chunk_bytes % kDirectBlockBytes == 0);
    CHECK(limits.chunks > 0);
    waiting_.reserve(limits.requests);
    // Each request under way has a chunk in flight, or is the one being handed out.
    active_.resize(limits.chunks + 1);
    chunks_.resize(limits.chunks);
    pieces_.resize(limits.chunks);
    for (uint32_t i = 0; i < active_.size(); ++i) free_active_.push_back(i);
    for (uint32_t i = 0; i < chunks_.size(); ++i) free_chunks_.push_back(i);
}

bool RequestQueue::push(const ReadRequest& request) {
    if (waiting_.size() >= limits_.requests) return false;
    for (const ReadRange& range : request.ranges)
        CHECK(!range.roomy ||
              (reinterpret_cast<uintptr_t>(range.out.data()) - range.offset) % kDirectBlockBytes ==
                  0);
    waiting_.push_back(request);
    return true;
}

bool RequestQueue::cancel(uint64_t tag) {
    return std::erase_if(waiting_, [&](const ReadRequest& r) { return r.tag == tag; }) > 0;
}

void RequestQueue::clear_waiting() {
    waiting_.clear();
}

bool RequestQueue::has_room() const {
    return in_flight_ < limits_.chunks &&
           (in_flight_ == 0 || in_flight_bytes_ < limits_.in_flight_bytes);
}

void RequestQueue::start_next() {
    current_ = free_active_.back();
    free_active_.pop_back();
    active_[current_] = {.request = waiting_.front()};
    waiting_.erase(waiting_.begin());  // the queue is a handful of requests
    partial_ = true;
    range_ = 0;
    range_at_ = active_[current_].request.ranges.empty()
                    ? 0
                    : active_[current_].request.ranges.front().offset;
}

void RequestQueue::skip_read_ranges() {
    const std::span<const ReadRange> ranges = active_[current_].request.ranges;
    while (range_ < ranges.size() && range_at_ >= ranges[range_].offset + ranges[range_].out.size())
        if (++range_ < ranges.size()) range_at_ = ranges[range_].offset;
    partial_ = range_ < ranges.size();
}

ChunkRead* RequestQueue::next() {
    if (!has_room()) return nullptr;
    if (!partial_) {
        if (waiting_.empty()) return nullptr;
        start_next();
    }
    const uint32_t number = free_chunks_.back();
    free_chunks_.pop_back();
    ChunkRead& chunk = chunks_[number];
    chunk = {};
    Piece& piece = pieces_[number];
    piece = {.active = current_, .place = active_[current_].places++, .bytes = 0};
    skip_read_ranges();
    if (partial_) {
        const ReadRange& range = active_[current_].request.ranges[range_];
        const int direct = limits_.direct && range.roomy ? range.file->direct_descriptor() : -1;
        if (direct < 0) range.file->expect_random_reads();
        // Cut at multiples of the chunk size from the block in which the range begins.
        const uint64_t from =
            direct >= 0 ? range_at_ / kDirectBlockBytes * kDirectBlockBytes : range_at_;
        const uint64_t end = std::min(from + limits_.chunk_bytes, range.offset + range.out.size());
        chunk = ChunkRead(range, range_at_, end, direct);
        piece.bytes = chunk.call_bytes();
        range_at_ = end;
        skip_read_ranges();
    }
    ++active_[current_].chunks;
    ++in_flight_;
    in_flight_bytes_ += piece.bytes;
    return &chunk;
}

std::optional<RequestQueue::Finished> RequestQueue::finish(ChunkRead* chunk) {
    const auto index = size_t(chunk - chunks_.data());
    const Piece& piece = pieces_[index];
    const uint32_t number = piece.active;
    Active& active = active_[number];
    active.retries += chunk->retries();
    if (Status status = chunk->take_status();
        !status && (!active.error || piece.place < active.error_place)) {
        active.error = std::move(status).error();
        active.error_place = piece.place;
    }
    in_flight_bytes_ -= piece.bytes;
    --in_flight_;
    free_chunks_.push_back(uint32_t(index));
    --active.chunks;
    const bool is_current = partial_ && current_ == number;
    if (is_current && active.error) partial_ = false;  // the rest is no use
    if (active.chunks > 0 || (is_current && partial_)) return std::nullopt;
    Finished finished{.tag = active.request.tag, .status = {}, .retries = active.retries};
    if (active.error) finished.status = tl::unexpected(*std::exchange(active.error, std::nullopt));
    free_active_.push_back(number);
    return finished;
}

uint64_t RequestQueue::memory_bytes(const Limits& limits) {
    return limits.requests * sizeof(ReadRequest) +
           limits.chunks *
               (sizeof(ChunkRead) + sizeof(Piece) + sizeof(Active) + 2 * sizeof(uint32_t)) +
           sizeof(Active);
}

}  // namespace colibri

// From bytes that have come to experts that can be used: who does it, and in which order.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "base/threads.h"
#include "platform/scheduling.h"
#include "store/pipeline.h"

namespace colibri {

Status Pipeline::start_workers(uint32_t count) {
    return start_threads(workers_, count, "landing thread", [this] { landing_worker(); });
}

void Pipeline::landing_worker() {
    prefer_short_slices();
    std::vector<std::span<const std::byte>> raw;
    std::unique_lock lock(mutex_);
    while (true) {
        landing_came_.wait(lock, [this] { return stop_ || !landing_queue_.empty(); });
        if (stop_) return;
        const uint32_t expert = landing_queue_.front();
        landing_queue_.erase(landing_queue_.begin());
        land_or_check(lock, expert, raw);
        if (stop_) return;
    }
}

void Pipeline::read_progress(uint64_t tag, uint64_t bytes) {
    const auto expert = uint32_t(tag);
    const std::lock_guard lock(mutex_);
    const Flight& flight = flights_[expert];
    if (stop_ || flight.phase != Phase::reading) return;
    Ticket& ticket = tickets_[flight.ticket];
    if (ticket.tag != tag || ticket.check == nullptr) return;
    ticket.arrived_bytes = std::max(ticket.arrived_bytes, bytes);
    if (!ticket.checking) offer(expert);
}

void Pipeline::start_landing(uint32_t expert) {
    flights_[expert].phase = Phase::ready;
    tickets_[flights_[expert].ticket].arrived_bytes = table_.parts(expert)[0].size_bytes;
    offer(expert);
}

// A consumer that waits has a core to itself and takes what it waits for: that saves the way
// through another thread. The rest, and what comes while it is busy, is for the workers.
void Pipeline::offer(uint32_t expert) {
    if (std::find(landing_queue_.begin(), landing_queue_.end(), expert) != landing_queue_.end())
        return;
    landing_queue_.push_back(expert);
    if (consumer_idle_ && !flights_[expert].speculative) {
        consumer_idle_ = false;
        completion_came_.notify_one();
    } else {
        landing_came_.notify_one();
    }
}

void Pipeline::land_or_check(std::unique_lock<std::mutex>& lock, uint32_t expert,
                             std::vector<std::span<const std::byte>>& raw) {
    std::optional<Status> status;
    if (tickets_[flights_[expert].ticket].check != nullptr) {
        status = check_arrived(lock, expert);
    } else {
        flights_[expert].phase = Phase::landing;
        const Flight flight = flights_[expert];
        lock.unlock();
        status = land(expert, flight, raw);
        lock.lock();
    }
    if (stop_ || !status) return;
    if (!*status && status->error().kind == ErrorKind::corrupt) {
        lock.unlock();
        explain(expert, status->error());
        lock.lock();
        if (stop_) return;
    }
    if (*status) praise(tickets_[flights_[expert].ticket]);
    if (*status || !try_elsewhere(expert, status->error())) complete(expert, std::move(*status));
}

// Nothing when there is more to come, which then finds somebody else.
std::optional<Status> Pipeline::check_arrived(std::unique_lock<std::mutex>& lock, uint32_t expert) {
    const uint32_t number = flights_[expert].ticket;
    Ticket& ticket = tickets_[number];
    const std::byte* data = flights_[expert].slot.data();
    while (ticket.checked_bytes < ticket.arrived_bytes) {
        const uint64_t from = ticket.checked_bytes, to = ticket.arrived_bytes;
        ticket.checking = true;
        lock.unlock();
        if (from == 0) ticket.check->begin(table_.id(expert));
        ticket.check->take({data + from, to - from});
        lock.lock();
        ticket.checking = false;
        if (stop_) return std::nullopt;
        ticket.checked_bytes = to;
        if (!ticket.result) continue;
        auto [status, retries] = *std::exchange(ticket.result, std::nullopt);
        take_result(expert, std::move(status), retries);
        // It may be on its way again now, or dropped.
        if (flights_[expert].ticket != number || flights_[expert].phase != Phase::ready)
            return std::nullopt;
        std::erase(landing_queue_, expert);
    }
    if (flights_[expert].phase != Phase::ready) return std::nullopt;
    flights_[expert].phase = Phase::landing;
    return ticket.check->finish();
}

Status Pipeline::land(uint32_t expert, const Flight& flight,
                      std::vector<std::span<const std::byte>>& raw) const {
    const std::span<const ExpertPart> parts = table_.parts(expert);
    raw.resize(parts.size());
    if (table_.in_place(expert)) {
        raw[0] = {flight.slot.data(), parts[0].size_bytes};
    } else {
        const std::span<const std::byte> bytes = tickets_[flight.ticket].buffer;
        for (const ExpertPart& part : parts)
            raw[part.raw_index] = bytes.subspan(part.staging_offset, part.size_bytes);
    }
    return landing_(table_.id(expert), raw, flight.slot);
}

bool Pipeline::wait(const CancelToken* token) {
    std::unique_lock lock(mutex_);
    consumer_waits_ = true;
    // While it did not wait it could still have released what it holds.
    break_deadlock();
    while (completions_.empty() && !is_cancelled(token)) {
        // A stream may wait for slots that only speculative reads can free.
        if (speculative_held_ && !demand_under_way()) {
            speculative_held_ = false;
            start_reads();
        }
        const auto mine =
            std::find_if(landing_queue_.begin(), landing_queue_.end(),
                         [this](uint32_t expert) { return !flights_[expert].speculative; });
        if (mine == landing_queue_.end()) {
            consumer_idle_ = true;
            completion_came_.wait_for(lock, kCancelPoll);
            consumer_idle_ = false;
        } else {
            const uint32_t expert = *mine;
            landing_queue_.erase(mine);
            land_or_check(lock, expert, consumer_raw_);
        }
    }
    consumer_waits_ = false;
    // Whoever was left to this thread.
    if (!landing_queue_.empty()) landing_came_.notify_all();
    return !completions_.empty();
}

}  // namespace colibri

// Which copy of an expert is read, what comes after a failed attempt, and who is to blame.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <utility>

#include "base/clock.h"
#include "store/pipeline.h"

namespace colibri {

void Pipeline::begin_attempts(uint32_t expert) {
    Ticket& ticket = tickets_[flights_[expert].ticket];
    ticket.tried = 0;
    ticket.failed.reset();
    next_copy(ticket);
    submit(expert);
}

// Of the places that a copy is spread over: one that does not answer, if there is one.
uint32_t Pipeline::place_to_ask(uint32_t expert, uint32_t copy) const {
    const auto runs = uint32_t(table_.runs(expert).size());
    for (uint32_t run = 0; run < runs; ++run)
        if (const uint32_t place = table_.place_of(expert, run, copy);
            health_.place_state(place) == StorageState::failed)
            return place;
    return table_.place_of(expert, 0, copy);
}

void Pipeline::next_copy(Ticket& ticket) {
    const uint32_t copies = table_.copies(ticket.expert);
    ticket.copy = uint32_t(std::countr_one(ticket.tried));
    if (copies > 1 && !health_.spotless()) {
        std::array<uint32_t, kCopiesMax> places{};
        for (uint32_t copy = 0; copy < copies; ++copy)
            places[copy] = place_to_ask(ticket.expert, copy);
        ticket.copy =
            health_.choose(ticket.expert, {places.data(), copies}, ticket.tried, now_us());
    }
    ticket.tried |= 1U << ticket.copy;
    ticket.read_again = false;
}

// Before the drive is blamed: somebody may have changed the file. Without the mutex: a drive that
// hangs must not hold up the others.
void Pipeline::explain(uint32_t expert, Error& error) const {
    uint32_t copy = 0;
    {
        const std::lock_guard lock(mutex_);
        copy = tickets_[flights_[expert].ticket].copy;
    }
    const auto runs = uint32_t(table_.runs(expert).size());
    for (uint32_t i = 0; i < runs; ++i) {
        Status unchanged = files_[table_.file_of(expert, i, copy)]->check_unchanged();
        if (unchanged) continue;
        error = std::move(unchanged).error();
        return;
    }
}

std::string Pipeline::places_of(uint32_t expert, uint32_t copy) const {
    std::string text;
    const std::span<const ExpertRun> runs = table_.runs(expert);
    for (uint32_t i = 0; i < runs.size(); ++i)
        text += fmt::format("{}{}: {} bytes at offset {}", i == 0 ? "" : ", ",
                            files_[table_.file_of(expert, i, copy)]->path(), runs[i].size_bytes,
                            runs[i].offset);
    return text;
}

// After a failed attempt: another one of the same copy if its bytes were corrupt for the first time
// (the way from the drive may be to blame), else the next copy. False when there is none; `error`
// then tells of all copies.
bool Pipeline::try_elsewhere(uint32_t expert, Error& error) {
    Ticket& ticket = tickets_[flights_[expert].ticket];
    const bool landed = flights_[expert].phase == Phase::landing;
    if (landed && error.kind != ErrorKind::corrupt) return false;
    if (landed) {
        ++counters_.corrupt_reads;
        error = std::move(error).within(places_of(expert, ticket.copy) +
                                        (ticket.read_again ? ", read twice" : ""));
    }
    if (landed && !ticket.read_again) {
        ticket.read_again = true;
    } else {
        const bool last = uint32_t(std::popcount(ticket.tried)) == table_.copies(expert);
        blame(ticket, error, last);
        if (ticket.failed)
            error.message =
                fmt::format("{}; its mirror failed too: {}", ticket.failed->message, error.message);
        if (last) return false;
        ticket.failed = std::move(error);
        next_copy(ticket);
    }
    ++counters_.retries;
    submit(expert);
    return true;
}

// The place is that of the file which the error names.
void Pipeline::blame(const Ticket& ticket, const Error& error, bool last) {
    const ExpertId id = table_.id(ticket.expert);
    uint32_t place = table_.place_of(ticket.expert, 0, ticket.copy);
    for (uint32_t run = 0; run < table_.runs(ticket.expert).size(); ++run) {
        const File& file = *files_[table_.file_of(ticket.expert, run, ticket.copy)];
        if (error.message.find(file.path()) == std::string::npos) continue;
        place = table_.place_of(ticket.expert, run, ticket.copy);
        break;
    }
    const std::string what =
        fmt::format("layer {} expert {}: {}", id.layer, id.index, error.message);
    health_.read_failed({.place = place,
                         .expert = ticket.expert,
                         .hard = error.kind == ErrorKind::io,
                         .last = last,
                         .what = what},
                        now_us());
}

void Pipeline::praise(const Ticket& ticket) {
    if (health_.spotless()) return;
    const uint64_t time_us = now_us();
    for (uint32_t run = 0; run < table_.runs(ticket.expert).size(); ++run)
        health_.read_succeeded(table_.place_of(ticket.expert, run, ticket.copy), ticket.expert,
                               time_us);
}

}  // namespace colibri

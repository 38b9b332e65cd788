#include "store/storage_health.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace colibri {

std::string_view to_string(StorageState state) {
    switch (state) {
        case StorageState::ok: return "ok";
        case StorageState::degraded: return "degraded";
        case StorageState::failed: return "failed";
    }
    return "unknown";
}

StorageHealth::StorageHealth(std::vector<std::string> directories, uint64_t pause_min_us)
    : pause_min_us_(pause_min_us) {
    CHECK(!directories.empty() && directories.size() <= kPlacesMax);
    for (std::string& directory : directories)
        places_.push_back({.directory = std::move(directory)});
}

uint32_t StorageHealth::choose(uint32_t expert, std::span<const uint32_t> places, uint32_t tried,
                               uint64_t now_us) {
    const auto first_left = uint32_t(std::countr_one(tried));
    CHECK(first_left < places.size());
    if (spotless_) return first_left;
    for (uint32_t copy = first_left; copy < places.size(); ++copy)
        if ((tried >> copy & 1U) == 0 && may_ask(places_[places[copy]], expert, now_us))
            return copy;
    return first_left;
}

bool StorageHealth::may_ask(Place& place, uint32_t expert, uint64_t now_us) {
    if (place.condemned) {
        if (now_us < place.ask_again_us) return false;
        // One read tries. Whether it fails, hangs or is cancelled: the next one waits longer.
        place.pause_us = std::min(2 * place.pause_us, kPauseMaxUs);
        place.ask_again_us = now_us + place.pause_us;
        return true;
    }
    const auto bad = place.bad.find(expert);
    if (bad == place.bad.end()) return true;
    if (now_us < bad->second.ask_again_us) return false;
    bad->second.ask_again_us = now_us + kPauseMaxUs;
    return true;
}

// A place that fell again soon goes on with the pauses where it had got to.
void StorageHealth::condemn(Place& place, uint64_t now_us) {
    const bool relapse = place.pause_us != 0 && now_us - place.recovered_us < kPauseMaxUs;
    place.pause_us = relapse ? std::min(2 * place.pause_us, kPauseMaxUs) : pause_min_us_;
    place.ask_again_us = now_us + place.pause_us;
    place.condemned = true;
}

std::string StorageHealth::describe(const Failure& failure, bool place_fell,
                                    bool model_fell) const {
    const std::string& directory = places_[failure.place].directory;
    std::string text;
    if (place_fell)
        text = fmt::format(
            "storage: {} does not answer, {} reads in a row have failed; {}, and it is asked "
            "again from time to time. The last error: {}",
            directory, kHardErrorsMax,
            failure.last ? "what has no other copy cannot be read" : "other copies are read",
            failure.what);
    else
        text = fmt::format("storage: a read from {} failed{}: {}", directory,
                           failure.last ? "" : ", another copy is read", failure.what);
    if (model_fell) text += ". No copy of this expert can be read: answers that need it fail";
    return text;
}

void StorageHealth::read_failed(const Failure& failure, uint64_t now_us) {
    Place& place = places_[failure.place];
    const StorageState place_before = place_state(failure.place);
    const StorageState model_before = state();
    ++place.errors;
    place.bad[failure.expert] = {.hard = failure.hard, .ask_again_us = now_us + kPauseMaxUs};
    spotless_ = false;
    if (failure.last) lost_.insert(failure.expert);
    const auto row_end = place.row.begin() + place.in_row;
    if (failure.hard && !place.condemned &&
        std::find(place.row.begin(), row_end, failure.expert) == row_end) {
        place.row[place.in_row++] = failure.expert;
        if (place.in_row == kHardErrorsMax) {
            place.in_row = 0;
            condemn(place, now_us);
        }
    }
    const bool place_fell =
        place_state(failure.place) == StorageState::failed && place_before != StorageState::failed;
    const bool model_fell = state() == StorageState::failed && model_before != StorageState::failed;
    if (place_before == place_state(failure.place) && model_before == state()) return;
    events_.push_back({.place = failure.place,
                       .place_state = place_state(failure.place),
                       .model_state = state(),
                       .text = describe(failure, place_fell, model_fell)});
}

// What failed because the place was away need not be bad.
void StorageHealth::forgive_hard_errors(Place& place) {
    std::erase_if(place.bad, [this](const auto& mark) {
        if (mark.second.hard) lost_.erase(mark.first);
        return mark.second.hard;
    });
}

void StorageHealth::read_succeeded(uint32_t number, uint32_t expert, uint64_t now_us) {
    if (spotless_) return;
    Place& place = places_[number];
    const StorageState place_before = place_state(number);
    const StorageState model_before = state();
    place.in_row = 0;
    place.bad.erase(expert);
    lost_.erase(expert);
    if (place.condemned) {
        place.condemned = false;
        place.recovered_us = now_us;
        forgive_hard_errors(place);
    }
    spotless_ = state() == StorageState::ok;
    if (place_before == place_state(number) && model_before == state()) return;
    events_.push_back({.place = number,
                       .place_state = place_state(number),
                       .model_state = state(),
                       .text = describe_return(place, place_before)});
}

std::string StorageHealth::describe_return(const Place& place, StorageState before) const {
    std::string text =
        before == StorageState::failed
            ? fmt::format("storage: {} answers again", place.directory)
            : fmt::format("storage: what could not be read from {} can be read again",
                          place.directory);
    switch (state()) {
        case StorageState::ok: break;
        case StorageState::degraded: text += "; the storage is still degraded"; break;
        case StorageState::failed: text += "; some experts still cannot be read"; break;
    }
    return text;
}

StorageState StorageHealth::place_state(uint32_t number) const {
    const Place& place = places_[number];
    if (place.condemned) return StorageState::failed;
    return place.bad.empty() ? StorageState::ok : StorageState::degraded;
}

StorageState StorageHealth::state() const {
    if (!lost_.empty()) return StorageState::failed;
    for (uint32_t place = 0; place < places_.size(); ++place)
        if (place_state(place) != StorageState::ok) return StorageState::degraded;
    return StorageState::ok;
}

StorageReport StorageHealth::report() const {
    StorageReport report{.state = state(), .places = {}};
    for (uint32_t place = 0; place < places_.size(); ++place)
        report.places.push_back({.directory = places_[place].directory,
                                 .state = place_state(place),
                                 .errors = places_[place].errors});
    return report;
}

}  // namespace colibri

// What reading has taught about the drives of a model: which of them answer, and whether every
// expert can still be had. docs/storage.md has the transitions as a table.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colibri {

enum class StorageState : uint8_t {
    ok,
    // Of a place: some expert could not be read there. Of a model: some place is not ok, and every
    // expert was answered by another copy or another attempt.
    degraded,
    // Of a place: it does not answer. Of a model: there is an expert that no copy answered.
    failed,
};
[[nodiscard]] std::string_view to_string(StorageState state);

// A place is where one copy of the files is: the model's own directory, or a mirror.
struct StoragePlace {
    std::string directory;
    StorageState state = StorageState::ok;
    uint64_t errors = 0;  // reads that failed there, whatever answered them in the end
};

struct StorageReport {
    StorageState state = StorageState::ok;
    std::vector<StoragePlace> places;
};

// A change of state, of a place, of the model or of both at once.
struct StorageEvent {
    uint32_t place = 0;
    StorageState place_state = StorageState::ok;  // after it
    StorageState model_state = StorageState::ok;  // after it
    std::string text;                             // one line for the user
};

inline constexpr uint32_t kPlacesMax = 64;
inline constexpr uint32_t kCopiesMax = 32;

// Pure: no thread, no clock, no file. What it decides is which copy is asked first; every copy has
// the same bytes, so no answer depends on it. Memory grows with the experts that could not be read.
class StorageHealth {
public:
    // Failed reads of so many different experts, with no good one between them, condemn a place.
    static constexpr uint32_t kHardErrorsMax = 3;
    // A condemned place is asked again after this, then after twice as long each time. One expert
    // that failed is asked for there again after the longest pause.
    static constexpr uint64_t kPauseMinUs = 1'000'000;
    static constexpr uint64_t kPauseMaxUs = 60'000'000;

    struct Failure {
        uint32_t place = 0;
        uint32_t expert = 0;
        // The device failed, which may concern all of the place. Otherwise wrong or missing bytes:
        // these are the expert's alone.
        bool hard = false;
        bool last = false;      // no copy is left to be asked
        std::string_view what;  // the error, which names the expert
    };

    explicit StorageHealth(std::vector<std::string> directories,
                           uint64_t pause_min_us = kPauseMinUs);

    // Which copy of an expert to ask next: copy i lies at places[i], bit i of `tried` says that it
    // was asked already. The first one that is expected to answer, or whose turn to be asked again
    // has come; else the first one: with nothing else left, any is asked. At least one must be
    // left.
    [[nodiscard]] uint32_t choose(uint32_t expert, std::span<const uint32_t> places, uint32_t tried,
                                  uint64_t now_us);
    // Nothing has failed, or all of it was made good: choose() takes the first copy that is left,
    // and read_succeeded() has nothing to do.
    [[nodiscard]] bool spotless() const { return spotless_; }

    void read_failed(const Failure& failure, uint64_t now_us);
    // The expert's bytes came from there, and were right as far as that can be checked.
    void read_succeeded(uint32_t place, uint32_t expert, uint64_t now_us);

    [[nodiscard]] StorageState state() const;
    [[nodiscard]] StorageState place_state(uint32_t place) const;
    [[nodiscard]] StorageReport report() const;
    // Transitions since the last call, oldest first.
    [[nodiscard]] std::vector<StorageEvent> take_events() { return std::exchange(events_, {}); }

private:
    struct BadExpert {  // failed here last time
        bool hard = false;
        uint64_t ask_again_us = 0;
    };
    struct Place {
        std::string directory;
        uint64_t errors = 0;
        bool condemned = false;
        uint64_t ask_again_us = 0;  // when condemned
        uint64_t pause_us = 0;      // of the last or present condemnation
        uint64_t recovered_us = 0;
        uint32_t in_row = 0;  // hard errors of different experts without a success between
        std::array<uint32_t, kHardErrorsMax> row{};
        std::map<uint32_t, BadExpert> bad;
    };

    void condemn(Place& place, uint64_t now_us);
    [[nodiscard]] bool may_ask(Place& place, uint32_t expert, uint64_t now_us);
    void forgive_hard_errors(Place& place);
    [[nodiscard]] std::string describe(const Failure& failure, bool place_fell,
                                       bool model_fell) const;
    [[nodiscard]] std::string describe_return(const Place& place, StorageState before) const;

    uint64_t pause_min_us_;
    std::vector<Place> places_;
    bool spotless_ = true;
    std::set<uint32_t> lost_;  // experts that no copy answered last time
    std::vector<StorageEvent> events_;
};

}  // namespace colibri

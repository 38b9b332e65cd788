// Whether guessing the next layer's experts pays, found out by trying.
#pragma once

#include <array>
#include <cstdint>

#include "store/expert_store.h"

namespace colibri {

enum class PrefetchMode : uint8_t { automatic, on, off };

// In automatic mode decode steps come in windows. Trial: windows with and without guesses in turn;
// whichever took less time for an expert that was not in the cache (the median over its steps, for
// steps differ in how many they need) stays for a term of kTermSteps, then the next trial. A
// window in which most guesses were wrong ends the trial: off. Where nothing is missing
// there is nothing to guess: off. Guesses never change an answer, so a wrong verdict costs only
// time. Pure: follows from the calls.
class PrefetchControl {
public:
    static constexpr uint32_t kWindowSteps = 8;
    static constexpr uint32_t kTrialWindows = 6;  // on, off, on, off, ...
    static constexpr uint32_t kTermSteps = 256;
    static constexpr double kAccuracyMin = 0.25;
    static constexpr uint64_t kOutcomesMin = 32;  // before accuracy says anything

    explicit PrefetchControl(PrefetchMode mode);

    // Guess in the next step.
    [[nodiscard]] bool active() const { return active_; }
    [[nodiscard]] bool learns() const { return mode_ == PrefetchMode::automatic; }
    [[nodiscard]] PrefetchMode mode() const { return mode_; }
    // What automatic mode has learned is kept meanwhile.
    void change(PrefetchMode mode);
    // A decode step of one token took this long; the store's counters after it.
    void step(uint64_t elapsed_us, const StoreCounters& counters);

private:
    struct Costs {  // of the trial's steps, us for an expert
        std::array<double, kWindowSteps * kTrialWindows / 2> of_step{};
        uint32_t count = 0;
        [[nodiscard]] double median();
    };

    void end_window(const StoreCounters& counters);
    void begin_term(bool active);

    PrefetchMode mode_;
    bool active_;
    bool learned_active_ = true;  // of automatic mode, while another one is on
    uint32_t window_ = 0;         // of the trial; kTrialWindows during a term
    uint32_t steps_ = 0;          // of the window or term
    Costs off_, on_;
    StoreCounters before_;        // at the begin of the window
    uint64_t needed_before_ = 0;  // experts not in the cache, until the step before
};

}  // namespace colibri

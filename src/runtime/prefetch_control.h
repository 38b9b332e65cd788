// Whether guessing the next layer's experts pays, found out by trying.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "store/expert_store.h"

namespace colibri {

enum class PrefetchMode : uint8_t { automatic, on, off };

// In automatic mode decode steps come in windows. Trial: windows with and without guesses in turn,
// whose times are compared as if all steps had needed the same number of experts that were not in
// the cache; then a term of kTermSteps, and the next trial. Trials before count, each kKept of the
// one after it: one alone cannot tell a gain of 3 % from noise. Guessing is on until it has shown
// that it costs more than it gains, and until the cache has filled and turned over once, which says
// nothing of what comes after. A window in which most guesses were wrong ends the trial: off. Where
// nothing is missing there is nothing to guess: off. Guesses never change an answer, so a wrong
// verdict costs only time. Pure: follows from the calls.
class PrefetchControl {
public:
    static constexpr uint32_t kWindowSteps = 8;
    static constexpr uint32_t kTrialWindows = 6;  // on, off, on, off, ...
    static constexpr uint32_t kTermSteps = 256;
    static constexpr double kKept = 0.8;
    static constexpr double kEvidenceAtFirst = 0.04;
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
    struct Step {
        double us = 0;
        double needed = 0;  // experts that were not in the cache; at least 1
    };
    struct Steps {  // of a trial, with guesses or without
        std::array<Step, kWindowSteps * kTrialWindows / 2> steps{};
        uint32_t count = 0;
        void add(const Step& step) { steps[count++] = step; }
        [[nodiscard]] std::span<const Step> all() const { return {steps.data(), count}; }
    };

    [[nodiscard]] double us_of_one_more() const;
    [[nodiscard]] static double median_us(std::span<const Step> steps, double us_of_each,
                                          double needed);
    void end_window(const StoreCounters& counters);
    void end_trial();
    void begin_trial();
    void begin_term(bool active);

    PrefetchMode mode_;
    bool active_;
    bool learned_active_ = true;  // of automatic mode, while another one is on
    uint32_t window_ = 0;         // of the trial; kTrialWindows during a term
    uint32_t steps_ = 0;          // of the window or term
    Steps off_, on_;
    double evidence_ = kEvidenceAtFirst;  // for guessing: decayed sum of log(off / on)
    StoreCounters before_;                // at the begin of the window
    uint64_t needed_before_ = 0;          // experts not in the cache, until the step before
};

}  // namespace colibri

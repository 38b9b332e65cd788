#include "runtime/prefetch_control.h"

#include <algorithm>

namespace colibri {

PrefetchControl::PrefetchControl(PrefetchMode mode)
    : mode_(mode), active_(mode != PrefetchMode::off) {}

void PrefetchControl::change(PrefetchMode mode) {
    if (mode == mode_) return;
    if (mode_ == PrefetchMode::automatic) learned_active_ = active_;
    mode_ = mode;
    active_ = mode == PrefetchMode::automatic ? learned_active_ : mode == PrefetchMode::on;
}

void PrefetchControl::step(uint64_t elapsed_us, const StoreCounters& counters) {
    if (mode_ != PrefetchMode::automatic) return;
    if (window_ == kTrialWindows) {
        if (++steps_ < kTermSteps) return;
        window_ = 0;
        steps_ = 0;
        medians_us_ = {};
        active_ = true;
        before_ = counters;
        return;
    }
    elapsed_us_[steps_] = elapsed_us;
    if (++steps_ == kWindowSteps) end_window(counters);
}

void PrefetchControl::end_window(const StoreCounters& counters) {
    std::sort(elapsed_us_.begin(), elapsed_us_.end());
    medians_us_[active_ ? 1 : 0] += elapsed_us_[kWindowSteps / 2];
    const uint64_t useful = counters.useful_guesses - before_.useful_guesses;
    const uint64_t outcomes = useful + counters.wasted_guesses - before_.wasted_guesses;
    const bool wrong = outcomes >= kOutcomesMin && double(useful) < kAccuracyMin * double(outcomes);
    const bool nothing_missing =
        counters.misses == before_.misses && counters.guesses == before_.guesses;
    before_ = counters;
    steps_ = 0;
    if (wrong || nothing_missing) return begin_term(false);
    if (++window_ == kTrialWindows) return begin_term(medians_us_[1] < medians_us_[0]);
    active_ = !active_;
}

void PrefetchControl::begin_term(bool active) {
    window_ = kTrialWindows;
    steps_ = 0;
    active_ = active;
}

}  // namespace colibri

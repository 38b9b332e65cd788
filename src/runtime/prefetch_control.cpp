#include "runtime/prefetch_control.h"

#include <algorithm>
#include <utility>

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
    const uint64_t needed = counters.misses + counters.useful_guesses;
    const uint64_t needed_now = needed - std::exchange(needed_before_, needed);
    if (mode_ != PrefetchMode::automatic) return;
    if (window_ == kTrialWindows) {
        if (++steps_ < kTermSteps) return;
        window_ = 0;
        steps_ = 0;
        off_ = on_ = {};
        active_ = true;
        before_ = counters;
        return;
    }
    if (needed_now > 0) {
        Costs& costs = active_ ? on_ : off_;
        costs.of_step[costs.count++] = double(elapsed_us) / double(needed_now);
    }
    if (++steps_ == kWindowSteps) end_window(counters);
}

double PrefetchControl::Costs::median() {
    if (count == 0) return 0;
    const auto middle = of_step.begin() + count / 2;
    std::nth_element(of_step.begin(), middle, of_step.begin() + count);
    return *middle;
}

void PrefetchControl::end_window(const StoreCounters& counters) {
    const uint64_t useful = counters.useful_guesses - before_.useful_guesses;
    const uint64_t outcomes = useful + counters.wasted_guesses - before_.wasted_guesses;
    const bool wrong = outcomes >= kOutcomesMin && double(useful) < kAccuracyMin * double(outcomes);
    const bool nothing_missing =
        counters.misses == before_.misses && counters.guesses == before_.guesses;
    before_ = counters;
    steps_ = 0;
    if (wrong || nothing_missing) return begin_term(false);
    if (++window_ == kTrialWindows) return begin_term(on_.median() < off_.median());
    active_ = !active_;
}

void PrefetchControl::begin_term(bool active) {
    window_ = kTrialWindows;
    steps_ = 0;
    active_ = active;
}

}  // namespace colibri

#include "runtime/prefetch_control.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace colibri {

namespace {

double median(std::vector<double>& values) {
    const auto middle = values.begin() + int64_t(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

}  // namespace

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
        before_ = counters;
        return begin_trial();
    }
    if (needed_now > 0)
        (active_ ? on_ : off_).add({.us = double(elapsed_us), .needed = double(needed_now)});
    if (++steps_ == kWindowSteps) end_window(counters);
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
    // Until every slot has had another expert, steps become faster by themselves.
    if (counters.evictions <= counters.resident) return begin_trial();
    if (++window_ == kTrialWindows) return end_trial();
    active_ = !active_;
}

// What an expert more costs a step: the median over pairs of steps (Theil 1950, Sen 1968), which
// neither a step that was held up nor one that needed much decides alone.
double PrefetchControl::us_of_one_more() const {
    std::vector<double> slopes;
    for (const Steps* steps : {&off_, &on_})
        for (const Step& a : steps->all())
            for (const Step& b : steps->all())
                if (a.needed < b.needed) slopes.push_back((b.us - a.us) / (b.needed - a.needed));
    return slopes.empty() ? 0 : std::max(0.0, median(slopes));
}

// Of steps as they would have been with so many experts needed.
double PrefetchControl::median_us(std::span<const Step> steps, double us_of_each, double needed) {
    std::vector<double> times;
    for (const Step& step : steps) times.push_back(step.us + us_of_each * (needed - step.needed));
    return median(times);
}

void PrefetchControl::end_trial() {
    if (on_.count > 0 && off_.count > 0) {
        double needed = 0;
        for (const Steps* steps : {&off_, &on_})
            for (const Step& step : steps->all()) needed += step.needed;
        needed /= double(on_.count + off_.count);
        const double of_each = us_of_one_more();
        const double on = median_us(on_.all(), of_each, needed);
        const double off = median_us(off_.all(), of_each, needed);
        if (on > 0 && off > 0) evidence_ = kKept * evidence_ + std::log(off / on);
    }
    begin_term(evidence_ > 0);
}

void PrefetchControl::begin_trial() {
    window_ = 0;
    steps_ = 0;
    off_.count = on_.count = 0;
    active_ = true;
}

void PrefetchControl::begin_term(bool active) {
    window_ = kTrialWindows;
    steps_ = 0;
    active_ = active;
}

}  // namespace colibri

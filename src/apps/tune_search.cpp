#include "apps/tune_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace colibri {

namespace {

// Linear between the neighbors of rank fraction * (count - 1). `values` is not empty.
double quantile(std::vector<double> values, double fraction) {
    std::sort(values.begin(), values.end());
    const double rank = fraction * double(values.size() - 1);
    const auto below = size_t(rank);
    const size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (rank - double(below)) * (values[above] - values[below]);
}

bool is_about_the_setting(ErrorKind kind) {
    return kind == ErrorKind::unsupported || kind == ErrorKind::out_of_budget ||
           kind == ErrorKind::invalid_input;
}

class Search {
public:
    Search(const std::vector<TuneKnob>& knobs, const TuneBench& bench)
        : knobs_(knobs), bench_(bench) {
        outcome_.best.assign(knobs.size(), 0);
    }

    Result<TuneOutcome> run() {
        TRY_STATUS(take_reference());
        for (size_t knob = 0; knob < knobs_.size(); ++knob) TRY_STATUS(tune(knob));
        TRY_STATUS(confirm());
        return std::move(outcome_);
    }

private:
    Status take_reference() {
        TRY(TuneLap lap, timed_lap(outcome_.best));
        reference_ = std::move(lap.greedy);
        return {};
    }

    Result<TuneLap> timed_lap(const TuneSetting& setting) {
        const double before = bench_.seconds_left();
        TRY(TuneLap lap, bench_.lap(setting));
        lap_s_ = std::max(lap_s_, before - bench_.seconds_left());
        return lap;
    }

    // Of the knob's values the fastest one that passes.
    Status tune(size_t knob) {
        const TuneSetting base = outcome_.best;
        std::optional<TuneTrial> winner;
        std::vector<TuneSetting> tried{base};
        for (size_t value = 1; value < knobs_[knob].values.size(); ++value) {
            TuneSetting candidate = base;
            candidate[knob] = value;
            const auto alike = [&](const TuneSetting& other) {
                return bench_.same(other, candidate);
            };
            if (std::any_of(tried.begin(), tried.end(), alike)) continue;
            tried.push_back(candidate);
            TuneTrial trial{.knob = knob, .value = value};
            const std::string name =
                fmt::format("{} {}", knobs_[knob].option, knobs_[knob].values[value]);
            // The confirmation needs its time too.
            TRY_STATUS(compare(base, candidate, 2 * kTunePairs * lap_s_, name, trial));
            if (trial.verdict == TuneVerdict::faster && (!winner || trial.ratio > winner->ratio))
                winner = trial;
            outcome_.trials.push_back(std::move(trial));
        }
        if (winner) outcome_.best[knob] = winner->value;
        return {};
    }

    Status confirm() {
        const TuneSetting defaults(knobs_.size(), 0);
        if (outcome_.best == defaults) return {};
        TuneTrial& trial = outcome_.together;
        TRY_STATUS(compare(defaults, outcome_.best, 0, "everything together", trial));
        if (trial.verdict != TuneVerdict::faster) outcome_.best = defaults;
        return {};
    }

    // Pairs of laps in turn, as long as it is not decided and at least `reserve_s` are left after
    // the next one.
    Status compare(const TuneSetting& base, const TuneSetting& candidate, double reserve_s,
                   std::string_view name, TuneTrial& trial) {
        std::vector<double> before, ratios;
        while (ratios.size() < kTunePairs) {
            if (bench_.seconds_left() < reserve_s + 2 * lap_s_) {
                trial.verdict = TuneVerdict::no_time;
                return {};
            }
            bench_.progress(fmt::format("{}: pair {} of {}", name, ratios.size() + 1, kTunePairs));
            TRY(const TuneLap a, timed_lap(base));
            if (a.greedy != reference_)
                return fail(ErrorKind::corrupt,
                            "the same settings gave other tokens than before: this machine or "
                            "this program does not compute reliably; nothing was chosen");
            auto b = timed_lap(candidate);
            if (!b && is_about_the_setting(b.error().kind)) {
                trial.verdict = TuneVerdict::unavailable;
                trial.remark = b.error().message;
                return {};
            }
            if (!b) return tl::unexpected(std::move(b).error());
            if (b->greedy != reference_) {
                trial.verdict = TuneVerdict::other_tokens;
                trial.remark = "it gave other tokens, which no setting may: please report it";
                return {};
            }
            before.push_back(a.tokens_per_s);
            ratios.push_back(b->tokens_per_s / a.tokens_per_s);
            trial.pairs = uint32_t(ratios.size());
            trial.ratio = quantile(ratios, 0.5);
            trial.spread = (quantile(before, 0.9) - quantile(before, 0.1)) / quantile(before, 0.5);
            if (ratios.size() == kTuneScreenPairs && quantile(ratios, 1) < 1 + kTuneGainMin) break;
        }
        trial.verdict = trial.ratio < 1 + kTuneGainMin    ? TuneVerdict::not_faster
                        : trial.ratio - 1 <= trial.spread ? TuneVerdict::noise
                                                          : TuneVerdict::faster;
        return {};
    }

    const std::vector<TuneKnob>& knobs_;
    const TuneBench& bench_;
    TuneOutcome outcome_;
    std::vector<int32_t> reference_;
    double lap_s_ = 0;  // the longest so far
};

}  // namespace

std::string_view to_string(TuneVerdict verdict) {
    switch (verdict) {
        case TuneVerdict::faster: return "faster";
        case TuneVerdict::not_faster: return "not faster";
        case TuneVerdict::noise: return "within the noise";
        case TuneVerdict::other_tokens: return "other tokens";
        case TuneVerdict::unavailable: return "not available";
        case TuneVerdict::no_time: return "no time left";
    }
    return "";
}

Result<TuneOutcome> search_tuning(const std::vector<TuneKnob>& knobs, const TuneBench& bench) {
    return Search(knobs, bench).run();
}

}  // namespace colibri

// Ratios on a noisy machine: a probe and the thing measured take turns (A-B-A-B), and only
// neighbors are compared.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/function_ref.h"
#include "bench/bench.h"

namespace colibri::bench {

// The project's rule: at least 9 pairs of at least 5 s.
struct PairSettings {
    uint32_t pairs = 9;
    double seconds = 5;
    // Within a pair the two take turns of about this long, so that both meet the same changes of
    // the machine's speed; 0: one turn each. For things that can be interrupted at little cost.
    double turn_seconds = 0;
    // While the last `pairs` pairs are void, more are measured, up to so many in all: a machine
    // that changed its speed in between is given the time to stay at one. Only the probe decides.
    uint32_t pairs_max = 0;

    [[nodiscard]] uint32_t turns() const {
        if (turn_seconds <= 0 || turn_seconds >= seconds) return 1;
        return uint32_t(std::lround(seconds / turn_seconds));
    }
};

struct PairSummary {
    std::vector<double> probe;  // rates, in the order of measurement
    std::vector<double> measured;
    double ratio_median = 0;  // of measured / probe, pair by pair
    double ratio_p10 = 0;
    double ratio_p90 = 0;
    double probe_spread = 0;        // (largest - smallest) / median
    bool is_void = false;           // the probe itself varied by more than 25 %
    std::vector<double> discarded;  // ratios of the pairs before, which were void together
};

// Linear between the neighbors of rank fraction * (count - 1). `values` is not empty.
[[nodiscard]] inline double quantile(std::vector<double> values, double fraction) {
    std::sort(values.begin(), values.end());
    const double rank = fraction * double(values.size() - 1);
    const auto below = size_t(rank);
    const size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (rank - double(below)) * (values[above] - values[below]);
}

[[nodiscard]] inline PairSummary summarize_pairs(std::vector<double> probe,
                                                 std::vector<double> measured) {
    std::vector<double> ratios;
    for (size_t i = 0; i < probe.size(); ++i) ratios.push_back(measured[i] / probe[i]);
    PairSummary summary{
        .ratio_median = quantile(ratios, 0.5),
        .ratio_p10 = quantile(ratios, 0.1),
        .ratio_p90 = quantile(ratios, 0.9),
        .probe_spread = (quantile(probe, 1) - quantile(probe, 0)) / quantile(probe, 0.5)};
    summary.is_void = summary.probe_spread > 0.25;
    summary.probe = std::move(probe);
    summary.measured = std::move(measured);
    return summary;
}

// Each function works for about the given seconds and returns its rate; the rates of a pair are the
// means over its turns.
[[nodiscard]] inline PairSummary run_pairs(const PairSettings& settings,
                                           FunctionRef<double(double)> probe,
                                           FunctionRef<double(double)> measured) {
    std::vector<double> probe_rates;
    std::vector<double> measured_rates;
    const uint32_t turns = settings.turns();
    std::vector<double> discarded;
    while (true) {
        double probe_sum = 0;
        double measured_sum = 0;
        for (uint32_t turn = 0; turn < turns; ++turn) {
            probe_sum += probe(settings.seconds / turns);
            measured_sum += measured(settings.seconds / turns);
        }
        probe_rates.push_back(probe_sum / turns);
        measured_rates.push_back(measured_sum / turns);
        if (probe_rates.size() < settings.pairs) continue;
        PairSummary summary = summarize_pairs(probe_rates, measured_rates);
        if (!summary.is_void || settings.pairs + discarded.size() >= settings.pairs_max) {
            summary.discarded = std::move(discarded);
            return summary;
        }
        discarded.push_back(measured_rates.front() / probe_rates.front());
        probe_rates.erase(probe_rates.begin());
        measured_rates.erase(measured_rates.begin());
    }
}

inline void add_pairs(JsonLine& line, const PairSummary& summary) {
    line.add("ratio_median", summary.ratio_median)
        .add("ratio_p10", summary.ratio_p10)
        .add("ratio_p90", summary.ratio_p90)
        .add("probe_median", quantile(summary.probe, 0.5))
        .add("measured_median", quantile(summary.measured, 0.5))
        .add("probe_spread", summary.probe_spread)
        .add("void", summary.is_void)
        .add("probe", summary.probe)
        .add("measured", summary.measured);
    if (!summary.discarded.empty()) line.add("discarded_ratios", summary.discarded);
}

}  // namespace colibri::bench

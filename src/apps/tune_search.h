// The search behind `coli tune`: which setting is faster beyond doubt, found by taking turns. Knows
// nothing of models; what it measures is a function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace colibri {

struct TuneKnob {
    std::string option;
    std::vector<std::string> values;  // the first is what it has by itself
};

// For each knob the number of its value.
using TuneSetting = std::vector<size_t>;

// A fixed piece of work under some setting.
struct TuneLap {
    double tokens_per_s = 0;
    std::vector<int32_t> greedy;  // most probable token after each of its tokens
};

struct TuneBench {
    // Errors: unsupported, out_of_budget and invalid_input are about the setting, others end the
    // search.
    std::function<Result<TuneLap>(const TuneSetting&)> lap;
    // True when two settings make no difference here.
    std::function<bool(const TuneSetting&, const TuneSetting&)> same;
    std::function<double()> seconds_left;
    std::function<void(std::string_view)> progress;
};

enum class TuneVerdict : uint8_t {
    faster,        // by at least kTuneGainMin, and by more than the spread
    not_faster,    // by less than that
    noise,         // by less than the measurements of the same setting vary
    other_tokens,  // refused: it changed the answer
    unavailable,   // this machine cannot do it
    no_time,       // the time was up before it was decided
};
[[nodiscard]] std::string_view to_string(TuneVerdict verdict);

struct TuneTrial {
    size_t knob = 0, value = 0;
    TuneVerdict verdict = TuneVerdict::no_time;
    uint32_t pairs = 0;
    double ratio = 0;   // median over pairs of candidate / what was best until then
    double spread = 0;  // of the latter's laps: (90 % - 10 %) / median
    std::string remark;
};

struct TuneOutcome {
    TuneSetting best;               // all zeros: the defaults
    std::vector<TuneTrial> trials;  // in the order of measurement
    // The whole of what was found, measured once more against the defaults; pairs is 0 when nothing
    // was found. When it did not hold, best is the defaults.
    TuneTrial together;
};

inline constexpr double kTuneGainMin = 0.03;
inline constexpr uint32_t kTunePairs = 5;
inline constexpr uint32_t kTuneScreenPairs = 2;  // none of them reaches the gain: that was it

// Knob by knob: each value is run in turn with what is best until then (A-B-A-B), and the fastest
// one that passes is kept. Errors: of the laps; corrupt when the same setting gives other tokens
// than before.
[[nodiscard]] Result<TuneOutcome> search_tuning(const std::vector<TuneKnob>& knobs,
                                                const TuneBench& bench);

}  // namespace colibri

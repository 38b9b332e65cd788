// A model of random weights that is made to follow recorded routes: streaming with the locality of
// a real model.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/rng.h"
#include "runtime/model.h"

namespace colibri::bench {

inline constexpr uint32_t kAllLayers = 100'000;

// The decode steps of a recording: [token][layer with experts][slot], ids ascending.
struct Recording {
    std::vector<std::vector<std::vector<uint32_t>>> tokens;
    uint32_t layers = 0, experts = 0, top_k = 0;
};

// Keeps the first `layers_max` layers. Errors: io, corrupt, invalid_input for a
// recording of less than two whole tokens.
[[nodiscard]] Result<Recording> read_recording(const std::string& path, uint32_t layers_max);

// Directory of a container with as many layers and experts as the recording has, experts of about
// `expert_bytes` in int8: `directory` if it holds a model already, else one made there. The source
// it is converted from is deleted. Errors: io, out_of_budget.
[[nodiscard]] Status make_routed_model(const std::string& directory, const Recording& recording,
                                       uint64_t expert_bytes);

// How often a trained model's guess of the next layer's experts is right, the surest first, and on
// the average: nano, measured by `colibri_bench recall`.
inline constexpr std::array<double, 8> kPrecisionByRank{0.938, 0.867, 0.790, 0.719,
                                                        0.650, 0.565, 0.486, 0.417};
inline constexpr double kRecall = 0.68;

// Runs decode steps whose experts the recording decides; guesses of the next layer's experts are
// right as often as kPrecisionByRank says, scaled to `recall` on the average, otherwise what that
// layer used for some other token. Model and recording outlive it.
class Follower {
public:
    Follower(Model& model, const Recording& recording, double recall);
    Follower(const Follower&) = delete;
    Follower& operator=(const Follower&) = delete;

    // Tokens per second over at least `seconds` and one token.
    [[nodiscard]] Result<double> rate(double seconds);
    [[nodiscard]] Status step();
    // Tokens so far.
    [[nodiscard]] uint64_t steps() const { return at_; }

private:
    [[nodiscard]] uint32_t expert_of_another_token(uint32_t layer);
    [[nodiscard]] bool guesses_right(const float* weights, uint32_t count, uint32_t at);

    Model& model_;
    const Recording& recording_;
    uint32_t first_layer_;
    double recall_;
    ForwardOptions options_;
    Rng random_{5};
    std::optional<SequenceState> state_;
    uint64_t at_ = 0;
};

}  // namespace colibri::bench

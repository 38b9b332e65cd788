// Recorded routes: which experts every row of a run went to. A text file, one line per choice.
//
//   # route_trace v1
//   # model=NAME arch=NAME n_layer=N n_expert=N n_expert_used=N
//   # layer=L expert_bytes=N dense_bytes=N            (one for each layer)
//   turn,phase,step,layer,slot,expert,weight,residency,expert_bytes
//   0,1,29,0,0,79,0.425021,0,4336640
//
// phase: 0 prefill, 1 decode. step: the row's position. slot: 0, 1, ... within a (turn, phase,
// step, layer), in lines that follow each other. residency: 1 when the expert was in memory before
// the step. expert_bytes: what was read for it, 0 when nothing was.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace colibri {

struct RouteTrace {
    struct Choice {
        uint32_t expert = 0;  // index within its layer
        float weight = 0;
        bool resident = false;
        uint64_t read_bytes = 0;
    };
    // The experts of one row in one layer.
    struct Step {
        uint32_t turn = 0;
        bool decode = false;
        uint32_t position = 0;
        uint32_t layer = 0;
        uint32_t first_choice = 0, choice_count = 0;
    };
    struct LayerSize {
        uint64_t expert_bytes = 0, dense_bytes = 0;
    };

    std::string model, arch;  // without spaces
    uint32_t experts = 0;     // in a layer
    uint32_t experts_used = 0;
    std::vector<LayerSize> layers;
    std::vector<Step> steps;  // in the order in which they ran
    std::vector<Choice> choices;

    [[nodiscard]] std::span<const Choice> choices_of(const Step& step) const {
        return std::span(choices).subspan(step.first_choice, step.choice_count);
    }
};

inline constexpr uint32_t kTraceLayersMax = 4096;
inline constexpr uint32_t kTraceExpertsMax = 65536;
inline constexpr uint64_t kTraceBytesMax = 1ULL << 30;

// `name` is the file's, for messages. Errors, with the line's number: unsupported for another
// version, invalid_input for a line that is not of this form, an expert or layer beyond the
// header's counts, an expert twice in a step, a slot out of order.
[[nodiscard]] Result<RouteTrace> parse_route_trace(std::string_view text, std::string_view name);

// The file's text. Weights are written so that reading gives the same float.
[[nodiscard]] std::string format_route_trace(const RouteTrace& trace);

}  // namespace colibri

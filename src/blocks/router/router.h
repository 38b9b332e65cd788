// Which experts a row goes to, and with what weight (specs glm_moe_dsa 3.7, olmoe 3).
#pragma once

#include <cstdint>

#include "kernels/kernels.h"
#include "model/spec.h"

namespace colibri {

inline constexpr uint32_t kMaxRouterGroups = 256;  // load refuses more

// One row. logits [experts] are overwritten with scores; scratch holds 2 * experts floats. ids
// [top_k] ascending, weights in the same order (normalization and scale included). selection_bias
// [experts] or null. Ties go to the lower expert.
void route(const Kernels& kernels, const Router& router, const float* selection_bias, float* logits,
           float* scratch, uint32_t* ids, float* weights);

}  // namespace colibri

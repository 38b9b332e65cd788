// The families of this build: each a pure function from config.json to a spec.
#pragma once

#include "base/error.h"
#include "base/notices.h"
#include "model/config.h"
#include "model/spec.h"

namespace colibri {

// GLM-5.x: MLA with a shared key indexer, sigmoid-routed experts, one draft layer.
[[nodiscard]] Result<ModelSpec> glm_moe_dsa_spec(const Config& config, Notices& notices);

// OLMoE: full attention with full-width QK norm, softmax-routed experts.
[[nodiscard]] Result<ModelSpec> olmoe_spec(const Config& config, Notices& notices);

}  // namespace colibri

// From a config.json to a spec: finds the family by model_type.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/notices.h"
#include "model/config.h"
#include "model/spec.h"

namespace colibri {

// Errors: unsupported for a model_type that this build does not know (the message lists those it
// does) and for values that change the mathematics; invalid_input for missing, malformed and
// contradictory fields. Keys that nobody knows are named once in a notice.
[[nodiscard]] Result<ModelSpec> spec_from_config(const Config& config, Notices& notices);

// The accepted values of model_type, aliases included.
[[nodiscard]] std::vector<std::string> supported_model_types();

}  // namespace colibri

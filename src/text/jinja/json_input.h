// JSON documents as template values.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/error.h"
#include "text/jinja/value.h"

namespace colibri::jinja {

// Keeps the order of keys. Every string and key counts as input unless `is_trusted`.
[[nodiscard]] Result<Value> value_from_json(const nlohmann::ordered_json& json, bool is_trusted,
                                            Heap& heap);

}  // namespace colibri::jinja

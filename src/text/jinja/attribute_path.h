// The attribute argument of filters: "function.name", "0", or an index.
#pragma once

#include "base/error.h"
#include "text/jinja/value.h"

namespace colibri::jinja {

// Follows each part of the path by item access, numbers as indices; a missing part is undefined,
// access on an undefined value fails.
[[nodiscard]] Result<Value> follow_path(const Value& item, const Value& path, Heap& heap);

}  // namespace colibri::jinja

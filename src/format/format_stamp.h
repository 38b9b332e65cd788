// The optional colibri.fmt stamp of the existing engine's containers: a JSON map from tensor name
// to format name in a file's metadata.
#pragma once

#include <optional>
#include <string>

#include "format/checkpoint.h"

namespace colibri {

// The format that the tensor's own file states for it; empty without a stamp or when the stamp is
// not such a map.
[[nodiscard]] std::optional<std::string> format_stamp(const Checkpoint& checkpoint,
                                                      const TensorInfo& tensor);

}  // namespace colibri

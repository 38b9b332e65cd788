// Reads a whole checkpoint and looks at every number.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "format/checkpoint.h"
#include "format/container.h"

namespace colibri {

// Tensors that cannot be read to their end, and the first number of each tensor that is not finite
// (F32, BF16, F16, F8_E4M3). Goes on after findings. `progress(done, total)` counts bytes. Errors:
// cancelled.
[[nodiscard]] Result<std::vector<ContainerFinding>> scan_checkpoint(
    const Checkpoint& checkpoint,
    const std::function<void(uint64_t done, uint64_t total)>& progress,
    const CancelToken* cancel = nullptr);

}  // namespace colibri

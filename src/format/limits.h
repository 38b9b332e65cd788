// Bounds that the readers of model files share: more than these is no model, and an error.
#pragma once

#include <cstddef>

namespace colibri {

inline constexpr size_t kFilesMax = 100'000;   // of one model
inline constexpr size_t kNameBytesMax = 1024;  // of a file or a tensor

}  // namespace colibri

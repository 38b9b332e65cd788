// Stored weights of any coding as floats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "load/matrix_source.h"

namespace colibri {

// One row as it is stored: code * scale, rounded once. `scales` are the row's, one for each
// source.shape.group_columns() columns (one for row formats, none for plain floats). Errors:
// corrupt at a value that is not finite, naming the column.
[[nodiscard]] Status decode_row(const MatrixSource& source, std::span<const std::byte> row,
                                std::span<const float> scales, std::span<float> out);

}  // namespace colibri

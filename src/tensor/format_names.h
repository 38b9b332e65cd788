// Weight formats by name, as files and command lines spell them.
#pragma once

#include <optional>
#include <string_view>

#include "tensor/weight_matrix.h"

namespace colibri {

// The inverse of to_string(WeightFormat): "f32", "bf16", "fp8-g128", "int8-row", "int4-g64". Empty
// for anything else, groups that are no multiple of 16 or larger than kGroupMax included.
inline constexpr uint32_t kGroupMax = 1U << 16;
[[nodiscard]] std::optional<WeightFormat> parse_weight_format(std::string_view text);

}  // namespace colibri

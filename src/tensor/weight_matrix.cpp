#include "tensor/weight_matrix.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace colibri {

std::string to_string(WeightFormat format) {
    constexpr std::array<std::string_view, kWeightKinds> kNames{"f32",  "bf16", "fp8",
                                                                "int8", "int4", "int2"};
    const std::string_view name = kNames[size_t(format.kind)];
    if (format.group != 0) return fmt::format("{}-g{}", name, format.group);
    return is_integer(format.kind) ? fmt::format("{}-row", name) : std::string(name);
}

std::string_view to_string(ScaleType type) {
    return type == ScaleType::f16 ? "f16" : "f32";
}

}  // namespace colibri

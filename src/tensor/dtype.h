// Element types as files store them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace colibri {

enum class DType : uint8_t { f32, bf16, f16, f8_e4m3, f8_e8m0, u8, i8, i32, i64 };

[[nodiscard]] uint32_t size_bytes(DType type);
// The spelling of safetensors headers: "F32", "BF16", "F8_E4M3", ...
[[nodiscard]] std::string_view to_string(DType type);
[[nodiscard]] std::optional<DType> dtype_from_string(std::string_view name);

// Exact conversions. An F8_E4M3 NaN (0x7F, 0xFF) becomes a NaN.
[[nodiscard]] float bf16_to_f32(uint16_t bits);
[[nodiscard]] float f16_to_f32(uint16_t bits);
[[nodiscard]] float f8_e4m3_to_f32(uint8_t bits);
[[nodiscard]] float f8_e8m0_to_f32(uint8_t bits);
// Round to nearest, ties to even.
[[nodiscard]] uint16_t f32_to_bf16(float value);
// Rounded to nearest even; beyond the range: infinity.
[[nodiscard]] uint16_t f32_to_f16(float value);
[[nodiscard]] uint8_t f32_to_f8_e4m3(float value);

}  // namespace colibri

// Byte sizes: constants, rounding, printing and parsing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace colibri {

inline constexpr uint64_t kKiB = 1024;
inline constexpr uint64_t kMiB = 1024 * kKiB;
inline constexpr uint64_t kGiB = 1024 * kMiB;

template <class T>
[[nodiscard]] constexpr T ceil_div(T value, T by) {
    return (value + by - 1) / by;
}

template <class T>
[[nodiscard]] constexpr T round_up(T value, T multiple) {
    return ceil_div(value, multiple) * multiple;
}

// "1.5 GiB", "700 MiB", "12 KiB", "17 B": at most one decimal.
[[nodiscard]] std::string format_bytes(uint64_t bytes);

// Accepts "800M", "1.5G", "64MiB", "25 GB" (decimal and binary suffixes both mean powers of 1024)
// and plain numbers, which are GiB as in `--ram 16`. Errors: invalid_input naming the text.
[[nodiscard]] Result<uint64_t> parse_bytes(std::string_view text);

}  // namespace colibri

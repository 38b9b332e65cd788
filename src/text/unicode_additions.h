// Code points that Unicode 15 and 16 assigned. PCRE2 10.42 knows Unicode 14, the reference
// libraries know 16.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace colibri::unicode {

struct Addition {
    std::string_view category;  // general category, two letters
    uint32_t first;
    uint32_t last;
};

// By category, then by code point.
[[nodiscard]] std::span<const Addition> additions();

}  // namespace colibri::unicode

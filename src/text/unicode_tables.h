// Tables behind unicode_normal_form.h, all sorted by their first members. Hangul is not in them.
#pragma once

#include <cstdint>
#include <span>

namespace colibri::unicode {

struct Decomposition {
    uint32_t code_point;
    uint16_t offset;  // into decomposition_pool()
    uint8_t length;
};
struct Composition {
    uint32_t first;
    uint32_t second;
    uint32_t composed;
};
struct CombiningRange {  // canonical combining class other than 0
    uint32_t first;
    uint32_t last;
    uint8_t combining_class;
};

[[nodiscard]] std::span<const uint32_t> decomposition_pool();
[[nodiscard]] std::span<const Decomposition> decompositions();
[[nodiscard]] std::span<const Composition> compositions();
[[nodiscard]] std::span<const CombiningRange> combining_classes();

}  // namespace colibri::unicode

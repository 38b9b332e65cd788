// Sixteen scales of a block, whatever their stored type.
#pragma once

#include <cstddef>

#include "kernels/generic/unroll.h"
#include "tensor/weight_matrix.h"

namespace colibri::generic {

template <class S>
[[gnu::always_inline]] static inline typename S::Float load_scales(const std::byte* scales,
                                                                   ScaleType type) {
    if (type == ScaleType::f16) return S::load_f16(scales);
    return S::load(reinterpret_cast<const float*>(scales));
}

}  // namespace colibri::generic

// The tables of this build, one per instruction set folder. Whether the machine may run one is
// kernels.cpp's business.
#pragma once

#include "kernels/kernels.h"

namespace colibri {

[[nodiscard]] const Kernels* reference_table();
#if defined(__x86_64__)
[[nodiscard]] const Kernels* avx2_table();
[[nodiscard]] const Kernels* avx512_table();
#elif defined(__aarch64__)
[[nodiscard]] const Kernels* neon_table();
#endif

}  // namespace colibri

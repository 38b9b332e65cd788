#include "kernels/avx512/simd.h"
// The algorithms use the primitives above.
#include "kernels/entries.h"
#include "kernels/generic/quantize.inl"

namespace colibri::avx512 {

void set_quantize_entries(Kernels& table) {
    table.quantize = generic::quantize<Simd>;
}

}  // namespace colibri::avx512

#include "kernels/avx2/simd.h"
// The algorithms use the primitives above.
#include "kernels/entries.h"
#include "kernels/generic/quantize.inl"

namespace colibri::avx2 {

void set_quantize_entries(Kernels& table) {
    table.quantize = generic::quantize<Simd>;
}

}  // namespace colibri::avx2

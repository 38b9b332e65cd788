#include "kernels/neon/simd.h"
// The algorithms use the primitives above.
#include "kernels/entries.h"
#include "kernels/generic/quantize.inl"

namespace colibri::neon {

void set_quantize_entries(Kernels& table) {
    table.quantize = generic::quantize<Simd>;
}

}  // namespace colibri::neon

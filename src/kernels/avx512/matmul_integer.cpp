#include "kernels/avx512/simd.h"
// The algorithms use the primitives above.
#include "kernels/entries.h"
#include "kernels/generic/matmul_integer.inl"

namespace colibri::avx512 {

void set_integer_product_entries(Kernels& table) {
    table.int8_product = generic::integer_product<Simd, WeightKind::int8>;
    table.int4_product = generic::integer_product<Simd, WeightKind::int4>;
}

}  // namespace colibri::avx512

#include "kernels/avx512/simd.h"
// The algorithms use the primitives above.
#include "kernels/entries.h"
#include "kernels/generic/matmul_integer.inl"

namespace colibri::avx512 {

void set_integer_product_entries(Kernels& table) {
    table.integer_product[size_t(WeightKind::int8)] =
        generic::integer_product<Simd, WeightKind::int8>;
    table.integer_product[size_t(WeightKind::int4)] =
        generic::integer_product<Simd, WeightKind::int4>;
    table.integer_product[size_t(WeightKind::int2)] =
        generic::integer_product<Simd, WeightKind::int2>;
}

}  // namespace colibri::avx512

#include "kernels/avx512/simd.h"
// The algorithms use the primitives above.
#include "kernels/entries.h"
#include "kernels/generic/matmul_float.inl"
#include "kernels/generic/matmul_integer.inl"

namespace colibri::avx512 {

void set_matmul_entries(Kernels& table) {
    table.float_product = {generic::float_product<Simd, WeightKind::f32>,
                           generic::float_product<Simd, WeightKind::bf16>,
                           generic::float_product<Simd, WeightKind::fp8>,
                           generic::float_product<Simd, WeightKind::int8>,
                           generic::float_product<Simd, WeightKind::int4>};
    table.fp8_column_scaled = generic::column_scaled_product<Simd, WeightKind::fp8>;
    table.int8_column_scaled = generic::column_scaled_product<Simd, WeightKind::int8>;
    table.int8_product = generic::integer_product<Simd, WeightKind::int8>;
    table.int4_product = generic::integer_product<Simd, WeightKind::int4>;
}

}  // namespace colibri::avx512

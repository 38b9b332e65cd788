#include "kernels/neon/simd.h"
// The algorithms use the primitives above.
#include "kernels/entries.h"
#include "kernels/generic/matmul_float.inl"

namespace colibri::neon {

void set_float_product_entries(Kernels& table) {
    table.float_product = {generic::float_product<Simd, WeightKind::f32>,
                           generic::float_product<Simd, WeightKind::bf16>,
                           generic::float_product<Simd, WeightKind::fp8>,
                           generic::float_product<Simd, WeightKind::int8>,
                           generic::float_product<Simd, WeightKind::int4>,
                           generic::float_product<Simd, WeightKind::int2>};
    table.fp8_column_scaled = generic::column_scaled_product<Simd, WeightKind::fp8>;
    table.int8_column_scaled = generic::column_scaled_product<Simd, WeightKind::int8>;
}

}  // namespace colibri::neon

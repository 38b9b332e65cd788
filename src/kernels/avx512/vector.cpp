// simd.h first: the generic code is written in its terms.
#include "kernels/avx512/simd.h"

#include "kernels/entries.h"
#include "kernels/generic/vector.inl"

namespace colibri::avx512 {

void set_vector_entries(Kernels& table) {
    VectorKernels<Simd>::add_entries(table);
}

}  // namespace colibri::avx512

// simd.h first: the generic code is written in its terms.
#include "kernels/neon/simd.h"

#include "kernels/entries.h"
#include "kernels/generic/vector.inl"

namespace colibri::neon {

void set_vector_entries(Kernels& table) {
    VectorKernels<Simd>::add_entries(table);
}

}  // namespace colibri::neon

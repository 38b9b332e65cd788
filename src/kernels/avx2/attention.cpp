// simd.h first: the generic code is written in its terms.
#include "kernels/avx2/simd.h"

#include "kernels/entries.h"
#include "kernels/generic/attention.inl"

namespace colibri::avx2 {

void set_attention_entries(Kernels& table) {
    AttentionKernels<Simd>::add_entries(table);
}

}  // namespace colibri::avx2

// simd.h first: the generic code is written in its terms.
#include "kernels/neon/simd.h"

#include "kernels/entries.h"
#include "kernels/generic/attention.inl"

namespace colibri::neon {

void set_attention_entries(Kernels& table) {
    AttentionKernels<Simd>::add_entries(table);
}

}  // namespace colibri::neon

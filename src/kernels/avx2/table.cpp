#include "kernels/entries.h"
#include "kernels/tables.h"

namespace colibri {

const Kernels* avx2_table() {
    static const Kernels kTable = [] {
        Kernels made;
        made.isa = Isa::avx2;
        avx2::set_float_product_entries(made);
        avx2::set_integer_product_entries(made);
        avx2::set_quantize_entries(made);
        avx2::set_vector_entries(made);
        avx2::set_attention_entries(made);
        return made;
    }();
    return &kTable;
}

}  // namespace colibri

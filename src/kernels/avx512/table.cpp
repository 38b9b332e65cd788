#include "kernels/entries.h"
#include "kernels/tables.h"

namespace colibri {

const Kernels* avx512_table() {
    static const Kernels kTable = [] {
        Kernels made;
        made.isa = Isa::avx512;
        avx512::set_float_product_entries(made);
        avx512::set_integer_product_entries(made);
        avx512::set_quantize_entries(made);
        avx512::set_vector_entries(made);
        avx512::set_attention_entries(made);
        return made;
    }();
    return &kTable;
}

}  // namespace colibri

#include "kernels/entries.h"
#include "kernels/tables.h"

namespace colibri {

const Kernels* neon_table() {
    static const Kernels kTable = [] {
        Kernels made;
        made.isa = Isa::neon;
        neon::set_float_product_entries(made);
        neon::set_integer_product_entries(made);
        neon::set_quantize_entries(made);
        neon::set_vector_entries(made);
        neon::set_attention_entries(made);
        return made;
    }();
    return &kTable;
}

}  // namespace colibri

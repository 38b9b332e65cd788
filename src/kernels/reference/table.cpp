#include "kernels/entries.h"
#include "kernels/tables.h"

namespace colibri {

const Kernels* reference_table() {
    static const Kernels kTable = [] {
        Kernels made;
        made.isa = Isa::reference;
        reference::set_float_product_entries(made);
        reference::set_integer_product_entries(made);
        reference::set_quantize_entries(made);
        reference::set_vector_entries(made);
        reference::set_attention_entries(made);
        return made;
    }();
    return &kTable;
}

}  // namespace colibri

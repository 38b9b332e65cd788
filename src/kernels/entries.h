// How an instruction set fills its dispatch table: its table.cpp calls each once.
#pragma once

#include "kernels/kernels.h"

namespace colibri::reference {
void set_float_product_entries(Kernels& table);
void set_integer_product_entries(Kernels& table);
void set_quantize_entries(Kernels& table);
void set_vector_entries(Kernels& table);
void set_attention_entries(Kernels& table);
}  // namespace colibri::reference

namespace colibri::avx2 {
void set_float_product_entries(Kernels& table);
void set_integer_product_entries(Kernels& table);
void set_quantize_entries(Kernels& table);
void set_vector_entries(Kernels& table);
void set_attention_entries(Kernels& table);
}  // namespace colibri::avx2

namespace colibri::avx512 {
void set_float_product_entries(Kernels& table);
void set_integer_product_entries(Kernels& table);
void set_quantize_entries(Kernels& table);
void set_vector_entries(Kernels& table);
void set_attention_entries(Kernels& table);
}  // namespace colibri::avx512

namespace colibri::neon {
void set_float_product_entries(Kernels& table);
void set_integer_product_entries(Kernels& table);
void set_quantize_entries(Kernels& table);
void set_vector_entries(Kernels& table);
void set_attention_entries(Kernels& table);
}  // namespace colibri::neon

// y = W x for rows of activations, on the path that the numeric contract gives the weight's format.
#pragma once

#include <cstdint>
#include <span>

#include "base/error.h"
#include "blocks/compute.h"
#include "kernels/kernels.h"
#include "tensor/weight_matrix.h"

namespace colibri {

// Rows of activations that several matrices multiply: quantized at most once per group width, when
// the first integer matrix asks. Lives in scratch; must not outlive the scope it was made in.
class ActivationRows {
public:
    ActivationRows(FloatRows rows, uint32_t row_count, uint32_t columns)
        : rows_(rows), row_count_(row_count), columns_(columns) {}

    [[nodiscard]] FloatRows floats() const { return rows_; }
    [[nodiscard]] uint32_t row_count() const { return row_count_; }
    [[nodiscard]] uint32_t columns() const { return columns_; }

    // Makes the quantized form that `shape` needs, unless it is there. Errors: invalid_input when
    // an activation is not finite.
    [[nodiscard]] Status quantize_for(Compute& compute, const TileShape& shape);
    // After quantize_for with the same group width.
    [[nodiscard]] const QuantizedRows& quantized(const TileShape& shape) const;

private:
    struct Form {
        uint32_t group = 0;
        uint32_t padded_columns = 0;
        QuantizedRows rows;
    };
    FloatRows rows_;
    uint32_t row_count_;
    uint32_t columns_;
    Form forms_[2];
    uint32_t form_count_ = 0;
};

[[nodiscard]] bool uses_integer_path(const Compute& compute, const TileShape& shape);

// Scratch for the quantized forms of `rows` rows of `columns`.
[[nodiscard]] uint64_t activation_scratch_bytes(uint64_t rows, uint64_t columns);

// Outputs of blocks [block_begin, block_end) on the calling thread; x must be quantized for w if it
// is an integer matrix.
void multiply_blocks(const Compute& compute, const MatrixView& w, const ActivationRows& x,
                     OutputRows y, uint32_t block_begin, uint32_t block_end);

// All outputs, cut over the team.
[[nodiscard]] Status multiply(Compute& compute, const MatrixView& w, ActivationRows& x,
                              OutputRows y);
// Several matrices with the same input in one parallel region.
struct Product {
    MatrixView weights;
    OutputRows y;
};
[[nodiscard]] Status multiply_all(Compute& compute, std::span<const Product> products,
                                  ActivationRows& x);
// The float path whatever --activations says: routers and indexer gates.
void multiply_float(Compute& compute, const MatrixView& w, FloatRows x, uint32_t row_count,
                    OutputRows y);

// Row `row` of a matrix, decoded: an embedding lookup. q * s, rounded once.
void gather_row(const MatrixView& w, uint32_t row, float* out);

}  // namespace colibri

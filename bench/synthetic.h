// Weight matrices with plausible numbers and no checkpoint behind them, for measurements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "kernels/kernels.h"

namespace colibri::bench {

// "int8-row" (or "int8"), "int8-g64", "int4-g64", "fp8-g128" (or "fp8"), "bf16", "f32".
[[nodiscard]] Result<WeightFormat> parse_format(const std::string& name);

// Matrices of one shape, one behind the other in one buffer.
struct MatrixSet {
    TileShape shape;
    AlignedBuffer buffer;
    uint64_t count = 0;

    [[nodiscard]] MatrixView at(uint64_t index) const {
        return {shape, buffer.data() + index * shape.total_bytes()};
    }
    [[nodiscard]] uint64_t weight_bytes() const { return count * shape.total_bytes(); }
};

// As many matrices as reach size_bytes. Errors: out_of_budget.
[[nodiscard]] Result<MatrixSet> make_matrix_set(const TileShape& shape, uint64_t size_bytes);

// Activation rows in both forms, and room for the outputs.
struct Activations {
    Activations(const TileShape& shape, uint32_t row_count);

    // One product over all blocks [begin, end) of a matrix, on the path that its kind uses by
    // default.
    void multiply(const Kernels& table, const MatrixView& matrix, uint32_t begin, uint32_t end);

    uint32_t row_count;
    uint32_t value_stride;
    uint32_t group_stride;
    uint32_t output_stride;
    std::vector<float> x;
    std::vector<float> y;
    std::vector<int8_t> values;
    std::vector<float> scales;
    std::vector<int32_t> sums;
};

}  // namespace colibri::bench

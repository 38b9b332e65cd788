// Where a weight matrix lies in a checkpoint, in which stored form, and what it becomes in memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "format/checkpoint.h"
#include "tensor/weight_matrix.h"

namespace colibri {

// Stored element coding. Integer codings carry an offset: int4 value + 8, int2 value + 2; int8 is
// signed.
enum class Coding : uint8_t { f32, f16, bf16, f8_e4m3, int8, int4, int2 };

struct MatrixSource {
    std::string name;
    const TensorInfo* data = nullptr;
    uint64_t data_begin =
        0;  // of row 0 within the tensor (fused and merged tensors hold several matrices)
    Coding coding = Coding::f32;
    uint64_t row_bytes = 0;              // rows are stored one after the other
    const TensorInfo* scales = nullptr;  // null for plain floats
    uint64_t scales_begin = 0;           // elements
    uint32_t scale_groups = 0;           // scales per stored scale row
    uint32_t scale_row_divisor = 1;      // rows that share a scale row: 128 for FP8 blocks
    TileShape shape;                     // in memory
    // Of a container: the tensor's bytes are what memory gets, scales included.
    bool stored = false;

    [[nodiscard]] uint64_t data_bytes() const {
        return stored ? data->size_bytes : row_bytes * shape.rows;
    }
    [[nodiscard]] uint64_t scale_count() const {
        return scales == nullptr ? 0
                                 : uint64_t(ceil_div(shape.rows, scale_row_divisor)) * scale_groups;
    }
};

// Finds `name` as a [rows, columns] matrix: F32/F16/BF16; F8_E4M3 with `name`_scale_inv per 128x128
// block; or U8/I8 with `name`.qs in the forms of the existing engine (int8-row, int4-row,
// int4-group, int2-row), told apart by byte counts and, where two fit, by the file's colibri.fmt
// stamp. Errors: corrupt/unsupported naming file, tensor, found and expected; not_found when
// absent. padded_rows: more rows than asked for are accepted, the first ones are used (embeddings
// padded to a round number).
[[nodiscard]] Result<MatrixSource> find_matrix(const Checkpoint& checkpoint, std::string_view name,
                                               uint32_t rows, uint32_t columns,
                                               bool padded_rows = false);

// Finds a tensor of a container; rows and columns are those of one head where there are heads.
// Errors: not_found when absent, corrupt when the manifest gives it another layout or shape.
[[nodiscard]] Result<MatrixSource> find_stored(const Checkpoint& checkpoint, std::string_view name,
                                               TensorLayout layout, uint32_t rows, uint32_t columns,
                                               uint32_t heads = 1);

// One expert's matrix inside a fused tensor [experts, fused_rows, columns], beginning at
// `first_row`.
[[nodiscard]] Result<MatrixSource> find_fused_matrix(const Checkpoint& checkpoint,
                                                     std::string_view name, uint32_t experts,
                                                     uint32_t expert, uint32_t fused_rows,
                                                     uint32_t first_row, uint32_t rows,
                                                     uint32_t columns);

// One of the three matrices of a merged int8 expert: gate, up, down flattened one after the other,
// row scales likewise.
[[nodiscard]] Result<MatrixSource> find_merged_matrix(const Checkpoint& checkpoint,
                                                      std::string_view weight_name,
                                                      std::string_view scale_name, uint32_t part,
                                                      uint32_t hidden, uint32_t dim);

// All scales of a matrix as floats. Errors: io, corrupt (not finite).
[[nodiscard]] Result<std::vector<float>> read_scales(const Checkpoint& checkpoint,
                                                     const MatrixSource& source);

// Rows [16*block_begin, ...) of `raw` (row-major, as stored) into `out`, which holds the whole
// tile16 matrix.
[[nodiscard]] Status retile_data(const MatrixSource& source, std::span<const std::byte> raw,
                                 uint32_t block_begin, uint32_t block_end, std::byte* out);
// Fills the scales behind the data. `first_row`: row of the stored tensor at which the matrix
// begins.
[[nodiscard]] Status retile_all_scales(const MatrixSource& source, std::span<const float> scales,
                                       uint32_t first_row, std::byte* out);

}  // namespace colibri

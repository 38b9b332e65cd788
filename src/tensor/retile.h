// Row-major weights, as checkpoints store them, into the tile16 layout. Bytes, not maths: values
// are copied or widened exactly, never rounded.
//
// Each function fills row blocks [block_begin, block_end) of `out` (shape.total_bytes() bytes,
// 64-byte aligned), so that callers can cut the work between threads or stream a large tensor in
// pieces: `source` points at the first row of block_begin and holds the rows up to min(rows,
// 16*block_end). Padding is written by these functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "tensor/dtype.h"
#include "tensor/weight_matrix.h"

namespace colibri {

// f32 or bf16 shape from F32/BF16/F16 source bytes (F16 and F32 need an f32 shape; BF16 fits both).
// Errors: corrupt at the first value that is not finite, with its row and column.
[[nodiscard]] Status retile_float(const TileShape& shape, DType source_type,
                                  std::span<const std::byte> source, uint32_t block_begin,
                                  uint32_t block_end, std::byte* out);

// fp8 shape (group = block columns) from F8_E4M3 codes [rows, columns]. Errors: corrupt at the
// first NaN code.
[[nodiscard]] Status retile_fp8(const TileShape& shape, std::span<const std::byte> source,
                                uint32_t block_begin, uint32_t block_end, std::byte* out);

// int8 shape from signed bytes [rows, columns].
[[nodiscard]] Status retile_int8(const TileShape& shape, std::span<const std::byte> source,
                                 uint32_t block_begin, uint32_t block_end, std::byte* out);

// int4 shape from packed rows. bits = 4: [rows, ceil(columns/2)], low nibble = even column,
// value+8. bits = 2: [rows, ceil(columns/4)], 4 values a byte, lowest bits first, value+2 (widened
// exactly to nibbles).
[[nodiscard]] Status retile_int4(const TileShape& shape, uint32_t bits,
                                 std::span<const std::byte> source, uint32_t block_begin,
                                 uint32_t block_end, std::byte* out);

// int2 shape from packed rows [rows, ceil(columns/4)], 4 values a byte, lowest bits first, value+2.
[[nodiscard]] Status retile_int2(const TileShape& shape, std::span<const std::byte> source,
                                 uint32_t block_begin, uint32_t block_end, std::byte* out);

// Scales, all blocks at once. `scale(row, group)` = source[(first_row + row) / row_divisor *
// source_groups + group]: per-row scales have row_divisor 1; FP8 blocks of 128x128 have row_divisor
// 128 and first_row the row of the stored tensor at which this matrix begins (a slice of a larger
// tensor keeps its place in the block grid). Padding rows get 0. Errors: corrupt when a scale is
// not finite, not exact in the shape's scale type, or out of `source`'s bounds.
[[nodiscard]] Status retile_scales(const TileShape& shape, std::span<const float> source,
                                   uint32_t source_groups, uint32_t first_row, uint32_t row_divisor,
                                   std::byte* out);

}  // namespace colibri

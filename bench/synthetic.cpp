#include "bench/synthetic.h"

#include <fmt/format.h>

#include <cstring>

#include "base/rng.h"
#include "base/units.h"

namespace colibri::bench {

namespace {

void fill_matrix(const TileShape& shape, std::byte* out) {
    Rng rng(7);
    const WeightKind kind = shape.format.kind;
    const bool wide = kind == WeightKind::f32 || kind == WeightKind::bf16;
    for (uint64_t i = 0; i < shape.data_bytes(); ++i) {
        auto byte = uint32_t(rng.next() & 0xFF);
        if (kind == WeightKind::fp8) byte &= 0xBF;  // |w| < 2, no NaN codes
        if (wide && i % (kind == WeightKind::f32 ? 4 : 2) == (kind == WeightKind::f32 ? 3 : 1))
            byte = (byte & 0x80) | 0x3C;  // |w| around 0.01
        out[i] = std::byte(byte);
    }
    auto* scales = reinterpret_cast<float*>(out + shape.data_bytes());
    for (uint64_t i = 0; i < shape.scale_bytes() / sizeof(float); ++i)
        scales[i] = float(0.001 + 0.01 * rng.uniform());
}

}  // namespace

Result<WeightFormat> parse_format(const std::string& name) {
    for (const WeightKind kind : {WeightKind::f32, WeightKind::bf16, WeightKind::fp8,
                                  WeightKind::int8, WeightKind::int4, WeightKind::int2})
        for (const uint32_t group : {0U, 32U, 64U, 128U, 256U}) {
            const WeightFormat format{kind, group};
            const bool is_float = kind == WeightKind::f32 || kind == WeightKind::bf16;
            if (!(is_float && group != 0) && to_string(format) == name) return format;
        }
    if (name == "int8") return WeightFormat{WeightKind::int8, 0};
    if (name == "int4") return WeightFormat{WeightKind::int4, 64};
    if (name == "fp8") return WeightFormat{WeightKind::fp8, 128};
    return fail(ErrorKind::invalid_input,
                fmt::format("found --format {}, expected f32, bf16, fp8-g128, int8-row, int8-g64, "
                            "int4-row, int4-g64 or alike",
                            name));
}

Result<MatrixSet> make_matrix_set(const TileShape& shape, uint64_t size_bytes) {
    const uint64_t count = ceil_div(size_bytes, shape.total_bytes());
    TRY(AlignedBuffer buffer, AlignedBuffer::allocate(count * shape.total_bytes()));
    fill_matrix(shape, buffer.data());
    for (uint64_t i = 1; i < count; ++i)
        std::memcpy(buffer.data() + i * shape.total_bytes(), buffer.data(), shape.total_bytes());
    return MatrixSet{shape, std::move(buffer), count};
}

Activations::Activations(const TileShape& shape, uint32_t rows)
    : row_count(rows),
      value_stride(shape.padded_columns()),
      group_stride(shape.groups()),
      output_stride(shape.blocks() * kTileRows),
      x(uint64_t(rows) * shape.columns),
      y(uint64_t(rows) * output_stride),
      values(uint64_t(rows) * value_stride),
      scales(uint64_t(rows) * group_stride),
      sums(uint64_t(rows) * group_stride) {
    Rng rng(9);
    for (float& value : x) value = float(rng.uniform() * 2 - 1);
    for (uint32_t r = 0; r < rows; ++r)
        (void)best_kernels().quantize(
            x.data() + uint64_t(r) * shape.columns, shape.columns, shape.group_columns(),
            value_stride, values.data() + uint64_t(r) * value_stride,
            scales.data() + uint64_t(r) * group_stride, sums.data() + uint64_t(r) * group_stride);
}

void Activations::multiply(const Kernels& table, const MatrixView& matrix, uint32_t begin,
                           uint32_t end) {
    const OutputRows out{y.data(), output_stride};
    const WeightKind kind = matrix.shape.format.kind;
    if (is_integer(kind)) {
        table.integer_product[size_t(kind)](
            matrix, {values.data(), scales.data(), sums.data(), value_stride, group_stride},
            row_count, out, begin, end);
    } else {
        table.float_product[size_t(kind)](matrix, {x.data(), matrix.shape.columns}, row_count, out,
                                          begin, end);
    }
}

}  // namespace colibri::bench

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "kernels/kernels.h"
#include "kernels/matmul_testing.h"
#include "kernels/testing.h"

namespace colibri {
namespace {

using testing::TestMatrix;
using testing::TestQuantized;

constexpr float kUntouched = -12345.5F;

// One product over some blocks: the table's entry with its inputs bound.
using Product = std::function<void(const Kernels&, uint32_t first_row, uint32_t row_count,
                                   OutputRows y, uint32_t begin, uint32_t end)>;

std::vector<float> run_whole(const Kernels& table, const Product& product, const TileShape& shape,
                             uint32_t row_count, uint32_t stride) {
    std::vector<float> y(uint64_t(row_count) * stride, kUntouched);
    product(table, 0, row_count, {y.data(), stride}, 0, shape.blocks());
    return y;
}

// The table's product equals the reference's bit for bit: whole, in random parts of the blocks, and
// row by row; nothing beyond the matrix's rows is written.
void expect_reference_bits(Rng& rng, const Product& product, const TileShape& shape,
                           uint32_t row_count, const std::string& what) {
    const uint32_t stride = shape.rows + uint32_t(rng.below(20));
    const std::vector<float> expected =
        run_whole(*kernels_for(Isa::reference), product, shape, row_count, stride);
    for (const Kernels* table : testing::fast_tables()) {
        const std::string where = what + " rows " + std::to_string(row_count) + " on " +
                                  std::string(to_string(table->isa));
        const std::vector<float> whole = run_whole(*table, product, shape, row_count, stride);
        ASSERT_EQ(testing::first_difference(expected, whole), -1) << where;

        std::vector<float> parts(whole.size(), kUntouched);
        for (uint32_t begin = 0; begin < shape.blocks();) {
            const auto end = uint32_t(begin + 1 + rng.below(shape.blocks() - begin));
            product(*table, 0, row_count, {parts.data(), stride}, begin, end);
            begin = end;
        }
        ASSERT_EQ(testing::first_difference(expected, parts), -1) << where << " in parts";

        const auto row = uint32_t(rng.below(row_count));
        std::vector<float> alone(stride, kUntouched);
        product(*table, row, 1, {alone.data(), stride}, 0, shape.blocks());
        const std::vector<float> same(expected.begin() + uint64_t(row) * stride,
                                      expected.begin() + uint64_t(row + 1) * stride);
        ASSERT_EQ(testing::first_difference(same, alone), -1) << where << " alone";
    }
}

Product float_product(const TestMatrix& matrix, const std::vector<float>& x, uint32_t stride) {
    return [&matrix, &x, stride](const Kernels& table, uint32_t first_row, uint32_t row_count,
                                 OutputRows y, uint32_t begin, uint32_t end) {
        table.float_product[size_t(matrix.shape.format.kind)](
            matrix.view(), {x.data() + uint64_t(first_row) * stride, stride}, row_count, y, begin,
            end);
    };
}

Product integer_product(const TestMatrix& matrix, const TestQuantized& x) {
    return [&matrix, &x](const Kernels& table, uint32_t first_row, uint32_t row_count, OutputRows y,
                         uint32_t begin, uint32_t end) {
        QuantizedRows rows = x.rows();
        rows.values += uint64_t(first_row) * rows.value_stride;
        rows.scales += uint64_t(first_row) * rows.group_stride;
        rows.sums += uint64_t(first_row) * rows.group_stride;
        const auto entry = table.integer_product[size_t(matrix.shape.format.kind)];
        entry(matrix.view(), rows, row_count, y, begin, end);
    };
}

std::vector<WeightFormat> all_formats() {
    std::vector<WeightFormat> formats{
        {WeightKind::f32, 0}, {WeightKind::bf16, 0}, {WeightKind::fp8, 0}};
    for (const uint32_t group : {16U, 32U, 48U, 64U, 96U, 128U, 256U, 512U}) {
        formats.push_back({WeightKind::fp8, group});
        formats.push_back({WeightKind::int8, group});
        formats.push_back({WeightKind::int4, group});
        formats.push_back({WeightKind::int2, group});
        for (const WeightKind kind : {WeightKind::int8, WeightKind::int4, WeightKind::int2})
            formats.push_back({kind, group, ScaleType::f16});
    }
    formats.push_back({WeightKind::int8, 0});
    formats.push_back({WeightKind::int4, 0});
    formats.push_back({WeightKind::int2, 0});
    return formats;
}

// Row counts that meet every tile size and every remainder; large ones only for small matrices.
uint32_t random_row_count(Rng& rng, uint64_t cells) {
    const auto most = uint32_t(std::clamp<uint64_t>(600'000 / cells, 3, 80));
    return uint32_t(1 + rng.below(most));
}

TileShape random_shape(Rng& rng, WeightFormat format) {
    return {format, uint32_t(1 + rng.below(rng.below(4) == 0 ? 300 : 60)),
            uint32_t(1 + rng.below(rng.below(3) == 0 ? 700 : 150))};
}

// Goal: the float path gives the reference's bits on every instruction set, for every format,
// shape, batch and cut. Method: random matrices with extremes, odd sizes and padding; bitwise
// comparison, whole, in parts and row by row.
TEST(FloatProduct, EqualsReferenceBitForBit) {
    Rng rng(11);
    for (const WeightFormat format : all_formats())
        for (int round = 0; round < 15; ++round) {
            const TileShape shape = random_shape(rng, format);
            const TestMatrix matrix =
                testing::random_matrix(rng, format, shape.rows, shape.columns);
            ASSERT_EQ(matrix.shape.rows, shape.rows);
            const uint32_t row_count = random_row_count(rng, matrix.cells.size());
            const uint32_t stride = shape.columns + uint32_t(rng.below(9));
            const auto x = testing::random_activations(rng, row_count, stride);
            expect_reference_bits(rng, float_product(matrix, x, stride), shape, row_count,
                                  to_string(format) + ' ' + std::to_string(shape.rows) + 'x' +
                                      std::to_string(shape.columns));
        }
}

// Goal: the integer path gives the reference's bits on every instruction set, for every format,
// shape, batch and cut. Method: as above, with -128 weights, saturated activations and zero rows;
// quantized once by the reference.
TEST(IntegerProduct, EqualsReferenceBitForBit) {
    Rng rng(12);
    for (const WeightFormat format : all_formats()) {
        if (!is_integer(format.kind)) continue;
        for (int round = 0; round < 25; ++round) {
            const TileShape shape = random_shape(rng, format);
            const TestMatrix matrix =
                testing::random_matrix(rng, format, shape.rows, shape.columns);
            ASSERT_EQ(matrix.shape.rows, shape.rows);
            const uint32_t row_count = random_row_count(rng, matrix.cells.size());
            const auto x = testing::random_activations(rng, row_count, shape.columns);
            const TestQuantized q = testing::quantize_rows(*kernels_for(Isa::reference), shape, x,
                                                           row_count, shape.columns);
            expect_reference_bits(rng, integer_product(matrix, q), shape, row_count,
                                  to_string(format) + ' ' + std::to_string(shape.rows) + 'x' +
                                      std::to_string(shape.columns));
        }
    }
}

// Goal: sums at the edge of what the narrow steps of an instruction set hold stay exact.
// Method: all weights -128, 127, -8 or 7 against activations of +-127, widest groups, signs alike
// and alternating.
TEST(IntegerProduct, IsExactAtSaturation) {
    for (const WeightFormat format :
         {WeightFormat{WeightKind::int8, 0}, WeightFormat{WeightKind::int8, 512},
          WeightFormat{WeightKind::int4, 0}, WeightFormat{WeightKind::int4, 512},
          WeightFormat{WeightKind::int2, 0}, WeightFormat{WeightKind::int2, 512}})
        for (const bool lowest : {false, true})
            for (const bool alternating : {false, true}) {
                const TileShape shape{format, 16, 1024};
                const AlignedBuffer tiles = AlignedBuffer::allocate(shape.total_bytes()).value();
                const int half = format.kind == WeightKind::int8   ? 128
                                 : format.kind == WeightKind::int4 ? 8
                                                                   : 2;
                const int weight = lowest ? -half : half - 1;
                const int byte = half == 128 ? weight : (lowest ? 0 : 0xFF);
                std::memset(tiles.data(), byte, shape.data_bytes());
                const std::vector<float> scales(16 * shape.scale_groups(), 1.0F);
                ASSERT_TRUE(retile_scales(shape, scales, shape.scale_groups(), 0, 1, tiles.data()));
                TestQuantized q;
                q.values.assign(1024, 127);
                if (alternating)
                    for (size_t k = 0; k < 1024; k += 2) q.values[k] = -127;
                q.scales.assign(shape.groups(), 1.0F);
                q.sums.assign(shape.groups(), 0);
                for (uint32_t k = 0; k < 1024; ++k)
                    q.sums[k / shape.group_columns()] += q.values[k];
                q.value_stride = 1024;
                q.group_stride = shape.groups();
                const float expected = alternating ? 0.0F : float(weight) * 127.0F * 1024.0F;
                for (const Isa isa : available_isas()) {
                    const Kernels& table = *kernels_for(isa);
                    std::vector<float> y(16);
                    table.integer_product[size_t(format.kind)]({shape, tiles.data()}, q.rows(), 1,
                                                               {y.data(), 16}, 0, 1);
                    for (const float value : y)
                        ASSERT_EQ(value, expected) << to_string(format) << to_string(isa);
                }
            }
}

// Goal: the reference multiplies what the checkpoint says: re-tiling and product together are plain
// mathematics. Method: row-major double-precision dots beside the float chains, within the bound of
// their roundings.
TEST(FloatProduct, ReferenceIsThePlainProduct) {
    Rng rng(13);
    for (const WeightFormat format : all_formats()) {
        const TileShape shape = random_shape(rng, format);
        const TestMatrix matrix = testing::random_matrix(rng, format, shape.rows, shape.columns);
        ASSERT_EQ(matrix.shape.rows, shape.rows);
        const auto x = testing::random_activations(rng, 3, shape.columns);
        const auto y = run_whole(*kernels_for(Isa::reference),
                                 float_product(matrix, x, shape.columns), shape, 3, shape.rows);
        for (uint32_t r = 0; r < 3; ++r)
            for (uint32_t o = 0; o < shape.rows; ++o) {
                double sum = 0;
                double magnitude = 0;
                for (uint32_t k = 0; k < shape.columns; ++k) {
                    const uint32_t group = format.group == 0 ? 0 : k / format.group;
                    const double term = matrix.cell(o, k) * matrix.scale(o, group) *
                                        double(x[uint64_t(r) * shape.columns + k]);
                    sum += term;
                    magnitude += std::fabs(term);
                }
                if (magnitude > 1e30) continue;  // the float chain may overflow
                ASSERT_NEAR(double(y[uint64_t(r) * shape.rows + o]), sum,
                            magnitude * (shape.columns + 2) * 0x1p-24 + 1e-40)
                    << to_string(format) << ' ' << r << ' ' << o;
            }
    }
}

// Goal: the integer path's reference is the exact group dots, scaled and added in order.
// Method: 64-bit integer dots over row-major cells; the float chain repeated here from them must
// agree bit for bit.
TEST(IntegerProduct, ReferenceIsTheExactGroupDots) {
    Rng rng(14);
    for (const WeightFormat format : all_formats()) {
        if (!is_integer(format.kind)) continue;
        const TileShape shape = random_shape(rng, format);
        const TestMatrix matrix = testing::random_matrix(rng, format, shape.rows, shape.columns);
        ASSERT_EQ(matrix.shape.rows, shape.rows);
        const Kernels& reference = *kernels_for(Isa::reference);
        const auto x = testing::random_activations(rng, 3, shape.columns);
        const TestQuantized q = testing::quantize_rows(reference, shape, x, 3, shape.columns);
        const auto y = run_whole(reference, integer_product(matrix, q), shape, 3, shape.rows);
        const uint32_t group = format.group == 0 ? 256 : format.group;
        for (uint32_t r = 0; r < 3; ++r)
            for (uint32_t o = 0; o < shape.rows; ++o) {
                float acc = 0;
                for (uint32_t begin = 0, g = 0; begin < shape.columns; begin += group, ++g) {
                    int64_t dot = 0;
                    for (uint32_t k = begin; k < std::min(shape.columns, begin + group); ++k)
                        dot += int64_t(matrix.cell(o, k)) * q.values[r * q.value_stride + k];
                    const float activation_scale = q.scales[r * q.group_stride + g];
                    const float scale = format.group == 0
                                            ? activation_scale
                                            : float(matrix.scale(o, g)) * activation_scale;
                    acc = std::fma(float(dot), scale, acc);
                }
                if (format.group == 0) acc *= float(matrix.scale(o, 0));
                ASSERT_TRUE(testing::same_bits(y[uint64_t(r) * shape.rows + o], acc))
                    << to_string(format) << ' ' << r << ' ' << o;
            }
    }
}

// Goal: products whose scales lie on the reduction axis: the reference is the stated chain, the
// others its bits. Method: random byte cells in the order of fp8; the chain repeated here from
// row-major cells, then all tables.
TEST(ColumnScaledProduct, EqualsItsDefinitionAndReference) {
    Rng rng(15);
    for (const WeightKind kind : {WeightKind::fp8, WeightKind::int8})
        for (int round = 0; round < 25; ++round) {
            const TileShape shape = random_shape(rng, {kind, 64});
            const uint64_t cells = uint64_t(shape.blocks()) * 16 * shape.columns;
            const AlignedBuffer tiles = AlignedBuffer::allocate(cells).value();
            for (uint64_t i = 0; i < cells; ++i)
                tiles.data()[i] = std::byte(testing::random_code(rng, kind));
            const auto scales =
                testing::random_values(rng, uint64_t(shape.blocks()) * shape.columns);
            const uint32_t row_count = random_row_count(rng, cells);
            const uint32_t stride = shape.columns + uint32_t(rng.below(9));
            const auto x = testing::random_activations(rng, row_count, stride);
            const Product product = [&](const Kernels& table, uint32_t first_row, uint32_t rows,
                                        OutputRows y, uint32_t begin, uint32_t end) {
                (kind == WeightKind::fp8 ? table.fp8_column_scaled : table.int8_column_scaled)(
                    {shape, tiles.data()}, scales.data(),
                    {x.data() + uint64_t(first_row) * stride, stride}, rows, y, begin, end);
            };
            expect_reference_bits(rng, product, shape, row_count, to_string(shape.format));
            const auto y = run_whole(*kernels_for(Isa::reference), product, shape, 1, shape.rows);
            for (uint32_t o = 0; o < shape.rows; ++o) {
                float acc = 0;
                for (uint32_t k = 0; k < shape.columns; ++k) {
                    const uint64_t column = uint64_t(o / 16) * shape.columns + k;
                    const auto code = uint32_t(tiles.data()[column * 16 + o % 16]);
                    const float weight = float(testing::decode(kind, code)) * scales[column];
                    acc = std::fma(weight, x[k], acc);
                }
                ASSERT_TRUE(testing::same_bits(y[o], acc)) << o;
            }
        }
}

// Goal: rows whose length is a power of two, long matrices and large batches take the same path
// with the same bits. Method: one 40 x 4096 matrix per kind with 67 rows.
TEST(FloatProduct, EqualsReferenceOnLongRows) {
    Rng rng(16);
    for (const WeightFormat format :
         {WeightFormat{WeightKind::f32, 0}, WeightFormat{WeightKind::fp8, 128},
          WeightFormat{WeightKind::int4, 0}}) {
        const TileShape shape{format, 24, 2048};
        const TestMatrix matrix = testing::random_matrix(rng, format, shape.rows, shape.columns);
        const auto x = testing::random_activations(rng, 31, shape.columns);
        expect_reference_bits(rng, float_product(matrix, x, shape.columns), shape, 31,
                              to_string(format) + " long");
    }
}

}  // namespace
}  // namespace colibri

// CPU maths behind one table of functions, chosen once at start. kernels/reference is the truth:
// every other table returns the same bits for the same inputs (ARCHITECTURE.md, "Numeric
// contract").
//
// Common rules. Pointers are to f32 unless stated; vectors need no alignment, matrices (MatrixView)
// are 64-byte aligned; strides count elements. No function allocates, throws, or keeps state; all
// are safe to call from many threads on disjoint outputs. The result of an output row depends on
// its own inputs alone, never on how many rows or blocks a call has.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tensor/weight_matrix.h"

namespace colibri {

// Ordered from the plainest to the widest.
enum class Isa : uint8_t { reference, avx2, avx512, neon };

[[nodiscard]] std::string_view to_string(Isa isa);
[[nodiscard]] std::optional<Isa> isa_from_string(std::string_view name);

// Activation rows quantized for one group width (quantize below). Row r, with row strides in
// elements: values[r*value_stride + k] int8, zero padded to TileShape::padded_columns();
// scales[r*group_stride + g]; sums[r*group_stride + g] = sum of the group's int8 values.
struct QuantizedRows {
    const int8_t* values = nullptr;
    const float* scales = nullptr;
    const int32_t* sums = nullptr;
    uint32_t value_stride = 0;
    uint32_t group_stride = 0;
};

struct FloatRows {
    const float* values = nullptr;
    uint32_t stride = 0;
};

// y[row * stride + o], o in [0, rows of the matrix): outputs only for the blocks a call was given.
struct OutputRows {
    float* values = nullptr;
    uint32_t stride = 0;
};

// A set of keys that share one layout, given row by row: rows[i] points at key i of the attended
// list, in ascending rank.
struct KeyRows {
    const float* const* rows = nullptr;
    uint32_t count = 0;
};

// Groups whose absolute maximum lies below this are quantized to zeros.
inline constexpr float kQuantizeZero = 0x1p-100F;

struct Kernels {
    Isa isa = Isa::reference;

    // Float path, one entry per WeightKind: for every scale group ascending p = 0, p = fma(q[k],
    // x[k], p) for k ascending, then acc = fma(p, s, acc) from acc = 0. Formats without groups are
    // one group (over all columns); unscaled ones have s = 1, i.e. the result is fma(p, 1, 0): p
    // itself, with -0 made +0. Integers with group 0: one group over all columns with the row's
    // scale. Matrices hold no NaN codes (retile_fp8 refuses them).
    using FloatProduct = void (*)(const MatrixView& weights, FloatRows x, uint32_t row_count,
                                  OutputRows y, uint32_t block_begin, uint32_t block_end);
    std::array<FloatProduct, kWeightKinds> float_product{};

    // The same walk over a matrix whose scales lie on the reduction axis: scale(block, k) is one
    // float per 16-row block and column, column_scales[block * columns + k]. w = q[k] * s
    // (rounded), acc = fma(w, x[k], acc), k ascending from 0. Only fp8 and int8 (data in the
    // [block][column][16] order for BOTH kinds here: int8 is stored like fp8, one signed byte per
    // cell, blocks 16 * columns bytes apart; `weights.shape.format.group` is ignored).
    using ColumnScaledProduct = void (*)(const MatrixView& weights, const float* column_scales,
                                         FloatRows x, uint32_t row_count, OutputRows y,
                                         uint32_t block_begin, uint32_t block_end);
    ColumnScaledProduct fp8_column_scaled = nullptr;
    ColumnScaledProduct int8_column_scaled = nullptr;

    // Integer path, one entry per WeightKind, null for floats: per group ascending isum = exact
    // int32 sum of w[k]*a[k]; grouped formats: acc = fma(float(isum), s_w[g]*s_a[g], acc); row
    // formats: acc = fma(float(isum), s_a[g], acc) over groups of 256, and at the end acc * s_w.
    using IntegerProduct = void (*)(const MatrixView& weights, QuantizedRows x, uint32_t row_count,
                                    OutputRows y, uint32_t block_begin, uint32_t block_end);
    std::array<IntegerProduct, kWeightKinds> integer_product{};

    // Quantizes one row of `columns` values in groups of `group`: absmax; below 2^-100: scale 0 and
    // zeros; else inv = 127/absmax (one rounding), q = clamp(round_half_even(x*inv), -127, 127),
    // scale = absmax/127. The tail of `values` up to padded_columns is zeroed. Returns false if a
    // value is not finite (outputs are then unspecified).
    bool (*quantize)(const float* x, uint32_t columns, uint32_t group, uint32_t padded_columns,
                     int8_t* values, float* scales, int32_t* sums) = nullptr;

    // Norms and other sums over a vector: sixteen float lanes, lane = index mod 16, lanes[i] =
    // fma(x, x, lane) (or lane + x for plain sums), then the tree l[i] += l[i+8], l[i] += l[i+4],
    // l[i] += l[i+2], l[i] += l[i+1]. rms: y = (x * (1 / sqrt(sum/n + eps))) * w, division and root
    // correctly rounded. In place allowed (y == x).
    void (*rms_norm)(const float* x, const float* weight, uint32_t count, float eps,
                     float* y) = nullptr;
    // layer: mean = sum/n; d = x - mean; var = sumsq(d)/n; y = fma(d * (1/sqrt(var + eps)), w, b).
    void (*layer_norm)(const float* x, const float* weight, const float* bias, uint32_t count,
                       float eps, float* y) = nullptr;

    // y[i] = silu(gate[i]) * up[i]; silu(u) = u * sigmoid(u), our own exp (math.h). In place
    // allowed (y == gate).
    void (*silu_multiply)(const float* gate, const float* up, uint32_t count, float* y) = nullptr;
    void (*sigmoid)(const float* x, uint32_t count, float* y) = nullptr;
    // y[i] = exp(x[i] - shift)
    void (*exp_shifted)(const float* x, float shift, uint32_t count, float* y) = nullptr;
    // Exact; NaN is skipped (none but NaN: -inf) and -0 gives +0, so that no order of comparing
    // shows.
    float (*maximum)(const float* x, uint32_t count) = nullptr;
    // acc[i] = fma(weight, x[i], acc[i]); acc[i] = acc[i] + x[i]; x[i] = min(max(x[i], -limit),
    // limit)
    void (*add_scaled)(const float* x, float weight, uint32_t count, float* acc) = nullptr;
    void (*add)(const float* x, uint32_t count, float* acc) = nullptr;
    void (*clamp)(float limit, uint32_t count, float* x) = nullptr;
    void (*scale)(float factor, uint32_t count, float* x) = nullptr;    // x[i] *= factor
    void (*divide)(float divisor, uint32_t count, float* x) = nullptr;  // x[i] /= divisor

    // Rotates `pairs` pairs of one vector in place by cos[j], sin[j]. adjacent: (x[2j], x[2j+1]);
    // half split: (x[j], x[j+pairs]). y0 = fma(x0, c, -(x1*s)), y1 = fma(x1, c, x0*s); the product
    // is rounded, then the fma.
    void (*rope_adjacent)(const float* cos, const float* sin, uint32_t pairs, float* x) = nullptr;
    void (*rope_half)(const float* cos, const float* sin, uint32_t pairs, float* x) = nullptr;

    // Scores of heads that share a key. queries is dimension-major: queries[d * head_stride + h];
    // score[i * head_stride + h] = chain over d ascending of fma(query[d][h], keys.rows[i][d], acc)
    // from 0, times `factor` at the end (one rounding), for h < heads; +0 for the padding heads
    // [heads, head_stride). head_stride is a multiple of 16; queries must be readable there too.
    void (*shared_key_scores)(const float* queries, uint32_t head_stride, uint32_t heads,
                              uint32_t dims, KeyRows keys, float factor, float* scores) = nullptr;

    // Softmax over scores as shared_key_scores leaves them, one lane per head, all head_stride
    // lanes. maxima[h] = maximum over the keys (as `maximum`).
    void (*shared_maxima)(const float* scores, uint32_t head_stride, uint32_t key_count,
                          float* maxima) = nullptr;
    // In place score[i][h] = exp(score[i][h] - maxima[h]); sums[h] = chain over keys ascending of
    // sum + score from 0.
    void (*shared_exp_sums)(float* scores, uint32_t head_stride, uint32_t key_count,
                            const float* maxima, float* sums) = nullptr;

    // Weighted sum of shared values: out[h * out_stride + d] = chain over keys ascending of
    // fma(weight(i, h), keys.rows[i][d], acc) from 0, for h < heads, d < dims; weight(i, h) =
    // weights[i * key_step + h * head_step], i.e. (head_stride, 1) for scores as shared_key_scores
    // leaves them, (1, row stride) for one row of scores per head.
    void (*shared_value_sums)(const float* weights, uint32_t key_step, uint32_t head_step,
                              uint32_t heads, uint32_t dims, KeyRows keys, float* out,
                              uint32_t out_stride) = nullptr;

    // Indexer: score[i] = factor * chain over heads ascending of fma(gate[h], relu(dot[i][h]), acc)
    // from 0, where dot is laid out as shared_key_scores leaves it (dot[i * head_stride + h]);
    // relu(x) = x > 0 ? x : 0. The product with factor is one rounding; -0 becomes +0.
    void (*indexer_reduce)(const float* dots, uint32_t head_stride, uint32_t heads,
                           const float* gates, float factor, uint32_t key_count,
                           float* scores) = nullptr;

    // GQA: query heads (row-major, queries[h * query_stride + d]) against keys that lie
    // dimension-major in blocks of 16: tiles[t][d * 16 + lane]. scores[h * score_stride + t * 16 +
    // lane] = factor * chain over d ascending of fma(query[h][d], tile[t][d * 16 + lane], acc) from
    // 0, for all 16 lanes of every tile.
    void (*key_tile_scores)(const float* queries, uint32_t query_stride, uint32_t heads,
                            const float* const* tiles, uint32_t tile_count, uint32_t dims,
                            float factor, float* scores, uint32_t score_stride) = nullptr;
};

// The table of an ISA, or null when this machine (or build) cannot run it.
[[nodiscard]] const Kernels* kernels_for(Isa isa);
// The widest table this machine runs.
[[nodiscard]] const Kernels& best_kernels();
// Every ISA that this machine runs, plainest first.
[[nodiscard]] std::vector<Isa> available_isas();

}  // namespace colibri

#include "kernels/attention_fold.h"

#include <algorithm>

namespace colibri {

namespace {

// Scores of grouped queries: one row per head, whole tiles, wherever in the first tile the keys
// start.
uint32_t tiles_for(uint32_t first_lane, uint32_t key_count) {
    return (first_lane + key_count + 15) / 16;
}

void clear(float* out, uint32_t heads, uint32_t dims, uint32_t stride) {
    for (uint32_t h = 0; h < heads; ++h) std::fill_n(out + size_t(h) * stride, dims, 0.0f);
}

// Sums of up to four rows, each one chain in ascending order, side by side because an addition has
// a latency.
void row_sums(const float* rows, uint32_t stride, uint32_t row_count, uint32_t count, float* sums) {
    const float* row[4];
    for (uint32_t r = 0; r < 4; ++r) row[r] = rows + size_t(std::min(r, row_count - 1)) * stride;
    float sum[4] = {};
    for (uint32_t i = 0; i < count; ++i) {
        for (uint32_t r = 0; r < 4; ++r) sum[r] += row[r][i];
    }
    std::copy_n(sum, row_count, sums);
}

}  // namespace

void to_dimension_major(const float* x, uint32_t x_stride, uint32_t heads, uint32_t dims,
                        uint32_t head_stride, float* out) {
    for (uint32_t d = 0; d < dims; ++d, out += head_stride) {
        for (uint32_t h = 0; h < heads; ++h) out[h] = x[size_t(h) * x_stride + d];
        std::fill(out + heads, out + head_stride, 0.0f);
    }
}

uint64_t shared_key_scratch(uint32_t heads, uint32_t value_dims, uint32_t key_count) {
    const uint64_t stride = padded_heads(heads);
    const uint64_t block_sums = key_count > kFoldRanks ? uint64_t(heads) * value_dims : 0;
    return key_count * stride + 3 * stride + block_sums;
}

void shared_key_attention(const Kernels& kernels, const SharedKeyQuery& query, KeyRows keys,
                          float* scratch, float* out) {
    if (keys.count == 0) return clear(out, query.heads, query.value_dims, query.value_dims);
    const uint32_t stride = query.head_stride;
    float* scores = scratch;
    float* maxima = scores + size_t(keys.count) * stride;
    float* denominators = maxima + stride;
    float* block_denominators = denominators + stride;
    float* block_out = block_denominators + stride;
    kernels.shared_key_scores(query.queries, stride, query.heads, query.score_dims, keys,
                              query.factor, scores);
    kernels.shared_maxima(scores, stride, keys.count, maxima);
    for (uint32_t begin = 0; begin < keys.count; begin += kFoldRanks) {
        const uint32_t count = std::min(kFoldRanks, keys.count - begin);
        const bool first = begin == 0;
        float* weights = scores + size_t(begin) * stride;
        kernels.shared_exp_sums(weights, stride, count, maxima,
                                first ? denominators : block_denominators);
        kernels.shared_value_sums(weights, stride, 1, query.heads, query.value_dims,
                                  {.rows = keys.rows + begin, .count = count},
                                  first ? out : block_out, query.value_dims);
        if (first) continue;
        kernels.add(block_denominators, query.heads, denominators);
        kernels.add(block_out, query.heads * query.value_dims, out);
    }
    for (uint32_t h = 0; h < query.heads; ++h) {
        kernels.divide(denominators[h], query.value_dims, out + size_t(h) * query.value_dims);
    }
}

uint64_t grouped_scratch(uint32_t heads, uint32_t value_dims, uint32_t key_count) {
    const uint64_t block_sums = key_count > kFoldRanks ? uint64_t(heads) * value_dims : 0;
    return uint64_t(heads) * tiles_for(15, key_count) * 16 + 2 * uint64_t(heads) + block_sums;
}

void grouped_attention(const Kernels& kernels, const GroupedQuery& query, KeyTiles keys,
                       KeyRows values, float* scratch, float* out, uint32_t out_stride) {
    if (values.count == 0) return clear(out, query.heads, query.value_dims, out_stride);
    const uint32_t tile_count = tiles_for(keys.first_lane, values.count);
    const uint32_t stride = tile_count * 16;
    float* maxima = scratch + size_t(query.heads) * stride;
    float* denominators = maxima + query.heads;
    float* block_out = denominators + query.heads;
    kernels.key_tile_scores(query.queries, query.query_stride, query.heads, keys.tiles, tile_count,
                            query.score_dims, query.factor, scratch, stride);
    float* scores = scratch + keys.first_lane;
    for (uint32_t h = 0; h < query.heads; ++h) {
        maxima[h] = kernels.maximum(scores + size_t(h) * stride, values.count);
    }
    for (uint32_t begin = 0; begin < values.count; begin += kFoldRanks) {
        const uint32_t count = std::min(kFoldRanks, values.count - begin);
        const bool first = begin == 0;
        float* weights = scores + begin;
        for (uint32_t h = 0; h < query.heads; ++h) {
            float* row = weights + size_t(h) * stride;
            kernels.exp_shifted(row, maxima[h], count, row);
        }
        for (uint32_t h = 0; h < query.heads; h += 4) {
            const uint32_t rows = std::min(4u, query.heads - h);
            float sums[4];
            row_sums(weights + size_t(h) * stride, stride, rows, count, sums);
            for (uint32_t r = 0; r < rows; ++r) {
                denominators[h + r] = first ? sums[r] : denominators[h + r] + sums[r];
            }
        }
        kernels.shared_value_sums(weights, 1, stride, query.heads, query.value_dims,
                                  {.rows = values.rows + begin, .count = count},
                                  first ? out : block_out, first ? out_stride : query.value_dims);
        if (first) continue;
        for (uint32_t h = 0; h < query.heads; ++h) {
            kernels.add(block_out + size_t(h) * query.value_dims, query.value_dims,
                        out + size_t(h) * out_stride);
        }
    }
    for (uint32_t h = 0; h < query.heads; ++h) {
        kernels.divide(denominators[h], query.value_dims, out + size_t(h) * out_stride);
    }
}

}  // namespace colibri

#include <cmath>
#include <limits>

#include "kernels/entries.h"
#include "kernels/math.h"

namespace colibri::reference {

namespace {

void shared_key_scores(const float* queries, uint32_t head_stride, uint32_t heads, uint32_t dims,
                       KeyRows keys, float factor, float* scores) {
    for (uint32_t i = 0; i < keys.count; ++i) {
        for (uint32_t h = 0; h < head_stride; ++h) {
            float acc = 0.0f;
            for (uint32_t d = 0; d < dims; ++d) {
                acc = std::fma(queries[size_t(d) * head_stride + h], keys.rows[i][d], acc);
            }
            scores[size_t(i) * head_stride + h] = h < heads ? acc * factor : 0.0f;
        }
    }
}

void shared_maxima(const float* scores, uint32_t head_stride, uint32_t key_count, float* maxima) {
    for (uint32_t h = 0; h < head_stride; ++h) {
        float best = -std::numeric_limits<float>::infinity();
        for (uint32_t i = 0; i < key_count; ++i) {
            const float score = scores[size_t(i) * head_stride + h];
            best = score > best ? score : best;
        }
        maxima[h] = best + 0.0f;
    }
}

void shared_exp_sums(float* scores, uint32_t head_stride, uint32_t key_count, const float* maxima,
                     float* sums) {
    for (uint32_t h = 0; h < head_stride; ++h) {
        float sum = 0.0f;
        for (uint32_t i = 0; i < key_count; ++i) {
            float& score = scores[size_t(i) * head_stride + h];
            score = exp_f32(score - maxima[h]);
            sum = sum + score;
        }
        sums[h] = sum;
    }
}

void shared_value_sums(const float* weights, uint32_t key_step, uint32_t head_step, uint32_t heads,
                       uint32_t dims, KeyRows keys, float* out, uint32_t out_stride) {
    for (uint32_t h = 0; h < heads; ++h) {
        for (uint32_t d = 0; d < dims; ++d) {
            float acc = 0.0f;
            for (uint32_t i = 0; i < keys.count; ++i) {
                const float weight = weights[size_t(i) * key_step + size_t(h) * head_step];
                acc = std::fma(weight, keys.rows[i][d], acc);
            }
            out[size_t(h) * out_stride + d] = acc;
        }
    }
}

void indexer_reduce(const float* dots, uint32_t head_stride, uint32_t heads, const float* gates,
                    float factor, uint32_t key_count, float* scores) {
    for (uint32_t i = 0; i < key_count; ++i) {
        const float* row = dots + size_t(i) * head_stride;
        float acc = 0.0f;
        for (uint32_t h = 0; h < heads; ++h) {
            const float clipped = row[h] > 0.0f ? row[h] : 0.0f;
            acc = std::fma(gates[h], clipped, acc);
        }
        scores[i] = acc * factor + 0.0f;
    }
}

void key_tile_scores(const float* queries, uint32_t query_stride, uint32_t heads,
                     const float* const* tiles, uint32_t tile_count, uint32_t dims, float factor,
                     float* scores, uint32_t score_stride) {
    for (uint32_t h = 0; h < heads; ++h) {
        const float* query = queries + size_t(h) * query_stride;
        for (uint32_t key = 0; key < tile_count * 16; ++key) {
            const float* tile = tiles[key / 16];
            float acc = 0.0f;
            for (uint32_t d = 0; d < dims; ++d) {
                acc = std::fma(query[d], tile[size_t(d) * 16 + key % 16], acc);
            }
            scores[size_t(h) * score_stride + key] = acc * factor;
        }
    }
}

}  // namespace

void set_attention_entries(Kernels& table) {
    table.shared_key_scores = shared_key_scores;
    table.shared_maxima = shared_maxima;
    table.shared_exp_sums = shared_exp_sums;
    table.shared_value_sums = shared_value_sums;
    table.indexer_reduce = indexer_reduce;
    table.key_tile_scores = key_tile_scores;
}

}  // namespace colibri::reference

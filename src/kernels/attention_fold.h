// Exact softmax attention of one query row, built from a dispatch table: the numeric contract's
// fold.
//
// For each head: s[i] = factor * <query, key i>; m = exact maximum over all attended keys; p[i] =
// exp(s[i] - m). Keys are folded in blocks of 512 ranks (rank = place in the attended list): inside
// a block the denominator and each value sum are one chain in ascending rank from zero. The first
// block's sums are the total, later blocks' are added to it in ascending order; at the end each
// value sum is divided by the denominator. Without keys the output is zero.
//
// The result of a head is a function of its query and the attended keys alone. Both functions run
// on the calling thread, allocate nothing, and may run at the same time with different `scratch`
// and `out`; a caller spreads rows or heads over threads.
#pragma once

#include <cstdint>

#include "kernels/kernels.h"

namespace colibri {

inline constexpr uint32_t kFoldRanks = 512;

// Queries as attention over shared keys reads them: out[d * head_stride + h] = x[h * x_stride + d],
// zero for the padding heads [heads, head_stride). A caller with two parts of a query (latent and
// rope) calls it once per part.
void to_dimension_major(const float* x, uint32_t x_stride, uint32_t heads, uint32_t dims,
                        uint32_t head_stride, float* out);

// The padded number of heads: the least multiple of 16.
[[nodiscard]] constexpr uint32_t padded_heads(uint32_t heads) {
    return (heads + 15) / 16 * 16;
}

// MLA, absorbed: all heads share each key row, whose first value_dims elements (the latent) are
// also its value; the score reads score_dims >= value_dims elements (latent, then rope part).
struct SharedKeyQuery {
    const float* queries =
        nullptr;               // [score_dims][head_stride], dimension-major, padding heads zero
    uint32_t head_stride = 0;  // padded_heads(heads)
    uint32_t heads = 0;
    uint32_t score_dims = 0;
    uint32_t value_dims = 0;
    float factor = 1.0f;
};

// Floats of scratch for up to key_count keys.
[[nodiscard]] uint64_t shared_key_scratch(uint32_t heads, uint32_t value_dims, uint32_t key_count);

// out[heads][value_dims].
void shared_key_attention(const Kernels& kernels, const SharedKeyQuery& query, KeyRows keys,
                          float* scratch, float* out);

// The query heads that share one key-value head of GQA, row-major.
struct GroupedQuery {
    const float* queries = nullptr;  // queries[h * query_stride + d]
    uint32_t query_stride = 0;
    uint32_t heads = 0;
    uint32_t score_dims = 0;
    uint32_t value_dims = 0;
    float factor = 1.0f;
};

// Keys of one key-value head: dimension-major blocks of 16 consecutive positions, tiles[t][d * 16 +
// lane]. The attended key of rank i is lane first_lane + i of the concatenated tiles, so that a
// window may start inside a block; lanes outside may hold anything.
struct KeyTiles {
    const float* const* tiles = nullptr;
    uint32_t first_lane = 0;  // below 16
};

// Floats of scratch for up to key_count keys.
[[nodiscard]] uint64_t grouped_scratch(uint32_t heads, uint32_t value_dims, uint32_t key_count);

// values.rows[i] is the value row of rank i, values.count the number of attended keys. out[h *
// out_stride + d].
void grouped_attention(const Kernels& kernels, const GroupedQuery& query, KeyTiles keys,
                       KeyRows values, float* scratch, float* out, uint32_t out_stride);

}  // namespace colibri

#include "blocks/attention/indexer.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "kernels/selection.h"

namespace colibri {

namespace {

constexpr uint32_t kHeadLanes = 16;
constexpr uint32_t kKeyBlock =
    512;  // keys scored between two reductions: bounds scratch at any context

struct Rows {
    uint32_t count = 0, first_position = 0;
    float* query = nullptr;  // [rows][heads][head_dims]
    float* gates = nullptr;  // [rows][heads]
};

struct ThreadArrays {
    float* queries;      // [head_dims][padded heads]
    float* dots;         // [kKeyBlock][padded heads]
    const float** keys;  // [kKeyBlock]
};

// Stores the keys: norm, rotation on the leading dimensions.
void store_keys(Compute& compute, const IndexerBlock& block, const Rows& rows, float* key_raw,
                LayerState state, const float* cos, const float* sin) {
    const Kernels& k = compute.kernels;
    const uint32_t pairs = block.rope.pairs();
    for (uint32_t r = 0; r < rows.count; ++r) {
        float* key = state.index_key(rows.first_position + r);
        k.layer_norm(key_raw + uint64_t(r) * block.spec.head_dims, block.weights.key_norm,
                     block.weights.key_norm_bias, block.spec.head_dims, block.spec.key_norm.eps,
                     key);
        const auto rotate =
            block.spec.rope.pairing == RopePairing::adjacent ? k.rope_adjacent : k.rope_half;
        rotate(cos + uint64_t(r) * pairs, sin + uint64_t(r) * pairs, pairs, key);
        for (uint32_t h = 0; h < block.spec.heads; ++h)
            rotate(cos + uint64_t(r) * pairs, sin + uint64_t(r) * pairs, pairs,
                   rows.query + (uint64_t(r) * block.spec.heads + h) * block.spec.head_dims);
    }
}

void transpose_queries(const IndexerBlock& block, const float* query, uint32_t stride, float* out) {
    for (uint32_t d = 0; d < block.spec.head_dims; ++d)
        for (uint32_t h = 0; h < stride; ++h)
            out[uint64_t(d) * stride + h] =
                h < block.spec.heads ? query[uint64_t(h) * block.spec.head_dims + d] : 0.0F;
}

// Scores of keys [begin, end) for one row whose queries are transposed already.
void score_keys(const Kernels& k, const IndexerBlock& block, const ThreadArrays& arrays,
                const float* gates, LayerState state, uint32_t begin, uint32_t end, float* scores) {
    const uint32_t stride = round_up(block.spec.heads, kHeadLanes);
    const float factor = 1.0F / std::sqrt(float(block.spec.head_dims));
    for (uint32_t first = begin; first < end; first += kKeyBlock) {
        const uint32_t count = std::min(kKeyBlock, end - first);
        for (uint32_t i = 0; i < count; ++i) arrays.keys[i] = state.index_key(first + i);
        k.shared_key_scores(arrays.queries, stride, block.spec.heads, block.spec.head_dims,
                            {.rows = arrays.keys, .count = count}, 1.0F, arrays.dots);
        k.indexer_reduce(arrays.dots, stride, block.spec.heads, gates, factor, count,
                         scores + first);
    }
}

}  // namespace

uint64_t select_keys_scratch_bytes(const KeyIndexer& spec, uint32_t rows, uint32_t context,
                                   uint32_t threads) {
    const uint64_t stride = round_up(spec.heads, kHeadLanes);
    return 2 * scratch_bytes_of<float>(uint64_t(rows) * spec.rope.dims / 2 + 1) +
           scratch_bytes_of<float>(uint64_t(rows) * spec.heads * spec.head_dims) +
           scratch_bytes_of<float>(uint64_t(rows) * spec.heads) +
           threads * (scratch_bytes_of<float>(spec.head_dims * stride) +
                      scratch_bytes_of<float>(kKeyBlock * stride) +
                      scratch_bytes_of<float*>(kKeyBlock) + scratch_bytes_of<float>(context));
}

Status select_keys(Compute& compute, const IndexerBlock& block, FloatRows input,
                   ActivationRows& query_latent, float* key_raw, uint32_t first_position,
                   LayerState state, uint32_t context, SelectionSet selections) {
    const Kernels& k = compute.kernels;
    const KeyIndexer& spec = block.spec;
    Scratch& scratch = compute.scratch;
    const uint32_t stride = round_up(spec.heads, kHeadLanes);
    Rows rows{.count = query_latent.row_count(), .first_position = first_position};
    rows.query = scratch.take<float>(uint64_t(rows.count) * spec.heads * spec.head_dims);
    rows.gates = scratch.take<float>(uint64_t(rows.count) * spec.heads);
    const uint32_t pairs = block.rope.pairs();
    auto* cos = scratch.take<float>(uint64_t(rows.count) * pairs);
    auto* sin = scratch.take<float>(uint64_t(rows.count) * pairs);
    for (uint32_t r = 0; r < rows.count; ++r)
        block.rope.angles(first_position + r, cos + uint64_t(r) * pairs, sin + uint64_t(r) * pairs);
    TRY_STATUS(multiply(compute, block.weights.query, query_latent,
                        {rows.query, spec.heads * spec.head_dims}));
    store_keys(compute, block, rows, key_raw, state, cos, sin);

    const uint32_t last = first_position + rows.count;
    for (uint32_t r = 0; r < rows.count; ++r) selections.counts[r] = SelectionSet::kEverything;
    if (last <= spec.top_keys) return {};  // keys had to be stored all the same
    multiply_float(compute, block.weights.gate, input, rows.count, {rows.gates, spec.heads});
    k.scale(1.0F / std::sqrt(float(spec.heads)), rows.count * spec.heads, rows.gates);

    const uint32_t threads = compute.pool.thread_count();
    auto* queries = scratch.take<float>(uint64_t(threads) * spec.head_dims * stride);
    auto* dots = scratch.take<float>(uint64_t(threads) * kKeyBlock * stride);
    auto** keys = scratch.take<const float*>(uint64_t(threads) * kKeyBlock);
    auto* scores = scratch.take<float>(uint64_t(threads) * context);
    const auto arrays = [&](uint32_t thread) {
        return ThreadArrays{.queries = queries + uint64_t(thread) * spec.head_dims * stride,
                            .dots = dots + uint64_t(thread) * kKeyBlock * stride,
                            .keys = keys + uint64_t(thread) * kKeyBlock};
    };
    const auto choose = [&](uint32_t r, const float* row_scores) {
        const uint32_t count = first_position + r + 1;
        selections.counts[r] =
            select_top({row_scores, count}, spec.top_keys, {selections.row(r), selections.stride});
    };
    if (rows.count == 1) {  // a decode step: cut the keys, not the rows
        compute.pool.run([&](uint32_t thread, uint32_t members) {
            const ThreadArrays own = arrays(thread);
            transpose_queries(block, rows.query, stride, own.queries);
            const uint32_t part = round_up(ceil_div(last, members), kKeyBlock);
            const uint32_t begin = std::min(last, thread * part);
            score_keys(k, block, own, rows.gates, state, begin, std::min(last, begin + part),
                       scores);
        });
        choose(0, scores);
        return {};
    }
    std::atomic<uint32_t> next{0};  // later rows cost more; which thread takes one changes no bit
    compute.pool.run([&](uint32_t thread, uint32_t) {
        const ThreadArrays own = arrays(thread);
        float* row_scores = scores + uint64_t(thread) * context;
        for (uint32_t r = next.fetch_add(1, std::memory_order_relaxed); r < rows.count;
             r = next.fetch_add(1, std::memory_order_relaxed)) {
            const uint32_t positions = first_position + r + 1;
            if (positions <= spec.top_keys) continue;
            transpose_queries(block, rows.query + uint64_t(r) * spec.heads * spec.head_dims, stride,
                              own.queries);
            score_keys(k, block, own, rows.gates + uint64_t(r) * spec.heads, state, 0, positions,
                       row_scores);
            choose(r, row_scores);
        }
    });
    return {};
}

}  // namespace colibri

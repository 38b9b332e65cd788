#include "blocks/attention/grouped_query.h"

#include <algorithm>
#include <atomic>

#include "blocks/linear.h"
#include "kernels/attention_fold.h"

namespace colibri {

namespace {

constexpr uint32_t kChunkRows = 32;

struct Chunk {
    uint32_t rows = 0, first_position = 0;
    float* query = nullptr;     // [rows][heads * head_dims]
    float* key = nullptr;       // [rows][kv_heads * head_dims]
    float* value = nullptr;     // [rows][kv_heads * value_dims]
    float* head_out = nullptr;  // [rows][heads * value_dims]
    float* cos = nullptr;       // [rows][pairs]
    float* sin = nullptr;
};

void norm_heads(const Kernels& k, const GroupedQueryAttention& spec, const float* weight,
                uint32_t heads, float* x) {
    switch (spec.qk_norm) {
        case GroupedQueryAttention::QkNorm::none: break;
        case GroupedQueryAttention::QkNorm::full_width:
            k.rms_norm(x, weight, heads * spec.head_dims, spec.qk_norm_kind.eps, x);
            break;
        case GroupedQueryAttention::QkNorm::per_head:
            for (uint32_t h = 0; h < heads; ++h)
                k.rms_norm(x + uint64_t(h) * spec.head_dims, weight, spec.head_dims,
                           spec.qk_norm_kind.eps, x + uint64_t(h) * spec.head_dims);
            break;
    }
}

// Norms, clip and rotation of one row, then its key and value into the state.
void finish_row(const Kernels& k, const GroupedQueryBlock& block, const Chunk& c, uint32_t r,
                LayerState state) {
    const GroupedQueryAttention& spec = block.spec;
    const uint32_t pairs = block.rope.pairs();
    float* query = c.query + uint64_t(r) * spec.heads * spec.head_dims;
    float* key = c.key + uint64_t(r) * spec.kv_heads * spec.head_dims;
    float* value = c.value + uint64_t(r) * spec.kv_heads * spec.value_dims;
    norm_heads(k, spec, block.weights.query_norm, spec.heads, query);
    norm_heads(k, spec, block.weights.key_norm, spec.kv_heads, key);
    if (spec.clip_qkv) {
        k.clamp(*spec.clip_qkv, spec.heads * spec.head_dims, query);
        k.clamp(*spec.clip_qkv, spec.kv_heads * spec.head_dims, key);
        k.clamp(*spec.clip_qkv, spec.kv_heads * spec.value_dims, value);
    }
    const auto rotate = spec.rope.pairing == RopePairing::adjacent ? k.rope_adjacent : k.rope_half;
    const float* cos = c.cos + uint64_t(r) * pairs;
    const float* sin = c.sin + uint64_t(r) * pairs;
    for (uint32_t h = 0; h < spec.heads; ++h)
        rotate(cos, sin, pairs, query + uint64_t(h) * spec.head_dims);
    for (uint32_t h = 0; h < spec.kv_heads; ++h)
        rotate(cos, sin, pairs, key + uint64_t(h) * spec.head_dims);

    const uint32_t position = c.first_position + r;
    float* tile = state.key_tile(position);
    const uint32_t lane = position % kKeyTilePositions;
    for (uint32_t d = 0; d < spec.kv_heads * spec.head_dims; ++d)
        tile[uint64_t(d) * kKeyTilePositions + lane] = key[d];
    std::copy_n(value, spec.kv_heads * spec.value_dims, state.value(position));
}

uint64_t fold_floats(const GroupedQueryAttention& spec, uint32_t context) {
    return round_up(grouped_scratch(spec.heads / spec.kv_heads, spec.value_dims, context),
                    uint64_t(16));
}

void attend(Compute& compute, const GroupedQueryBlock& block, const Chunk& c, LayerState state) {
    const GroupedQueryAttention& spec = block.spec;
    const uint32_t threads = compute.pool.thread_count();
    const uint32_t context = c.first_position + c.rows;
    const uint64_t tiles = ceil_div(context, kKeyTilePositions);
    const ScratchScope scope(compute.scratch);
    const uint64_t fold_size = fold_floats(spec, context);
    auto* fold = compute.scratch.take<float>(threads * fold_size);
    auto** keys = compute.scratch.take<const float*>(threads * tiles);
    auto** values = compute.scratch.take<const float*>(uint64_t(threads) * context);
    const uint32_t group = spec.heads / spec.kv_heads;
    const uint32_t units = c.rows * spec.kv_heads;
    std::atomic<uint32_t> next{
        0};  // rows cost differently (causal); which thread takes one changes no bit
    compute.pool.run([&](uint32_t thread, uint32_t) {
        const float** own_keys = keys + thread * tiles;
        const float** own_values = values + uint64_t(thread) * context;
        for (uint32_t unit = next.fetch_add(1, std::memory_order_relaxed); unit < units;
             unit = next.fetch_add(1, std::memory_order_relaxed)) {
            const uint32_t r = unit / spec.kv_heads;
            const uint32_t kv_head = unit % spec.kv_heads;
            const uint32_t count = c.first_position + r + 1;
            for (uint32_t t = 0; t * kKeyTilePositions < count; ++t)
                own_keys[t] = state.key_tile(t * kKeyTilePositions) +
                              uint64_t(kv_head) * spec.head_dims * kKeyTilePositions;
            for (uint32_t i = 0; i < count; ++i)
                own_values[i] = state.value(i) + uint64_t(kv_head) * spec.value_dims;
            const uint64_t head = uint64_t(r) * spec.heads + uint64_t(kv_head) * group;
            grouped_attention(compute.kernels,
                              {.queries = c.query + head * spec.head_dims,
                               .query_stride = spec.head_dims,
                               .heads = group,
                               .score_dims = spec.head_dims,
                               .value_dims = spec.value_dims,
                               .factor = spec.score_factor},
                              {.tiles = own_keys}, {.rows = own_values, .count = count},
                              fold + thread * fold_size, c.head_out + head * spec.value_dims,
                              spec.value_dims);
        }
    });
}

Status chunk_forward(Compute& compute, const GroupedQueryBlock& block, FloatRows h, Chunk& c,
                     LayerState state, OutputRows out) {
    const GroupedQueryAttention& spec = block.spec;
    Scratch& scratch = compute.scratch;
    const ScratchScope scope(scratch);
    const uint64_t rows = c.rows;
    const uint32_t pairs = block.rope.pairs();
    c.query = scratch.take<float>(rows * spec.heads * spec.head_dims);
    c.key = scratch.take<float>(rows * spec.kv_heads * spec.head_dims);
    c.value = scratch.take<float>(rows * spec.kv_heads * spec.value_dims);
    c.head_out = scratch.take<float>(rows * spec.heads * spec.value_dims);
    c.cos = scratch.take<float>(rows * pairs);
    c.sin = scratch.take<float>(rows * pairs);
    for (uint32_t r = 0; r < c.rows; ++r)
        block.rope.angles(c.first_position + r, c.cos + uint64_t(r) * pairs,
                          c.sin + uint64_t(r) * pairs);

    ActivationRows x(h, c.rows, block.dim);
    const Product products[] = {
        {block.weights.query, {c.query, spec.heads * spec.head_dims}},
        {block.weights.key, {c.key, spec.kv_heads * spec.head_dims}},
        {block.weights.value, {c.value, spec.kv_heads * spec.value_dims}},
    };
    TRY_STATUS(multiply_all(compute, products, x));
    // Keys of one tile are written by different rows: rows of a tile stay on one thread.
    const auto finish = [&](uint32_t begin, uint32_t end) {
        for (uint32_t r = begin; r < end; ++r) finish_row(compute.kernels, block, c, r, state);
    };
    finish(0, c.rows);
    attend(compute, block, c, state);
    ActivationRows heads({c.head_out, spec.heads * spec.value_dims}, c.rows,
                         spec.heads * spec.value_dims);
    return multiply(compute, block.weights.output, heads, out);
}

}  // namespace

LayerStateShape grouped_query_state_shape(const GroupedQueryAttention& spec) {
    LayerStateShape shape;
    shape.key_tile = spec.kv_heads * spec.head_dims;
    shape.value = spec.kv_heads * spec.value_dims;
    return shape;
}

uint64_t grouped_query_scratch_bytes(const GroupedQueryAttention& spec, uint32_t dim, uint32_t rows,
                                     uint32_t context, uint32_t threads) {
    const uint64_t n = std::min(rows, kChunkRows);
    uint64_t bytes = 0;
    for (const uint64_t floats :
         {n * spec.heads * spec.head_dims, n * spec.kv_heads * spec.head_dims,
          n * spec.kv_heads * spec.value_dims, n * spec.heads * spec.value_dims,
          n * spec.rope.dims / 2, n * spec.rope.dims / 2, threads * fold_floats(spec, context)})
        bytes += scratch_bytes_of<float>(floats);
    bytes +=
        scratch_bytes_of<const float*>(uint64_t(threads) * ceil_div(context, kKeyTilePositions));
    bytes += scratch_bytes_of<const float*>(uint64_t(threads) * context);
    return bytes + activation_scratch_bytes(n, dim) +
           activation_scratch_bytes(n, uint64_t(spec.heads) * spec.value_dims);
}

Status grouped_query_attention(Compute& compute, const GroupedQueryBlock& block, FloatRows h,
                               uint32_t row_count, uint32_t first_position, LayerState state,
                               OutputRows out) {
    for (uint32_t begin = 0; begin < row_count; begin += kChunkRows) {
        Chunk chunk;
        chunk.rows = std::min(kChunkRows, row_count - begin);
        chunk.first_position = first_position + begin;
        TRY_STATUS(chunk_forward(compute, block, {h.values + uint64_t(begin) * h.stride, h.stride},
                                 chunk, state,
                                 {out.values + uint64_t(begin) * out.stride, out.stride}));
    }
    return {};
}

}  // namespace colibri

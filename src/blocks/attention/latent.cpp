#include "blocks/attention/latent.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "blocks/attention/indexer.h"
#include "blocks/linear.h"
#include "kernels/attention_fold.h"

namespace colibri {

namespace {

// Rows that go through the projections together. Large enough to reuse a weight tile, small enough
// that a row's 64 absorbed queries of 512 stay in cache.
constexpr uint32_t kChunkRows = 32;

// Head groups of one SIMD vector: the unit in which a single row's heads are spread over threads.
constexpr uint32_t kHeadGroup = 16;

struct Sizes {
    uint32_t heads, nope, rope, rank, value, query;
    uint32_t latent() const { return rank + rope; }
};

Sizes sizes_of(const LatentAttention& spec) {
    return {.heads = spec.heads,
            .nope = spec.nope_dims,
            .rope = spec.rope.dims,
            .rank = spec.kv_rank,
            .value = spec.value_dims,
            .query = spec.nope_dims + spec.rope.dims};
}

// Arrays of one chunk of rows, all in scratch.
struct Chunk {
    uint32_t rows = 0, first_position = 0, first_row = 0;
    float* query_latent = nullptr;  // [rows][q_rank]
    float* kv = nullptr;            // [rows][rank + rope]
    float* query = nullptr;         // [rows][heads][nope + rope]
    float* absorbed = nullptr;      // [rows][heads][rank]
    float* latent_sum = nullptr;    // [rows][heads][rank]
    float* head_out = nullptr;      // [rows][heads][value]
    float* cos = nullptr;           // [rows][pairs]
    float* sin = nullptr;
};

void rotate(const Kernels& k, RopePairing pairing, const float* cos, const float* sin,
            uint32_t pairs, float* x) {
    if (pairs == 0) return;
    if (pairing == RopePairing::adjacent)
        k.rope_adjacent(cos, sin, pairs, x);
    else
        k.rope_half(cos, sin, pairs, x);
}

void make_angles(const RopeTable& rope, const Chunk& c) {
    for (uint32_t r = 0; r < c.rows; ++r)
        rope.angles(c.first_position + r, c.cos + uint64_t(r) * rope.pairs(),
                    c.sin + uint64_t(r) * rope.pairs());
}

// Runs work over rows: on the team when there are enough of them.
void over_rows(Compute& compute, uint32_t rows, FunctionRef<void(uint32_t, uint32_t)> work) {
    if (rows < 4)
        work(0, rows);
    else
        compute.pool.split(rows, 1, work);
}

// q latent, new latents and rotary keys of the chunk's rows.
Status project_inputs(Compute& compute, const LatentBlock& block, ActivationRows& x, const Chunk& c,
                      LayerState state, float* index_key_raw) {
    const Kernels& k = compute.kernels;
    const LatentWeights& w = block.weights;
    const Sizes s = sizes_of(block.spec);
    Product products[3];
    uint32_t count = 0;
    products[count++] = {w.kv_a, {c.kv, s.latent()}};
    if (w.query_a) products[count++] = {*w.query_a, {c.query_latent, block.spec.q_rank}};
    if (index_key_raw != nullptr)
        products[count++] = {w.indexer->key, {index_key_raw, block.spec.indexer->head_dims}};
    TRY_STATUS(multiply_all(compute, {products, count}, x));
    const uint32_t pairs = block.rope.pairs();
    over_rows(compute, c.rows, [&](uint32_t begin, uint32_t end) {
        for (uint32_t r = begin; r < end; ++r) {
            const float* kv = c.kv + uint64_t(r) * s.latent();
            float* row = state.latent(c.first_position + r);
            k.rms_norm(kv, w.kv_a_norm, s.rank, block.spec.lora_norm.eps, row);
            std::memcpy(row + s.rank, kv + s.rank, s.rope * sizeof(float));
            rotate(k, block.spec.rope.pairing, c.cos + uint64_t(r) * pairs,
                   c.sin + uint64_t(r) * pairs, pairs, row + s.rank);
            if (w.query_a) {
                float* latent = c.query_latent + uint64_t(r) * block.spec.q_rank;
                k.rms_norm(latent, w.query_a_norm, block.spec.q_rank, block.spec.lora_norm.eps,
                           latent);
            }
        }
    });
    return {};
}

// Applies one small matrix per head to every row: y[r][h] = M[h] x[r][h].
void multiply_heads(Compute& compute, const HeadMatrices& m, uint32_t heads, const float* x,
                    uint32_t x_head_stride, uint32_t x_row_stride, uint32_t rows, float* y,
                    uint32_t y_head_stride, uint32_t y_row_stride) {
    const Kernels& k = compute.kernels;
    compute.pool.split(heads, 1, [&](uint32_t begin, uint32_t end) {
        for (uint32_t h = begin; h < end; ++h) {
            const MatrixView view = m.head(h);
            const FloatRows in{x + uint64_t(h) * x_head_stride, x_row_stride};
            const OutputRows out{y + uint64_t(h) * y_head_stride, y_row_stride};
            const uint32_t blocks = view.shape.blocks();
            if (m.column_scales == nullptr) {
                k.float_product[size_t(view.shape.format.kind)](view, in, rows, out, 0, blocks);
            } else {
                const auto product = view.shape.format.kind == WeightKind::fp8
                                         ? k.fp8_column_scaled
                                         : k.int8_column_scaled;
                product(view, m.column_scales + h * m.head_stride_scales, in, rows, out, 0, blocks);
            }
        }
    });
}

// One row's attention for heads [head_begin, head_end): gathers the queries dimension-major and the
// key rows, then folds.
struct RowAttention {
    const LatentBlock& block;
    const Kernels& kernels;
    const Chunk& chunk;
    LayerState state;
    SelectionSet selections;
    float* queries;      // [latent][padded heads]
    const float** keys;  // [positions]
    float* fold_scratch;

    void run(uint32_t row, uint32_t head_begin, uint32_t head_end) const {
        const Sizes s = sizes_of(block.spec);
        const uint32_t heads = head_end - head_begin;
        const uint32_t stride = padded_heads(heads);
        const uint64_t first = uint64_t(row) * s.heads + head_begin;
        to_dimension_major(chunk.absorbed + first * s.rank, s.rank, heads, s.rank, stride, queries);
        to_dimension_major(chunk.query + first * s.query + s.nope, s.query, heads, s.rope, stride,
                           queries + uint64_t(s.rank) * stride);
        const uint32_t position = chunk.first_position + row;
        const uint32_t slice_row = chunk.first_row + row;
        uint32_t count = position + 1;
        if (selections.counts != nullptr &&
            selections.counts[slice_row] != SelectionSet::kEverything) {
            count = selections.counts[slice_row];
            const uint32_t* chosen = selections.row(slice_row);
            for (uint32_t i = 0; i < count; ++i) keys[i] = state.latent(chosen[i]);
        } else {
            for (uint32_t i = 0; i < count; ++i) keys[i] = state.latent(i);
        }
        shared_key_attention(kernels,
                             {.queries = queries,
                              .head_stride = stride,
                              .heads = heads,
                              .score_dims = s.latent(),
                              .value_dims = s.rank,
                              .factor = block.spec.score_factor},
                             {.rows = keys, .count = count}, fold_scratch,
                             chunk.latent_sum + first * s.rank);
    }
};

// What one row's attention needs: its queries and the fold's arrays for up to `keys` keys.
uint64_t row_scratch_floats(const LatentAttention& spec, uint32_t keys) {
    const Sizes s = sizes_of(spec);
    return round_up(uint64_t(s.latent()) * padded_heads(s.heads) +
                        shared_key_scratch(s.heads, s.rank, keys) + 16,
                    uint64_t(16));
}

void attend(Compute& compute, const LatentBlock& block, const Chunk& c, LayerState state,
            SelectionSet selections, uint32_t context) {
    const Sizes s = sizes_of(block.spec);
    const uint32_t threads = compute.pool.thread_count();
    const uint32_t most_keys =
        selections.counts != nullptr ? std::min(context, selections.stride) : context;
    const uint64_t floats = row_scratch_floats(block.spec, most_keys);
    auto* arrays = compute.scratch.take<float>(threads * floats);
    auto** keys = compute.scratch.take<const float*>(uint64_t(threads) * most_keys);
    const bool by_row = c.rows >= 2 * threads || s.heads <= kHeadGroup;
    const uint32_t groups = by_row ? 1 : ceil_div(s.heads, kHeadGroup);
    const uint32_t units = c.rows * groups;
    std::atomic<uint32_t> next{
        0};  // rows cost differently (causal); which thread takes one changes no bit
    const auto member = [&](uint32_t thread, uint32_t) {
        float* own = arrays + thread * floats;
        const RowAttention attention{
            .block = block,
            .kernels = compute.kernels,
            .chunk = c,
            .state = state,
            .selections = selections,
            .queries = own,
            .keys = keys + uint64_t(thread) * most_keys,
            .fold_scratch = own + uint64_t(s.latent()) * padded_heads(s.heads)};
        for (uint32_t unit = next.fetch_add(1, std::memory_order_relaxed); unit < units;
             unit = next.fetch_add(1, std::memory_order_relaxed)) {
            const uint32_t head = unit % groups * kHeadGroup;
            attention.run(unit / groups, head,
                          by_row ? s.heads : std::min(s.heads, head + kHeadGroup));
        }
    };
    if (units == 1)
        member(0, 1);
    else
        compute.pool.run(member);
}

Status chunk_forward(Compute& compute, const LatentBlock& block, FloatRows h, Chunk& c,
                     LayerState state, SelectionSet selections, uint32_t context, OutputRows out) {
    const Sizes s = sizes_of(block.spec);
    const LatentWeights& w = block.weights;
    Scratch& scratch = compute.scratch;
    const ScratchScope scope(scratch);
    const uint64_t rows = c.rows;
    const bool indexed = block.spec.indexer && block.spec.indexer->owned && w.indexer;
    c.cos = scratch.take<float>(rows * block.rope.pairs());
    c.sin = scratch.take<float>(rows * block.rope.pairs());
    c.kv = scratch.take<float>(rows * s.latent());
    c.query_latent = w.query_a ? scratch.take<float>(rows * block.spec.q_rank) : nullptr;
    c.query = scratch.take<float>(rows * s.heads * s.query);
    c.absorbed = scratch.take<float>(rows * s.heads * s.rank);
    c.latent_sum = scratch.take<float>(rows * s.heads * s.rank);
    c.head_out = scratch.take<float>(rows * s.heads * s.value);
    float* index_key =
        indexed ? scratch.take<float>(rows * block.spec.indexer->head_dims) : nullptr;
    make_angles(block.rope, c);

    const FloatRows input{h.values + uint64_t(c.first_row) * h.stride, h.stride};
    ActivationRows x(input, c.rows, block.dim);
    TRY_STATUS(project_inputs(compute, block, x, c, state, index_key));
    ActivationRows latent =
        w.query_a ? ActivationRows({c.query_latent, block.spec.q_rank}, c.rows, block.spec.q_rank)
                  : x;
    TRY_STATUS(multiply(compute, w.query_b, latent, {c.query, s.heads * s.query}));
    if (indexed) {
        const IndexerBlock indexer{*block.spec.indexer, *w.indexer, block.index_rope};
        TRY_STATUS(select_keys(compute, indexer, input, latent, index_key, c.first_position, state,
                               context,
                               {.positions = selections.row(c.first_row),
                                .counts = selections.counts + c.first_row,
                                .stride = selections.stride}));
    }
    const uint32_t pairs = block.rope.pairs();
    over_rows(compute, c.rows, [&](uint32_t begin, uint32_t end) {
        for (uint32_t r = begin; r < end; ++r)
            for (uint32_t head = 0; head < s.heads; ++head)
                rotate(compute.kernels, block.spec.rope.pairing, c.cos + uint64_t(r) * pairs,
                       c.sin + uint64_t(r) * pairs, pairs,
                       c.query + (uint64_t(r) * s.heads + head) * s.query + s.nope);
    });
    multiply_heads(compute, w.key_up, s.heads, c.query, s.query, s.heads * s.query, c.rows,
                   c.absorbed, s.rank, s.heads * s.rank);
    attend(compute, block, c, state,
           block.spec.indexer && selections.counts ? selections : SelectionSet{}, context);
    multiply_heads(compute, w.value_up, s.heads, c.latent_sum, s.rank, s.heads * s.rank, c.rows,
                   c.head_out, s.value, s.heads * s.value);
    ActivationRows heads({c.head_out, s.heads * s.value}, c.rows, s.heads * s.value);
    return multiply(compute, w.output, heads,
                    {out.values + uint64_t(c.first_row) * out.stride, out.stride});
}

}  // namespace

LayerStateShape latent_state_shape(const LatentAttention& spec, bool indexer_present) {
    LayerStateShape shape;
    shape.latent = spec.kv_rank + spec.rope.dims;
    if (spec.indexer && spec.indexer->owned && indexer_present)
        shape.index_key = spec.indexer->head_dims;
    return shape;
}

uint64_t latent_scratch_bytes(const LatentAttention& spec, uint32_t dim, uint32_t rows,
                              uint32_t context, bool sparse, uint32_t threads) {
    const Sizes s = sizes_of(spec);
    const uint32_t keys =
        sparse && spec.indexer ? std::min(context, spec.indexer->top_keys) : context;
    const uint64_t n = std::min(rows, kChunkRows);
    const uint64_t index_dims = spec.indexer ? spec.indexer->head_dims : 0;
    uint64_t bytes = 0;
    for (const uint64_t floats :
         {n * s.rope / 2, n * s.rope / 2, n * s.latent(), n * spec.q_rank, n * s.heads * s.query,
          n * s.heads * s.rank, n * s.heads * s.rank, n * s.heads * s.value, n * index_dims,
          threads * row_scratch_floats(spec, keys)})
        bytes += scratch_bytes_of<float>(floats);
    bytes += scratch_bytes_of<const float*>(uint64_t(threads) * keys);
    bytes += activation_scratch_bytes(n, dim) + activation_scratch_bytes(n, spec.q_rank) +
             activation_scratch_bytes(n, s.heads * s.value);
    if (spec.indexer)
        bytes += select_keys_scratch_bytes(*spec.indexer, uint32_t(n), context, threads);
    return bytes;
}

Status latent_attention(Compute& compute, const LatentBlock& block, FloatRows h, uint32_t row_count,
                        uint32_t first_position, LayerState state, SelectionSet selections,
                        OutputRows out) {
    const uint32_t context = first_position + row_count;
    for (uint32_t begin = 0; begin < row_count; begin += kChunkRows) {
        Chunk chunk;
        chunk.rows = std::min(kChunkRows, row_count - begin);
        chunk.first_row = begin;
        chunk.first_position = first_position + begin;
        TRY_STATUS(chunk_forward(compute, block, h, chunk, state, selections, context, out));
    }
    return {};
}

}  // namespace colibri

// Attention and indexer products over sixteen lanes, written once: each instruction set's
// attention.cpp includes this after its simd.h and instantiates AttentionKernels<Simd>. The result
// of every chain of fmas is that of reference/: what is free is which chains run side by side, and
// where a chain rests in memory between two of its parts.
#pragma once

#include "kernels/generic/exp.inl"
#include "kernels/kernels.h"

namespace colibri {

template <class S>
struct AttentionKernels {
    using Float = typename S::Float;
    static constexpr uint32_t kLanes = S::kLanes;
    // Chains that fit the register file beside their operands; an fma takes four cycles and two may
    // start per cycle, so that at least eight registers must be under way.
    static constexpr bool kManyRegisters = S::kRegisters / S::kRegistersPerVector >= 32;
    // A first-level cache holds the queries (or values) of one pass, the keys it meets and their
    // scores.
    static constexpr uint32_t kPassFloats = 4096;
    static constexpr uint32_t kPassKeys = 32;
    static constexpr uint32_t kValueKeys = 64;
    static constexpr uint32_t kStripDims = 64;

    // --- scores of heads that share keys ---

    struct ScorePass {
        const float* queries;  // of the pass's first dimension
        uint32_t head_stride;
        uint32_t heads;
        uint32_t first_dim;
        uint32_t dims;
        bool starts;  // chains start from zero, else from `scores`
        bool ends;    // multiply by factor
        float factor;
        float* scores;  // of the first key
    };

    // kKeys keys times kVectors vectors (of type V) of heads, from lane `head` on. Only the first
    // `count` keys are real: the last one stands in for the others, and nothing is stored for
    // those.
    template <class V, int kKeys, int kVectors>
    [[gnu::noinline]] static void score_tile(const ScorePass& pass, const float* const* rows,
                                             uint32_t count, uint32_t head) {
        using Lanes = typename V::Float;
        const float* key[kKeys];
        Lanes acc[kKeys][kVectors];
#pragma GCC unroll 16
        for (int k = 0; k < kKeys; ++k) {
            const uint32_t place = uint32_t(k) < count ? uint32_t(k) : count - 1;
            key[k] = rows[place] + pass.first_dim;
            const float* start = pass.scores + size_t(place) * pass.head_stride + head;
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) {
                acc[k][v] = pass.starts ? V::zero() : V::load(start + v * V::kLanes);
            }
        }
        const size_t query_step = pass.head_stride;
        const float* query = pass.queries + head;
        const auto step = [&](uint32_t d, const float* from) {
            Lanes q[kVectors];
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) q[v] = V::load(from + v * V::kLanes);
#pragma GCC unroll 16
            for (int k = 0; k < kKeys; ++k) {
                const Lanes x = V::broadcast(key[k][d]);
#pragma GCC unroll 4
                for (int v = 0; v < kVectors; ++v) acc[k][v] = V::fma(q[v], x, acc[k][v]);
            }
        };
        uint32_t d = 0;
        for (; d + 2 <= pass.dims; d += 2, query += 2 * query_step) {
            step(d, query);
            step(d + 1, query + query_step);
        }
        if (d < pass.dims) step(d, query);
        const Lanes factor = V::broadcast(pass.factor);
#pragma GCC unroll 16
        for (int k = 0; k < kKeys; ++k) {
            if (uint32_t(k) >= count) break;
            float* end = pass.scores + size_t(k) * pass.head_stride + head;
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) {
                V::store(end + v * V::kLanes, pass.ends ? V::mul(acc[k][v], factor) : acc[k][v]);
            }
        }
    }

    template <class V, int kKeys, int kVectors>
    static void score_keys(const ScorePass& pass, const float* const* rows, uint32_t count,
                           uint32_t head) {
        for (uint32_t i = 0; i < count; i += kKeys) {
            ScorePass here = pass;
            here.scores += size_t(i) * pass.head_stride;
            const uint32_t left = count - i;
            score_tile<V, kKeys, kVectors>(here, rows + i, left < kKeys ? left : kKeys, head);
        }
    }

    // A last vector that is at most half full goes by eight lanes.
    static void score_heads(const ScorePass& pass, const float* const* rows, uint32_t count) {
        uint32_t head = 0;
        const auto more_than = [&](uint32_t lanes) { return head + lanes < pass.heads; };
        if constexpr (kManyRegisters) {
            for (; more_than(3 * kLanes + kLanes / 2); head += 4 * kLanes) {
                score_keys<S, 4, 4>(pass, rows, count, head);
            }
            for (; more_than(kLanes + kLanes / 2); head += 2 * kLanes) {
                score_keys<S, 8, 2>(pass, rows, count, head);
            }
            for (; more_than(kLanes / 2); head += kLanes) {
                score_keys<S, 8, 1>(pass, rows, count, head);
            }
        } else {
            for (; more_than(kLanes / 2); head += kLanes) {
                score_keys<S, 4, 1>(pass, rows, count, head);
            }
        }
        if (more_than(0)) score_keys<typename S::Narrow, 8, 1>(pass, rows, count, head);
    }

    static void clear_padding(float* scores, uint32_t head_stride, uint32_t heads,
                              uint32_t key_count) {
        for (uint32_t i = 0; i < key_count && heads < head_stride; ++i) {
            float* row = scores + size_t(i) * head_stride;
            const uint32_t first = heads / kLanes * kLanes;
            for (uint32_t h = first; h < head_stride; h += kLanes) {
                const uint32_t kept = h == first ? heads - first : 0;
                S::store(row + h, S::load_tail(row + h, kept));
            }
        }
    }

    static void shared_key_scores(const float* queries, uint32_t head_stride, uint32_t heads,
                                  uint32_t dims, KeyRows keys, float factor, float* scores) {
        const uint32_t fitting = kPassFloats / head_stride;
        const uint32_t pass_dims = fitting < kLanes ? kLanes : fitting;
        for (uint32_t i = 0; i < keys.count; i += kPassKeys) {
            const uint32_t left = keys.count - i;
            const uint32_t count = left < kPassKeys ? left : kPassKeys;
            float* part = scores + size_t(i) * head_stride;
            uint32_t d = 0;
            do {  // once even without dimensions: the scores are then zero
                const bool ends = dims - d <= pass_dims;
                const ScorePass pass{.queries = queries + size_t(d) * head_stride,
                                     .head_stride = head_stride,
                                     .heads = heads,
                                     .first_dim = d,
                                     .dims = ends ? dims - d : pass_dims,
                                     .starts = d == 0,
                                     .ends = ends,
                                     .factor = factor,
                                     .scores = part};
                score_heads(pass, keys.rows + i, count);
                d += pass.dims;
            } while (d < dims);
            clear_padding(part, head_stride, heads, count);
        }
    }

    // --- softmax of heads that share keys ---

    static void shared_maxima(const float* scores, uint32_t head_stride, uint32_t key_count,
                              float* maxima) {
        for (uint32_t h = 0; h < head_stride; h += kLanes) {
            Float best = S::broadcast(-__builtin_inff());
            const float* score = scores + h;
            for (uint32_t i = 0; i < key_count; ++i, score += head_stride) {
                best = S::max(S::load(score), best);
            }
            S::store(maxima + h, S::add(best, S::zero()));
        }
    }

    static void shared_exp_sums(float* scores, uint32_t head_stride, uint32_t key_count,
                                const float* maxima, float* sums) {
        for (uint32_t h = 0; h < head_stride; h += kLanes) {
            const Float shift = S::load(maxima + h);
            Float sum = S::zero();
            float* score = scores + h;
            for (uint32_t i = 0; i < key_count; ++i, score += head_stride) {
                const Float p = exp_of<S>(S::sub(S::load(score), shift));
                S::store(score, p);
                sum = S::add(sum, p);
            }
            S::store(sums + h, sum);
        }
    }

    // --- sums of values ---

    struct ValuePass {
        const float* weights;  // of the pass's first key
        uint32_t key_step;
        uint32_t head_step;
        KeyRows keys;
        bool starts;
        float* out;
        uint32_t out_stride;
    };

    // kHeads heads from `head` on, kVectors vectors of dimensions from `dim` on; `width` < 16 in a
    // tile of one vector cuts it short.
    template <int kHeads, int kVectors, bool kWhole>
    [[gnu::noinline]] static void value_tile(const ValuePass& pass, uint32_t head, uint32_t dim,
                                             uint32_t width) {
        const float* weight[kHeads];
        Float acc[kHeads][kVectors];
#pragma GCC unroll 8
        for (int h = 0; h < kHeads; ++h) {
            weight[h] = pass.weights + size_t(head + h) * pass.head_step;
            const float* start = pass.out + size_t(head + h) * pass.out_stride + dim;
#pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v) {
                if (pass.starts) {
                    acc[h][v] = S::zero();
                } else {
                    acc[h][v] = kWhole ? S::load(start + v * kLanes) : S::load_tail(start, width);
                }
            }
        }
        size_t at = 0;
        for (uint32_t i = 0; i < pass.keys.count; ++i, at += pass.key_step) {
            const float* row = pass.keys.rows[i] + dim;
            Float x[kVectors];
#pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v) {
                x[v] = kWhole ? S::load(row + v * kLanes) : S::load_tail(row, width);
            }
#pragma GCC unroll 8
            for (int h = 0; h < kHeads; ++h) {
                const Float w = S::broadcast(weight[h][at]);
#pragma GCC unroll 8
                for (int v = 0; v < kVectors; ++v) acc[h][v] = S::fma(w, x[v], acc[h][v]);
            }
        }
#pragma GCC unroll 8
        for (int h = 0; h < kHeads; ++h) {
            float* end = pass.out + size_t(head + h) * pass.out_stride + dim;
#pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v) {
                if constexpr (kWhole) {
                    S::store(end + v * kLanes, acc[h][v]);
                } else {
                    S::store_tail(end, acc[h][v], width);
                }
            }
        }
    }

    // All heads over the dimensions [dim, dim + kVectors * 16), or `width` of them.
    template <int kVectors, bool kWhole>
    static void value_heads(const ValuePass& pass, uint32_t heads, uint32_t dim, uint32_t width) {
        uint32_t h = 0;
        for (; h + 4 <= heads; h += 4) value_tile<4, kVectors, kWhole>(pass, h, dim, width);
        for (; h + 2 <= heads; h += 2) value_tile<2, kVectors, kWhole>(pass, h, dim, width);
        for (; h < heads; ++h) value_tile<1, kVectors, kWhole>(pass, h, dim, width);
    }

    // The dimensions [dim, end).
    template <int kVectors>
    COLIBRI_SIMD void value_dims(const ValuePass& pass, uint32_t heads, uint32_t dim,
                                 uint32_t end) {
        for (; dim + kVectors * kLanes <= end; dim += kVectors * kLanes) {
            value_heads<kVectors, true>(pass, heads, dim, kLanes);
        }
        if constexpr (kVectors > 1) {
            for (; dim + kLanes <= end; dim += kLanes) {
                value_heads<1, true>(pass, heads, dim, kLanes);
            }
        }
        if (dim < end) value_heads<1, false>(pass, heads, dim, end - dim);
    }

    // Strips of dimensions; in a strip, keys in parts that stay in the first-level cache for all
    // heads.
    template <int kVectors>
    static void value_strips(ValuePass pass, uint32_t heads, uint32_t dims, KeyRows keys) {
        const float* weights = pass.weights;
        for (uint32_t dim = 0; dim < dims; dim += kStripDims) {
            const uint32_t end = dims - dim < kStripDims ? dims : dim + kStripDims;
            uint32_t i = 0;
            do {  // once even without keys: the sums are then zero
                const uint32_t left = keys.count - i;
                pass.keys = {.rows = keys.rows + i, .count = left < kValueKeys ? left : kValueKeys};
                pass.weights = weights + size_t(i) * pass.key_step;
                pass.starts = i == 0;
                value_dims<kVectors>(pass, heads, dim, end);
                i += kValueKeys;
            } while (i < keys.count);
        }
    }

    static void shared_value_sums(const float* weights, uint32_t key_step, uint32_t head_step,
                                  uint32_t heads, uint32_t dims, KeyRows keys, float* out,
                                  uint32_t out_stride) {
        const ValuePass pass{.weights = weights,
                             .key_step = key_step,
                             .head_step = head_step,
                             .keys = {},
                             .starts = true,
                             .out = out,
                             .out_stride = out_stride};
        // Four heads by four vectors, or as many chains as fewer registers hold.
        if constexpr (kManyRegisters) {
            value_strips<4>(pass, heads, dims, keys);
        } else if (heads >= 4) {
            value_strips<1>(pass, heads, dims, keys);
        } else {
            value_strips<2>(pass, heads, dims, keys);
        }
    }

    // --- the indexer's sum over heads ---

    // Sixteen keys at a time: their dots are transposed so that lanes are keys.
    static void indexer_reduce(const float* dots, uint32_t head_stride, uint32_t heads,
                               const float* gates, float factor, uint32_t key_count,
                               float* scores) {
        for (uint32_t i = 0; i < key_count; i += kLanes) {
            const uint32_t left = key_count - i;
            const uint32_t count = left < kLanes ? left : kLanes;
            Float acc = S::zero();
            for (uint32_t first = 0; first < heads; first += kLanes) {
                Float dot[kLanes];
#pragma GCC unroll 16
                for (uint32_t k = 0; k < kLanes; ++k) {
                    const uint32_t key = i + (k < count ? k : count - 1);
                    dot[k] = S::load(dots + size_t(key) * head_stride + first);
                }
                S::transpose(dot);
#pragma GCC unroll 16
                for (uint32_t h = 0; h < kLanes; ++h) {
                    if (first + h >= heads) break;
                    acc = S::fma(S::broadcast(gates[first + h]), S::max(dot[h], S::zero()), acc);
                }
            }
            const Float score = S::add(S::mul(acc, S::broadcast(factor)), S::zero());
            S::store_tail(scores + i, score, count);
        }
    }

    // --- scores of one key-value head's query heads against tiles of sixteen keys ---

    struct TilePass {
        const float* queries;
        uint32_t query_stride;
        uint32_t dims;
        float factor;
        float* scores;
        uint32_t score_stride;
    };

    template <int kHeads, int kTiles>
    [[gnu::noinline]] static void tile_scores(const TilePass& pass, const float* const* tiles) {
        Float acc[kHeads][kTiles];
#pragma GCC unroll 8
        for (int h = 0; h < kHeads; ++h) {
#pragma GCC unroll 8
            for (int t = 0; t < kTiles; ++t) acc[h][t] = S::zero();
        }
        for (uint32_t d = 0; d < pass.dims; ++d) {
            Float key[kTiles];
#pragma GCC unroll 8
            for (int t = 0; t < kTiles; ++t) key[t] = S::load(tiles[t] + size_t(d) * kLanes);
#pragma GCC unroll 8
            for (int h = 0; h < kHeads; ++h) {
                const Float q = S::broadcast(pass.queries[size_t(h) * pass.query_stride + d]);
#pragma GCC unroll 8
                for (int t = 0; t < kTiles; ++t) acc[h][t] = S::fma(q, key[t], acc[h][t]);
            }
        }
        const Float factor = S::broadcast(pass.factor);
#pragma GCC unroll 8
        for (int h = 0; h < kHeads; ++h) {
            float* out = pass.scores + size_t(h) * pass.score_stride;
#pragma GCC unroll 8
            for (int t = 0; t < kTiles; ++t) {
                S::store(out + t * kLanes, S::mul(acc[h][t], factor));
            }
        }
    }

    template <int kHeads>
    static void head_tile_scores(const TilePass& pass, const float* const* tiles,
                                 uint32_t tile_count) {
        constexpr int kWide = kManyRegisters ? (kHeads == 1 ? 8 : 4) : (kHeads == 1 ? 4 : 2);
        TilePass here = pass;
        uint32_t t = 0;
        for (; t + kWide <= tile_count; t += kWide, here.scores += kWide * kLanes) {
            tile_scores<kHeads, kWide>(here, tiles + t);
        }
        for (; t < tile_count; ++t, here.scores += kLanes) tile_scores<kHeads, 1>(here, tiles + t);
    }

    static void key_tile_scores(const float* queries, uint32_t query_stride, uint32_t heads,
                                const float* const* tiles, uint32_t tile_count, uint32_t dims,
                                float factor, float* scores, uint32_t score_stride) {
        TilePass pass{.queries = queries,
                      .query_stride = query_stride,
                      .dims = dims,
                      .factor = factor,
                      .scores = scores,
                      .score_stride = score_stride};
        constexpr uint32_t kHeads = kManyRegisters ? 4 : 2;
        uint32_t h = 0;
        for (; h + kHeads <= heads; h += kHeads) {
            head_tile_scores<int(kHeads)>(pass, tiles, tile_count);
            pass.queries += size_t(kHeads) * query_stride;
            pass.scores += size_t(kHeads) * score_stride;
        }
        for (; h < heads; ++h) {
            head_tile_scores<1>(pass, tiles, tile_count);
            pass.queries += query_stride;
            pass.scores += score_stride;
        }
    }

    static void add_entries(Kernels& table) {
        table.shared_key_scores = shared_key_scores;
        table.shared_maxima = shared_maxima;
        table.shared_exp_sums = shared_exp_sums;
        table.shared_value_sums = shared_value_sums;
        table.indexer_reduce = indexer_reduce;
        table.key_tile_scores = key_tile_scores;
    }
};

}  // namespace colibri

// Attention and indexer entries: every table against the reference, bit for bit.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/kernels.h"
#include "kernels/testing.h"

namespace colibri {
namespace {

using testing::fast_tables;
using testing::first_difference;
using testing::random_bits;
using testing::random_values;
using testing::reference;

using Floats = std::vector<float>;

// Rows of a matrix in random order with repeats, as a sparse selection would give them.
std::vector<const float*> pick_rows(Rng& rng, const Floats& data, uint32_t dims, uint32_t count) {
    std::vector<const float*> rows(count);
    const uint64_t available = data.size() / dims;
    for (const float*& row : rows) row = data.data() + rng.below(available) * dims;
    return rows;
}

Floats make(Rng& rng, size_t count, bool any_bits) {
    return any_bits ? random_bits(rng, count) : random_values(rng, count, 2.0F);
}

TEST(AttentionKernels, SharedKeyScoresAndSoftmaxAgree) {
    // Goal: scores, maxima, exponentials and denominators equal the reference's for all shapes.
    // Method: random heads (1 to 4 vectors and more), dims that do and do not fit one pass, 1 to 80
    // keys.
    Rng rng(21);
    for (int round = 0; round < 150; ++round) {
        const uint32_t stride = 16 * (1 + uint32_t(rng.below(7)));
        const uint32_t dims = 1 + uint32_t(rng.below(round % 10 == 0 ? 600 : 90));
        const uint32_t count = 1 + uint32_t(rng.below(80));
        const bool any_bits = round % 3 == 0;
        const uint32_t heads = stride - uint32_t(rng.below(16));
        const Floats queries = make(rng, size_t(dims) * stride, any_bits);
        const Floats keys = make(rng, size_t(dims) * count, any_bits);
        const std::vector<const float*> rows = pick_rows(rng, keys, dims, count);
        const KeyRows attended{.rows = rows.data(), .count = count};
        Floats want(size_t(count) * stride);
        reference().shared_key_scores(queries.data(), stride, heads, dims, attended, 0.3F,
                                      want.data());
        Floats want_maxima(stride);
        reference().shared_maxima(want.data(), stride, count, want_maxima.data());
        Floats want_weights = want;
        Floats want_sums(stride);
        reference().shared_exp_sums(want_weights.data(), stride, count, want_maxima.data(),
                                    want_sums.data());
        for (const Kernels* table : fast_tables()) {
            Floats got(want.size(), 7.0F);
            table->shared_key_scores(queries.data(), stride, heads, dims, attended, 0.3F,
                                     got.data());
            ASSERT_EQ(first_difference(got, want), -1)
                << to_string(table->isa) << " " << stride << " " << dims << " " << count;
            Floats maxima(stride);
            table->shared_maxima(got.data(), stride, count, maxima.data());
            ASSERT_EQ(first_difference(maxima, want_maxima), -1) << to_string(table->isa);
            Floats sums(stride);
            table->shared_exp_sums(got.data(), stride, count, maxima.data(), sums.data());
            ASSERT_EQ(first_difference(got, want_weights), -1) << to_string(table->isa);
            ASSERT_EQ(first_difference(sums, want_sums), -1) << to_string(table->isa);
        }
    }
}

TEST(AttentionKernels, SharedValueSumsAgree) {
    // Goal: weighted sums equal the reference's for every head count, tail of dimensions and weight
    // layout. Method: random shapes, keys beyond one pass, both layouts of weights, guard elements
    // between output rows.
    Rng rng(22);
    for (int round = 0; round < 150; ++round) {
        const uint32_t heads = 1 + uint32_t(rng.below(40));
        const uint32_t dims = 1 + uint32_t(rng.below(round % 10 == 0 ? 520 : 100));
        const uint32_t count = 1 + uint32_t(rng.below(200));
        const bool any_bits = round % 3 == 0;
        const bool by_head = rng.below(2) != 0;
        const uint32_t key_step = by_head ? 1 : heads + uint32_t(rng.below(17));
        const uint32_t head_step = by_head ? count + uint32_t(rng.below(17)) : 1;
        const Floats weights =
            make(rng, by_head ? size_t(heads) * head_step : size_t(count) * key_step, any_bits);
        const Floats values = make(rng, size_t(dims) * count, any_bits);
        const std::vector<const float*> rows = pick_rows(rng, values, dims, count);
        const KeyRows attended{.rows = rows.data(), .count = count};
        const uint32_t out_stride = dims + uint32_t(rng.below(5));
        Floats want(size_t(heads) * out_stride, 5.0F);
        reference().shared_value_sums(weights.data(), key_step, head_step, heads, dims, attended,
                                      want.data(), out_stride);
        for (const Kernels* table : fast_tables()) {
            Floats got(want.size(), 5.0F);
            table->shared_value_sums(weights.data(), key_step, head_step, heads, dims, attended,
                                     got.data(), out_stride);
            ASSERT_EQ(first_difference(got, want), -1)
                << to_string(table->isa) << " " << heads << " " << dims << " " << count;
        }
    }
}

TEST(AttentionKernels, KeyTileScoresAgree) {
    // Goal: scores against dimension-major tiles equal the reference's for all head and tile
    // counts. Method: random shapes with padded query and score strides.
    Rng rng(23);
    for (int round = 0; round < 150; ++round) {
        const uint32_t heads = 1 + uint32_t(rng.below(12));
        const uint32_t dims = 1 + uint32_t(rng.below(140));
        const uint32_t tile_count = 1 + uint32_t(rng.below(20));
        const bool any_bits = round % 3 == 0;
        const uint32_t query_stride = dims + uint32_t(rng.below(4));
        const uint32_t score_stride = tile_count * 16 + uint32_t(rng.below(20));
        const Floats queries = make(rng, size_t(heads) * query_stride, any_bits);
        const Floats keys = make(rng, size_t(tile_count) * dims * 16, any_bits);
        const std::vector<const float*> tiles = pick_rows(rng, keys, dims * 16, tile_count);
        Floats want(size_t(heads) * score_stride, 5.0F);
        reference().key_tile_scores(queries.data(), query_stride, heads, tiles.data(), tile_count,
                                    dims, 0.125F, want.data(), score_stride);
        for (const Kernels* table : fast_tables()) {
            Floats got(want.size(), 5.0F);
            table->key_tile_scores(queries.data(), query_stride, heads, tiles.data(), tile_count,
                                   dims, 0.125F, got.data(), score_stride);
            ASSERT_EQ(first_difference(got, want), -1)
                << to_string(table->isa) << " " << heads << " " << dims << " " << tile_count;
        }
    }
}

TEST(AttentionKernels, IndexerReduceAgrees) {
    // Goal: indexer scores equal the reference's, clipped heads and negative zeros included.
    // Method: random shapes; gates and dots of both signs; a key whose heads are all clipped gives
    // +0.
    Rng rng(24);
    for (int round = 0; round < 200; ++round) {
        const uint32_t heads = 1 + uint32_t(rng.below(70));
        const uint32_t stride = (heads + 15) / 16 * 16;
        const uint32_t count = 1 + uint32_t(rng.below(100));
        Floats dots = make(rng, size_t(count) * stride, round % 3 == 0);
        const Floats gates = make(rng, heads, round % 3 == 0);
        const bool clip = round % 3 != 0;
        if (clip) std::fill_n(dots.begin(), stride, -1.0F);
        Floats want(count);
        reference().indexer_reduce(dots.data(), stride, heads, gates.data(), -0.25F, count,
                                   want.data());
        if (clip) {
            ASSERT_TRUE(testing::same_bits(want[0], 0.0F));
        }
        for (const Kernels* table : fast_tables()) {
            Floats got(count);
            table->indexer_reduce(dots.data(), stride, heads, gates.data(), -0.25F, count,
                                  got.data());
            ASSERT_EQ(first_difference(got, want), -1)
                << to_string(table->isa) << " " << heads << " " << count;
        }
    }
}

TEST(AttentionKernels, AResultDependsOnItsOwnKeyOnly) {
    // Goal: a score or weighted sum does not change with the keys, heads or dimensions computed
    // beside it. Method: each table; one key alone against the same key among 50; one head's values
    // alone against all heads.
    Rng rng(25);
    const uint32_t stride = 48;
    const uint32_t dims = 200;
    const uint32_t count = 50;
    const Floats queries = random_values(rng, size_t(dims) * stride);
    const Floats keys = random_values(rng, size_t(dims) * count);
    std::vector<const float*> rows = pick_rows(rng, keys, dims, count);
    for (const Isa isa : available_isas()) {
        const Kernels& table = *kernels_for(isa);
        Floats all(size_t(count) * stride);
        table.shared_key_scores(queries.data(), stride, stride, dims, {rows.data(), count}, 1.0F,
                                all.data());
        Floats sums(size_t(stride) * dims);
        table.shared_value_sums(all.data(), stride, 1, stride, dims, {rows.data(), count},
                                sums.data(), dims);
        for (uint32_t i = 0; i < count; ++i) {
            Floats one(stride);
            table.shared_key_scores(queries.data(), stride, stride, dims, {rows.data() + i, 1},
                                    1.0F, one.data());
            for (uint32_t h = 0; h < stride; ++h) ASSERT_EQ(one[h], all[size_t(i) * stride + h]);
        }
        for (uint32_t h = 0; h < stride; ++h) {
            const uint32_t short_dims = 1 + h;
            Floats one(short_dims);
            table.shared_value_sums(all.data() + h, stride, 1, 1, short_dims, {rows.data(), count},
                                    one.data(), short_dims);
            for (uint32_t d = 0; d < short_dims; ++d) {
                ASSERT_EQ(one[d], sums[size_t(h) * dims + d]);
            }
        }
    }
}

}  // namespace
}  // namespace colibri

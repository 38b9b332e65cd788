#include "kernels/attention_fold.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/math.h"
#include "kernels/testing.h"

namespace colibri {
namespace {

using testing::first_difference;
using testing::random_values;

using Floats = std::vector<float>;

struct Shape {
    uint32_t heads;
    uint32_t score_dims;
    uint32_t value_dims;
    uint32_t keys;
};

// One query per head, one key row per key, as plain matrices; values are the first value_dims of
// `values` rows.
struct Problem {
    Shape shape;
    Floats queries;  // [heads][score_dims]
    Floats keys;     // [keys][score_dims]
    Floats values;   // [keys][value_dims]
    float factor;
};

// The definition, word for word: maximum, exponentials, blocks of 512 from zero, added in order,
// one division.
Floats by_definition(const Problem& p) {
    const Shape& s = p.shape;
    Floats out(size_t(s.heads) * s.value_dims, 0.0F);
    for (uint32_t h = 0; h < s.heads; ++h) {
        Floats score(s.keys);
        float maximum = -std::numeric_limits<float>::infinity();
        for (uint32_t i = 0; i < s.keys; ++i) {
            float dot = 0.0F;
            for (uint32_t d = 0; d < s.score_dims; ++d) {
                const float q = p.queries[size_t(h) * s.score_dims + d];
                dot = std::fma(q, p.keys[size_t(i) * s.score_dims + d], dot);
            }
            score[i] = dot * p.factor;
            maximum = std::fmax(maximum, score[i]);
        }
        float denominator = 0.0F;
        for (uint32_t begin = 0; begin < s.keys; begin += 512) {
            const uint32_t end = std::min(s.keys, begin + 512);
            float block = 0.0F;
            for (uint32_t i = begin; i < end; ++i) block += exp_f32(score[i] - maximum);
            denominator = begin == 0 ? block : denominator + block;
            for (uint32_t d = 0; d < s.value_dims; ++d) {
                float sum = 0.0F;
                for (uint32_t i = begin; i < end; ++i) {
                    const float value = p.values[size_t(i) * s.value_dims + d];
                    sum = std::fma(exp_f32(score[i] - maximum), value, sum);
                }
                float& total = out[size_t(h) * s.value_dims + d];
                total = begin == 0 ? sum : total + sum;
            }
        }
        for (uint32_t d = 0; d < s.value_dims; ++d)
            out[size_t(h) * s.value_dims + d] /= denominator;
    }
    return out;
}

std::vector<double> by_double_softmax(const Problem& p) {
    const Shape& s = p.shape;
    std::vector<double> out(size_t(s.heads) * s.value_dims, 0.0);
    for (uint32_t h = 0; h < s.heads; ++h) {
        std::vector<double> score(s.keys, 0.0);
        double maximum = -1e300;
        for (uint32_t i = 0; i < s.keys; ++i) {
            for (uint32_t d = 0; d < s.score_dims; ++d) {
                score[i] += double(p.queries[size_t(h) * s.score_dims + d]) *
                            p.keys[size_t(i) * s.score_dims + d];
            }
            score[i] *= p.factor;
            maximum = std::fmax(maximum, score[i]);
        }
        double denominator = 0.0;
        for (const double v : score) denominator += std::exp(v - maximum);
        for (uint32_t i = 0; i < s.keys; ++i) {
            const double weight = std::exp(score[i] - maximum) / denominator;
            for (uint32_t d = 0; d < s.value_dims; ++d) {
                out[size_t(h) * s.value_dims + d] +=
                    weight * p.values[size_t(i) * s.value_dims + d];
            }
        }
    }
    return out;
}

Problem random_problem(Rng& rng, Shape shape, bool values_in_keys) {
    Problem p{.shape = shape,
              .queries = random_values(rng, size_t(shape.heads) * shape.score_dims, 2.0F),
              .keys = random_values(rng, size_t(shape.keys) * shape.score_dims, 2.0F),
              .values = random_values(rng, size_t(shape.keys) * shape.value_dims),
              .factor = 1.0F / std::sqrt(float(shape.score_dims))};
    if (values_in_keys) {
        for (uint32_t i = 0; i < shape.keys; ++i) {
            for (uint32_t d = 0; d < shape.value_dims; ++d) {
                p.values[size_t(i) * shape.value_dims + d] =
                    p.keys[size_t(i) * shape.score_dims + d];
            }
        }
    }
    return p;
}

// Scratch with a guard behind it: the functions must stay inside what they announce.
class Scratch {
public:
    explicit Scratch(uint64_t count) : floats_(count + 8, 123.0F) {}
    float* data() { return floats_.data(); }
    bool intact() const {
        for (size_t i = floats_.size() - 8; i < floats_.size(); ++i) {
            if (floats_[i] != 123.0F) return false;
        }
        return true;
    }

private:
    Floats floats_;
};

Floats run_shared(const Kernels& kernels, const Problem& p) {
    const Shape& s = p.shape;
    const uint32_t stride = padded_heads(s.heads);
    Floats queries(size_t(s.score_dims) * stride, 9.0F);
    to_dimension_major(p.queries.data(), s.score_dims, s.heads, s.score_dims, stride,
                       queries.data());
    std::vector<const float*> rows(s.keys);
    for (uint32_t i = 0; i < s.keys; ++i) rows[i] = p.keys.data() + size_t(i) * s.score_dims;
    Scratch scratch(shared_key_scratch(s.heads, s.value_dims, s.keys));
    Floats out(size_t(s.heads) * s.value_dims);
    shared_key_attention(kernels,
                         {.queries = queries.data(),
                          .head_stride = stride,
                          .heads = s.heads,
                          .score_dims = s.score_dims,
                          .value_dims = s.value_dims,
                          .factor = p.factor},
                         {.rows = rows.data(), .count = s.keys}, scratch.data(), out.data());
    EXPECT_TRUE(scratch.intact());
    return out;
}

// `first_lane`: where in its first tile the window starts; the lanes around it hold NaN.
Floats run_grouped(const Kernels& kernels, const Problem& p, uint32_t first_lane) {
    const Shape& s = p.shape;
    const uint32_t tile_count = (first_lane + s.keys + 15) / 16;
    Floats tile_data(size_t(tile_count) * s.score_dims * 16, std::nanf(""));
    std::vector<const float*> tiles(tile_count);
    std::vector<const float*> rows(s.keys);
    for (uint32_t t = 0; t < tile_count; ++t) {
        tiles[t] = tile_data.data() + size_t(t) * s.score_dims * 16;
    }
    for (uint32_t i = 0; i < s.keys; ++i) {
        const uint32_t lane = first_lane + i;
        float* tile = tile_data.data() + size_t(lane / 16) * s.score_dims * 16;
        for (uint32_t d = 0; d < s.score_dims; ++d) {
            tile[size_t(d) * 16 + lane % 16] = p.keys[size_t(i) * s.score_dims + d];
        }
        rows[i] = p.values.data() + size_t(i) * s.value_dims;
    }
    Scratch scratch(grouped_scratch(s.heads, s.value_dims, s.keys));
    const uint32_t out_stride = s.value_dims + 3;
    Floats padded(size_t(s.heads) * out_stride);
    grouped_attention(kernels,
                      {.queries = p.queries.data(),
                       .query_stride = s.score_dims,
                       .heads = s.heads,
                       .score_dims = s.score_dims,
                       .value_dims = s.value_dims,
                       .factor = p.factor},
                      {.tiles = tiles.data(), .first_lane = first_lane},
                      {.rows = rows.data(), .count = s.keys}, scratch.data(), padded.data(),
                      out_stride);
    EXPECT_TRUE(scratch.intact());
    Floats out;
    for (uint32_t h = 0; h < s.heads; ++h) {
        const auto row = padded.begin() + int64_t(h) * out_stride;
        out.insert(out.end(), row, row + s.value_dims);
    }
    return out;
}

void expect_near(const Floats& got, const std::vector<double>& want) {
    double worst = 0.0;
    for (size_t i = 0; i < got.size(); ++i) worst = std::fmax(worst, std::fabs(got[i] - want[i]));
    EXPECT_LT(worst, 2e-6);
}

const Shape kShapes[] = {{1, 3, 1, 1},       {8, 80, 64, 1},    {8, 80, 64, 256},
                         {8, 80, 64, 511},   {3, 17, 5, 512},   {8, 33, 31, 513},
                         {17, 21, 13, 1024}, {5, 9, 7, 1025},   {64, 72, 64, 40},
                         {64, 576, 512, 21}, {33, 40, 16, 700}, {2, 24, 15, 2000}};

TEST(AttentionFold, SharedKeysFollowTheDefinitionOnEveryTable) {
    // Goal: MLA attention equals its written definition bit for bit, and a double-precision softmax
    // closely. Method: shapes with odd dims, heads off 16, key counts around multiples of 512;
    // every table.
    Rng rng(31);
    for (const Shape& shape : kShapes) {
        const Problem p = random_problem(rng, shape, true);
        const Floats want = by_definition(p);
        expect_near(want, by_double_softmax(p));
        for (const Isa isa : available_isas()) {
            EXPECT_EQ(first_difference(run_shared(*kernels_for(isa), p), want), -1)
                << to_string(isa) << " heads " << shape.heads << " keys " << shape.keys;
        }
    }
}

TEST(AttentionFold, GroupedQueriesFollowTheDefinitionOnEveryTable) {
    // Goal: GQA attention equals the same definition, wherever in a tile its window starts.
    // Method: the same shapes and three starts; lanes outside the window hold NaN.
    Rng rng(32);
    for (const Shape& shape : kShapes) {
        const Problem p = random_problem(rng, shape, false);
        const Floats want = by_definition(p);
        expect_near(want, by_double_softmax(p));
        for (const Isa isa : available_isas()) {
            for (const uint32_t first_lane : {0U, 7U, 15U}) {
                const Floats got = run_grouped(*kernels_for(isa), p, first_lane);
                EXPECT_EQ(first_difference(got, want), -1)
                    << to_string(isa) << " heads " << shape.heads << " keys " << shape.keys;
            }
        }
    }
}

TEST(AttentionFold, AHeadDoesNotSeeTheOthers) {
    // Goal: the result of a head is the same alone, in any group, and in either layout of keys.
    // Method: 20 heads at once against each head alone; shared keys against grouped ones.
    Rng rng(33);
    const Problem all = random_problem(rng, {20, 40, 24, 600}, true);
    for (const Isa isa : available_isas()) {
        const Kernels& kernels = *kernels_for(isa);
        const Floats together = run_shared(kernels, all);
        EXPECT_EQ(first_difference(run_grouped(kernels, all, 3), together), -1);
        for (uint32_t h = 0; h < 20; ++h) {
            Problem one = all;
            one.shape.heads = 1;
            one.queries.assign(all.queries.begin() + h * 40, all.queries.begin() + (h + 1) * 40);
            const Floats want(together.begin() + h * 24, together.begin() + (h + 1) * 24);
            EXPECT_EQ(first_difference(run_shared(kernels, one), want), -1);
            EXPECT_EQ(first_difference(run_grouped(kernels, one, 5), want), -1);
        }
    }
}

TEST(AttentionFold, WithoutKeysTheOutputIsZero) {
    // Goal: an empty attended list is answered, not divided by.
    // Method: zero keys on the reference table.
    Rng rng(34);
    const Problem p = random_problem(rng, {3, 8, 4, 0}, true);
    const Floats zeros(12, 0.0F);
    EXPECT_EQ(first_difference(run_shared(*kernels_for(Isa::reference), p), zeros), -1);
    EXPECT_EQ(first_difference(run_grouped(*kernels_for(Isa::reference), p, 0), zeros), -1);
}

}  // namespace
}  // namespace colibri

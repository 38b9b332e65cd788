#include "blocks/attention/latent.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <ostream>
#include <vector>

#include "base/rng.h"
#include "tensor/retile.h"

namespace colibri {
namespace {

constexpr uint32_t kDim = 48, kRows = 37;
constexpr double kTolerance = 1e-4;  // relative to the largest output

LatentAttention latent_spec(RopePairing pairing) {
    return {.heads = 5,
            .q_rank = 32,
            .kv_rank = 24,
            .nope_dims = 12,
            .value_dims = 10,
            .rope = {.dims = 8, .theta = 100.0, .pairing = pairing},
            .lora_norm = {.eps = 1e-6F},
            .score_factor = float(1 / std::sqrt(20.0))};
}

using Rows = std::vector<std::vector<double>>;

// A row-major matrix of floats, and the same in tile16.
struct Matrix {
    uint32_t rows, columns;
    std::vector<float> values;
    AlignedBuffer tiles;

    Matrix(Rng& rng, uint32_t row_count, uint32_t column_count)
        : rows(row_count), columns(column_count) {
        for (uint64_t i = 0; i < uint64_t(rows) * columns; ++i)
            values.push_back(float((rng.uniform() * 2 - 1) * std::sqrt(3.0 / columns)));
        tiles = tiled(values, rows, columns);
    }
    static AlignedBuffer tiled(const std::vector<float>& values, uint32_t rows, uint32_t columns) {
        const TileShape shape{.rows = rows, .columns = columns};
        AlignedBuffer out = *AlignedBuffer::allocate(shape.total_bytes());
        EXPECT_TRUE(retile_float(shape, DType::f32, std::as_bytes(std::span(values)), 0,
                                 shape.blocks(), out.data()));
        return out;
    }
    [[nodiscard]] MatrixView view() const {
        return {.shape = {.rows = rows, .columns = columns}, .data = tiles.data()};
    }
    [[nodiscard]] double at(uint32_t row, uint32_t column) const {
        return double(values[uint64_t(row) * columns + column]);
    }
    [[nodiscard]] std::vector<double> times(const std::vector<double>& x) const {
        std::vector<double> y(rows);
        for (uint32_t r = 0; r < rows; ++r)
            for (uint32_t c = 0; c < columns; ++c) y[r] += at(r, c) * x[c];
        return y;
    }
};

struct Weights {
    explicit Weights(Rng& rng, const LatentAttention& s)
        : query_a(rng, s.q_rank, kDim),
          query_b(rng, s.heads * (s.nope_dims + s.rope.dims), s.q_rank),
          kv_a(rng, s.kv_rank + s.rope.dims, kDim),
          kv_b(rng, s.heads * (s.nope_dims + s.value_dims), s.kv_rank),
          output(rng, kDim, s.heads * s.value_dims) {
        for (uint32_t i = 0; i < s.q_rank; ++i)
            query_norm.push_back(float(0.8 + 0.4 * rng.uniform()));
        for (uint32_t i = 0; i < s.kv_rank; ++i)
            kv_norm.push_back(float(0.8 + 0.4 * rng.uniform()));
        const TileShape key_shape{.rows = s.kv_rank, .columns = s.nope_dims};
        const TileShape value_shape{.rows = s.value_dims, .columns = s.kv_rank};
        key_up = *AlignedBuffer::allocate(key_shape.total_bytes() * s.heads);
        value_up = *AlignedBuffer::allocate(value_shape.total_bytes() * s.heads);
        for (uint32_t h = 0; h < s.heads; ++h) {
            const uint32_t first = h * (s.nope_dims + s.value_dims);
            std::vector<float> key, value;
            for (uint32_t d = 0; d < s.kv_rank; ++d)
                for (uint32_t n = 0; n < s.nope_dims; ++n)
                    key.push_back(float(kv_b.at(first + n, d)));
            for (uint32_t v = 0; v < s.value_dims; ++v)
                for (uint32_t d = 0; d < s.kv_rank; ++d)
                    value.push_back(float(kv_b.at(first + s.nope_dims + v, d)));
            std::memcpy(key_up.data() + h * key_shape.total_bytes(),
                        Matrix::tiled(key, s.kv_rank, s.nope_dims).data(), key_shape.total_bytes());
            std::memcpy(value_up.data() + h * value_shape.total_bytes(),
                        Matrix::tiled(value, s.value_dims, s.kv_rank).data(),
                        value_shape.total_bytes());
        }
        bound.query_a = query_a.view();
        bound.query_a_norm = query_norm.data();
        bound.query_b = query_b.view();
        bound.kv_a = kv_a.view();
        bound.kv_a_norm = kv_norm.data();
        bound.key_up = {.shape = key_shape,
                        .data = key_up.data(),
                        .head_stride_bytes = key_shape.total_bytes()};
        bound.value_up = {.shape = value_shape,
                          .data = value_up.data(),
                          .head_stride_bytes = value_shape.total_bytes()};
        bound.output = output.view();
    }

    Matrix query_a, query_b, kv_a, kv_b, output;
    std::vector<float> query_norm, kv_norm;
    AlignedBuffer key_up, value_up;
    LatentWeights bound;
};

std::vector<double> normed(std::vector<double> x, const std::vector<float>& weight, double eps) {
    double squares = 0;
    for (size_t i = 0; i < weight.size(); ++i) squares += x[i] * x[i];
    const double scale = 1 / std::sqrt(squares / double(weight.size()) + eps);
    for (size_t i = 0; i < weight.size(); ++i) x[i] *= scale * double(weight[i]);
    return x;
}

void rotate(double* x, const Rope& rope, uint32_t position) {
    const uint32_t pairs = rope.dims / 2;
    const std::vector<double> in(x, x + rope.dims);
    for (uint32_t j = 0; j < pairs; ++j) {
        const double angle = position * std::pow(rope.theta, -2.0 * j / rope.dims);
        const bool adjacent = rope.pairing == RopePairing::adjacent;
        const uint32_t a = adjacent ? 2 * j : j, b = adjacent ? 2 * j + 1 : j + pairs;
        x[a] = in[a] * std::cos(angle) - in[b] * std::sin(angle);
        x[b] = in[b] * std::cos(angle) + in[a] * std::sin(angle);
    }
}

// The expanded form in double: keys and values of every head are made from the latents, then plain
// attention over `attended`.
class Expanded {
public:
    Expanded(const LatentAttention& spec, const Weights& weights, const Rows& inputs)
        : s_(spec), w_(weights) {
        for (uint32_t p = 0; p < inputs.size(); ++p) {
            std::vector<double> kv =
                normed(w_.kv_a.times(inputs[p]), w_.kv_norm, double(s_.lora_norm.eps));
            rotate(kv.data() + s_.kv_rank, s_.rope, p);
            rotary_.emplace_back(kv.begin() + s_.kv_rank, kv.end());
            kv.resize(s_.kv_rank);
            expanded_.push_back(w_.kv_b.times(kv));
            query_.push_back(w_.query_b.times(
                normed(w_.query_a.times(inputs[p]), w_.query_norm, double(s_.lora_norm.eps))));
        }
    }

    std::vector<double> row(uint32_t position, const std::vector<uint32_t>& attended) const {
        std::vector<double> joined;
        const uint32_t width = s_.nope_dims + s_.rope.dims;
        for (uint32_t h = 0; h < s_.heads; ++h) {
            std::vector<double> q(query_[position].begin() + h * width,
                                  query_[position].begin() + (h + 1) * width);
            rotate(q.data() + s_.nope_dims, s_.rope, position);
            const uint32_t first = h * (s_.nope_dims + s_.value_dims);
            std::vector<double> scores;
            for (const uint32_t key : attended) {
                double dot = 0;
                for (uint32_t n = 0; n < s_.nope_dims; ++n) dot += q[n] * expanded_[key][first + n];
                for (uint32_t r = 0; r < s_.rope.dims; ++r)
                    dot += q[s_.nope_dims + r] * rotary_[key][r];
                scores.push_back(std::exp(dot * double(s_.score_factor)));
            }
            double sum = 0;
            for (const double score : scores) sum += score;
            for (uint32_t v = 0; v < s_.value_dims; ++v) {
                double value = 0;
                for (size_t i = 0; i < attended.size(); ++i)
                    value += scores[i] / sum * expanded_[attended[i]][first + s_.nope_dims + v];
                joined.push_back(value);
            }
        }
        return w_.output.times(joined);
    }

private:
    const LatentAttention& s_;
    const Weights& w_;
    Rows query_, expanded_, rotary_;
};

struct Case {
    RopePairing pairing;
    bool selected;  // a shared layer that is handed other layers' selections
};

void PrintTo(const Case& c, std::ostream* out) {
    *out << (c.pairing == RopePairing::adjacent ? "adjacent" : "half")
         << (c.selected ? "_selected" : "");
}

class Latent : public testing::TestWithParam<std::tuple<Case, Isa>> {
protected:
    Latent() : spec_(latent_spec(std::get<0>(GetParam()).pairing)), rng_(4), weights_(rng_, spec_) {
        if (std::get<0>(GetParam()).selected)
            spec_.indexer = KeyIndexer{.owned = false, .top_keys = 6};
        for (uint32_t p = 0; p < kRows; ++p) {
            inputs_.emplace_back();
            for (uint32_t d = 0; d < kDim; ++d) {
                const auto value = float(rng_.uniform() * 4 - 2);
                flat_.push_back(value);
                inputs_[p].push_back(double(value));
            }
            std::vector<uint32_t> keys;
            for (uint32_t k = 0; k <= p; ++k)
                if (!spec_.indexer || p < 6 || (k * 7 + p) % (p / 5 + 1) == 0) keys.push_back(k);
            if (spec_.indexer && keys.size() > 6) keys.resize(6);
            attended_.push_back(keys);
        }
    }

    // The block over all rows in slices.
    std::vector<float> outputs(uint32_t slice, uint32_t threads) {
        const Kernels* kernels = kernels_for(std::get<1>(GetParam()));
        const auto team = ThreadPool::create(threads).value();
        ThreadPool& pool = *team;
        const RopeTable rope({.theta = spec_.rope.theta, .dims = spec_.rope.dims});
        const LatentBlock block{.spec = spec_,
                                .weights = weights_.bound,
                                .dim = kDim,
                                .rope = rope,
                                .index_rope = rope};
        const LayerStateShape shape = latent_state_shape(spec_, false);
        std::vector<std::vector<float>> memory(
            1, std::vector<float>(uint64_t(kStateBlockPositions) * shape.total()));
        std::vector<float*> blocks{memory[0].data()};
        const LayerState state{.blocks = blocks.data(), .offset = 0, .shape = shape};
        AlignedBuffer arena = *AlignedBuffer::allocate(
            latent_scratch_bytes(spec_, kDim, slice, kRows, spec_.indexer.has_value(), threads));
        Scratch scratch(arena.bytes());
        Compute compute{*kernels, pool, scratch, false};
        std::vector<float> out(flat_.size());
        for (uint32_t begin = 0; begin < kRows; begin += slice) {
            const uint32_t rows = std::min(slice, kRows - begin);
            std::vector<uint32_t> positions(rows * 6), counts(rows, SelectionSet::kEverything);
            for (uint32_t r = 0; r < rows && spec_.indexer; ++r) {
                if (begin + r < 6) continue;
                counts[r] = uint32_t(attended_[begin + r].size());
                std::copy(attended_[begin + r].begin(), attended_[begin + r].end(),
                          positions.begin() + r * 6);
            }
            const SelectionSet set{
                .positions = positions.data(), .counts = counts.data(), .stride = 6};
            const Status status = latent_attention(
                compute, block, {flat_.data() + uint64_t(begin) * kDim, kDim}, rows, begin, state,
                spec_.indexer ? set : SelectionSet{}, {out.data() + uint64_t(begin) * kDim, kDim});
            EXPECT_TRUE(status) << status.error().message;
        }
        return out;
    }

    LatentAttention spec_;
    Rng rng_;
    Weights weights_;
    std::vector<float> flat_;
    Rows inputs_;
    std::vector<std::vector<uint32_t>> attended_;
};

// Goal: the absorbed form equals the expanded one, with keys and values made per head.
// Method: the expanded form in double, both rotary pairings, all keys and given selections, every
// instruction set.
TEST_P(Latent, AbsorbedEqualsExpanded) {
    const std::vector<float> got = outputs(kRows, 1);
    const Expanded expanded(spec_, weights_, inputs_);
    double worst = 0, largest = 0;
    for (uint32_t p = 0; p < kRows; ++p) {
        const std::vector<double> want = expanded.row(p, attended_[p]);
        for (uint32_t d = 0; d < kDim; ++d) {
            worst = std::max(worst, std::fabs(want[d] - double(got[p * kDim + d])));
            largest = std::max(largest, std::fabs(want[d]));
        }
    }
    EXPECT_GT(largest, 0.1);
    EXPECT_LE(worst, kTolerance * largest);
}

// Goal: slices and threads do not change a bit of the block's output.
// Method: slices of 1, 5 and 32 rows with 1 to 3 threads against all rows at once.
TEST_P(Latent, SlicesAndThreadsChangeNothing) {
    const std::vector<float> want = outputs(kRows, 1);
    for (const uint32_t slice : {1U, 5U, 32U})
        for (uint32_t threads = 1; threads <= 3; ++threads) {
            const std::vector<float> got = outputs(slice, threads);
            EXPECT_EQ(std::memcmp(got.data(), want.data(), want.size() * sizeof(float)), 0)
                << "slice " << slice << ", " << threads << " threads";
        }
}

std::string name_of(const testing::TestParamInfo<std::tuple<Case, Isa>>& param) {
    return testing::PrintToString(std::get<0>(param.param)) + "_" +
           std::string(to_string(std::get<1>(param.param)));
}

INSTANTIATE_TEST_SUITE_P(All, Latent,
                         testing::Combine(testing::Values(Case{RopePairing::adjacent, false},
                                                          Case{RopePairing::half_split, false},
                                                          Case{RopePairing::adjacent, true}),
                                          testing::ValuesIn(available_isas())),
                         name_of);

}  // namespace
}  // namespace colibri

#include "kernels/selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/rng.h"

namespace colibri {
namespace {

// Brute force: sort by value, larger first, NaN last, ties by index; then the first k ascending.
std::vector<uint32_t> expected_top(const std::vector<float>& scores, uint32_t k) {
    std::vector<uint32_t> order(scores.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        const bool a_nan = std::isnan(scores[a]);
        const bool b_nan = std::isnan(scores[b]);
        if (a_nan != b_nan) return b_nan;
        if (!a_nan && scores[a] != scores[b]) return scores[a] > scores[b];
        return a < b;
    });
    order.resize(std::min<size_t>(k, order.size()));
    std::sort(order.begin(), order.end());
    return order;
}

// Few distinct values, both zeros, infinities and NaN in some arrays; wide random values in others.
std::vector<float> random_scores(Rng& rng, uint32_t count) {
    std::vector<float> scores(count);
    const uint64_t kind = rng.below(4);
    for (float& score : scores) {
        switch (kind) {
            case 0: score = float(rng.below(3)) - 1.0f; break;
            case 1: score = rng.below(2) != 0 ? 0.0f : -0.0f; break;
            case 2:
                score = float(std::ldexp(rng.uniform() - 0.5, int(rng.below(250)) - 140));
                break;
            default: score = float(rng.below(40)) * 0.25f - 5.0f;
        }
        if (kind == 3 && rng.below(16) == 0) {
            const float infinity = std::numeric_limits<float>::infinity();
            const float specials[] = {infinity, -infinity, std::nanf(""), -std::nanf(""), -0.0f};
            score = specials[rng.below(5)];
        }
    }
    return scores;
}

TEST(Selection, AgreesWithASort) {
    // Goal: both selections keep the k largest, ties to the lower index, NaN lowest, ids ascending.
    // Method: 4,000 random arrays full of ties and specials, every kind of k, against brute force.
    Rng rng(3);
    for (int round = 0; round < 4000; ++round) {
        const uint32_t count = 1 + uint32_t(rng.below(round % 10 == 0 ? 3000 : 100));
        const std::vector<float> scores = random_scores(rng, count);
        const uint32_t k = uint32_t(rng.below(count + 3));
        const std::vector<uint32_t> want = expected_top(scores, k);
        std::vector<uint32_t> got(want.size() + 1, 0xABCDu);
        ASSERT_EQ(select_top(scores, k, got), want.size());
        ASSERT_TRUE(std::equal(want.begin(), want.end(), got.begin())) << "select_top " << round;
        ASSERT_EQ(got.back(), 0xABCDu);
        std::fill(got.begin(), got.end(), 0xABCDu);
        ASSERT_EQ(top_k_ids(scores, k, got), want.size());
        ASSERT_TRUE(std::equal(want.begin(), want.end(), got.begin())) << "top_k_ids " << round;
        ASSERT_EQ(got.back(), 0xABCDu);
        ASSERT_EQ(argmax(scores), expected_top(scores, 1)[0]);
    }
}

TEST(Selection, AllNaNFallsBackToTheFirstIndices) {
    // Goal: total even when nothing can be ordered.
    // Method: an array of NaN.
    const std::vector<float> scores(9, std::nanf(""));
    std::vector<uint32_t> got(3);
    EXPECT_EQ(select_top(scores, 3, got), 3u);
    EXPECT_EQ(got, (std::vector<uint32_t>{0, 1, 2}));
    EXPECT_EQ(top_k_ids(scores, 3, got), 3u);
    EXPECT_EQ(got, (std::vector<uint32_t>{0, 1, 2}));
    EXPECT_EQ(argmax(scores), 0u);
}

}  // namespace
}  // namespace colibri

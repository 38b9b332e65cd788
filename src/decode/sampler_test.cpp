#include "decode/sampler.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace colibri {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Logits of given probabilities.
std::vector<float> logits_of(const std::vector<double>& shares) {
    std::vector<float> logits;
    for (const double share : shares) logits.push_back(float(std::log(share)));
    return logits;
}

std::vector<int> draw_many(const std::vector<float>& logits, const SamplerOptions& options,
                           int draws, uint64_t seed = 11, TokenMask mask = {}) {
    Sampler sampler(uint32_t(logits.size()));
    Rng random(seed);
    std::vector<int> counts(logits.size());
    for (int draw = 0; draw < draws; ++draw) {
        const auto token = sampler.sample(logits, options, mask, random);
        EXPECT_TRUE(token) << token.error().message;
        if (!token) break;
        ++counts[size_t(*token)];
    }
    return counts;
}

// The chi-square statistic of counts against shares.
double chi_square(const std::vector<int>& counts, const std::vector<double>& shares, int draws) {
    double sum = 0;
    for (size_t id = 0; id < shares.size(); ++id) {
        if (shares[id] == 0) {
            EXPECT_EQ(counts[id], 0) << "token " << id << " must never be drawn";
            continue;
        }
        const double expected = shares[id] * draws;
        sum += (counts[id] - expected) * (counts[id] - expected) / expected;
    }
    return sum;
}

// Goal: draws follow the model's distribution.
// Method: 10,000 draws of a uniform and of a skewed distribution; chi-square below its 99.9 %
// point.
TEST(Sampler, FollowsTheDistribution) {
    const std::vector<double> uniform(16, 1.0 / 16);
    EXPECT_LT(chi_square(draw_many(logits_of(uniform), {}, 10'000), uniform, 10'000), 37.7);
    const std::vector<double> skewed{0.5, 0.02, 0.18, 0.3};
    EXPECT_LT(chi_square(draw_many(logits_of(skewed), {}, 10'000), skewed, 10'000), 16.3);
}

// Goal: temperature sharpens and flattens as p^(1/T) does.
// Method: 10,000 draws at 0.5 and 2 against shares computed by hand for p = 0.8, 0.2.
TEST(Sampler, AppliesTheTemperature) {
    const auto logits = logits_of({0.8, 0.2});
    const std::vector<double> sharp{0.64 / 0.68, 0.04 / 0.68};
    EXPECT_LT(chi_square(draw_many(logits, {.temperature = 0.5F}, 10'000), sharp, 10'000), 10.8);
    const std::vector<double> flat{2.0 / 3, 1.0 / 3};
    EXPECT_LT(chi_square(draw_many(logits, {.temperature = 2}, 10'000), flat, 10'000), 10.8);
}

// Goal: the same seed gives the same tokens, another seed other ones.
// Method: sequences of 64 draws from 1,000 equal tokens.
TEST(Sampler, DependsOnTheSeedAlone) {
    const std::vector<float> logits(1000, 0.25F);
    const auto sequence = [&](uint64_t seed, const SamplerOptions& options) {
        Sampler sampler(1000);
        Rng random(seed);
        std::vector<int32_t> tokens;
        for (int i = 0; i < 64; ++i)
            tokens.push_back(sampler.sample(logits, options, {}, random).value());
        return tokens;
    };
    for (const SamplerOptions& options : {SamplerOptions{}, SamplerOptions{.top_p = 0.9F}}) {
        EXPECT_EQ(sequence(7, options), sequence(7, options));
        EXPECT_NE(sequence(7, options), sequence(8, options));
    }
}

// Goal: earlier calls leave nothing behind in the scratch memory.
// Method: one sampler used for a large vocabulary first, a fresh one not; the same draws follow.
TEST(Sampler, HasNoMemoryOfEarlierCalls) {
    Sampler used(500), fresh(500);
    Rng other(3);
    const std::vector<float> large(500, 1.0F), small{0.1F, 0.9F, 0.4F};
    ASSERT_TRUE(used.sample(large, {.top_k = 40}, {}, other));
    for (uint64_t seed = 0; seed < 50; ++seed) {
        Rng first(seed), second(seed);
        EXPECT_EQ(used.sample(small, {.top_p = 0.8F}, {}, first).value(),
                  fresh.sample(small, {.top_p = 0.8F}, {}, second).value());
    }
}

// Goal: top-k keeps the k best, equals by the lower id.
// Method: k = 3 where four ids share the third place; k larger than the vocabulary changes nothing.
TEST(Sampler, TopKKeepsTheBest) {
    const auto logits = logits_of({0.1, 0.4, 0.1, 0.2, 0.1, 0.1});
    const std::vector<double> expected{1.0 / 7, 4.0 / 7, 0, 2.0 / 7, 0, 0};
    EXPECT_LT(chi_square(draw_many(logits, {.top_k = 3}, 10'000), expected, 10'000), 13.8);
    const std::vector<double> all{0.1, 0.4, 0.1, 0.2, 0.1, 0.1};
    EXPECT_LT(chi_square(draw_many(logits, {.top_k = 1000}, 10'000), all, 10'000), 20.5);
    EXPECT_EQ(draw_many(logits, {.top_k = 1}, 100)[1], 100);
}

// Goal: top-p keeps the fewest ids that reach the share, the one that crosses it included.
// Method: shares 0.5, 0.3, 0.15, 0.05 at p = 0.79, 0.81 and 0; then after top-k, where shares count
// anew.
TEST(Sampler, TopPKeepsTheNucleus) {
    const auto logits = logits_of({0.05, 0.3, 0.5, 0.15});
    const std::vector<double> two{0, 0.375, 0.625, 0};
    EXPECT_LT(chi_square(draw_many(logits, {.top_p = 0.79F}, 10'000), two, 10'000), 10.8);
    const std::vector<double> three{0, 0.3 / 0.95, 0.5 / 0.95, 0.15 / 0.95};
    EXPECT_LT(chi_square(draw_many(logits, {.top_p = 0.81F}, 10'000), three, 10'000), 13.8);
    EXPECT_EQ(draw_many(logits, {.top_p = 0}, 100)[2], 100);
    // Of the two that top-k keeps, the best alone holds 62.5 %.
    EXPECT_EQ(draw_many(logits, {.top_k = 2, .top_p = 0.6F}, 100)[2], 100);
    EXPECT_LT(chi_square(draw_many(logits, {.top_k = 2, .top_p = 0.65F}, 10'000), two, 10'000),
              10.8);
}

// Goal: min-p cuts relative to the best.
// Method: shares 0.5, 0.3, 0.15, 0.05 with min-p 0.4 leave two, with 1 the best alone.
TEST(Sampler, MinPCutsTheTail) {
    const auto logits = logits_of({0.05, 0.3, 0.5, 0.15});
    const std::vector<double> two{0, 0.375, 0.625, 0};
    EXPECT_LT(chi_square(draw_many(logits, {.min_p = 0.4F}, 10'000), two, 10'000), 10.8);
    EXPECT_EQ(draw_many(logits, {.min_p = 1}, 100)[2], 100);
}

// Goal: greedy is the exact maximum, the lowest id among equals, whatever else is set.
// Method: ties, signed zeros, neighboring floats; the other options must not matter.
TEST(Sampler, GreedyIsTheArgmax) {
    Sampler sampler(8);
    Rng random(1);
    const SamplerOptions greedy{.temperature = 0, .top_k = 5, .top_p = 0.1F, .min_p = 0.3F};
    const std::vector<float> ties{1, 3, 3, 2, 3};
    EXPECT_EQ(sampler.sample(ties, greedy, {}, random).value(), 1);
    const std::vector<float> zeros{-0.0F, 0.0F, -1};
    EXPECT_EQ(sampler.sample(zeros, greedy, {}, random).value(), 0);
    const std::vector<float> close{1.0F, std::nextafter(1.0F, 2.0F), 1.0F};
    EXPECT_EQ(sampler.sample(close, greedy, {}, random).value(), 1);
    EXPECT_EQ(random.next(), Rng(1).next()) << "greedy must not use up random numbers";
}

// Goal: padded rows of the vocabulary and banned ids are never drawn, greedy or not.
// Method: they hold the largest logits.
TEST(Sampler, MasksPaddedAndBannedIds) {
    const std::vector<float> logits{5, 1, 9, 2, 20, 30};
    const std::vector<int32_t> banned{2, -1, 99};
    const TokenMask mask{.valid_ids = 4, .banned = banned};
    EXPECT_EQ(greedy_token(logits, mask).value(), 0);
    for (const SamplerOptions& options :
         {SamplerOptions{.temperature = 1e6F}, SamplerOptions{.temperature = 1e6F, .top_k = 100}}) {
        const auto counts = draw_many(logits, options, 1000, 11, mask);
        EXPECT_EQ(counts[2] + counts[4] + counts[5], 0);
        EXPECT_GT(counts[0] * counts[1] * counts[3], 0);
    }
    const std::vector<int32_t> everything{0, 1, 2, 3};
    Sampler sampler(6);
    Rng random(1);
    const auto none = sampler.sample(logits, {}, {.valid_ids = 4, .banned = everything}, random);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().kind, ErrorKind::invalid_input);
}

// Goal: damaged logits end the request instead of being drawn from.
// Method: NaN and infinities in an ordinary, a masked and the only place.
TEST(Sampler, RefusesLogitsThatAreNotFinite) {
    Sampler sampler(4);
    Rng random(1);
    for (const float bad : {kNan, kInfinity, -kInfinity}) {
        for (const size_t place : {size_t(0), size_t(3)}) {
            std::vector<float> logits{1, 2, 3, 4};
            logits[place] = bad;
            const auto token = sampler.sample(logits, {}, {.valid_ids = 3}, random);
            ASSERT_FALSE(token);
            EXPECT_EQ(token.error().kind, ErrorKind::corrupt);
            EXPECT_NE(token.error().message.find(std::to_string(place)), std::string::npos);
        }
    }
    EXPECT_FALSE(greedy_token(std::array{kNan}, {}));
    EXPECT_FALSE(greedy_token({}, {}));
}

// Goal: options outside their limits are refused by name; extreme ones inside work.
// Method: NaN, infinite, negative and too large values; tiny and huge temperatures.
TEST(Sampler, ChecksItsOptions) {
    const auto refusal = [](const SamplerOptions& options) {
        const auto status = check_sampler_options(options);
        return status ? std::string("accepted") : status.error().message;
    };
    for (const float bad : {-1.0F, kNan, kInfinity})
        EXPECT_NE(refusal({.temperature = bad}).find("temperature"), std::string::npos) << bad;
    for (const float bad : {-0.1F, 1.1F, kNan, kInfinity}) {
        EXPECT_NE(refusal({.top_p = bad}).find("top_p"), std::string::npos) << bad;
        EXPECT_NE(refusal({.min_p = bad}).find("min_p"), std::string::npos) << bad;
    }
    const std::vector<float> logits{-3e38F, 3e38F, 0};
    EXPECT_EQ(draw_many(logits, {.temperature = 1e-38F}, 100)[1], 100);
    EXPECT_EQ(draw_many(logits, {.temperature = 3e38F}, 0).size(), 3U);
    const auto flat = draw_many({0, 1, 2}, {.temperature = 1e20F}, 3000);
    for (const int count : flat) EXPECT_NEAR(count, 1000, 150);
}

}  // namespace
}  // namespace colibri

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/kernels.h"
#include "kernels/testing.h"
#include "tensor/weight_matrix.h"

namespace colibri {
namespace {

struct Quantized {
    bool finite = false;
    std::vector<int8_t> values;
    std::vector<float> scales;
    std::vector<int32_t> sums;

    friend bool operator==(const Quantized& a, const Quantized& b) {
        return a.finite == b.finite && a.values == b.values && a.sums == b.sums &&
               testing::first_difference(a.scales, b.scales) == -1;
    }
};

Quantized quantize(Isa isa, const std::vector<float>& x, uint32_t group, uint32_t padding = 0) {
    const auto columns = uint32_t(x.size());
    const uint32_t groups = ceil_div(columns, group);
    // One value more on each array, which nobody may touch.
    Quantized q{.values = std::vector<int8_t>(columns + padding + 1, 99),
                .scales = std::vector<float>(groups + 1, 99.0F),
                .sums = std::vector<int32_t>(groups + 1, 99)};
    q.finite = kernels_for(isa)->quantize(x.data(), columns, group, columns + padding,
                                          q.values.data(), q.scales.data(), q.sums.data());
    EXPECT_EQ(q.values.back(), 99);
    EXPECT_EQ(q.scales.back(), 99.0F);
    EXPECT_EQ(q.sums.back(), 99);
    return q;
}

// Goal: every table quantizes to the reference's bits, tails and padding included.
// Method: random lengths and groups, magnitudes from subnormal to huge, groups of zeros.
TEST(Quantize, EqualsReferenceBitForBit) {
    Rng rng(21);
    for (int round = 0; round < 400; ++round) {
        const auto group = uint32_t(8 * (1 + rng.below(40)));
        const auto columns = uint32_t(1 + rng.below(700));
        std::vector<float> x(columns);
        float magnitude = 1;
        for (uint32_t k = 0; k < columns; ++k) {
            if (k % group == 0) magnitude = std::ldexp(1.0F, int(rng.below(250)) - 125);
            x[k] = rng.below(12) == 0 ? 0.0F : float(rng.uniform() * 2 - 1) * magnitude;
        }
        const auto padding = uint32_t(rng.below(8));
        const Quantized expected = quantize(Isa::reference, x, group, padding);
        ASSERT_TRUE(expected.finite);
        for (const Isa isa : available_isas())
            ASSERT_EQ(quantize(isa, x, group, padding), expected) << to_string(isa) << ' ' << round;
    }
}

// Goal: the contract's choices: half to even, symmetric clamp, scale absmax/127, exact sums, zero
// padding. Method: values worked out by hand. absmax 127 makes inv exactly 1.
TEST(Quantize, RoundsHalfToEven) {
    const std::vector<float> x{127.0F, 0.5F, 1.5F, 2.5F, -0.5F, -1.5F, -2.5F, -127.0F};
    for (const Isa isa : available_isas()) {
        const Quantized q = quantize(isa, x, 8, 3);
        ASSERT_TRUE(q.finite);
        const std::vector<int8_t> expected{127, 0, 2, 2, 0, -2, -2, -127, 0, 0, 0, 99};
        EXPECT_EQ(q.values, expected) << to_string(isa);
        EXPECT_EQ(q.scales[0], 1.0F);
        EXPECT_EQ(q.sums[0], 0);
    }
}

// Goal: groups below 2^-100 become zeros with scale 0; at 2^-100 they do not.
// Method: three groups around the border.
TEST(Quantize, TreatsTinyGroupsAsZero) {
    std::vector<float> x(24, 0.0F);
    x[3] = -0x1p-100F;
    x[8] = std::nextafter(0x1p-100F, 0.0F);
    for (const Isa isa : available_isas()) {
        const Quantized q = quantize(isa, x, 8);
        ASSERT_TRUE(q.finite);
        EXPECT_EQ(q.values[3], -127) << to_string(isa);
        EXPECT_EQ(q.scales[0], 0x1p-100F / 127.0F);
        EXPECT_EQ(q.sums[0], -127);
        EXPECT_EQ(q.values[8], 0);
        EXPECT_EQ(q.scales[1], 0.0F);
        EXPECT_EQ(q.sums[1], 0);
        EXPECT_EQ(q.scales[2], 0.0F);
    }
}

// Goal: a value that is not finite is reported, wherever it stands; the largest finite float is
// not. Method: NaN and infinities at each place of a row with a tail.
TEST(Quantize, ReportsValuesThatAreNotFinite) {
    const float infinity = std::numeric_limits<float>::infinity();
    for (const Isa isa : available_isas()) {
        for (const float bad : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN(),
                                -std::numeric_limits<float>::quiet_NaN()})
            for (size_t place = 0; place < 41; ++place) {
                std::vector<float> x(41, 1.0F);
                x[place] = bad;
                EXPECT_FALSE(quantize(isa, x, 24).finite) << to_string(isa) << ' ' << place;
            }
        std::vector<float> largest(41, std::numeric_limits<float>::max());
        const Quantized q = quantize(isa, largest, 24);
        EXPECT_TRUE(q.finite);
        EXPECT_EQ(q.values[40], 127);
    }
}

}  // namespace
}  // namespace colibri

#include "kernels/rope_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace colibri {
namespace {

TEST(RopeTable, FrequenciesAgreeWithLongDoublePow) {
    // Goal: frequencies to about one unit of the last place for the thetas and dims in use.
    // Method: libm's powl; theta from 1e4 to 1e7, dims from 2 to 256.
    for (const double theta : {1e4, 1.5e5, 5e5, 1e6, 8e6, 1e7}) {
        for (const uint32_t dims : {2u, 6u, 16u, 64u, 96u, 128u, 256u}) {
            const std::vector<double> got = rope_frequencies(theta, dims);
            ASSERT_EQ(got.size(), dims / 2);
            EXPECT_EQ(got[0], 1.0);
            for (uint32_t j = 0; j < dims / 2; ++j) {
                const long double want = powl(theta, -2.0L * j / dims);
                EXPECT_NEAR(double(got[j] / want), 1.0, 3e-16) << theta << " " << dims << " " << j;
            }
        }
    }
}

TEST(RopeTable, AnglesAreRoundedLongDoubleValuesUpToAMillion) {
    // Goal: the float cosine and sine at any position, with one rounding of an almost exact value.
    // Method: long double sine of position times the exact frequency; tolerance half a float ulp of
    // 1 plus what the rounded frequency may add at that position.
    for (const uint32_t dims : {16u, 64u, 128u}) {
        const RopeTable table({.theta = 8e6, .dims = dims});
        std::vector<float> cos(table.pairs());
        std::vector<float> sin(table.pairs());
        for (uint64_t position = 0; position <= (1u << 20); position = position * 5 / 4 + 1) {
            table.angles(position, cos.data(), sin.data());
            for (uint32_t j = 0; j < table.pairs(); ++j) {
                const long double angle = position * powl(8e6L, -2.0L * j / dims);
                EXPECT_NEAR(cos[j], double(cosl(angle)), 3.1e-8) << position << " " << j;
                EXPECT_NEAR(sin[j], double(sinl(angle)), 3.1e-8) << position << " " << j;
            }
        }
    }
}

TEST(RopeTable, PositionZeroIsTheIdentityAndScalingsApply) {
    // Goal: position 0 rotates nothing; a linear factor of 4 makes position 4p look like p;
    // magnitude multiplies. Method: compare tables built with and without the scaling.
    const RopeTable plain({.theta = 1e4, .dims = 32});
    const RopeTable linear({.theta = 1e4, .dims = 32, .linear_factor = 4.0});
    const RopeTable doubled({.theta = 1e4, .dims = 32, .magnitude = 2.0});
    std::vector<float> cos(16), sin(16), other_cos(16), other_sin(16);
    plain.angles(0, cos.data(), sin.data());
    for (uint32_t j = 0; j < 16; ++j) {
        EXPECT_EQ(cos[j], 1.0f);
        EXPECT_EQ(sin[j], 0.0f);
    }
    plain.angles(100, cos.data(), sin.data());
    linear.angles(400, other_cos.data(), other_sin.data());
    EXPECT_EQ(cos, other_cos);
    EXPECT_EQ(sin, other_sin);
    doubled.angles(100, other_cos.data(), other_sin.data());
    for (uint32_t j = 0; j < 16; ++j) {
        EXPECT_EQ(other_cos[j], 2.0f * cos[j]);
        EXPECT_EQ(other_sin[j], 2.0f * sin[j]);
    }
}

}  // namespace
}  // namespace colibri

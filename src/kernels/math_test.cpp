#include "kernels/math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/rng.h"

namespace colibri {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Distance in units of the last place of a float near `want` (subnormal spacing at the bottom).
double ulps(float got, double want) {
    const double magnitude = std::fmax(std::fabs(want), 0x1p-126);
    const double ulp = std::ldexp(1.0, std::ilogb(magnitude) - 23);
    return std::fabs(double(got) - want) / ulp;
}

TEST(Exp, IsWithinAboutOneUlpOfTheTrueValue) {
    // Goal: the polynomial's accuracy over every exponent whose result is finite and not zero.
    // Method: sweep [-104, 88.72] by a step that hits about 4 million arguments, plus small
    // arguments of both signs.
    double worst = 0.0;
    const auto check = [&](float x) { worst = std::fmax(worst, ulps(exp_f32(x), std::exp(x))); };
    for (int i = 0; i <= 4'000'000; ++i) check(float(-104.0 + 192.72 * i / 4e6));
    for (int e = -149; e < 0; ++e) {
        for (int k = 0; k < 32; ++k) {
            check(float(std::ldexp(1.0 + k / 32.0, e)));
            check(-float(std::ldexp(1.0 + k / 32.0, e)));
        }
    }
    EXPECT_LT(worst, 1.05);
    RecordProperty("worst_ulps_times_1000", int(worst * 1000));
}

TEST(Exp, HandlesSpecialValues) {
    // Goal: the edges of the range: exact one, underflow to +0, gradual underflow, overflow, NaN.
    // Method: named arguments with values from the definition.
    EXPECT_EQ(exp_f32(0.0f), 1.0f);
    EXPECT_EQ(exp_f32(-0.0f), 1.0f);
    EXPECT_EQ(std::bit_cast<uint32_t>(exp_f32(-kInf)), 0u);
    EXPECT_EQ(std::bit_cast<uint32_t>(exp_f32(-1e30f)), 0u);
    EXPECT_EQ(std::bit_cast<uint32_t>(exp_f32(-104.0f)), 0u);
    EXPECT_EQ(exp_f32(-103.0f), 0x1p-149f);  // 1.35e-45 rounds to the smallest subnormal
    EXPECT_EQ(exp_f32(-100.0f), float(std::exp(-100.0)));
    EXPECT_EQ(exp_f32(kInf), kInf);
    EXPECT_EQ(exp_f32(89.0f), kInf);
    EXPECT_EQ(exp_f32(88.73f), kInf);
    EXPECT_LT(exp_f32(88.72f), kInf);
    EXPECT_TRUE(std::isnan(exp_f32(kNaN)));
    EXPECT_TRUE(std::isnan(exp_f32(-kNaN)));
}

TEST(Exp, IsMonotone) {
    // Goal: a larger score never gets a smaller weight.
    // Method: walk neighboring floats around random arguments and compare results.
    Rng rng(1);
    for (int i = 0; i < 20'000; ++i) {
        float x = float(rng.uniform() * 190.0 - 102.0);
        for (int k = 0; k < 10; ++k) {
            const float next = std::nextafterf(x, kInf);
            EXPECT_LE(exp_f32(x), exp_f32(next)) << x;
            x = next;
        }
    }
}

TEST(Sigmoid, IsAccurateAndTotal) {
    // Goal: sigmoid and silu to a few ulp where their formula allows it, and their limits.
    // Method: double precision of libm over [-80, 80]; named special values.
    double worst_sigmoid = 0.0;
    double worst_silu = 0.0;
    for (int i = 0; i <= 1'000'000; ++i) {
        const float x = float(-80.0 + 160.0 * i / 1e6);
        const double want = 1.0 / (1.0 + std::exp(-double(x)));
        worst_sigmoid = std::fmax(worst_sigmoid, ulps(sigmoid_f32(x), want));
        worst_silu = std::fmax(worst_silu, ulps(silu_f32(x), double(x) * want));
    }
    EXPECT_LT(worst_sigmoid, 2.5);
    EXPECT_LT(worst_silu, 3.5);
    EXPECT_EQ(sigmoid_f32(0.0f), 0.5f);
    EXPECT_EQ(sigmoid_f32(-kInf), 0.0f);
    EXPECT_EQ(sigmoid_f32(kInf), 1.0f);
    EXPECT_TRUE(std::isnan(sigmoid_f32(kNaN)));
    EXPECT_EQ(silu_f32(kInf), kInf);
    EXPECT_TRUE(std::isnan(silu_f32(kNaN)));
}

TEST(DoubleMath, AgreesWithLibm) {
    // Goal: exp, log, sin and cos in double precision to about one unit of the last place.
    // Method: random arguments against libm's long double functions; angles up to 2^20 radians.
    Rng rng(2);
    for (int i = 0; i < 200'000; ++i) {
        const double x = (rng.uniform() - 0.5) * 80.0;
        EXPECT_NEAR(double(exp_f64(x) / expl(x)), 1.0, 4e-16);
        const double y = std::exp(x);
        const TwoDoubles log_y = log_f64(y);
        const long double log_error = (long double)log_y.high + log_y.low - logl(y);
        EXPECT_LT(double(fabsl(log_error)), 4e-18 * std::fmax(1.0, std::fabs(x)));
        const double angle = (rng.uniform() - 0.25) * std::ldexp(1.0, int(rng.below(21)));
        const SinCos got = sin_cos_f64(angle);
        EXPECT_NEAR(got.sin, double(sinl(angle)), 2.3e-16);
        EXPECT_NEAR(got.cos, double(cosl(angle)), 2.3e-16);
    }
    // A small correction to the argument of exp counts as if it had been added exactly.
    EXPECT_NEAR(double(exp_f64(-15.0, 1e-16) / expl(-15.0L + 1e-16L)), 1.0, 2.3e-16);
}

}  // namespace
}  // namespace colibri

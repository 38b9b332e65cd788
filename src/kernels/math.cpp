#include "kernels/math.h"

#include <array>
#include <bit>
#include <cmath>

namespace colibri {

namespace {

// 2^e as a float, -126 <= e <= 127.
float power_of_two(int32_t e) {
    return std::bit_cast<float>((e + 127) << 23);
}

// 1/2!, 1/3!, ... 1/19!
constexpr std::array<double, 18> inverse_factorials() {
    std::array<double, 18> out{};
    double factorial = 1.0;  // exact in double up to 22!
    for (int n = 2; n < 20; ++n) out[n - 2] = 1.0 / (factorial *= n);
    return out;
}
constexpr std::array<double, 18> kInverseFactorial = inverse_factorials();

}  // namespace

float exp_f32(float x) {
    using C = ExpConstants;
    // Written so that NaN passes through both comparisons.
    float y = x < C::lowest ? C::lowest : x;
    y = y > C::highest ? C::highest : y;
    const float shifted = std::fma(y, C::inverse_ln2, C::round_shift);
    const float n = shifted - C::round_shift;
    float r = std::fma(n, -C::ln2_high, y);
    r = std::fma(n, -C::ln2_low, r);
    float p = C::p4;
    p = std::fma(p, r, C::p3);
    p = std::fma(p, r, C::p2);
    p = std::fma(p, r, C::p1);
    p = std::fma(p, r, C::p0);
    p = std::fma(p, r * r, r);
    p = p + 1.0f;
    // 2^n in two exact halves: only the second product rounds, also when the result is subnormal.
    const int32_t exponent =
        std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(C::round_shift);
    if (x != x) return x;  // the exponent of a NaN is meaningless
    const int32_t half = exponent >> 1;
    return (p * power_of_two(half)) * power_of_two(exponent - half);
}

float sigmoid_f32(float x) {
    return 1.0f / (1.0f + exp_f32(-x));
}

float silu_f32(float x) {
    return x * sigmoid_f32(x);
}

double exp_f64(double x, double low) {
    constexpr double ln2_high = 0x1.62e42fefa4p-1;  // 40 bits: n * ln2_high is exact
    constexpr double ln2_low = -0x1.8432a1b0e2634p-43;
    constexpr double shift = 0x1.8p+52;
    const double n = (x * 0x1.71547652b82fep+0 + shift) - shift;
    double r = std::fma(-n, ln2_high, x);
    r = std::fma(-n, ln2_low, r) + low;
    double p = kInverseFactorial[12];  // 1/14!
    for (int i = 11; i >= 0; --i) p = p * r + kInverseFactorial[i];
    return std::ldexp(1.0 + (r + r * r * p), int(n));  // ldexp is exact here
}

TwoDoubles log_f64(double x) {
    constexpr double ln2_high = 0x1.62e42fefa39efp-1;
    constexpr double ln2_low = 0x1.abc9e3b39803fp-56;
    int exponent = 0;
    double z = std::frexp(x, &exponent);  // [0.5, 1)
    if (z < 0.70710678118654752) {
        z *= 2.0;
        --exponent;
    }
    // log z = 2 atanh(s) = 2s + 2s^3 (1/3 + s^2/5 + ...), s = (z - 1) / (z + 1) as s + s_low.
    const double numerator = z - 1.0;  // exact
    const double denominator = z + 1.0;
    const double denominator_low = z - (denominator - 1.0);
    const double s = numerator / denominator;
    const double rest = std::fma(-s, denominator, numerator) - s * denominator_low;
    const double s_low = rest / denominator;
    const double square = s * s;
    double series = 0.0;
    for (int k = 21; k >= 3; k -= 2) series = series * square + 1.0 / k;
    const double tail = 2.0 * (s_low + s * square * series);
    // exponent * ln 2 + 2s + tail, with the two large terms added exactly.
    const double e = exponent;
    const double product = e * ln2_high;
    const double product_low = std::fma(e, ln2_high, -product) + e * ln2_low;
    const double twice = 2.0 * s;
    const double sum = product + twice;
    const double part = sum - product;
    const double sum_low = (product - (sum - part)) + (twice - part);
    const double low = sum_low + (product_low + tail);
    const double high = sum + low;
    return {.high = high, .low = (sum - high) + low};
}

SinCos sin_cos_f64(double x) {
    constexpr double half_pi_high = 0x1.921fb54442d18p+0;
    constexpr double half_pi_low = 0x1.1a62633145c07p-54;
    constexpr double shift = 0x1.8p+52;
    const double n = (x * 0x1.45f306dc9c883p-1 + shift) - shift;
    // The first step is exact: its result is below 1 and its last bit is not below 2^-52.
    double r = std::fma(-n, half_pi_high, x);
    r = std::fma(-n, half_pi_low, r);
    const double square = r * r;
    // Taylor series on |r| <= pi/4; the first terms left out are r^19/19! and r^20/20!.
    double s = 0.0;
    for (int k = 17; k >= 3; k -= 2) s = -(s * square) + kInverseFactorial[k - 2];
    double c = 0.0;
    for (int k = 18; k >= 2; k -= 2) c = -(c * square) + kInverseFactorial[k - 2];
    const double sine = r - r * square * s;
    const double cosine = 1.0 - square * c;
    // Quarter turns: (s, c), (c, -s), (-s, -c), (-c, s).
    const auto quarters = uint64_t(int64_t(n)) & 3;
    const bool swapped = (quarters & 1) != 0;
    const double first = swapped ? cosine : sine;
    const double second = swapped ? sine : cosine;
    return {.sin = quarters >= 2 ? -first : first,
            .cos = quarters == 1 || quarters == 2 ? -second : second};
}

}  // namespace colibri

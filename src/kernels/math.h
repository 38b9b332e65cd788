// Elementary functions of the numeric contract: our own polynomials instead of libm's, so that a
// result does not depend on the machine's C library. These scalar forms are the truth;
// generic/vector.inl writes the same operations lane by lane and the tests compare the two bit for
// bit.
//
// All functions are total: infinities and subnormals are handled, nothing flushes to zero, NaN
// gives NaN (its payload is unspecified, because instruction sets choose it differently).
#pragma once

#include <cstdint>

namespace colibri {

// Range reduction and polynomial of exp: exp(x) = 2^n * (1 + r + r^2 * P(r)), n = round_half_even(x
// / ln 2), r = x - n ln 2 with ln 2 in two parts. P is a minimax fit over |r| <= ln 2 / 2 (relative
// error of the whole below 2^-28), rounded to float. Exported so that every lane width uses the
// same constants.
struct ExpConstants {
    static constexpr float lowest = -104.0f;  // exp rounds to +0 from here down
    static constexpr float highest = 89.0f;   // exp is +inf from here up
    static constexpr float inverse_ln2 = 0x1.715476p+0f;
    static constexpr float ln2_high = 0x1.62e400p-1f;  // few bits, so that n * ln2_high is exact
    static constexpr float ln2_low = 0x1.7f7d1cp-20f;
    static constexpr float round_shift =
        0x1.8p+23f;  // adding it leaves round_half_even(v) in the low bits
    static constexpr float p0 = 0x1.fffffcp-2f;
    static constexpr float p1 = 0x1.555492p-3f;
    static constexpr float p2 = 0x1.5558f2p-5f;
    static constexpr float p3 = 0x1.1239d6p-7f;
    static constexpr float p4 = 0x1.6a2448p-10f;
};

// exp(x), within 1.05 ulp. exp(-inf) = +0, subnormal results are rounded once, overflow gives +inf.
[[nodiscard]] float exp_f32(float x);

// 1 / (1 + exp(-x)), correctly rounded addition and division.
[[nodiscard]] float sigmoid_f32(float x);

// x * sigmoid(x). silu(-inf) is NaN (it is -inf * 0), as the formula says.
[[nodiscard]] float silu_f32(float x);

// Double precision, for values that are computed once and rounded to float (rope_table.h). `low` is
// added to the argument as if it were kept in twice the precision; |low| must be tiny against |x|.
[[nodiscard]] double exp_f64(double x, double low = 0.0);

// log(x) as high + low, about 60 correct bits; x must be positive, normal and finite.
struct TwoDoubles {
    double high = 0.0;
    double low = 0.0;
};
[[nodiscard]] TwoDoubles log_f64(double x);

// sin and cos of x radians, |x| up to 2^31 or so (a position times a frequency); absolute error
// below 2^-52.
struct SinCos {
    double sin = 0.0;
    double cos = 0.0;
};
[[nodiscard]] SinCos sin_cos_f64(double x);

}  // namespace colibri

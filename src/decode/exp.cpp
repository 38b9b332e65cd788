#include "decode/exp.h"

#include <bit>
#include <cstdint>

#include "base/check.h"

namespace colibri {

double exp_of_negative(double x) {
    CHECK(x <= 0);
    if (x < -708) return 0;
    // x = k ln2 + r with |r| <= ln2/2; ln2 in two parts, the first short enough that k * ln2_high
    // is exact.
    constexpr double kInverseLn2 = 0x1.71547652b82fep+0;
    constexpr double kLn2High = 0x1.62e42feep-1;
    constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
    const auto k = static_cast<int64_t>(x * kInverseLn2 - 0.5);
    const double r = (x - double(k) * kLn2High) - double(k) * kLn2Low;
    // Taylor, degree 13: the first term left out is below 2^-57 of the result.
    constexpr double kTerms[] = {1.0 / 6227020800.0,
                                 1.0 / 479001600.0,
                                 1.0 / 39916800.0,
                                 1.0 / 3628800.0,
                                 1.0 / 362880.0,
                                 1.0 / 40320.0,
                                 1.0 / 5040.0,
                                 1.0 / 720.0,
                                 1.0 / 120.0,
                                 1.0 / 24.0,
                                 1.0 / 6.0,
                                 1.0 / 2.0,
                                 1.0,
                                 1.0};
    double sum = 0;
    for (const double term : kTerms) sum = sum * r + term;
    return sum * std::bit_cast<double>(uint64_t(k + 1023) << 52);
}

}  // namespace colibri

#include "decode/exp.h"

#include <gtest/gtest.h>

#include <cmath>

namespace colibri {
namespace {

// Goal: close enough to the true function that sampling follows the model's probabilities.
// Method: compare with libm's long double over the whole range, within 4 units in the last place.
TEST(ExpOfNegative, AgreesWithTheMathLibrary) {
    for (double x = 0; x > -708; x -= 0.0137) {
        const auto expected = double(std::exp(static_cast<long double>(x)));
        EXPECT_NEAR(exp_of_negative(x), expected, expected * 0x1.0p-50) << x;
    }
}

// Goal: the ends of the range are exact.
// Method: 0 gives 1; what would be subnormal, and minus infinity, give 0.
TEST(ExpOfNegative, HandlesTheEnds) {
    EXPECT_EQ(exp_of_negative(0), 1.0);
    EXPECT_EQ(exp_of_negative(-0.0), 1.0);
    EXPECT_EQ(exp_of_negative(-709), 0.0);
    EXPECT_EQ(exp_of_negative(-HUGE_VAL), 0.0);
}

// Goal: bits are the same on every machine.
// Method: bit patterns written down once from exact evaluation of the same steps in another
// language.
TEST(ExpOfNegative, HasFixedBits) {
    EXPECT_EQ(exp_of_negative(-1), 0x1.78b56362cef38p-2);
    EXPECT_EQ(exp_of_negative(-0.1), 0x1.cf46d99d52b3ap-1);
    EXPECT_EQ(exp_of_negative(-100.5), 0x1.01a0e5643644fp-145);
}

}  // namespace
}  // namespace colibri

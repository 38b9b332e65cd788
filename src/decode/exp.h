// exp in double, from additions and multiplications alone, so that the same seed draws the same
// token on every machine: libm's last bit differs between systems.
#pragma once

namespace colibri {

// e^x for x <= 0, within 2 ulp; 0 below -708 (where the result would be subnormal). x > 0 or NaN:
// programmer error.
[[nodiscard]] double exp_of_negative(double x);

}  // namespace colibri

#include "kernels/rope_table.h"

#include <cmath>
#include <utility>

#include "kernels/math.h"

namespace colibri {

std::vector<double> rope_frequencies(double theta, uint32_t dims) {
    const TwoDoubles log_theta = log_f64(theta);
    const uint32_t pairs = dims / 2;
    std::vector<double> frequencies(pairs);
    for (uint32_t j = 0; j < pairs; ++j) {
        // exponent = -2j * log(theta) / dims in twice the precision: an error in it is a relative
        // error of the frequency, which a large position multiplies.
        const double factor = -2.0 * j;
        const double product = factor * log_theta.high;
        const double product_low =
            std::fma(factor, log_theta.high, -product) + factor * log_theta.low;
        const double exponent = product / dims;
        const double rest = std::fma(-exponent, double(dims), product) + product_low;
        frequencies[j] = exp_f64(exponent, rest / dims);
    }
    return frequencies;
}

void rope_angles(std::span<const double> frequencies, double magnitude, uint64_t position,
                 float* cos, float* sin) {
    for (size_t j = 0; j < frequencies.size(); ++j) {
        const SinCos value = sin_cos_f64(double(position) * frequencies[j]);
        cos[j] = float(magnitude * value.cos);
        sin[j] = float(magnitude * value.sin);
    }
}

RopeTable::RopeTable(const RopeParameters& parameters)
    : frequencies_(rope_frequencies(parameters.theta, parameters.dims)),
      magnitude_(parameters.magnitude) {
    for (double& frequency : frequencies_) frequency /= parameters.linear_factor;
}

RopeTable::RopeTable(std::vector<double> frequencies, double magnitude)
    : frequencies_(std::move(frequencies)), magnitude_(magnitude) {}

}  // namespace colibri

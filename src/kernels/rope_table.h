// Angles of rotary position embeddings, from our own double-precision functions (math.h): the same
// bits on every machine, and exact enough that a position of a million still has every bit of its
// float sine right.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace colibri {

// Radians per position of each pair, theta^(-2j/dims) for j in [0, dims/2). `dims` is the even
// number of rotated dimensions, `theta` positive. Context extensions (linear factors, YaRN) are
// other frequency vectors: they change this result and nothing below.
[[nodiscard]] std::vector<double> rope_frequencies(double theta, uint32_t dims);

// cos[j], sin[j] = float(magnitude * cos/sin(position * frequencies[j])); both outputs hold
// frequencies.size() floats.
void rope_angles(std::span<const double> frequencies, double magnitude, uint64_t position,
                 float* cos, float* sin);

struct RopeParameters {
    double theta = 10000.0;
    uint32_t dims = 0;
    double linear_factor = 1.0;  // positions are divided by it ("linear" scaling)
    double magnitude = 1.0;      // multiplies sine and cosine (YaRN's attention factor)
};

// The frequencies of one attention kind. Immutable after construction, so that threads may share
// it; one call of angles() per row and forward pass serves all heads and layers.
class RopeTable {
public:
    RopeTable() = default;
    explicit RopeTable(const RopeParameters& parameters);
    // For scalings that are not in RopeParameters: frequencies.size() pairs as given.
    RopeTable(std::vector<double> frequencies, double magnitude);

    [[nodiscard]] uint32_t pairs() const { return uint32_t(frequencies_.size()); }
    [[nodiscard]] std::span<const double> frequencies() const { return frequencies_; }
    // cos and sin hold pairs() floats each.
    void angles(uint64_t position, float* cos, float* sin) const {
        rope_angles(frequencies_, magnitude_, position, cos, sin);
    }

private:
    std::vector<double> frequencies_;
    double magnitude_ = 1.0;
};

}  // namespace colibri

// Seeded random numbers: the same seed gives the same sequence on every machine.
#pragma once

#include <cstdint>

namespace colibri {

// SplitMix64. Small state, good enough for sampling and for test data; not for secrets.
class Rng {
public:
    explicit Rng(uint64_t seed) : state_(seed) {}

    uint64_t next() {
        uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
        return z ^ (z >> 31);
    }

    // Uniform in [0, 1).
    double uniform() { return double(next() >> 11) * 0x1.0p-53; }

    // Uniform in [0, bound); bound > 0. The bias of at most bound / 2^64 does not matter here.
    uint64_t below(uint64_t bound) { return next() % bound; }

private:
    uint64_t state_;
};

}  // namespace colibri

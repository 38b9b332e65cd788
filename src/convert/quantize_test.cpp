#include "convert/quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/rng.h"
#include "base/units.h"
#include "tensor/dtype.h"

namespace colibri {
namespace {

std::vector<float> normal_values(uint64_t seed, size_t count) {
    Rng rng(seed);
    std::vector<float> values(count);
    for (float& value : values)
        value = float(std::sqrt(-2 * std::log(1 - rng.uniform())) *
                      std::cos(6.283185307179586 * rng.uniform()));
    return values;
}

struct Rounded {
    std::vector<int8_t> codes;
    std::vector<float> scales;
};

Rounded quantize(const WeightFormat& format, ScaleSearch search, const std::vector<float>& x,
                 const std::vector<float>& importance = {}) {
    const size_t width = format.group != 0 ? format.group : x.size();
    Rounded out{.codes = std::vector<int8_t>(x.size()),
                .scales = std::vector<float>(ceil_div(x.size(), width))};
    quantize_row(format, search, x, importance, out.codes, out.scales);
    return out;
}

double error_of(const WeightFormat& format, const Rounded& q, const std::vector<float>& x,
                const std::vector<float>& importance = {}) {
    const size_t width = format.group != 0 ? format.group : x.size();
    double sum = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        const double e = double(x[i]) - double(q.codes[i]) * double(q.scales[i / width]);
        sum += e * e * (importance.empty() ? 1.0 : double(importance[i]));
    }
    return sum;
}

constexpr WeightFormat kInt4{.kind = WeightKind::int4, .group = 64};
constexpr WeightFormat kInt8{.kind = WeightKind::int8, .group = 32};

// Goal: round-to-nearest is what its name says.
// Method: absmax / 7 and lround, written out, for widths that are no multiple of the group or of a
// vector.
TEST(Quantize, NearestMatchesTheFormula) {
    for (const uint32_t columns : {1U, 7U, 63U, 64U, 65U, 200U}) {
        const std::vector<float> x = normal_values(columns, columns);
        const Rounded q = quantize(kInt4, ScaleSearch::nearest, x);
        for (uint32_t first = 0; first < columns; first += 64) {
            const uint32_t end = std::min(columns, first + 64);
            float most = 0;
            for (uint32_t i = first; i < end; ++i) most = std::max(most, std::fabs(x[i]));
            EXPECT_EQ(q.scales[first / 64], most / 7);
            for (uint32_t i = first; i < end; ++i)
                EXPECT_EQ(q.codes[i], std::lrint(double(x[i] * (1 / q.scales[first / 64])))) << i;
        }
    }
}

// Goal: scales of 16 bits are 16 bits, and codes are rounded with them.
// Method: every scale survives the way to binary16 and back; every code is the nearest to x /
// scale.
TEST(Quantize, HalfScales) {
    for (const WeightKind kind : {WeightKind::int8, WeightKind::int4, WeightKind::int2}) {
        const WeightFormat format{.kind = kind, .group = 32, .scales = ScaleType::f16};
        for (const ScaleSearch search : {ScaleSearch::nearest, ScaleSearch::search}) {
            const std::vector<float> x = normal_values(3, 320);
            const Rounded q = quantize(format, search, x);
            const int low = kind == WeightKind::int8 ? -127 : kind == WeightKind::int4 ? -8 : -2;
            const int high = kind == WeightKind::int8 ? 127 : kind == WeightKind::int4 ? 7 : 1;
            for (size_t i = 0; i < x.size(); ++i) {
                const float scale = q.scales[i / 32];
                ASSERT_EQ(f16_to_f32(f32_to_f16(scale)), scale);
                const long nearest = std::lrint(double(x[i] * (1 / scale)));
                ASSERT_EQ(q.codes[i], std::clamp<long>(nearest, low, high)) << i;
            }
        }
    }
}

// Goal: the search is clearly better than round-to-nearest on normal weights.
// Method: squared errors of many rows, plain and weighted.
TEST(Quantize, SearchLowersTheError) {
    for (const WeightFormat& format : {kInt4, kInt8, WeightFormat{.kind = WeightKind::int4},
                                       WeightFormat{.kind = WeightKind::int8}}) {
        double nearest = 0, searched = 0;
        for (uint64_t seed = 0; seed < 50; ++seed) {
            const std::vector<float> x = normal_values(seed, 192);
            const double a = error_of(format, quantize(format, ScaleSearch::nearest, x), x);
            const double b = error_of(format, quantize(format, ScaleSearch::search, x), x);
            nearest += a;
            searched += b;
        }
        EXPECT_LT(searched, nearest * (format.kind == WeightKind::int4 ? 0.8 : 0.97))
            << to_string(format);
    }
}

// Goal: where inputs differ in size, errors move to the columns that matter less.
// Method: some inputs 100 times as large: the weighted error is lower than without the weights.
TEST(Quantize, ImportanceIsUsed) {
    double plain = 0, weighted = 0;
    for (uint64_t seed = 0; seed < 50; ++seed) {
        const std::vector<float> x = normal_values(seed, 128);
        std::vector<float> importance(128, 1);
        for (size_t i = 0; i < 128; i += 9) importance[i] = 100;
        plain += error_of(kInt4, quantize(kInt4, ScaleSearch::search, x), x, importance);
        weighted +=
            error_of(kInt4, quantize(kInt4, ScaleSearch::search, x, importance), x, importance);
    }
    EXPECT_LT(weighted, plain * 0.9);
}

// Goal: no finite weights give a scale or code that is none.
// Method: zeros, the smallest and largest floats, one value among zeros, equal values.
TEST(Quantize, EdgeValues) {
    for (const ScaleSearch search : {ScaleSearch::nearest, ScaleSearch::search})
        for (const WeightFormat& format : {kInt4, kInt8})
            for (const float value : {0.0F, -0.0F, 1e-45F, 1e-38F, 1e-30F, 1.0F, 3e38F, -3e38F}) {
                std::vector<float> x(64, 0.0F);
                x[5] = value;
                Rounded q = quantize(format, search, x);
                for (const float scale : q.scales) EXPECT_TRUE(std::isfinite(scale));
                for (size_t i = 0; i < 64; ++i) {
                    if (i != 5) {
                        EXPECT_EQ(q.codes[i], 0);
                    }
                }
                if (std::fabs(value) >= 1e-30F && std::fabs(value) < 1e38F) {
                    EXPECT_NEAR(double(q.codes[5]) * double(q.scales[5 / format.group]),
                                double(value), std::fabs(double(value)) * 1e-6);
                }
                x.assign(64, value);
                q = quantize(format, search, x);
                for (const float scale : q.scales) EXPECT_TRUE(std::isfinite(scale));
            }
}

// Goal: an importance of zero everywhere (inputs never seen) does not spoil the weights.
// Method: such a row against round-to-nearest.
TEST(Quantize, ZeroImportanceFallsBack) {
    const std::vector<float> x = normal_values(1, 64);
    const Rounded q = quantize(kInt4, ScaleSearch::search, x, std::vector<float>(64, 0.0F));
    const Rounded nearest = quantize(kInt4, ScaleSearch::nearest, x);
    EXPECT_EQ(q.codes, nearest.codes);
    EXPECT_EQ(q.scales, nearest.scales);
}

// Goal: FP8 rounds to the nearest code.
// Method: every code's value comes back; midpoints and neighbors against the exact table.
TEST(Quantize, Fp8RoundsToNearest) {
    std::vector<float> x;
    for (uint32_t code = 0; code < 256; ++code)
        if ((code & 0x7F) != 0x7F) x.push_back(f8_e4m3_to_f32(uint8_t(code)));
    const size_t exact = x.size();
    for (uint32_t code = 0; code < 0x7E; ++code) {
        const float low = f8_e4m3_to_f32(uint8_t(code));
        const float high = f8_e4m3_to_f32(uint8_t(code + 1));
        for (const float at : {0.25F, 0.5F, 0.75F}) x.push_back(low + (high - low) * at);
    }
    std::vector<uint8_t> codes(x.size());
    std::vector<float> scales(1);
    quantize_row_fp8(uint32_t(x.size()), x, codes, scales);
    EXPECT_EQ(scales[0], 1.0F);  // 448 is among them
    for (size_t i = 0; i < x.size(); ++i) {
        const float back = f8_e4m3_to_f32(codes[i]);
        if (i < exact) {
            EXPECT_EQ(back, x[i]);
        } else {
            EXPECT_EQ(codes[i], f32_to_f8_e4m3(x[i])) << x[i];
        }
    }
}

}  // namespace
}  // namespace colibri

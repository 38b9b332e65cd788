// Norms, activations and element-wise operations: every table against the reference, bit for bit.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/math.h"
#include "kernels/testing.h"

namespace colibri {
namespace {

using testing::fast_tables;
using testing::first_difference;
using testing::random_bits;
using testing::random_values;
using testing::reference;

using Floats = std::vector<float>;

// Inputs of one call: three vectors of `count` and a scalar; the operation leaves its result in
// `a`.
struct Inputs {
    Floats a, b, c;
    float scalar = 0.0F;
    uint32_t count = 0;
};

struct Operation {
    std::string name;
    std::function<void(const Kernels&, Inputs&)> run;
};

std::vector<Operation> operations() {
    return {
        {"rms_norm",
         [](const Kernels& k, Inputs& in) {
             k.rms_norm(in.a.data(), in.b.data(), in.count, 1e-5F, in.a.data());
         }},
        {"layer_norm",
         [](const Kernels& k, Inputs& in) {
             k.layer_norm(in.a.data(), in.b.data(), in.c.data(), in.count, 1e-6F, in.a.data());
         }},
        {"silu_multiply",
         [](const Kernels& k, Inputs& in) {
             k.silu_multiply(in.a.data(), in.b.data(), in.count, in.a.data());
         }},
        {"sigmoid",
         [](const Kernels& k, Inputs& in) { k.sigmoid(in.a.data(), in.count, in.a.data()); }},
        {"exp_shifted",
         [](const Kernels& k, Inputs& in) {
             k.exp_shifted(in.a.data(), in.scalar, in.count, in.a.data());
         }},
        {"maximum",
         [](const Kernels& k, Inputs& in) { in.a.assign(1, k.maximum(in.a.data(), in.count)); }},
        {"add_scaled",
         [](const Kernels& k, Inputs& in) {
             k.add_scaled(in.b.data(), in.scalar, in.count, in.a.data());
         }},
        {"add", [](const Kernels& k, Inputs& in) { k.add(in.b.data(), in.count, in.a.data()); }},
        {"clamp", [](const Kernels& k,
                     Inputs& in) { k.clamp(std::fabs(in.scalar), in.count, in.a.data()); }},
        {"scale", [](const Kernels& k, Inputs& in) { k.scale(in.scalar, in.count, in.a.data()); }},
        {"divide",
         [](const Kernels& k, Inputs& in) { k.divide(in.scalar, in.count, in.a.data()); }},
        {"rope_adjacent",
         [](const Kernels& k, Inputs& in) {
             k.rope_adjacent(in.b.data(), in.c.data(), in.count / 2, in.a.data());
         }},
        {"rope_half",
         [](const Kernels& k, Inputs& in) {
             k.rope_half(in.b.data(), in.c.data(), in.count / 2, in.a.data());
         }},
    };
}

TEST(VectorKernels, AgreeWithTheReferenceBitForBit) {
    // Goal: every table computes the reference's function, for all tails, on ordinary values and on
    // any bit pattern. Method: 600 random inputs of 1 to 300 (some thousands) elements per
    // operation and table; two guard elements past the end.
    Rng rng(11);
    for (int round = 0; round < 600; ++round) {
        const uint32_t count = 1 + uint32_t(rng.below(round % 50 == 0 ? 7000 : 300));
        const bool any_bits = round % 2 == 0;
        const auto make = [&](float scale) {
            return any_bits ? random_bits(rng, count + 2) : random_values(rng, count + 2, scale);
        };
        const Inputs inputs{.a = make(4.0F),
                            .b = make(1.0F),
                            .c = make(1.0F),
                            .scalar = float(rng.uniform() * 8.0 - 4.0),
                            .count = count};
        for (const Operation& operation : operations()) {
            Inputs want = inputs;
            operation.run(reference(), want);
            for (const Kernels* table : fast_tables()) {
                Inputs got = inputs;
                operation.run(*table, got);
                ASSERT_EQ(first_difference(got.a, want.a), -1)
                    << operation.name << " on " << to_string(table->isa) << ", count " << count;
            }
        }
    }
}

TEST(VectorKernels, ExponentialsEqualTheScalarFunctionOnAMillionFloats) {
    // Goal: the lanes' exp and sigmoid are the scalar ones (math.h) for any float.
    // Method: a million random bit patterns and specials, compared with exp_f32 and sigmoid_f32.
    Rng rng(12);
    const Floats x = random_bits(rng, 1'000'000);
    Floats want_exp(x.size());
    Floats want_sigmoid(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
        want_exp[i] = exp_f32(x[i]);
        want_sigmoid[i] = sigmoid_f32(x[i]);
    }
    for (const Kernels* table : fast_tables()) {
        Floats got(x.size());
        table->exp_shifted(x.data(), 0.0F, uint32_t(x.size()), got.data());
        EXPECT_EQ(first_difference(got, want_exp), -1) << to_string(table->isa);
        table->sigmoid(x.data(), uint32_t(x.size()), got.data());
        EXPECT_EQ(first_difference(got, want_sigmoid), -1) << to_string(table->isa);
    }
}

TEST(VectorKernels, NormsAgreeWithDoublePrecision) {
    // Goal: the reference norms compute what their names say.
    // Method: formulas in double precision, relative tolerance 1e-5.
    Rng rng(13);
    for (const uint32_t count : {1U, 15U, 16U, 17U, 100U, 6144U}) {
        const Floats x = random_values(rng, count, 3.0F);
        const Floats w = random_values(rng, count);
        const Floats b = random_values(rng, count);
        double sum = 0.0;
        double squares = 0.0;
        for (const float v : x) {
            sum += v;
            squares += double(v) * v;
        }
        const double mean = sum / count;
        double variance = 0.0;
        for (const float v : x) variance += (v - mean) * (v - mean) / count;
        Floats rms(count);
        Floats layer(count);
        reference().rms_norm(x.data(), w.data(), count, 1e-5F, rms.data());
        reference().layer_norm(x.data(), w.data(), b.data(), count, 1e-5F, layer.data());
        for (uint32_t i = 0; i < count; ++i) {
            EXPECT_NEAR(rms[i], x[i] / std::sqrt(squares / count + 1e-5) * w[i], 1e-5);
            EXPECT_NEAR(layer[i], (x[i] - mean) / std::sqrt(variance + 1e-5) * w[i] + b[i], 1e-5);
        }
    }
}

TEST(VectorKernels, RotationsKeepPairsApart) {
    // Goal: the two pairings of RoPE name the right elements.
    // Method: a quarter turn (cos 0, sin 1) maps (a, b) to (-b, a) in either pairing.
    const Floats cos(20, 0.0F);
    const Floats sin(20, 1.0F);
    Floats adjacent(40);
    for (size_t i = 0; i < adjacent.size(); ++i) adjacent[i] = float(i + 1);
    Floats half = adjacent;
    const Floats x = adjacent;
    reference().rope_adjacent(cos.data(), sin.data(), 20, adjacent.data());
    reference().rope_half(cos.data(), sin.data(), 20, half.data());
    for (size_t j = 0; j < 20; ++j) {
        EXPECT_EQ(adjacent[2 * j], -x[2 * j + 1]);
        EXPECT_EQ(adjacent[2 * j + 1], x[2 * j]);
        EXPECT_EQ(half[j], -x[j + 20]);
        EXPECT_EQ(half[j + 20], x[j]);
    }
}

}  // namespace
}  // namespace colibri

#include "blocks/router/router.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace colibri {
namespace {

struct Choice {
    std::vector<uint32_t> ids;
    std::vector<float> weights;
};

Choice choose(const Router& router, std::vector<float> logits,
              const std::vector<float>& bias = {}) {
    Choice choice{std::vector<uint32_t>(router.top_k), std::vector<float>(router.top_k)};
    std::vector<float> scratch(2 * router.experts);
    EXPECT_EQ(logits.size(), router.experts);
    route(*kernels_for(Isa::reference), router, bias.empty() ? nullptr : bias.data(), logits.data(),
          scratch.data(), choice.ids.data(), choice.weights.data());
    return choice;
}

double sigmoid(double x) {
    return 1 / (1 + std::exp(-x));
}

Router sigmoid_router(uint32_t experts, uint32_t top_k) {
    return {.score = RouterScore::sigmoid,
            .experts = experts,
            .top_k = top_k,
            .selection_bias = true,
            .renormalize = true,
            .epsilon = 1e-20F,
            .scale = 2.5F};
}

using Ids = std::vector<uint32_t>;

// Goal: the bias decides who is chosen and never what the choice weighs.
// Method: a bias that lifts the worst expert above all others; weights by hand.
TEST(Router, BiasSelectsAndNeverWeighs) {
    const std::vector<float> logits{2, 1, 0, -3};
    const Choice choice = choose(sigmoid_router(4, 2), logits, {0, 0, 0, 5});
    EXPECT_EQ(choice.ids, (Ids{0, 3}));
    const double sum = sigmoid(2) + sigmoid(-3);
    EXPECT_NEAR(choice.weights[0], 2.5 * sigmoid(2) / sum, 1e-6);
    EXPECT_NEAR(choice.weights[1], 2.5 * sigmoid(-3) / sum, 1e-6);
}

// Goal: ids come in ascending order, with the weights that belong to them.
// Method: the best expert has the highest id.
TEST(Router, IdsAscend) {
    Router router = sigmoid_router(5, 3);
    router.renormalize = false;
    router.scale = 1;
    const Choice choice = choose(router, {1, -5, 2, -5, 3}, std::vector<float>(5, 0));
    EXPECT_EQ(choice.ids, (Ids{0, 2, 4}));
    for (uint32_t i = 0; i < 3; ++i) EXPECT_NEAR(choice.weights[i], sigmoid(1.0 + i), 1e-6);
}

// Goal: equal scores go to the lower expert, by bias as well as by logit.
// Method: all equal; two pairs of equals at the border of the choice.
TEST(Router, TiesGoToTheLowerExpert) {
    EXPECT_EQ(
        choose(sigmoid_router(6, 3), std::vector<float>(6, 0.5F), std::vector<float>(6, 0.25F)).ids,
        (Ids{0, 1, 2}));
    EXPECT_EQ(choose(sigmoid_router(5, 2), {0, 1, 3, 1, 1}, std::vector<float>(5, 0)).ids,
              (Ids{1, 2}));
    const Router plain{.score = RouterScore::softmax, .experts = 5, .top_k = 3};
    EXPECT_EQ(choose(plain, {7, 7, 7, 7, 7}).ids, (Ids{0, 1, 2}));
}

// Goal: groups compete by the sum of their two best biased scores, and only experts of the kept
// groups are chosen. Method: four groups of three; the single best expert sits in a group that
// loses.
TEST(Router, GroupsAreChosenByTheirTwoBest) {
    Router router = sigmoid_router(12, 3);
    router.groups = 4;
    router.groups_kept = 2;
    // Group 1 holds the best expert alone; groups 0 and 3 hold two good ones each.
    const std::vector<float> logits{1,       1.1F, -9, /**/ 5,    -9,   -9,
                                    /**/ -1, -1,   -1, /**/ 1.2F, 0.9F, 0};
    const Choice choice = choose(router, logits, std::vector<float>(12, 0));
    EXPECT_EQ(choice.ids, (Ids{0, 1, 9}));
    double sum = 0;
    for (const double x : {1.0, 1.1, 1.2}) sum += sigmoid(x);
    EXPECT_NEAR(choice.weights[2], 2.5 * sigmoid(1.2) / sum, 1e-6);
    // A bias moves groups too.
    std::vector<float> bias(12, 0);
    bias[4] = 2;
    EXPECT_EQ(choose(router, logits, bias).ids, (Ids{1, 3, 4}));
}

// Goal: equal groups go to the lower group; negative biased scores do not lose to rejected groups.
// Method: all equal; all biases far below zero.
TEST(Router, GroupTiesAndNegativeScores) {
    Router router = sigmoid_router(8, 4);
    router.groups = 4;
    router.groups_kept = 2;
    EXPECT_EQ(choose(router, std::vector<float>(8, 0), std::vector<float>(8, 0)).ids,
              (Ids{0, 1, 2, 3}));
    EXPECT_EQ(choose(router, {0, 0, 0, 0, 0, 0, 3, 3}, std::vector<float>(8, -50)).ids,
              (Ids{0, 1, 6, 7}));
}

// Goal: a softmax router weighs by the probabilities over all experts, not renormalized over the
// chosen ones. Method: probabilities by hand; also with renormalization.
TEST(Router, SoftmaxWithoutRenormalization) {
    const std::vector<float> logits{0, 3, 1, 2, -1};
    double sum = 0;
    for (const float x : logits) sum += std::exp(double(x));
    Router router{.score = RouterScore::softmax, .experts = 5, .top_k = 2};
    Choice choice = choose(router, logits);
    EXPECT_EQ(choice.ids, (Ids{1, 3}));
    EXPECT_NEAR(choice.weights[0], std::exp(3.0) / sum, 1e-6);
    EXPECT_NEAR(choice.weights[1], std::exp(2.0) / sum, 1e-6);
    router.renormalize = true;
    choice = choose(router, logits);
    EXPECT_NEAR(choice.weights[0], std::exp(3.0) / (std::exp(3.0) + std::exp(2.0)), 1e-6);
}

// Goal: choices of any width work, up to all experts.
// Method: top-k 1, 4, 6 and all of 7 experts.
TEST(Router, AnyNumberOfChoices) {
    for (const uint32_t top_k : {1U, 4U, 6U, 7U}) {
        Router router = sigmoid_router(7, top_k);
        const Choice choice = choose(router, {0, 1, 2, 3, 4, 5, 6}, std::vector<float>(7, 0));
        double sum = 0;
        for (uint32_t i = 0; i < top_k; ++i) {
            EXPECT_EQ(choice.ids[i], 7 - top_k + i);
            sum += double(choice.weights[i]);
        }
        EXPECT_NEAR(sum, 2.5, 1e-5);
    }
}

}  // namespace
}  // namespace colibri

#include "blocks/router/router.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "kernels/selection.h"

namespace colibri {

namespace {

constexpr float kRejected = -std::numeric_limits<float>::infinity();

void softmax(const Kernels& k, uint32_t count, float* x) {
    const float most = k.maximum(x, count);
    k.exp_shifted(x, most, count, x);
    float sum = 0;
    for (uint32_t i = 0; i < count; ++i) sum += x[i];
    k.divide(sum, count, x);
}

// Keeps the groups whose two best choices add up to most; the rest of `choice` becomes -inf.
void restrict_groups(const Router& router, float* choice) {
    const uint32_t size = router.experts / router.groups;
    float group_scores[kMaxRouterGroups];
    uint32_t kept[kMaxRouterGroups];
    for (uint32_t g = 0; g < router.groups; ++g) {
        float best = kRejected;
        float second = kRejected;
        for (uint32_t i = 0; i < size; ++i) {
            const float value = choice[g * size + i];
            if (value > best) {
                second = best;
                best = value;
            } else {
                second = std::max(second, value);
            }
        }
        group_scores[g] = size > 1 ? best + second : best;
    }
    const uint32_t count = top_k_ids({group_scores, router.groups}, router.groups_kept, kept);
    uint32_t next = 0;
    for (uint32_t g = 0; g < router.groups; ++g) {
        if (next < count && kept[next] == g) {
            ++next;
            continue;
        }
        std::fill_n(choice + g * size, size, kRejected);
    }
}

}  // namespace

void route(const Kernels& kernels, const Router& router, const float* selection_bias, float* logits,
           float* scratch, uint32_t* ids, float* weights) {
    const uint32_t n = router.experts;
    switch (router.score) {
        case RouterScore::sigmoid: kernels.sigmoid(logits, n, logits); break;
        case RouterScore::softmax: softmax(kernels, n, logits); break;
        case RouterScore::sqrt_softplus:
        case RouterScore::softmax_of_picked: CHECK(false);  // load refuses specs with these scores
    }
    const float* choice = logits;
    if (selection_bias != nullptr || router.groups > 1) {
        std::copy_n(logits, n, scratch);
        if (selection_bias != nullptr) kernels.add(selection_bias, n, scratch);
        if (router.groups > 1) restrict_groups(router, scratch);
        choice = scratch;
    }
    const uint32_t count = top_k_ids({choice, n}, router.top_k, {ids, router.top_k});
    float sum = 0;
    for (uint32_t i = 0; i < count; ++i) {
        weights[i] = logits[ids[i]];
        sum += weights[i];
    }
    if (router.renormalize)
        for (uint32_t i = 0; i < count; ++i) weights[i] = weights[i] / (sum + router.epsilon);
    if (router.scale != 1.0F)
        for (uint32_t i = 0; i < count; ++i) weights[i] *= router.scale;
}

}  // namespace colibri

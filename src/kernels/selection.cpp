#include "kernels/selection.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace colibri {

namespace {

// An integer with the order of the floats: NaN 0, then -inf upwards, -0 and +0 the same.
uint32_t sort_key(float value) {
    if (value != value) return 0;
    const uint32_t bits = std::bit_cast<uint32_t>(value + 0.0f);  // -0 + 0 = +0
    return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

constexpr uint32_t kDigitBits = 11;
constexpr uint32_t kDigits = 1u << kDigitBits;

// The sort key of the k-th largest score and how many scores of exactly that key belong to the top
// k.
struct Threshold {
    uint32_t key = 0;
    uint32_t ties = 0;
};

// Radix selection from the top digit down: each pass counts the digit among the scores whose higher
// digits match.
Threshold find_threshold(std::span<const float> scores, uint32_t k) {
    std::array<uint32_t, kDigits> counts;
    uint32_t prefix = 0;
    uint32_t mask = 0;
    uint32_t wanted = k;
    for (uint32_t shift : {21u, 10u, 0u}) {
        const uint32_t width = shift == 0 ? kDigits / 2 : kDigits;
        counts.fill(0);
        for (const float score : scores) {
            const uint32_t key = sort_key(score);
            if ((key & mask) == prefix) ++counts[(key >> shift) & (width - 1)];
        }
        uint32_t digit = width - 1;
        while (counts[digit] < wanted) wanted -= counts[digit--];
        prefix |= digit << shift;
        mask |= (width - 1) << shift;
    }
    return {.key = prefix, .ties = wanted};
}

}  // namespace

uint32_t select_top(std::span<const float> scores, uint32_t k, std::span<uint32_t> out) {
    const uint32_t count = std::min(k, uint32_t(scores.size()));
    if (count == scores.size()) {
        for (uint32_t i = 0; i < count; ++i) out[i] = i;
        return count;
    }
    if (count == 0) return 0;
    Threshold threshold = find_threshold(scores, count);
    uint32_t written = 0;
    for (uint32_t i = 0; written < count; ++i) {
        const uint32_t key = sort_key(scores[i]);
        if (key < threshold.key) continue;
        if (key == threshold.key) {
            if (threshold.ties == 0) continue;
            --threshold.ties;
        }
        out[written++] = i;
    }
    return count;
}

uint32_t top_k_ids(std::span<const float> scores, uint32_t k, std::span<uint32_t> out) {
    const uint32_t count = std::min(k, uint32_t(scores.size()));
    if (count == 0) return 0;
    // out holds the best so far, best first; equal keys keep their order, so the lower index stays
    // ahead.
    uint32_t held = 0;
    for (uint32_t i = 0; i < scores.size(); ++i) {
        const uint32_t key = sort_key(scores[i]);
        if (held == count && key <= sort_key(scores[out[held - 1]])) continue;
        uint32_t place = held < count ? held++ : count - 1;
        for (; place > 0 && sort_key(scores[out[place - 1]]) < key; --place) {
            out[place] = out[place - 1];
        }
        out[place] = i;
    }
    std::sort(out.begin(), out.begin() + count);
    return count;
}

uint32_t argmax(std::span<const float> scores) {
    // The maximum first, in independent lanes (which compilers vectorize), then its first place.
    // NaN never compares greater.
    constexpr size_t lanes = 16;
    std::array<float, lanes> best;
    best.fill(-std::numeric_limits<float>::infinity());
    size_t i = 0;
    for (; i + lanes <= scores.size(); i += lanes) {
        for (size_t l = 0; l < lanes; ++l) {
            best[l] = scores[i + l] > best[l] ? scores[i + l] : best[l];
        }
    }
    for (; i < scores.size(); ++i) best[0] = scores[i] > best[0] ? scores[i] : best[0];
    const float maximum = *std::max_element(best.begin(), best.end());
    const auto place = std::find(scores.begin(), scores.end(), maximum);
    return place == scores.end() ? 0 : uint32_t(place - scores.begin());  // nothing but NaN
}

}  // namespace colibri

#include "decode/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "decode/exp.h"

namespace colibri {

namespace {

Status check_share(const char* name, float value) {
    if (value >= 0 && value <= 1) return {};
    return fail(ErrorKind::invalid_input,
                fmt::format("{} is {}, expected a share from 0 to 1", name, value));
}

// Every id at once, masked ones too: a damaged row is a damaged file wherever it lies.
Status check_finite(std::span<const float> logits) {
    bool finite = true;
    for (const float logit : logits) finite &= std::isfinite(logit);
    if (finite) return {};
    const auto bad = std::find_if(logits.begin(), logits.end(),
                                  [](float logit) { return !std::isfinite(logit); });
    return fail(ErrorKind::corrupt,
                fmt::format("the logit of token {} is {}; weights or activations are damaged",
                            bad - logits.begin(), *bad));
}

bool is_banned(int32_t id, const TokenMask& mask) {
    return std::find(mask.banned.begin(), mask.banned.end(), id) != mask.banned.end();
}

size_t allowed_ids(std::span<const float> logits, const TokenMask& mask) {
    return mask.valid_ids == 0 ? logits.size() : std::min<size_t>(mask.valid_ids, logits.size());
}

// The largest logit among allowed ids, the lowest id among equals; -1 when nothing is allowed. The
// banned list is looked at only for new maxima, which are few.
int32_t best_id(std::span<const float> logits, const TokenMask& mask) {
    int32_t best = -1;
    for (size_t id = 0; id < allowed_ids(logits, mask); ++id) {
        if (best >= 0 && !(logits[id] > logits[size_t(best)])) continue;
        if (!is_banned(int32_t(id), mask)) best = int32_t(id);
    }
    return best;
}

tl::unexpected<Error> nothing_allowed(std::span<const float> logits, const TokenMask& mask) {
    return fail(ErrorKind::invalid_input,
                fmt::format("no token may be drawn: {} ids, {} of them valid, {} banned",
                            logits.size(), allowed_ids(logits, mask), mask.banned.size()));
}

}  // namespace

Status check_sampler_options(const SamplerOptions& options) {
    if (!(options.temperature >= 0) || !std::isfinite(options.temperature))
        return fail(ErrorKind::invalid_input,
                    fmt::format("temperature is {}, expected a number from 0 (greedy) up",
                                options.temperature));
    TRY_STATUS(check_share("top_p", options.top_p));
    return check_share("min_p", options.min_p);
}

Result<int32_t> greedy_token(std::span<const float> logits, const TokenMask& mask) {
    TRY_STATUS(check_finite(logits));
    const int32_t best = best_id(logits, mask);
    if (best < 0) return nothing_allowed(logits, mask);
    return best;
}

Sampler::Sampler(uint32_t vocab) {
    weights_.reserve(vocab);
    ranked_.reserve(vocab);
}

uint64_t Sampler::memory_bytes(uint32_t vocab) {
    return uint64_t(vocab) * (sizeof(double) + sizeof(int32_t));
}

Result<int32_t> Sampler::sample(std::span<const float> logits, const SamplerOptions& options,
                                const TokenMask& mask, Rng& random) {
    TRY_STATUS(check_sampler_options(options));
    TRY(const int32_t best, greedy_token(logits, mask));
    if (options.temperature == 0) return best;

    const size_t allowed = allowed_ids(logits, mask);
    const double maximum = logits[size_t(best)];
    const double temperature = options.temperature;
    weights_.assign(allowed, 0.0);
    double total = 0;
    for (const int32_t id : mask.banned)
        if (id >= 0 && size_t(id) < allowed) weights_[size_t(id)] = -1;
    for (size_t id = 0; id < allowed; ++id) {
        if (weights_[id] < 0) {
            weights_[id] = 0;
            continue;
        }
        weights_[id] = exp_of_negative((double(logits[id]) - maximum) / temperature);
        total += weights_[id];
    }
    if (options.top_k != 0 || options.top_p < 1 || options.min_p > 0)
        return draw_ranked(options, total, random);

    double left = random.uniform() * total;
    for (size_t id = 0; id < allowed; ++id) {
        left -= weights_[id];
        if (left < 0) return int32_t(id);
    }
    return best;  // rounding in the last step of the walk
}

int32_t Sampler::draw_ranked(const SamplerOptions& options, double total, Rng& random) {
    ranked_.clear();
    for (size_t id = 0; id < weights_.size(); ++id)
        if (weights_[id] > 0) ranked_.push_back(int32_t(id));
    // A heap yields as many of the best as are needed, in a total order; the rest is never sorted.
    const auto worse = [this](int32_t a, int32_t b) {
        const double weight_a = weights_[size_t(a)], weight_b = weights_[size_t(b)];
        return weight_a != weight_b ? weight_a < weight_b : a > b;
    };
    std::make_heap(ranked_.begin(), ranked_.end(), worse);
    const size_t count = ranked_.size();
    const size_t most = options.top_k == 0 ? count : std::min<size_t>(options.top_k, count);
    // What popped ids leave behind at the end of the array, best last.
    const auto popped = [&](size_t rank) { return ranked_[count - 1 - rank]; };
    const auto pop = [&](size_t rank) {
        std::pop_heap(ranked_.begin(), ranked_.end() - std::ptrdiff_t(rank), worse);
        return weights_[size_t(popped(rank))];
    };

    // top-p counts in shares of what top-k keeps, so that mass is known before the cut.
    size_t sorted = 0;
    double mass = total;
    if (options.top_k != 0 && options.top_p < 1) {
        mass = 0;
        for (; sorted < most; ++sorted) mass += pop(sorted);
    }
    const double wanted = options.top_p < 1 ? mass * double(options.top_p) : mass * 2;
    double kept_mass = 0;
    size_t kept = 0;
    while (kept < most) {
        const double weight = kept < sorted ? weights_[size_t(popped(kept))] : pop(kept);
        // The best has weight 1 and always stays.
        if (kept > 0 && weight < double(options.min_p)) break;
        kept_mass += weight;
        ++kept;
        if (kept_mass >= wanted) break;
    }
    double left = random.uniform() * kept_mass;
    for (size_t rank = 0; rank < kept; ++rank) {
        left -= weights_[size_t(popped(rank))];
        if (left < 0) return popped(rank);
    }
    return popped(kept - 1);
}

}  // namespace colibri

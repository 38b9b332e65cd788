#include "load/forecast.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace colibri {

namespace {

struct PriorPoint {
    double cached_share, hit_rate;
};
constexpr std::array<PriorPoint, 7> kPrior{
    {{0, 0}, {0.05, 0.377}, {0.125, 0.646}, {0.25, 0.814}, {0.375, 0.892}, {0.5, 0.914}, {1, 1}}};

}  // namespace

double prior_hit_rate(double cached_share) {
    const double share = std::clamp(cached_share, 0.0, 1.0);
    for (size_t i = 1; i < kPrior.size(); ++i) {
        const PriorPoint& low = kPrior[i - 1];
        const PriorPoint& high = kPrior[i];
        if (share > high.cached_share) continue;
        const double part = (share - low.cached_share) / (high.cached_share - low.cached_share);
        return low.hit_rate + part * (high.hit_rate - low.hit_rate);
    }
    return 1;
}

std::optional<double> history_hit_rate(const UsageHistory& history, const MemoryPlan& plan) {
    if (history.steps < kForecastStepsMin || plan.expert_count == 0) return std::nullopt;
    std::vector<double> uses;
    for (const UsageHistory::Entry& entry : history.entries) uses.push_back(entry.uses);
    std::sort(uses.rbegin(), uses.rend());
    const double all = std::accumulate(uses.begin(), uses.end(), 0.0);
    if (!(all > 0)) return std::nullopt;
    const auto kept =
        uses.begin() + std::ptrdiff_t(std::min<size_t>(uses.size(), plan.expert_slots));
    return std::accumulate(uses.begin(), kept, 0.0) / all;
}

Forecast forecast(const MemoryPlan& plan, const MachineSpeeds& speeds, std::optional<double> given,
                  std::optional<double> history) {
    Forecast out;
    if (plan.expert_count > 0)
        out.cached_share = std::min(1.0, double(plan.expert_slots) / double(plan.expert_count));
    out.hit_rate_from = given     ? HitRateSource::given
                        : history ? HitRateSource::history
                                  : HitRateSource::prior;
    out.hit_rate = given ? *given : history ? *history : prior_hit_rate(out.cached_share);
    const double missed = double(plan.experts_per_token) * (1 - out.hit_rate);
    out.read_bytes_per_token = uint64_t(missed * double(plan.expert_read_bytes));
    out.multiplied_bytes_per_token =
        plan.dense_bytes_per_token + plan.experts_per_token * plan.expert_slot_bytes;
    if (speeds.drive_bytes_per_s > 0)
        out.read_s = double(out.read_bytes_per_token) / speeds.drive_bytes_per_s;
    if (speeds.memory_bytes_per_s > 0)
        out.compute_s = double(out.multiplied_bytes_per_token) /
                        (speeds.memory_bytes_per_s * kComputeShareOfMemory);
    out.token_s = std::max(out.read_s, out.compute_s);
    return out;
}

}  // namespace colibri

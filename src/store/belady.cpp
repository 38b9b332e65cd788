#include "store/belady.h"

#include "base/check.h"

namespace colibri {

BeladyPolicy::BeladyPolicy(uint32_t key_count, std::span<const std::vector<uint32_t>> steps)
    : uses_(key_count) {
    for (size_t step = steps.size(); step > 0; --step)
        for (const uint32_t key : steps[step - 1]) uses_[key].push_back(uint32_t(step - 1));
}

std::pair<uint32_t, uint32_t> BeladyPolicy::entry(uint32_t key) const {
    return {uses_[key].empty() ? UINT32_MAX : uses_[key].back(), key};
}

void BeladyPolicy::begin_step(std::span<const uint32_t> keys) {
    for (const uint32_t key : keys) {
        CHECK(!uses_[key].empty());
        const bool was_free = free_.erase(entry(key)) > 0;
        uses_[key].pop_back();
        if (was_free) free_.insert(entry(key));
    }
}

void BeladyPolicy::insert(uint32_t /*key*/) {}
void BeladyPolicy::hold(uint32_t key) {
    free_.erase(entry(key));
}
void BeladyPolicy::release(uint32_t key) {
    free_.insert(entry(key));
}
void BeladyPolicy::touch(uint32_t /*key*/) {}
void BeladyPolicy::erase(uint32_t key) {
    free_.erase(entry(key));
}

std::optional<uint32_t> BeladyPolicy::evict(uint32_t /*newcomer*/) {
    if (free_.empty()) return std::nullopt;
    const auto last = std::prev(free_.end());
    const uint32_t victim = last->second;
    free_.erase(last);
    return victim;
}

void BeladyPolicy::remember(uint32_t /*key*/, double /*uses_per_step*/) {}

void BeladyPolicy::resize(uint32_t /*slots*/) {}

}  // namespace colibri

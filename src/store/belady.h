// The optimum that needs the future: a bound for the other policies, offline only.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "store/policy.h"

namespace colibri {

// The victim is the free key that is asked for again last (Belady's MIN): no policy that puts every
// missed expert into a slot has more hits. The experts of a step are asked for together, so uses
// are compared by step. Evictions cost O(log n).
class BeladyPolicy final : public Policy {
public:
    // `steps`: the keys of every step to come, in order; begin_step() must be called with them.
    BeladyPolicy(uint32_t key_count, std::span<const std::vector<uint32_t>> steps);

    void begin_step(std::span<const uint32_t> keys) override;
    void insert(uint32_t key) override;
    void hold(uint32_t key) override;
    void release(uint32_t key) override;
    void touch(uint32_t key) override;
    void erase(uint32_t key) override;
    [[nodiscard]] std::optional<uint32_t> evict(uint32_t newcomer) override;
    void remember(uint32_t key, double uses_per_step) override;
    void resize(uint32_t slots) override;

private:
    // Next use, then key: the last entry is the victim.
    [[nodiscard]] std::pair<uint32_t, uint32_t> entry(uint32_t key) const;

    std::vector<std::vector<uint32_t>> uses_;  // of each key: the steps not yet begun, latest first
    std::set<std::pair<uint32_t, uint32_t>> free_;
};

}  // namespace colibri

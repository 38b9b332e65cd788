// Least recently used.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "store/policy.h"

namespace colibri {

// The victim is the free key whose last release or touch is longest ago.
class LruPolicy final : public Policy {
public:
    explicit LruPolicy(uint32_t key_count);
    void begin_step(std::span<const uint32_t> keys) override;
    void insert(uint32_t key) override;
    void hold(uint32_t key) override;
    void release(uint32_t key) override;
    void touch(uint32_t key) override;
    void erase(uint32_t key) override;
    [[nodiscard]] std::optional<uint32_t> evict(uint32_t newcomer) override;
    void remember(uint32_t key, double uses_per_step) override;
    void resize(uint32_t slots) override;

    [[nodiscard]] static uint64_t memory_bytes(uint64_t keys) {
        return 2 * (keys + 1) * sizeof(uint32_t);
    }

private:
    void unlink(uint32_t key);
    void append(uint32_t key);

    // A circular list through an end node (number key_count): oldest free key first.
    std::vector<uint32_t> next_;
    std::vector<uint32_t> previous_;
    uint32_t end_;
};

}  // namespace colibri

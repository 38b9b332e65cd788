// Decayed frequency with a fair share of the slots for each layer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "store/policy.h"

namespace colibri {

// How the slots of a class are divided among the layers that have experts in it.
enum class Balance : uint8_t {
    // Every layer has a right to slots / layers. One that does not use its part lends it: a layer
    // below its share takes from the layer with most, one at its share takes from itself.
    share,
    // The victim is the least frequent free key of all layers that hold more than `floor` keys.
    global,
};

// An expert's count is the sum, over its uses, of 2^(-age / kHalfLifeSteps); age is in steps of its
// layer. The victim is the free key with the smallest count, in steps of a sixteenth of an octave,
// among equals the one that was released or touched longest ago. Counts remember experts that are
// not resident. Only IEEE operations that are rounded the same everywhere: the same calls give the
// same victims on every machine.
//
// Memory: frequency_policy_bytes().
class FrequencyPolicy final : public Policy {
public:
    static constexpr uint32_t kHalfLifeSteps = 32;

    explicit FrequencyPolicy(const PolicyShape& shape, Balance balance = Balance::share,
                             uint32_t floor = 0);

    void begin_step(std::span<const uint32_t> keys) override;
    void insert(uint32_t key) override;
    void hold(uint32_t key) override;
    void release(uint32_t key) override;
    void touch(uint32_t key) override;
    void erase(uint32_t key) override;
    [[nodiscard]] std::optional<uint32_t> evict(uint32_t newcomer) override;
    void remember(uint32_t key, double uses_per_step) override;
    void resize(uint32_t slots) override;

    [[nodiscard]] static uint64_t memory_bytes(uint64_t keys, uint64_t layers);

private:
    static constexpr uint32_t kBuckets = 256;
    static constexpr uint32_t kWords = kBuckets / 64;

    struct Count {
        double value = 0;  // as of step `step` of its layer
        uint32_t step = 0;
        uint32_t layer = 0;  // place in layers_
    };
    struct Link {
        uint32_t next = 0;  // kAbsent and kHeld for keys that are in no list
        uint32_t previous = 0;
    };
    // A ring of lists of free keys: a bucket holds the keys at its position; the lowest one also
    // those that have sunk below it.
    struct Layer {
        uint32_t step = 0;
        uint32_t resident = 0;
        int64_t base = 0;                         // position of the lowest bucket
        std::array<uint64_t, kWords> occupied{};  // bit b: bucket b has keys
    };

    [[nodiscard]] uint32_t head(uint32_t layer, uint32_t bucket) const {
        return key_count_ + layer * kBuckets + bucket;
    }
    [[nodiscard]] int64_t position(const Count& count) const;
    [[nodiscard]] std::optional<int64_t> lowest(const Layer& layer) const;
    [[nodiscard]] std::optional<uint32_t> donor_for(uint32_t newcomer) const;
    [[nodiscard]] std::optional<uint32_t> poorest() const;
    void advance(uint32_t layer);
    void link(uint32_t key);
    void unlink(uint32_t key);

    uint32_t key_count_;
    Balance balance_;
    uint32_t sharing_ = 1;  // layers with experts in the class
    uint32_t kept_;         // keys that no other layer may take from one
    std::vector<Count> counts_;
    std::vector<Link> links_;  // keys, then the heads of all buckets
    std::vector<Layer> layers_;
    std::array<double, kHalfLifeSteps> decay_{};  // 2^(-i / kHalfLifeSteps)
    std::array<double, 16> sixteenths_{};         // 2^(i / 16) / 2
};

}  // namespace colibri

// Notices an answer that goes in circles.
#pragma once

#include <cstdint>
#include <vector>

namespace colibri {

// A loop: the last tokens are a sequence of at most kPeriodMax tokens, over and over. Which tokens
// they are does not matter; a sequence that changes a little each time is no loop.
class LoopGuard {
public:
    static constexpr uint32_t kPeriodMax = 64;
    static constexpr uint32_t kRepeatsMin = 4;

    // `length` tokens of a loop, kRepeatsMin times around at least, are too many; 0: never.
    explicit LoopGuard(uint32_t length) : length_(length) {}

    // True when this token makes the loop too long.
    [[nodiscard]] bool push(int32_t token);

private:
    uint32_t length_;
    std::vector<int32_t> last_;  // kPeriodMax tokens at most, as a ring
    uint64_t pushed_ = 0;
    // By period - 1: how many of the last tokens equal the one a period before.
    std::vector<uint32_t> equal_ = std::vector<uint32_t>(kPeriodMax);
};

}  // namespace colibri

#include "decode/loop_guard.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace colibri {
namespace {

// Tokens until the guard speaks, absent when it does not.
std::optional<size_t> stops_after(LoopGuard guard, const std::vector<int32_t>& tokens) {
    for (size_t i = 0; i < tokens.size(); ++i)
        if (guard.push(tokens[i])) return i + 1;
    return std::nullopt;
}

std::vector<int32_t> varied(size_t count) {
    std::vector<int32_t> tokens;
    for (size_t i = 0; i < count; ++i) tokens.push_back(int32_t(1000 + i));
    return tokens;
}

// Goal: a loop of any period up to the bound ends after the given length, whatever came before.
// Method: scripted loops behind 100 different tokens; the count is known beforehand.
TEST(LoopGuard, EndsALoopAtItsLength) {
    for (const uint32_t period : {1U, 3U, 17U, 64U}) {
        std::vector<int32_t> tokens = varied(100);
        for (uint32_t i = 0; i < 2000; ++i) tokens.push_back(int32_t(i % period));
        const size_t length = std::max(256U, LoopGuard::kRepeatsMin * period);
        EXPECT_EQ(stops_after(LoopGuard(256), tokens), 100 + length) << period;
    }
}

// Goal: what is no loop goes on. Method: a loop one token too short, a period beyond the bound, a
// count that differs each time around, and a guard that is off.
TEST(LoopGuard, LetsOtherTextPass) {
    std::vector<int32_t> shorter = varied(50);
    shorter.insert(shorter.end(), 255, 7);
    shorter.push_back(8);
    EXPECT_EQ(stops_after(LoopGuard(256), shorter), std::nullopt);
    std::vector<int32_t> wide, counting;
    for (int32_t i = 0; i < 4000; ++i) {
        wide.push_back(i % 65);
        counting.push_back(i % 5 == 0 ? i : i % 5);
    }
    EXPECT_EQ(stops_after(LoopGuard(256), wide), std::nullopt);
    EXPECT_EQ(stops_after(LoopGuard(256), counting), std::nullopt);
    EXPECT_EQ(stops_after(LoopGuard(0), std::vector<int32_t>(5000, 7)), std::nullopt);
}

}  // namespace
}  // namespace colibri

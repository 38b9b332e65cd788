#include "runtime/prefetch_control.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace colibri {

namespace {

// Steps of a machine on which a step takes so long with and without guesses, and so many guesses of
// the hundred that it needs are right.
struct Machine {
    uint64_t on_us = 100, off_us = 100;
    uint64_t right_percent = 80;
    uint64_t needed_a_step = 100;
    StoreCounters counters{.evictions = 1};

    // The number of steps with guesses.
    uint32_t run(PrefetchControl& control, uint32_t steps) {
        uint32_t active = 0;
        for (uint32_t i = 0; i < steps; ++i) {
            const bool on = control.active();
            active += on ? 1 : 0;
            const bool guesses = on && needed_a_step > 0;
            counters.misses += needed_a_step - (guesses ? right_percent : 0);
            if (guesses) {
                counters.guesses += 100;
                counters.useful_guesses += right_percent;
                counters.wasted_guesses += 100 - right_percent;
            }
            control.step(on ? on_us : off_us, counters);
        }
        return active;
    }
};

constexpr uint32_t kTrial = PrefetchControl::kWindowSteps * PrefetchControl::kTrialWindows;
constexpr uint32_t kTerm = PrefetchControl::kTermSteps;

}  // namespace

// Goal: by itself it finds out what is faster, keeps to it for a term, and tries again.
// Method: a machine on which guessing helps, one on which it does not, and one that changes.
TEST(PrefetchControl, KeepsWhatIsFaster) {
    PrefetchControl control(PrefetchMode::automatic);
    EXPECT_TRUE(control.active());
    Machine machine{.on_us = 80, .off_us = 100};
    EXPECT_EQ(machine.run(control, kTrial), kTrial / 2);
    EXPECT_EQ(machine.run(control, kTerm), kTerm);
    machine.on_us = 130;
    EXPECT_EQ(machine.run(control, kTrial), kTrial / 2);
    EXPECT_EQ(machine.run(control, kTerm), 0U);
    EXPECT_TRUE(control.active()) << "the next trial";
}

// Goal: guesses that are mostly wrong stop after one window, and so do guesses where nothing is
// missing. Method: 10 % right; no misses.
TEST(PrefetchControl, StopsWhatCannotPay) {
    PrefetchControl wrong(PrefetchMode::automatic);
    Machine bad{.on_us = 10, .off_us = 100, .right_percent = 10};
    EXPECT_EQ(bad.run(wrong, kTerm), PrefetchControl::kWindowSteps);
    PrefetchControl idle(PrefetchMode::automatic);
    Machine full{.on_us = 10, .off_us = 100, .needed_a_step = 0};
    EXPECT_EQ(full.run(idle, kTerm), PrefetchControl::kWindowSteps);
}

// Goal: a small gain is found although steps differ by much more in what they need, and a smaller
// one over several trials. Method: 1 to 24 experts a step at random, 3 ms each and 2 ms beside, so
// much less with guesses that are half right, 10 % noise; 200 trials.
TEST(PrefetchControl, JudgesAStepByWhatItNeeds) {
    struct Case {
        double gain;
        uint32_t right_least;
    };
    Rng rng(5);
    for (const auto& [gain, right_least] :
         {Case{0.06, 199}, Case{-0.06, 199}, Case{0.03, 195}, Case{-0.03, 195}}) {
        PrefetchControl control(PrefetchMode::automatic);
        StoreCounters counters{.evictions = 1};
        uint32_t right = 0;
        for (uint32_t step = 0; step < 200 * (kTrial + kTerm); ++step) {
            const bool on = control.active();
            const uint64_t needed = 1 + rng.below(24);
            const uint64_t guessed = on ? needed / 2 : 0;
            counters.misses += needed - guessed;
            counters.guesses += 2 * guessed;
            counters.useful_guesses += guessed;
            counters.wasted_guesses += guessed;
            const double noise = 0.9 + 0.2 * double(rng.below(1000)) / 1000;
            control.step(uint64_t(noise * (2000 + 3000 * double(needed)) * (on ? 1 - gain : 1)),
                         counters);
            if (step % (kTrial + kTerm) == kTrial) right += control.active() == (gain > 0) ? 1 : 0;
        }
        EXPECT_GE(right, right_least) << gain;
    }
}

// Goal: what was learned is given up for what has changed.
// Method: ten trials in which guesses gain a fifth, then a machine on which they cost a fifth.
TEST(PrefetchControl, FollowsAMachineThatChanges) {
    PrefetchControl control(PrefetchMode::automatic);
    Machine machine{.on_us = 80, .off_us = 100};
    (void)machine.run(control, 10 * (kTrial + kTerm));
    machine.on_us = 120;
    uint32_t trials = 0;
    for (; trials < 10 && machine.run(control, kTrial + kTerm) > kTerm; ++trials) {
    }
    EXPECT_LE(trials, 4U);
}

// Goal: nothing is concluded from a cache that has not filled and turned over, but that nothing is
// missing is. Method: guesses cost a half while fewer experts were evicted than are resident, and
// gain a fifth from then on; then a cache that holds everything.
TEST(PrefetchControl, WaitsForAFullCache) {
    PrefetchControl control(PrefetchMode::automatic);
    Machine machine{.on_us = 150, .off_us = 100, .counters = {}};
    machine.counters.resident = 50;
    for (const uint64_t evictions : {0, 1, 50}) {
        machine.counters.evictions = evictions;
        EXPECT_EQ(machine.run(control, kTrial), kTrial) << evictions;
    }
    machine.on_us = 80;
    machine.counters.evictions = 51;
    EXPECT_EQ(machine.run(control, kTrial), kTrial / 2);
    EXPECT_EQ(machine.run(control, kTerm), kTerm);
    PrefetchControl roomy(PrefetchMode::automatic);
    Machine all{.needed_a_step = 0, .counters = {}};
    EXPECT_EQ(all.run(roomy, kTerm), PrefetchControl::kWindowSteps);
}

// Goal: one step that was held up decides nothing.
// Method: guesses gain a tenth; in every trial one step with guesses takes a hundred times as long.
TEST(PrefetchControl, OneSlowStepDecidesNothing) {
    PrefetchControl control(PrefetchMode::automatic);
    Machine machine{.on_us = 90, .off_us = 100};
    for (int trial = 0; trial < 20; ++trial) {
        machine.on_us = 9000;
        EXPECT_EQ(machine.run(control, 1), 1U);
        machine.on_us = 90;
        EXPECT_EQ(machine.run(control, kTrial - 1), kTrial / 2 - 1);
        EXPECT_EQ(machine.run(control, kTerm), kTerm) << trial;
    }
}

// Goal: on and off are what they say. Method: machines that speak for the opposite.
TEST(PrefetchControl, ObeysOnAndOff) {
    PrefetchControl on(PrefetchMode::on), off(PrefetchMode::off);
    Machine slower{.on_us = 200, .off_us = 100, .right_percent = 0};
    EXPECT_EQ(slower.run(on, 1000), 1000U);
    Machine faster{.on_us = 10, .off_us = 100};
    EXPECT_EQ(faster.run(off, 1000), 0U);
}

// Goal: what automatic mode has learned survives a change to another mode and back.
// Method: it learns that guessing is slower; on and off in between, each for a while.
TEST(PrefetchControl, KeepsWhatItLearnedOverChanges) {
    PrefetchControl control(PrefetchMode::automatic);
    Machine slower{.on_us = 200, .off_us = 100};
    EXPECT_EQ(slower.run(control, kTrial), kTrial / 2);
    EXPECT_FALSE(control.active());
    control.change(PrefetchMode::on);
    EXPECT_EQ(slower.run(control, 100), 100U);
    control.change(PrefetchMode::off);
    EXPECT_EQ(slower.run(control, 100), 0U);
    control.change(PrefetchMode::automatic);
    EXPECT_EQ(slower.run(control, kTerm), 0U);
    EXPECT_TRUE(control.active()) << "the next trial comes when its term is over";
}

}  // namespace colibri

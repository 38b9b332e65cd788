#include "apps/tune_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "base/rng.h"

namespace colibri {
namespace {

using ::testing::HasSubstr;

const std::vector<TuneKnob> kKnobs{{.option = "reader", .values = {"auto", "pread", "buffered"}},
                                   {.option = "threads", .values = {"auto", "1"}}};

// A machine whose speeds are made up: every lap takes a second.
class FakeMachine {
public:
    std::map<TuneSetting, double> speeds;  // others: 100 tokens/s
    std::map<TuneSetting, std::vector<int32_t>> tokens;
    std::map<TuneSetting, ErrorKind> errors;
    std::function<double(uint32_t lap)> noise = [](uint32_t) { return 1.0; };
    double left_s = 1000;
    uint32_t laps = 0;
    std::vector<TuneSetting> order;

    Result<TuneOutcome> tune() {
        const TuneBench bench{
            .lap = [this](const TuneSetting& setting) -> Result<TuneLap> {
                left_s -= 1;
                order.push_back(setting);
                if (errors.contains(setting)) return fail(errors[setting], "made to fail");
                const double speed = speeds.contains(setting) ? speeds[setting] : 100;
                return TuneLap{.tokens_per_s = speed * noise(laps++),
                               .greedy = tokens.contains(setting) ? tokens[setting]
                                                                  : std::vector<int32_t>{1, 2}};
            },
            .same =
                [this](const TuneSetting& a, const TuneSetting& b) {
                    return alike.contains({a, b}) || alike.contains({b, a});
                },
            .seconds_left = [this] { return left_s; },
            .progress = [](std::string_view) {}};
        return search_tuning(kKnobs, bench);
    }
    std::map<std::pair<TuneSetting, TuneSetting>, bool> alike;
};

// Goal: what is faster by enough is kept, knob after knob, and what is not is not.
// Method: one reader 10 % faster, another 4 % faster, one thread 8 % faster with the best reader
// only. Expected ratios by hand.
TEST(TuneSearch, KeepsTheFastestOfEachKnob) {
    FakeMachine machine;
    machine.speeds = {{{1, 0}, 110}, {{2, 0}, 104}, {{0, 1}, 90}, {{1, 1}, 118.8}};
    const auto outcome = machine.tune();
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->best, (TuneSetting{1, 1}));
    ASSERT_EQ(outcome->trials.size(), 3U);
    EXPECT_EQ(outcome->trials[0].verdict, TuneVerdict::faster);
    EXPECT_NEAR(outcome->trials[0].ratio, 1.1, 1e-12);
    EXPECT_EQ(outcome->trials[0].pairs, kTunePairs);
    EXPECT_NEAR(outcome->trials[1].ratio, 1.04, 1e-12);
    EXPECT_NEAR(outcome->trials[2].ratio, 1.08, 1e-12);
    EXPECT_EQ(outcome->together.verdict, TuneVerdict::faster);
    EXPECT_NEAR(outcome->together.ratio, 1.188, 1e-12);
}

// Goal: candidates take turns with what is best until then.
// Method: the order of the laps: one for the tokens, then A-B-A-B.
TEST(TuneSearch, TakesTurns) {
    FakeMachine machine;
    machine.speeds = {{{1, 0}, 110}};
    ASSERT_TRUE(machine.tune());
    const TuneSetting a{0, 0}, b{1, 0};
    ASSERT_GE(machine.order.size(), 11U);
    EXPECT_EQ(machine.order[0], a);
    for (size_t lap = 1; lap < 11; ++lap)
        EXPECT_EQ(machine.order[lap], lap % 2 == 1 ? a : b) << lap;
}

// Goal: less than 3 % is nothing, and is known after two pairs.
// Method: 2.9 % faster, and slower.
TEST(TuneSearch, LeavesSmallGains) {
    FakeMachine machine;
    machine.speeds = {{{1, 0}, 102.9}, {{2, 0}, 50}, {{0, 1}, 100}};
    const auto outcome = machine.tune();
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->best, (TuneSetting{0, 0}));
    for (const TuneTrial& trial : outcome->trials) {
        EXPECT_EQ(trial.verdict, TuneVerdict::not_faster);
        EXPECT_EQ(trial.pairs, kTuneScreenPairs);
    }
    EXPECT_EQ(outcome->together.pairs, 0U);
}

// Goal: on a machine whose measurements vary by more than the gain, the default stays.
// Method: every third lap 40 % slower (other work on the machine); a candidate 10 % faster.
TEST(TuneSearch, TrustsNoNoise) {
    FakeMachine machine;
    machine.speeds = {{{1, 0}, 110}};
    machine.noise = [](uint32_t lap) { return lap % 3 == 1 ? 0.6 : 1.0; };
    const auto outcome = machine.tune();
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->best, (TuneSetting{0, 0}));
    EXPECT_EQ(outcome->trials[0].verdict, TuneVerdict::noise);
    EXPECT_GT(outcome->trials[0].spread, 0.1);
}

// Goal: where nothing differs, nothing is chosen, whatever the noise looks like.
// Method: 200 machines with random noise of 1 to 20 %; at most one in a hundred may be fooled.
TEST(TuneSearch, IsSeldomFooled) {
    uint32_t fooled = 0;
    for (uint64_t seed = 0; seed < 200; ++seed) {
        FakeMachine machine;
        Rng random(seed);
        const double width = 0.01 + 0.19 * double(seed % 20) / 19;
        machine.noise = [&](uint32_t) {
            return 1 + width * (double(random.below(2001)) / 1000 - 1);
        };
        const auto outcome = machine.tune();
        ASSERT_TRUE(outcome);
        fooled += outcome->best == TuneSetting{0, 0} ? 0 : 1;
    }
    EXPECT_LE(fooled, 2U);
}

// Goal: a setting that changes the answer is refused, however fast.
// Method: the fastest candidate gives another token.
TEST(TuneSearch, RefusesOtherTokens) {
    FakeMachine machine;
    machine.speeds = {{{1, 0}, 500}, {{2, 0}, 120}};
    machine.tokens = {{{1, 0}, {1, 3}}};
    const auto outcome = machine.tune();
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->best, (TuneSetting{2, 0}));
    EXPECT_EQ(outcome->trials[0].verdict, TuneVerdict::other_tokens);
    EXPECT_EQ(outcome->trials[0].pairs, 0U);
}

// Goal: a machine that does not repeat itself is not tuned.
// Method: the base's tokens change after the first laps.
TEST(TuneSearch, EndsWhenTheSameSettingsDiffer) {
    FakeMachine machine;
    machine.noise = [&](uint32_t lap) {
        if (lap == 4) machine.tokens[{0, 0}] = {7, 7};
        return 1.0;
    };
    const auto outcome = machine.tune();
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().kind, ErrorKind::corrupt);
}

// Goal: what this machine cannot do is passed over with the reason; a real failure ends the search.
// Method: a reader that is not supported; an I/O error; a cancellation.
TEST(TuneSearch, PassesOverWhatIsNotThere) {
    FakeMachine machine;
    machine.errors = {{{1, 0}, ErrorKind::unsupported}};
    machine.speeds = {{{2, 0}, 120}};
    const auto outcome = machine.tune();
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->trials[0].verdict, TuneVerdict::unavailable);
    EXPECT_THAT(outcome->trials[0].remark, HasSubstr("made to fail"));
    EXPECT_EQ(outcome->best, (TuneSetting{2, 0}));
    for (const ErrorKind kind : {ErrorKind::io, ErrorKind::cancelled}) {
        FakeMachine broken;
        broken.errors = {{{1, 0}, kind}};
        const auto failed = broken.tune();
        ASSERT_FALSE(failed);
        EXPECT_EQ(failed.error().kind, kind);
    }
}

// Goal: the time is kept: nothing begins that cannot end, and what was found is still confirmed.
// Method: every amount of time up to more than enough; never beyond it, never an unconfirmed
// choice.
TEST(TuneSearch, KeepsTheTime) {
    for (int seconds = 1; seconds < 60; ++seconds) {
        FakeMachine machine;
        machine.left_s = seconds;
        machine.speeds = {{{1, 0}, 110}, {{1, 1}, 121}};
        const auto outcome = machine.tune();
        ASSERT_TRUE(outcome);
        EXPECT_GE(machine.left_s, 0) << seconds;
        const bool found = outcome->best != TuneSetting{0, 0};
        EXPECT_EQ(found, outcome->together.verdict == TuneVerdict::faster &&
                             outcome->together.pairs == kTunePairs)
            << seconds;
        if (seconds > 50) {
            EXPECT_EQ(outcome->best, (TuneSetting{1, 1}));
        }
    }
}

// Goal: what does not hold against the defaults is given up.
// Method: two steps that are faster than their base, and slow together when measured again.
TEST(TuneSearch, GivesUpWhatDoesNotHold) {
    FakeMachine machine;
    machine.speeds = {{{1, 0}, 110}, {{1, 1}, 121}};
    machine.noise = [&](uint32_t lap) {
        // After the trials of both knobs (1 + 10 + 4 + 10 laps): the confirmation.
        if (lap == 25) machine.speeds[{1, 1}] = 101;
        return 1.0;
    };
    const auto outcome = machine.tune();
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->best, (TuneSetting{0, 0}));
    EXPECT_EQ(outcome->together.verdict, TuneVerdict::not_faster);
}

// Goal: no time goes to candidates that change nothing.
// Method: one that is the same as the base, and one the same as another candidate.
TEST(TuneSearch, SkipsWhatMakesNoDifference) {
    FakeMachine machine;
    machine.alike = {{{{0, 0}, {1, 0}}, true}, {{{0, 0}, {0, 1}}, true}, {{{1, 0}, {2, 0}}, true}};
    const auto outcome = machine.tune();
    ASSERT_TRUE(outcome);
    ASSERT_EQ(outcome->trials.size(), 1U);
    EXPECT_EQ(outcome->trials[0].value, 2U);
}

}  // namespace
}  // namespace colibri

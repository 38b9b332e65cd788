// The state machine of a model's storage: the table of docs/storage.md, row by row.
#include "store/storage_health.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace colibri {

namespace {

using State = StorageState;
constexpr uint64_t kSecond = 1'000'000;
constexpr State kOk = State::ok;
constexpr State kDegraded = State::degraded;
constexpr State kFailed = State::failed;

// Place 0 is the original, place 1 a mirror.
StorageHealth two_places() {
    return StorageHealth({"/drive-a", "/drive-b"});
}

// What one read reports.
struct Step {
    enum class Kind : uint8_t { hard, bad, good } kind;
    uint32_t place;
    uint32_t expert;
    bool last = false;
    State after_place, after_model;
    uint32_t events;  // by this step
};

void apply(StorageHealth& health, const Step& step, uint64_t now_us) {
    if (step.kind == Step::Kind::good)
        return health.read_succeeded(step.place, step.expert, now_us);
    health.read_failed({.place = step.place,
                        .expert = step.expert,
                        .hard = step.kind == Step::Kind::hard,
                        .last = step.last,
                        .what = "layer 1 expert 2: the reason"},
                       now_us);
}

struct Scenario {
    std::string name;
    std::vector<Step> steps;
};

using K = Step::Kind;

// One line a transition: report, place and model afterwards, lines to the user.
std::vector<Scenario> table() {
    return {
        {"a good read changes nothing", {{K::good, 0, 1, false, kOk, kOk, 0}}},
        {"ok -> degraded by one bad sector, -> ok when it is read",
         {{K::hard, 0, 1, false, kDegraded, kDegraded, 1},
          {K::good, 1, 1, false, kOk, kDegraded, 0},
          {K::good, 0, 2, false, kDegraded, kDegraded, 0},
          {K::good, 0, 1, false, kOk, kOk, 1}}},
        {"ok -> degraded by wrong bytes, -> ok when they are right",
         {{K::bad, 0, 1, false, kDegraded, kDegraded, 1}, {K::good, 0, 1, false, kOk, kOk, 1}}},
        {"a warning is of the transition, not of each read",
         {{K::bad, 0, 1, false, kDegraded, kDegraded, 1},
          {K::bad, 0, 1, false, kDegraded, kDegraded, 0},
          {K::bad, 0, 2, false, kDegraded, kDegraded, 0},
          {K::hard, 0, 3, false, kDegraded, kDegraded, 0}}},
        {"one sector that stays bad condemns nothing",
         {{K::hard, 0, 1, false, kDegraded, kDegraded, 1},
          {K::hard, 0, 1, false, kDegraded, kDegraded, 0},
          {K::hard, 0, 1, false, kDegraded, kDegraded, 0},
          {K::hard, 0, 1, false, kDegraded, kDegraded, 0}}},
        {"nor do wrong bytes, however many",
         {{K::bad, 0, 1, false, kDegraded, kDegraded, 1},
          {K::bad, 0, 2, false, kDegraded, kDegraded, 0},
          {K::bad, 0, 3, false, kDegraded, kDegraded, 0},
          {K::bad, 0, 4, false, kDegraded, kDegraded, 0}}},
        {"nor do errors with good reads between them",
         {{K::hard, 0, 1, false, kDegraded, kDegraded, 1},
          {K::hard, 0, 2, false, kDegraded, kDegraded, 0},
          {K::good, 0, 9, false, kDegraded, kDegraded, 0},
          {K::hard, 0, 3, false, kDegraded, kDegraded, 0},
          {K::hard, 0, 4, false, kDegraded, kDegraded, 0}}},
        {"degraded -> failed by errors of three experts in a row, -> ok when it answers",
         {{K::hard, 0, 1, false, kDegraded, kDegraded, 1},
          {K::hard, 0, 2, false, kDegraded, kDegraded, 0},
          {K::hard, 0, 3, false, kFailed, kDegraded, 1},
          {K::hard, 0, 4, false, kFailed, kDegraded, 0},
          {K::good, 1, 1, false, kOk, kDegraded, 0},
          {K::good, 0, 9, false, kOk, kOk, 1}}},
        {"failed -> degraded: wrong bytes are not forgiven with the errors of an absent drive",
         {{K::bad, 0, 7, false, kDegraded, kDegraded, 1},
          {K::hard, 0, 1, false, kDegraded, kDegraded, 0},
          {K::hard, 0, 2, false, kDegraded, kDegraded, 0},
          {K::hard, 0, 3, false, kFailed, kDegraded, 1},
          {K::good, 0, 9, false, kDegraded, kDegraded, 1},
          {K::good, 0, 7, false, kOk, kOk, 1}}},
        {"the model fails with an expert that no copy answers, until one does",
         {{K::hard, 0, 1, false, kDegraded, kDegraded, 1},
          {K::bad, 1, 1, true, kDegraded, kFailed, 1},
          {K::good, 0, 2, false, kDegraded, kFailed, 0},
          {K::good, 1, 1, false, kOk, kDegraded, 1},
          {K::good, 0, 1, false, kOk, kOk, 1}}},
        {"without a mirror: one line for both, and all is well when the drive is back",
         {{K::hard, 0, 1, true, kDegraded, kFailed, 1},
          {K::hard, 0, 2, true, kDegraded, kFailed, 0},
          {K::hard, 0, 3, true, kFailed, kFailed, 1},
          {K::hard, 0, 4, true, kFailed, kFailed, 0},
          {K::good, 0, 9, false, kOk, kOk, 1}}},
    };
}

}  // namespace

// Goal: every transition of the table happens, no other one does, and each is told once.
// Method: sequences of reports; state of place and model and the number of lines after each.
TEST(StorageHealth, FollowsTheTable) {
    for (const Scenario& scenario : table()) {
        StorageHealth health = two_places();
        for (size_t i = 0; i < scenario.steps.size(); ++i) {
            const Step& step = scenario.steps[i];
            apply(health, step, i * 1000);
            const std::string where = scenario.name + ", step " + std::to_string(i);
            EXPECT_EQ(health.place_state(step.place), step.after_place) << where;
            EXPECT_EQ(health.state(), step.after_model) << where;
            const auto events = health.take_events();
            ASSERT_EQ(events.size(), step.events) << where;
            for (const StorageEvent& event : events) {
                EXPECT_EQ(event.place, step.place) << where;
                EXPECT_EQ(event.place_state, step.after_place) << where;
                EXPECT_EQ(event.model_state, step.after_model) << where;
            }
        }
        EXPECT_EQ(health.spotless(), health.state() == kOk) << scenario.name;
    }
}

// Goal: a line says which drive, what happened, and what that means.
// Method: each kind of line.
TEST(StorageHealth, LinesSayWhatHappened) {
    StorageHealth health = two_places();
    const auto line_after = [&](const Step& step) {
        apply(health, step, 0);
        const auto events = health.take_events();
        return events.size() == 1 ? events[0].text : "no single event";
    };
    EXPECT_EQ(line_after({K::bad, 0, 1, false, kOk, kOk, 0}),
              "storage: a read from /drive-a failed, another copy is read: layer 1 expert 2: the "
              "reason");
    apply(health, {K::hard, 0, 1, false, kOk, kOk, 0}, 0);
    apply(health, {K::hard, 0, 2, false, kOk, kOk, 0}, 0);
    EXPECT_EQ(line_after({K::hard, 0, 3, false, kOk, kOk, 0}),
              "storage: /drive-a does not answer, 3 reads in a row have failed; other copies are "
              "read, and it is asked again from time to time. The last error: layer 1 expert 2: "
              "the reason");
    EXPECT_EQ(line_after({K::hard, 1, 3, true, kOk, kOk, 0}),
              "storage: a read from /drive-b failed: layer 1 expert 2: the reason. No copy of "
              "this expert can be read: answers that need it fail");
    EXPECT_EQ(line_after({K::good, 1, 3, false, kOk, kOk, 0}),
              "storage: what could not be read from /drive-b can be read again; the storage is "
              "still degraded");
    EXPECT_EQ(line_after({K::good, 0, 9, false, kOk, kOk, 0}), "storage: /drive-a answers again");
}

// Goal: a condemned place is passed over where there is another copy, asked again after pauses that
// double up to a minute, by one read each time, and asked at once where nothing else is left.
// Method: choices at chosen times, the copies in both orders.
TEST(StorageHealth, PausesGrow) {
    StorageHealth health = two_places();
    const std::vector<uint32_t> own_first{0, 1}, mirror_first{1, 0};
    EXPECT_EQ(health.choose(1, own_first, 0, 0), 0U);
    uint64_t now_us = 5 * kSecond;
    for (uint32_t expert = 0; expert < 3; ++expert)
        apply(health, {K::hard, 0, expert, false, kOk, kOk, 0}, now_us);
    for (const uint64_t seconds : {1, 2, 4, 8, 16, 32, 60, 60, 60}) {
        EXPECT_EQ(health.choose(9, own_first, 0, now_us), 1U);
        EXPECT_EQ(health.choose(9, mirror_first, 0, now_us), 0U) << "the mirror is first anyway";
        EXPECT_EQ(health.choose(9, own_first, 0, now_us + seconds * kSecond - 1), 1U) << seconds;
        now_us += seconds * kSecond;
        EXPECT_EQ(health.choose(9, own_first, 0, now_us), 0U) << seconds;
        EXPECT_EQ(health.choose(9, own_first, 0, now_us), 1U) << "one read tries";
        EXPECT_EQ(health.choose(9, own_first, 0b10, now_us), 0U) << "nothing else is left";
        EXPECT_EQ(health.choose(9, std::vector<uint32_t>{0}, 0, now_us), 0U);
        apply(health, {K::hard, 0, 9, false, kOk, kOk, 0}, now_us);
    }
    apply(health, {K::good, 0, 9, false, kOk, kOk, 0}, now_us);
    EXPECT_EQ(health.choose(9, own_first, 0, now_us), 0U) << "used again at once";
}

// Goal: a drive that comes and goes is not asked more often than one that stays away.
// Method: condemned again within a minute of its return, and after one.
TEST(StorageHealth, RelapsesGoOnWithThePause) {
    const std::vector<uint32_t> places{0, 1};
    for (const auto& [quiet_us, pause_us] :
         {std::pair(30 * kSecond, 4 * kSecond), std::pair(61 * kSecond, kSecond)}) {
        StorageHealth health = two_places();
        const auto fall = [&](uint64_t now_us) {
            for (uint32_t expert = 0; expert < 3; ++expert)
                apply(health, {K::hard, 0, expert, false, kOk, kOk, 0}, now_us);
        };
        fall(0);
        ASSERT_EQ(health.choose(9, places, 0, kSecond), 0U);
        apply(health, {K::good, 0, 9, false, kOk, kOk, 0}, kSecond);
        const uint64_t again_us = kSecond + quiet_us;
        fall(again_us);
        EXPECT_EQ(health.choose(9, places, 0, again_us + pause_us - 1), 1U) << quiet_us;
        EXPECT_EQ(health.choose(9, places, 0, again_us + pause_us), 0U) << quiet_us;
    }
}

// Goal: a bad sector, which a drive may take half a minute to report, is not asked for at every
// use of its expert; other experts of the place are.
// Method: one expert bad at the first place; choices now, and a minute later.
TEST(StorageHealth, OneBadExpertIsLeftAlone) {
    StorageHealth health = two_places();
    const std::vector<uint32_t> places{0, 1};
    apply(health, {K::bad, 0, 5, false, kOk, kOk, 0}, 0);
    EXPECT_EQ(health.choose(6, places, 0, 1), 0U);
    EXPECT_EQ(health.choose(5, places, 0, 1), 1U);
    EXPECT_EQ(health.choose(5, places, 0b10, 1), 0U) << "nothing else is left";
    EXPECT_EQ(health.choose(5, places, 0, 60 * kSecond), 0U);
    EXPECT_EQ(health.choose(5, places, 0, 60 * kSecond), 1U) << "one read tries";
}

// Goal: the report names every place and counts its errors.
// Method: errors at one of two.
TEST(StorageHealth, ReportsPlaces) {
    StorageHealth health = two_places();
    apply(health, {K::bad, 1, 5, false, kOk, kOk, 0}, 0);
    apply(health, {K::bad, 1, 5, false, kOk, kOk, 0}, 0);
    const StorageReport report = health.report();
    EXPECT_EQ(report.state, kDegraded);
    ASSERT_EQ(report.places.size(), 2U);
    EXPECT_EQ(report.places[0].directory, "/drive-a");
    EXPECT_EQ(report.places[0].state, kOk);
    EXPECT_EQ(report.places[0].errors, 0U);
    EXPECT_EQ(report.places[1].state, kDegraded);
    EXPECT_EQ(report.places[1].errors, 2U);
    EXPECT_EQ(to_string(kOk), "ok");
    EXPECT_EQ(to_string(kDegraded), "degraded");
    EXPECT_EQ(to_string(kFailed), "failed");
}

}  // namespace colibri

#include "load/plan.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace colibri {
namespace {

// A model whose fixed parts are 100 MiB, with scratch of 100 KiB a row.
PlanInputs inputs(uint64_t budget_bytes, std::vector<PlanSlotClass> classes) {
    return {.budget_bytes = budget_bytes,
            .available_bytes = 64 * kGiB,
            .total_bytes = 64 * kGiB,
            .program_bytes = 16 * kMiB,
            .table_bytes = 4 * kMiB,
            .other_bytes = 5 * kMiB,
            .dense_bytes = 50 * kMiB,
            .state_bytes = 20 * kMiB,
            .staging_bytes = 5 * kMiB,
            .context = 4096,
            .ring_slots = 4,
            .scratch_bytes = [](uint32_t rows) { return rows * 100 * kKiB; },
            .classes = std::move(classes)};
}

std::vector<PlanSlotClass> one_class() {
    return {{.slot_bytes = 2 * kMiB, .experts = 200}};
}

uint64_t sum(const MemoryPlan& plan) {
    uint64_t bytes = 0;
    for (const PlanPart& part : plan.parts) bytes += part.bytes;
    return bytes;
}

uint64_t part(const MemoryPlan& plan, std::string_view name) {
    for (const PlanPart& p : plan.parts)
        if (p.name == name) return p.bytes;
    return 0;
}

// Goal: the ring grows with what there is to spare, to its most and not where everything fits.
// Method: budgets whose spare memory is known; a sixteenth of it is the ring's.
TEST(Plan, TheRingGrowsWithTheBudget) {
    PlanInputs in = inputs(0, one_class());
    in.ring_slots_max = 16;
    in.slice_rows = 16;
    in.budget_bytes = 64 * kGiB;
    const uint64_t smallest = plan_memory(in)->plan.smallest_budget_bytes;
    // Beyond the smallest budget's two cache slots, in slots of 2 MiB; the ring.
    for (const auto& [slots, ring] : {std::pair(0, 4), {60, 4}, {94, 6}, {180, 11}, {198, 4}}) {
        in.budget_bytes = smallest + uint64_t(slots) * 2 * kMiB;
        const auto planned = plan_memory(in);
        ASSERT_TRUE(planned) << planned.error().message;
        EXPECT_EQ(planned->ring_slots, uint32_t(ring)) << slots;
        EXPECT_EQ(part(planned->plan, "scan ring"), uint64_t(ring) * 2 * kMiB);
        EXPECT_EQ(planned->slots[0], uint32_t(slots + 2 - (ring - 4)));
    }
    in.ring_slots_max = 8;
    in.budget_bytes = smallest + 180 * 2 * kMiB;
    EXPECT_EQ(plan_memory(in)->ring_slots, 8U);
}

// Goal: the parts add up to the total, which stays within the budget and uses it.
// Method: budgets from the smallest to more than everything; hand-computed fixed parts.
TEST(Plan, PartsAddUpWithinTheBudget) {
    const auto smallest = plan_memory(inputs(64 * kGiB, one_class()))->plan.smallest_budget_bytes;
    // 100 MiB, a ring of 4 slots, 2 cache slots, scratch of 16 rows.
    EXPECT_EQ(smallest, 100 * kMiB + 8 * kMiB + 4 * kMiB + 1600 * kKiB);
    for (uint64_t budget = smallest; budget < smallest + 600 * kMiB; budget += 7 * kMiB + 12345) {
        const auto planned = plan_memory(inputs(budget, one_class()));
        ASSERT_TRUE(planned) << planned.error().message;
        const MemoryPlan& plan = planned->plan;
        EXPECT_EQ(sum(plan), plan.total_bytes);
        EXPECT_LE(plan.total_bytes, budget);
        EXPECT_FALSE(plan.budget_automatic);
        EXPECT_EQ(part(plan, "expert slots"), planned->slots[0] * 2 * kMiB);
        EXPECT_EQ(part(plan, "dense weights"), 50 * kMiB);
        EXPECT_EQ(part(plan, "sequence state"), 20 * kMiB);
        EXPECT_EQ(part(plan, "tokenizer"), 5 * kMiB);
        if (plan.expert_slots < plan.expert_count) {
            EXPECT_GT(plan.total_bytes + 2 * kMiB, budget) << "another slot would fit";
        }
    }
}

// Goal: more memory never means fewer slots for the same slice, and never a shorter slice.
// Method: rising budgets, slice given and chosen.
TEST(Plan, MoreMemoryIsNeverWorse) {
    for (const uint32_t slice : {0U, 64U}) {
        uint32_t slots = 0, rows = 0;
        for (uint64_t budget = 130 * kMiB; budget < 700 * kMiB; budget += 3 * kMiB) {
            PlanInputs in = inputs(budget, one_class());
            in.slice_rows = slice;
            const auto planned = plan_memory(in);
            ASSERT_TRUE(planned) << planned.error().message;
            EXPECT_GE(planned->plan.slice_rows, rows);
            if (planned->plan.slice_rows == rows) {
                EXPECT_GE(planned->slots[0], slots);
            }
            slots = planned->slots[0];
            rows = planned->plan.slice_rows;
        }
        EXPECT_EQ(slots, 200U);
    }
}

// Goal: the smallest budget works, one byte less is refused with the parts, the smallest budget and
// the options. Method: both, for one and for three slot classes.
TEST(Plan, SmallestBudgetIsExact) {
    for (const auto& classes :
         {one_class(), std::vector<PlanSlotClass>{{.slot_bytes = kMiB, .experts = 10},
                                                  {.slot_bytes = 3 * kMiB, .experts = 1},
                                                  {.slot_bytes = 2 * kMiB, .experts = 40}}}) {
        const uint64_t smallest =
            plan_memory(inputs(64 * kGiB, classes))->plan.smallest_budget_bytes;
        const auto works = plan_memory(inputs(smallest, classes));
        ASSERT_TRUE(works) << works.error().message;
        EXPECT_EQ(works->plan.total_bytes, smallest);
        for (size_t i = 0; i < classes.size(); ++i)
            EXPECT_EQ(works->slots[i], std::min(kSlotsMin, classes[i].experts));
        const auto refused = plan_memory(inputs(smallest - 1, classes));
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().kind, ErrorKind::out_of_budget);
        const std::string needed = "--ram " + std::to_string(ceil_div(smallest, kMiB)) + "M";
        for (const std::string& word :
             {std::string("smallest that works"), needed, std::string("--ctx"),
              std::string("dense weights 50 MiB"), std::string("sequence state 20 MiB"),
              std::string("scratch"), std::string("expert slots")})
            EXPECT_NE(refused.error().message.find(word), std::string::npos)
                << word << ": " << refused.error().message;
    }
}

// Goal: the budget that the message advises works.
// Method: the number in megabytes, rounded up.
TEST(Plan, AdvisedBudgetWorks) {
    const uint64_t smallest =
        plan_memory(inputs(64 * kGiB, one_class()))->plan.smallest_budget_bytes;
    EXPECT_TRUE(plan_memory(inputs(ceil_div(smallest, kMiB) * kMiB, one_class())));
}

// Goal: with `everything_bytes` every expert has a slot, with a byte less not.
// Method: both, slice chosen and given.
TEST(Plan, EverythingIsExact) {
    for (const uint32_t slice : {0U, 32U}) {
        PlanInputs in = inputs(64 * kGiB, one_class());
        in.slice_rows = slice;
        const uint64_t everything = plan_memory(in)->plan.everything_bytes;
        in.budget_bytes = everything;
        EXPECT_EQ(plan_memory(in)->slots[0], 200U);
        EXPECT_EQ(plan_memory(in)->plan.total_bytes, everything);
        in.slice_rows = plan_memory(in)->plan.slice_rows;
        in.budget_bytes = everything - 1;
        EXPECT_EQ(plan_memory(in)->slots[0], 199U);
    }
}

// Goal: every slot class gets its minimum, none more than it has experts, and the rest is shared in
// proportion. Method: classes of very different sizes at half of what everything takes.
TEST(Plan, ClassesShareTheSlots) {
    const std::vector<PlanSlotClass> classes{{.slot_bytes = kMiB, .experts = 100},
                                             {.slot_bytes = 4 * kMiB, .experts = 100},
                                             {.slot_bytes = 2 * kMiB, .experts = 1}};
    PlanInputs in = inputs(64 * kGiB, classes);
    in.slice_rows = 16;
    const MemoryPlan all = plan_memory(in)->plan;
    in.budget_bytes = (all.smallest_budget_bytes + all.everything_bytes) / 2;
    const auto planned = plan_memory(in);
    ASSERT_TRUE(planned) << planned.error().message;
    EXPECT_NEAR(planned->slots[0], 51, 1);
    EXPECT_NEAR(planned->slots[1], 51, 1);
    EXPECT_EQ(planned->slots[2], 1U);
    EXPECT_LE(planned->plan.total_bytes, in.budget_bytes);
    EXPECT_EQ(planned->plan.expert_count, 201U);
}

// Goal: an automatic budget is what is free less the reserve; unknown memory is assumed to be
// little; both are marked. Method: facts of several machines, and none at all.
TEST(Plan, AutomaticBudgetFollowsTheMachine) {
    for (const uint64_t available : {1 * kGiB, 8 * kGiB, 500 * kGiB}) {
        PlanInputs in = inputs(0, one_class());
        in.available_bytes = available;
        const auto planned = plan_memory(in);
        ASSERT_TRUE(planned) << planned.error().message;
        EXPECT_TRUE(planned->plan.budget_automatic);
        EXPECT_EQ(planned->plan.budget_bytes, available - automatic_reserve_bytes(available));
        EXPECT_GE(automatic_reserve_bytes(available), 256 * kMiB);
        EXPECT_LE(automatic_reserve_bytes(available), 4 * kGiB);
    }
    PlanInputs unknown = inputs(0, one_class());
    unknown.available_bytes.reset();
    unknown.total_bytes.reset();
    const auto planned = plan_memory(unknown);
    ASSERT_TRUE(planned);
    EXPECT_TRUE(planned->plan.budget_automatic);
    EXPECT_EQ(planned->plan.budget_bytes, 4 * kGiB);
}

// Goal: nearly no free memory gives a refusal that says the budget was automatic, not a wrapped
// number. Method: probes of 0 bytes and of 1 MiB.
TEST(Plan, NoFreeMemoryIsRefused) {
    for (const uint64_t available : {uint64_t(0), kMiB}) {
        PlanInputs in = inputs(0, one_class());
        in.available_bytes = available;
        const auto planned = plan_memory(in);
        ASSERT_FALSE(planned);
        EXPECT_EQ(planned.error().kind, ErrorKind::out_of_budget);
        EXPECT_NE(planned.error().message.find("automatic budget"), std::string::npos)
            << planned.error().message;
    }
}

// Goal: a model far larger than the machine can be planned and started.
// Method: 19,456 experts of 20 MiB, a budget of 8 GiB.
TEST(Plan, ModelsLargerThanMemoryAreWelcome) {
    const std::vector<PlanSlotClass> classes{{.slot_bytes = 20 * kMiB, .experts = 19456}};
    const auto planned = plan_memory(inputs(8 * kGiB, classes));
    ASSERT_TRUE(planned) << planned.error().message;
    EXPECT_GT(planned->slots[0], 350U);
    EXPECT_LE(planned->plan.total_bytes, 8 * kGiB);
    EXPECT_GT(planned->plan.everything_bytes, 380 * kGiB);
}

// Goal: a prompt as long as the context passes in one slice when experts stream and memory allows,
// so that each expert is read once; not when they all stay in memory or the cache would pay for it.
// Method: a large model at 24 GiB, a small one, and a large one at little more than its least.
TEST(Plan, LongSlicesSaveReadingAgain) {
    const std::vector<PlanSlotClass> large{{.slot_bytes = 20 * kMiB, .experts = 19456}};
    for (const uint32_t context : {1024U, 2048U, 4096U}) {
        PlanInputs in = inputs(24 * kGiB, large);
        in.context = context;
        EXPECT_EQ(plan_memory(in)->plan.slice_rows, context);
    }
    PlanInputs resident = inputs(64 * kGiB, one_class());
    resident.context = 4096;
    EXPECT_EQ(plan_memory(resident)->plan.slice_rows, 512U);
    PlanInputs tight = inputs(24 * kGiB, large);
    tight.context = 4096;
    tight.budget_bytes = plan_memory(tight)->plan.smallest_budget_bytes + 64 * kMiB;
    EXPECT_LE(plan_memory(tight)->plan.slice_rows, 512U);
}

// Goal: short contexts get no longer slices than they have rows to fill.
// Method: contexts of 16 and 40 positions with plenty of memory.
TEST(Plan, SlicesFitTheContext) {
    for (const uint32_t context : {16U, 40U}) {
        PlanInputs in = inputs(64 * kGiB, one_class());
        in.context = context;
        EXPECT_LE(plan_memory(in)->plan.slice_rows, 2 * round_up(context, 16U));
    }
}

}  // namespace
}  // namespace colibri

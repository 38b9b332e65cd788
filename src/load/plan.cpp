#include "load/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/units.h"

namespace colibri {

namespace {

// Prefill slices to choose from. Longer ones read each expert less often but need more scratch.
constexpr std::array<uint32_t, 9> kSliceRows{4096, 2048, 1024, 512, 256, 128, 64, 32, 16};
// Scratch may take this share of what the fixed parts leave before a shorter slice is taken.
constexpr double kScratchShare = 0.25;
// Slices beyond this compute no faster; they only save reading every expert again for each part of
// a long prompt. That is worth a smaller share, and nothing when all experts stay in memory.
constexpr uint32_t kFullSpeedRows = 512;
constexpr double kLongScratchShare = 0.10;

// The longest slice that `spare` bytes beyond the least allow, or the shortest.
uint32_t choose_slice_rows(const PlanInputs& in, uint64_t spare, uint64_t all_slots_bytes) {
    const auto fits_all = [&](uint32_t rows) {
        return spare >= in.scratch_bytes(rows) + all_slots_bytes;
    };
    const bool all_in_memory = fits_all(kFullSpeedRows);
    for (const uint32_t rows : kSliceRows) {
        const auto scratch = double(in.scratch_bytes(rows));
        if (rows > kFullSpeedRows) {
            if (!all_in_memory && rows <= in.context &&
                scratch <= kLongScratchShare * double(spare))
                return rows;
        } else if (rows <= round_up(in.context, 16U) * 2 &&
                   (fits_all(rows) || scratch <= kScratchShare * double(spare))) {
            return rows;
        }
    }
    return kSliceRows.back();
}

// The scan ring may take this share of what cache and ring have together. It is what the drive can
// read ahead while attention computes.
constexpr uint64_t kRingDivisor = 16;

uint32_t choose_ring_slots(const PlanInputs& in, uint64_t spare, uint64_t all_slots_bytes) {
    uint64_t each = 0;
    for (const PlanSlotClass& c : in.classes) each += c.slot_bytes;
    if (spare >= all_slots_bytes || each == 0) return in.ring_slots;
    const uint64_t affordable = std::min<uint64_t>(spare / kRingDivisor / each, in.ring_slots_max);
    return std::max(in.ring_slots, uint32_t(affordable));
}

// Assumed when the machine does not say how much memory is free.
constexpr uint64_t kUnknownMemoryBudget = 4 * kGiB;

struct Fixed {
    uint64_t bytes = 0;      // everything but scratch and cache slots
    uint64_t slots_min = 0;  // the least cache
    uint64_t slots_all = 0;  // a slot for every expert
};

Fixed fixed_parts(const PlanInputs& in) {
    Fixed fixed;
    fixed.bytes = in.program_bytes + in.table_bytes + in.other_bytes + in.dense_bytes +
                  in.state_bytes + in.staging_bytes;
    for (const PlanSlotClass& c : in.classes) {
        fixed.bytes += c.slot_bytes * in.ring_slots;
        fixed.slots_min += c.slot_bytes * std::min(kSlotsMin, c.experts);
        fixed.slots_all += c.slot_bytes * c.experts;
    }
    return fixed;
}

// Gives every class its minimum, then shares the rest in proportion to the classes' bytes.
std::vector<uint32_t> share_slots(const PlanInputs& in, const Fixed& fixed, uint64_t bytes) {
    std::vector<uint32_t> slots;
    const uint64_t spare = bytes - std::min(bytes, fixed.slots_min);
    const uint64_t wanted = fixed.slots_all - fixed.slots_min;
    for (const PlanSlotClass& c : in.classes) {
        const uint32_t least = std::min(kSlotsMin, c.experts);
        const double share = wanted == 0 ? 0 : std::min(1.0, double(spare) / double(wanted));
        slots.push_back(least + uint32_t(double(c.experts - least) * share));
    }
    return slots;
}

uint64_t automatic_budget(const PlanInputs& in) {
    if (!in.available_bytes) return kUnknownMemoryBudget;
    return *in.available_bytes -
           std::min(*in.available_bytes, automatic_reserve_bytes(*in.available_bytes));
}

std::string parts_text(const MemoryPlan& plan) {
    std::string text;
    for (const PlanPart& part : plan.parts)
        text +=
            fmt::format("{}{} {}", text.empty() ? "" : ", ", part.name, format_bytes(part.bytes));
    return text;
}

}  // namespace

uint64_t automatic_reserve_bytes(uint64_t available_bytes) {
    return std::clamp(available_bytes / 10, 256 * kMiB, 4 * kGiB);
}

Result<PlannedSlots> plan_memory(const PlanInputs& in) {
    PlannedSlots out;
    MemoryPlan& plan = out.plan;
    const Fixed fixed = fixed_parts(in);
    plan.context = in.context;
    plan.budget_automatic = in.budget_bytes == 0;
    plan.budget_bytes = plan.budget_automatic ? automatic_budget(in) : in.budget_bytes;
    const uint32_t least_rows = in.slice_rows != 0 ? in.slice_rows : kSliceRows.back();
    const uint64_t least_scratch = in.scratch_bytes(least_rows);
    plan.smallest_budget_bytes = fixed.bytes + fixed.slots_min + least_scratch;
    const bool fits = plan.smallest_budget_bytes <= plan.budget_bytes;

    plan.slice_rows = least_rows;
    if (fits && in.slice_rows == 0) {
        const uint64_t spare = plan.budget_bytes - fixed.bytes - fixed.slots_min;
        plan.slice_rows = choose_slice_rows(in, spare, fixed.slots_all - fixed.slots_min);
    }
    const uint64_t scratch = in.scratch_bytes(plan.slice_rows);
    out.ring_slots = in.ring_slots;
    uint64_t for_slots = fits ? plan.budget_bytes - fixed.bytes - scratch : fixed.slots_min;
    if (fits) out.ring_slots = choose_ring_slots(in, for_slots, fixed.slots_all);
    for (const PlanSlotClass& c : in.classes)
        for_slots -= c.slot_bytes * (out.ring_slots - in.ring_slots);
    out.slots = share_slots(in, fixed, for_slots);
    uint64_t slot_bytes = 0;
    uint64_t ring_bytes = 0;
    for (size_t i = 0; i < in.classes.size(); ++i) {
        slot_bytes += in.classes[i].slot_bytes * out.slots[i];
        ring_bytes += in.classes[i].slot_bytes * out.ring_slots;
        plan.expert_slots += out.slots[i];
        plan.expert_count += in.classes[i].experts;
    }
    plan.parts = {{"program", in.program_bytes},      {"tokenizer", in.other_bytes},
                  {"tables", in.table_bytes},         {"dense weights", in.dense_bytes},
                  {"sequence state", in.state_bytes}, {"scratch", scratch},
                  {"staging", in.staging_bytes},      {"scan ring", ring_bytes},
                  {"expert slots", slot_bytes}};
    std::erase_if(plan.parts, [](const PlanPart& part) { return part.bytes == 0; });
    for (const PlanPart& part : plan.parts) plan.total_bytes += part.bytes;
    plan.everything_bytes = fixed.bytes + fixed.slots_all +
                            in.scratch_bytes(in.slice_rows != 0 ? in.slice_rows : kFullSpeedRows);
    if (fits) return out;
    return fail(ErrorKind::out_of_budget,
                fmt::format("{} budget of {} is too small for this model with a context of {}: the "
                            "smallest that works is "
                            "{} ({}). Use --ram {}M or a smaller --ctx",
                            plan.budget_automatic ? "the automatic" : "the",
                            format_bytes(plan.budget_bytes), in.context,
                            format_bytes(plan.smallest_budget_bytes), parts_text(plan),
                            ceil_div(plan.smallest_budget_bytes, kMiB)));
}

}  // namespace colibri

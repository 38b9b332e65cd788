// The memory plan: one computation that `coli info`, refusal messages and the running engine share.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace colibri {

struct PlanPart {
    std::string name;  // "dense weights", "expert slots", "sequence state", ...
    uint64_t bytes = 0;
};

struct MemoryPlan {
    std::vector<PlanPart> parts;  // in printing order
    uint64_t total_bytes = 0;     // the process's peak resident set stays at or below this
    uint64_t budget_bytes = 0;    // what was allowed
    bool budget_automatic = false;
    uint64_t smallest_budget_bytes = 0;  // the least that works with this context
    uint64_t everything_bytes = 0;       // with which no expert is ever read twice
    uint32_t context = 0;                // positions the state is sized for
    uint32_t context_max = 0;            // of the model
    uint32_t slice_rows = 0;             // prefill rows per layer pass
    uint32_t expert_slots = 0, expert_count = 0;
    // Of a decode step, without the draft layer. Sizes are means over the model's experts.
    uint64_t experts_per_token = 0;
    uint64_t expert_read_bytes = 0, expert_slot_bytes = 0;
    uint64_t dense_bytes_per_token = 0;  // resident weights that it multiplies
    std::string reader;                  // how experts are read: "uring, direct"
};

struct PlanSlotClass {
    uint64_t slot_bytes = 0;
    uint32_t experts = 0;  // of this size in the model
};

// Everything that decides the plan. Sizes in bytes.
struct PlanInputs {
    uint64_t budget_bytes = 0;  // 0: automatic, from the two facts below
    std::optional<uint64_t> available_bytes;
    std::optional<uint64_t> total_bytes;
    uint64_t program_bytes = 0;  // code, libraries, allocator, thread stacks
    uint64_t table_bytes = 0;    // names, extents, resident scales
    uint64_t other_bytes = 0;    // tokenizer, sampler
    uint64_t dense_bytes = 0;
    uint64_t state_bytes = 0;
    uint64_t staging_bytes = 0;  // of the store
    uint32_t context = 0;
    uint32_t slice_rows = 0;      // 0: chosen here
    uint32_t ring_slots = 2;      // at least
    uint32_t ring_slots_max = 2;  // where there is memory to spare
    std::function<uint64_t(uint32_t rows)> scratch_bytes;
    std::vector<PlanSlotClass> classes;
};

// Slots per class, in the order of PlanInputs::classes, beside the plan.
struct PlannedSlots {
    MemoryPlan plan;
    std::vector<uint32_t> slots;
    uint32_t ring_slots = 0;
};

// Cache slots that every class gets at least: with the ring's two it lets any layer run.
inline constexpr uint32_t kSlotsMin = 2;

// Errors: out_of_budget with the parts and the smallest budget that works.
[[nodiscard]] Result<PlannedSlots> plan_memory(const PlanInputs& inputs);

// What is left to the rest of the machine when the budget is automatic.
[[nodiscard]] uint64_t automatic_reserve_bytes(uint64_t available_bytes);

}  // namespace colibri

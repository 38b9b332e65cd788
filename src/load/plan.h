// The memory plan: one computation that `coli info`, refusal messages and the running engine share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace colibri {

struct PlanPart {
    std::string name;        // "dense weights", "expert slots", "sequence state", ...
    uint64_t bytes = 0;
};

struct MemoryPlan {
    std::vector<PlanPart> parts;         // in printing order
    uint64_t total_bytes = 0;            // the process's peak resident set stays at or below this
    uint64_t budget_bytes = 0;           // what was allowed
    bool budget_automatic = false;
    uint64_t smallest_budget_bytes = 0;  // the least that works with this context
    uint64_t everything_bytes = 0;       // with which no expert is ever read twice
    uint32_t context = 0;                // positions the state is sized for
    uint32_t slice_rows = 0;             // prefill rows per layer pass
    uint32_t expert_slots = 0, expert_count = 0;
};

}  // namespace colibri

// What a recorded history, or a list of routes, does to a cache: without threads, bytes or time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "store/expert_store.h"
#include "store/placement.h"

namespace colibri {

struct ReplayResult {
    uint64_t hits = 0, misses = 0, evictions = 0;
    // The whole history again: what the store was told, and what it decides when told that.
    std::vector<StoreEvent> events;
    // Of each expert, in the order of the shape's ids; of replay_routes() only.
    std::vector<uint64_t> misses_of;
};

// Feeds the log's inputs (open, ask, land, fail, take, release, cancel, close, warm, guess, resize)
// to a fresh placement of this shape. The log must begin with the store's first stream. Errors:
// invalid_input, naming the event, when the log cannot have come from a store of this shape.
[[nodiscard]] Result<ReplayResult> replay(std::span<const StoreEvent> log, PlacementShape shape,
                                          const PolicyFactory& make_policy);

// Runs decode steps with these sets of experts (ids in any order, unique in a set) through a cache
// of this shape; every step takes and releases its experts one by one. `events` stays empty.
// Errors: invalid_input for an id that the shape does not have.
[[nodiscard]] Result<ReplayResult> replay_routes(std::span<const std::vector<ExpertId>> sets,
                                                 PlacementShape shape,
                                                 const PolicyFactory& make_policy);

}  // namespace colibri

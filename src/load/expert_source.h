// Routed experts for the store: where their bytes lie, and the landing function that turns them
// into slots.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/error.h"
#include "format/checkpoint.h"
#include "load/bind.h"
#include "store/expert_store.h"

namespace colibri {

// Scale tensors smaller than this stay resident instead of being read with their expert.
inline constexpr uint64_t kResidentScaleBytes = 64 * 1024;

struct ExpertSources {
    std::vector<ExpertSource> sources;                                  // for StoreConfig::experts
    LandingFunction landing;                                            // keeps what it needs alive
    std::function<std::unique_ptr<ArrivalCheck>()> make_arrival_check;  // so does this
    uint64_t resident_bytes = 0;  // scales and tables kept in memory
};

// Bytes that the resident scales and tables of these layers will take, without reading them.
[[nodiscard]] uint64_t expert_source_bytes(const std::vector<ExpertLayer>& layers);

// Reads the small scales unless `sizes_only` (then the landing function must not be called).
// Errors: io, corrupt (not finite), naming file and tensor.
[[nodiscard]] Result<ExpertSources> make_expert_sources(const Checkpoint& checkpoint,
                                                        std::vector<ExpertLayer> layers,
                                                        bool sizes_only = false);

}  // namespace colibri

// Which positions each row of a slice attends to; made by the layer that owns an indexer, used by
// the layers that share it.
#pragma once

#include <cstdint>

namespace colibri {

struct SelectionSet {
    uint32_t* positions = nullptr;  // [rows][stride], ascending
    uint32_t* counts = nullptr;     // [rows]; kEverything: all positions up to the row's own
    uint32_t stride = 0;            // index_topk

    static constexpr uint32_t kEverything = 0xFFFFFFFF;

    [[nodiscard]] uint32_t* row(uint32_t index) const {
        return positions + uint64_t(index) * stride;
    }
};

}  // namespace colibri

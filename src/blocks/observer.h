// Someone who looks at what matrices are multiplied with: calibration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/kernels.h"

namespace colibri {

// Called by the thread that runs the pass, before the product. Rows are [row_count][columns].
class InputObserver {
public:
    // At load: the resident matrix at `data` is this tensor of the checkpoint.
    virtual void resident(const std::byte* data, std::string_view tensor) = 0;
    // The input of a resident matrix.
    virtual void input(const std::byte* data, FloatRows rows, uint32_t row_count,
                       uint32_t columns) = 0;
    // Of a routed expert: the input of gate and up, or of down.
    virtual void expert_input(uint32_t layer, uint32_t expert, bool down, FloatRows rows,
                              uint32_t row_count, uint32_t columns) = 0;

protected:
    ~InputObserver() = default;
};

}  // namespace colibri

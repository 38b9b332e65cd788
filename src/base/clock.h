// Time for statistics; nothing in the engine's answers depends on it.
#pragma once

#include <chrono>
#include <cstdint>

namespace colibri {

[[nodiscard]] inline uint64_t now_us() {
    return uint64_t(std::chrono::duration_cast<std::chrono::microseconds>(
                        std::chrono::steady_clock::now().time_since_epoch())
                        .count());
}

}  // namespace colibri

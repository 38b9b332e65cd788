// How fast this machine reads memory when it does nothing else.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/thread_pool.h"

namespace colibri::bench {

// One way to read: vector width, how many places at once, software prefetch.
struct ReadLoop {
    std::string name;
    uint64_t (*read)(const std::byte* data, uint64_t size_bytes) = nullptr;
};

// The loop that reads `data` fastest here with all threads of the pool (a short contest).
[[nodiscard]] ReadLoop fastest_read_loop(ThreadPool& pool, std::span<const std::byte> data);

// Bytes per second of whole passes over `data`, each thread reading its own part, for about
// `seconds`.
[[nodiscard]] double read_rate(ThreadPool& pool, std::span<const std::byte> data,
                               const ReadLoop& loop, double seconds);

// Monotonic, for rates.
[[nodiscard]] double now_seconds();

}  // namespace colibri::bench

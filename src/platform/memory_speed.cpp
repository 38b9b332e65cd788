#include "platform/memory_speed.h"

#include <atomic>
#include <cstring>

#include "base/aligned_buffer.h"
#include "base/clock.h"
#include "base/thread_pool.h"
#include "base/units.h"

namespace colibri {

namespace {

constexpr uint64_t kMemoryBytes = 256 * kMiB;  // beyond the caches
constexpr uint64_t kMemoryMeasure_us = 200'000;

}  // namespace

Result<double> measure_memory_speed(uint32_t threads) {
    TRY(const AlignedBuffer buffer, AlignedBuffer::allocate(kMemoryBytes));
    std::memset(buffer.data(), 1, kMemoryBytes);
    TRY(const auto pool, ThreadPool::create(threads));
    std::atomic<uint64_t> sink{0};
    std::atomic<uint64_t> done{0};
    const uint64_t begin_us = now_us();
    pool->run([&](uint32_t member, uint32_t members) {
        const uint64_t words = kMemoryBytes / sizeof(uint64_t) / members;
        const uint64_t* mine = buffer.as<uint64_t>() + member * words;
        while (now_us() - begin_us < kMemoryMeasure_us) {
            uint64_t any[8] = {};
            for (uint64_t i = 0; i + 8 <= words; i += 8)
                for (uint64_t lane = 0; lane < 8; ++lane) any[lane] |= mine[i + lane];
            for (const uint64_t word : any) sink.fetch_or(word);
            done.fetch_add(words * sizeof(uint64_t));
        }
    });
    return double(done.load()) * 1e6 / double(now_us() - begin_us);
}

}  // namespace colibri

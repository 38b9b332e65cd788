#include "base/thread_pool.h"

#include <algorithm>

#include "base/check.h"
#include "base/threads.h"
#include "base/units.h"

namespace colibri {

namespace {

// About 50 us on the machines this was measured on: longer than the gap between two regions of a
// decode step, far shorter than a disk read.
constexpr uint32_t kSpins = 4000;

inline void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace

Result<std::unique_ptr<ThreadPool>> ThreadPool::create(uint32_t thread_count) {
    std::unique_ptr<ThreadPool> pool(new ThreadPool(std::max(1U, thread_count)));
    TRY_STATUS(start_threads(pool->members_, pool->thread_count_ - 1, "compute thread",
                             [team = pool.get()] { team->member_loop(); }));
    return pool;
}

ThreadPool::~ThreadPool() {
    stop_.store(true);
    generation_.fetch_add(1);
    generation_.notify_all();
}

void ThreadPool::member_loop() {
    uint32_t seen = 0;
    while (true) {
        uint32_t now = generation_.load(std::memory_order_acquire);
        for (uint32_t spin = 0; now == seen && spin < kSpins; ++spin) {
            relax();
            now = generation_.load(std::memory_order_acquire);
        }
        while (now == seen) {
            generation_.wait(seen);
            now = generation_.load(std::memory_order_acquire);
        }
        seen = now;
        if (stop_.load()) return;
        work_off();
    }
}

// Claims parts and runs them until none is left. Between reading the ticket and the exchange the
// region may end and another begin: then the exchange fails, for the ticket names its generation.
void ThreadPool::work_off() {
    uint64_t ticket = ticket_.load(std::memory_order_acquire);
    while (uint32_t(ticket) != 0) {
        const Work* work = work_.load(std::memory_order_relaxed);
        const uint32_t parts = parts_.load(std::memory_order_relaxed);
        if (!ticket_.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel,
                                           std::memory_order_acquire))
            continue;
        (*work)(parts - uint32_t(ticket), parts);
        if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_one();
        ticket = ticket_.load(std::memory_order_acquire);
    }
}

void ThreadPool::run_parts(uint32_t parts, const Work& work) {
    CHECK(unfinished_.load() == 0);
    work_.store(&work, std::memory_order_relaxed);
    parts_.store(parts, std::memory_order_relaxed);
    unfinished_.store(parts, std::memory_order_relaxed);
    const uint32_t generation = generation_.load(std::memory_order_relaxed) + 1;
    ticket_.store(uint64_t(generation) << 32 | parts, std::memory_order_release);
    generation_.store(generation, std::memory_order_release);
    generation_.notify_all();
    work_off();
    uint32_t left = unfinished_.load(std::memory_order_acquire);
    for (uint32_t spin = 0; left != 0 && spin < kSpins; ++spin) {
        relax();
        left = unfinished_.load(std::memory_order_acquire);
    }
    while (left != 0) {
        unfinished_.wait(left);
        left = unfinished_.load(std::memory_order_acquire);
    }
}

void ThreadPool::run(Work work) {
    if (thread_count_ == 1) return work(0, 1);
    run_parts(thread_count_, work);
}

void ThreadPool::split(uint32_t count, uint32_t grain, Work work) {
    const uint32_t units = ceil_div(count, grain);
    if (thread_count_ == 1 || units <= 1) {
        if (count > 0) work(0, count);
        return;
    }
    run_parts(std::min(units, thread_count_ * kPartsPerMember), [&](uint32_t part, uint32_t parts) {
        const auto begin = uint32_t(uint64_t(units) * part / parts) * grain;
        const auto end = std::min(count, uint32_t(uint64_t(units) * (part + 1) / parts) * grain);
        work(begin, end);
    });
}

}  // namespace colibri

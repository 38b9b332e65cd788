#include "base/thread_pool.h"

#include <algorithm>

#include "base/check.h"
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

ThreadPool::ThreadPool(uint32_t thread_count) : thread_count_(std::max(1U, thread_count)) {
    members_.reserve(thread_count_ - 1);
    for (uint32_t member = 1; member < thread_count_; ++member)
        members_.emplace_back([this, member] { member_loop(member); });
}

ThreadPool::~ThreadPool() {
    stop_.store(true);
    generation_.fetch_add(1);
    generation_.notify_all();
}

void ThreadPool::member_loop(uint32_t member) {
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
        (*work_)(member, thread_count_);
        if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_one();
    }
}

void ThreadPool::run(FunctionRef<void(uint32_t, uint32_t)> work) {
    if (thread_count_ == 1) return work(0, 1);
    CHECK(running_.load() == 0);
    work_ = &work;
    running_.store(thread_count_ - 1, std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
    work(0, thread_count_);
    uint32_t left = running_.load(std::memory_order_acquire);
    for (uint32_t spin = 0; left != 0 && spin < kSpins; ++spin) {
        relax();
        left = running_.load(std::memory_order_acquire);
    }
    while (left != 0) {
        running_.wait(left);
        left = running_.load(std::memory_order_acquire);
    }
}

void ThreadPool::split(uint32_t count, uint32_t grain, FunctionRef<void(uint32_t, uint32_t)> work) {
    const uint32_t units = ceil_div(count, grain);
    if (thread_count_ == 1 || units <= 1) {
        if (count > 0) work(0, count);
        return;
    }
    run([&](uint32_t member, uint32_t members) {
        const auto begin = uint32_t(uint64_t(units) * member / members) * grain;
        const auto end =
            std::min(count, uint32_t(uint64_t(units) * (member + 1) / members) * grain);
        if (begin < end) work(begin, end);
    });
}

}  // namespace colibri

// A team of threads for kernels. Work is cut the same way every time; which member computes a part
// is left to chance, so no result may depend on it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/function_ref.h"

namespace colibri {

// The caller is a member and works too. One region at a time, always started by the same thread; a
// region may not start another. Members claim parts one by one: who has lost its core for a moment
// (to a reader, to another program) is waited for only if it holds a part. Idle members spin
// briefly (a decode step has hundreds of short regions), then sleep.
class ThreadPool {
public:
    // The parts per member into which `split` cuts: more of them balance better, and each costs a
    // claim.
    static constexpr uint32_t kPartsPerMember = 4;

    // 0 threads count as 1. Errors: out_of_budget where the system refuses a thread.
    [[nodiscard]] static Result<std::unique_ptr<ThreadPool>> create(uint32_t thread_count);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    [[nodiscard]] uint32_t thread_count() const { return thread_count_; }

    // Runs work(part, thread_count) once for every part in [0, thread_count) and returns when all
    // are done. At most one thread is in a part, so a part may own scratch memory; one thread may
    // run several. `work` must not throw.
    void run(FunctionRef<void(uint32_t, uint32_t)> work);

    // Cuts [0, count) into at most thread_count * kPartsPerMember contiguous parts, in multiples of
    // `grain`, and runs work(begin, end) on each.
    void split(uint32_t count, uint32_t grain, FunctionRef<void(uint32_t, uint32_t)> work);

private:
    using Work = FunctionRef<void(uint32_t, uint32_t)>;

    explicit ThreadPool(uint32_t thread_count) : thread_count_(thread_count) {}
    void run_parts(uint32_t parts, const Work& work);
    void member_loop();
    void work_off();

    uint32_t thread_count_;
    std::atomic<uint32_t> generation_{0};  // of the region; what members sleep on
    // Generation in the upper half, parts that nobody has claimed yet in the lower. A claim that
    // succeeds proves that the region is still the one whose work and part count were read.
    std::atomic<uint64_t> ticket_{0};
    std::atomic<uint32_t> unfinished_{0};  // parts
    std::atomic<uint32_t> parts_{0};
    std::atomic<const Work*> work_{nullptr};
    std::atomic<bool> stop_{false};
    std::vector<std::jthread> members_;
};

}  // namespace colibri

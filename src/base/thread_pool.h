// A team of threads for kernels: static partition, so that results never depend on scheduling.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "base/function_ref.h"

namespace colibri {

// The caller is member 0 and works too. One region at a time, always started by the same thread; a
// region may not start another. Idle members spin briefly (a decode step has hundreds of short
// regions), then sleep.
class ThreadPool {
public:
    explicit ThreadPool(uint32_t thread_count);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    [[nodiscard]] uint32_t thread_count() const { return thread_count_; }

    // Runs work(member, thread_count) once on every member and returns when all are done. `work`
    // must not throw.
    void run(FunctionRef<void(uint32_t, uint32_t)> work);

    // Cuts [0, count) into thread_count contiguous parts, in multiples of `grain`, and runs
    // work(begin, end) on the parts that are not empty.
    void split(uint32_t count, uint32_t grain, FunctionRef<void(uint32_t, uint32_t)> work);

private:
    void member_loop(uint32_t member);

    uint32_t thread_count_;
    std::atomic<uint32_t> generation_{0};
    std::atomic<uint32_t> running_{0};
    std::atomic<bool> stop_{false};
    const FunctionRef<void(uint32_t, uint32_t)>* work_ = nullptr;
    std::vector<std::jthread> members_;
};

}  // namespace colibri

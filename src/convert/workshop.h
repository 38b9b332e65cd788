// The threads of a conversion: units are produced by a team and handed over in order.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/error.h"
#include "convert/produce.h"

namespace colibri {

// One thread takes, a team produces. What was claimed and not taken back by done() stays
// within the window, or is a single unit.
class Workshop {
public:
    // `units`: indices into plan.units, in the order in which they are wanted. All must outlive it.
    Workshop(const Checkpoint& checkpoint, const ConvertPlan& plan, const Producer& producer,
             std::vector<uint32_t> units, uint64_t window_bytes);
    ~Workshop();
    Workshop(const Workshop&) = delete;
    Workshop& operator=(const Workshop&) = delete;

    // Once, before the first take(). Errors: out_of_budget where the system refuses a thread.
    [[nodiscard]] Status start(uint32_t threads);
    // The next unit's result, waiting for it. Call once for each unit.
    [[nodiscard]] Result<Produced> take();
    // The result last taken is no longer in memory.
    void done();
    [[nodiscard]] uint64_t busy_us() const;

private:
    void worker();
    [[nodiscard]] uint64_t cost(size_t at) const {
        const ConvertUnit& unit = plan_.units[units_[at]];
        return unit.in_bytes + unit.out_bytes;
    }
    void prefetch(size_t from);

    const Checkpoint& checkpoint_;
    const ConvertPlan& plan_;
    const Producer& producer_;
    const std::vector<uint32_t> units_;
    const uint64_t window_bytes_;

    mutable std::mutex mutex_;
    std::condition_variable room_, ready_;
    std::vector<std::optional<Result<Produced>>> results_;
    size_t claimed_ = 0, taken_ = 0, prefetched_ = 0;
    uint64_t held_bytes_ = 0, busy_us_ = 0;
    bool stop_ = false;
    std::vector<std::jthread> threads_;
};

}  // namespace colibri

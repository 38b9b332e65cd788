#include "platform/scheduling.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>
#include <thread>

#include "platform/thread_slice.h"

namespace colibri {
namespace {

constexpr uint64_t kShortSliceNs = 100'000;

// Goal: a thread that asks has the shortest slice where the system knows slices and lets it choose,
// and is treated as before in everything else.
// Method: a thread with a nice value of its own before and after; the one that did not ask.
TEST(Scheduling, ShortSlicesChangeNothingElse) {
    const ThreadTreatment mine = this_thread_treatment();
    ThreadTreatment before, after;
    std::thread([&] {
        (void)::setpriority(PRIO_PROCESS, 0, std::min(19, mine.nice + 1));
        before = this_thread_treatment();
        prefer_short_slices();
        after = this_thread_treatment();
    }).join();
    const bool choosable = before.known && before.policy == 0 && before.slice_ns != 0;
    ThreadTreatment expected = before;
    if (choosable) expected.slice_ns = kShortSliceNs;
    EXPECT_EQ(after, expected);
    EXPECT_EQ(this_thread_treatment(), mine);
}

}  // namespace
}  // namespace colibri

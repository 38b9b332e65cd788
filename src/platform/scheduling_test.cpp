#include "platform/scheduling.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <thread>

namespace colibri {
namespace {

struct Treatment {
    uint32_t policy = 0;
    int32_t nice = 0;
    uint64_t slice_ns = 0;  // 0 before Linux 6.12
};

Treatment of_this_thread() {
    std::array<uint64_t, 6> raw{};  // struct sched_attr, first version
    EXPECT_EQ(::syscall(SYS_sched_getattr, 0, raw.data(), sizeof raw, 0), 0);
    Treatment now{.policy = uint32_t(raw[0] >> 32), .slice_ns = raw[3]};
    std::memcpy(&now.nice, &raw[2], sizeof now.nice);
    return now;
}

// Goal: a thread that asked has the shortest slice where the system has such a thing, and is
// treated as before in everything else.
// Method: what the system says of a thread before and after; of another one that did not ask.
TEST(Scheduling, ShortSlicesChangeNothingElse) {
    Treatment before, after;
    std::thread([&] {
        EXPECT_EQ(::setpriority(PRIO_PROCESS, 0, 5), 0);
        before = of_this_thread();
        prefer_short_slices();
        after = of_this_thread();
    }).join();
    EXPECT_EQ(after.policy, before.policy);
    EXPECT_EQ(before.nice, 5);
    EXPECT_EQ(after.nice, 5);
    EXPECT_EQ(after.slice_ns, before.slice_ns == 0 ? 0 : 100'000U);
    EXPECT_NE(of_this_thread().nice, 5);
}

}  // namespace
}  // namespace colibri

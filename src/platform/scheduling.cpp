#include "platform/scheduling.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace colibri {

namespace {

// The kernel's struct sched_attr, first version (linux/sched/types.h clashes with sched.h).
struct SchedAttributes {
    uint32_t size_bytes = sizeof(SchedAttributes);
    uint32_t policy = 0;  // SCHED_OTHER
    uint64_t flags = 0;
    int32_t nice = 0;
    uint32_t priority = 0;
    uint64_t runtime_ns = 0;  // of SCHED_OTHER: the slice
    uint64_t deadline_ns = 0;
    uint64_t period_ns = 0;
};
static_assert(sizeof(SchedAttributes) == 48);

constexpr uint64_t kShortestSliceNs = 100'000;  // that the kernel grants

}  // namespace

void prefer_short_slices() {
#ifdef SYS_sched_setattr
    SchedAttributes attributes;
    if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
    if (attributes.policy != 0) return;  // somebody has chosen another treatment
    attributes.size_bytes = sizeof attributes;
    attributes.runtime_ns = kShortestSliceNs;
    (void)::syscall(SYS_sched_setattr, 0, &attributes, 0);
#endif
}

}  // namespace colibri

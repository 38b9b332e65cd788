// For tests: what a thread's time slice is, and what it becomes for one that asks for a short one.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <thread>

#include "platform/scheduling.h"

namespace colibri {

struct ThreadTreatment {
    bool known = false;  // a sandbox may keep it secret
    uint32_t policy = 0;
    int32_t nice = 0;
    uint64_t slice_ns = 0;  // 0 before Linux 6.12
    friend bool operator==(const ThreadTreatment&, const ThreadTreatment&) = default;
};

inline ThreadTreatment this_thread_treatment() {
    std::array<uint64_t, 6> raw{};  // struct sched_attr, first version
    ThreadTreatment now;
    now.known = ::syscall(SYS_sched_getattr, 0, raw.data(), sizeof raw, 0) == 0;
    now.policy = uint32_t(raw[0] >> 32);
    std::memcpy(&now.nice, &raw[2], sizeof now.nice);
    now.slice_ns = raw[3];
    return now;
}

// Of a fresh thread that has called prefer_short_slices().
inline ThreadTreatment treatment_with_short_slices() {
    ThreadTreatment treatment;
    std::thread([&] {
        prefer_short_slices();
        treatment = this_thread_treatment();
    }).join();
    return treatment;
}

}  // namespace colibri

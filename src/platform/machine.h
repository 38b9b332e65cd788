// What this machine has: memory that is really free (cgroup limits included), cores that may be
// used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"

namespace colibri {

// Where facts are read from; tests point `root` at a fake tree holding proc/ and sys/.
struct MachineProbe {
    std::string root = "/";
};

struct MemoryFacts {
    // Absent when it could not be found out; never 0 by mistake.
    std::optional<uint64_t> total_bytes;
    std::optional<uint64_t>
        available_bytes;  // min over MemAvailable and what each enclosing cgroup (v1 or v2) leaves
    std::optional<uint64_t> cgroup_limit_bytes;  // the tightest limit, when there is one
};

[[nodiscard]] MemoryFacts memory_facts(const MachineProbe& probe = {});

// Physical cores among the CPUs this process may run on (affinity mask and cgroup quota respected),
// at least 1.
[[nodiscard]] uint32_t usable_cores(const MachineProbe& probe = {});

// Peak resident set (VmHWM) and the present one (VmRSS) of this process, in bytes; 0 when unknown.
[[nodiscard]] uint64_t peak_resident_bytes();
[[nodiscard]] uint64_t resident_bytes();

// Bytes that drives have delivered for this process so far, read-ahead included, page cache
// excluded; 0 when the system does not say.
[[nodiscard]] uint64_t device_read_bytes();

// "AMD EPYC ...", for benchmark records.
[[nodiscard]] std::string cpu_model(const MachineProbe& probe = {});

}  // namespace colibri

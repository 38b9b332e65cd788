#include "platform/machine.h"

#include <gtest/gtest.h>

#include "base/units.h"
#include "platform/test_tree.h"

namespace colibri {
namespace {

constexpr std::string_view kMemInfo =
    "MemTotal:       33554432 kB\nMemFree:         4194304 kB\nMemAvailable:   16777216 kB\n"
    "Buffers:          524288 kB\nCached:          8388608 kB\nShmem:           1048576 kB\n";
constexpr std::string_view kMounts =
    "25 1 0:22 / /proc rw - proc proc rw\n"
    "30 1 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr std::string_view kMountsV1 =
    "30 1 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
    "31 30 0:27 /docker/ab /sys/fs/cgroup/memory ro shared:9 - cgroup cgroup rw,memory\n"
    "32 30 0:28 /docker/ab /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n";

// 32 GiB machine with 16 GiB available and cgroup v2 mounted.
struct FakeMachine : TestTree {
    FakeMachine() {
        write("proc/meminfo", kMemInfo);
        write("proc/self/mountinfo", kMounts);
    }
    [[nodiscard]] MemoryFacts memory() const { return memory_facts({.root = root()}); }
    [[nodiscard]] uint32_t cores() const { return usable_cores({.root = root()}); }
    void cpu(uint32_t index, uint32_t package, uint32_t core) const {
        const std::string folder =
            "sys/devices/system/cpu/cpu" + std::to_string(index) + "/topology/";
        write(folder + "core_id", std::to_string(core) + "\n");
        write(folder + "physical_package_id", std::to_string(package) + "\n");
    }
    void allow(std::string_view list) const {
        write("proc/self/status", "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t" +
                                      std::string(list) + "\nMems_allowed:\t1\n");
    }
};

TEST(MemoryFacts, PlainHostReportsTheKernelsEstimate) {
    // Goal: without control groups the facts are MemTotal and MemAvailable.
    // Method: a meminfo of 32 GiB with 16 GiB available.
    const FakeMachine machine;
    const MemoryFacts facts = machine.memory();
    EXPECT_EQ(facts.total_bytes, 32 * kGiB);
    EXPECT_EQ(facts.available_bytes, 16 * kGiB);
    EXPECT_FALSE(facts.cgroup_limit_bytes);
}

TEST(MemoryFacts, BrokenProbesAreAbsentNeverZero) {
    // Goal: a missing, zero, negative or malformed figure is "unknown"; a missing estimate is
    // rebuilt. Method: one broken meminfo after another.
    const FakeMachine machine;
    struct Case {
        std::string_view text;
        std::optional<uint64_t> total, available;
    };
    const Case cases[] = {
        {"", std::nullopt, std::nullopt},
        {"MemTotal: 0 kB\nMemAvailable: 0 kB\n", std::nullopt, std::nullopt},
        {"MemTotal: -5 kB\nMemAvailable: -5 kB\n", std::nullopt, std::nullopt},
        {"MemTotal: 1048576\nMemAvailable: lots kB\n", std::nullopt, std::nullopt},
        {"MemTotal: 99999999999999999999999 kB\n", std::nullopt, std::nullopt},
        {"MemTotal: 1048576 kB\nMemAvailable: 2097152 kB\n", kGiB, kGiB},
        {"MemTotal: 4194304 kB\nMemFree: 1048576 kB\nCached: 2097152 kB\nShmem: 1048576 kB\n",
         4 * kGiB, 2 * kGiB},
    };
    for (const Case& c : cases) {
        machine.write("proc/meminfo", c.text);
        EXPECT_EQ(machine.memory().total_bytes, c.total) << c.text;
        EXPECT_EQ(machine.memory().available_bytes, c.available) << c.text;
    }
    const TestTree empty;
    const MemoryFacts none = memory_facts({.root = empty.root()});
    EXPECT_FALSE(none.total_bytes || none.available_bytes || none.cgroup_limit_bytes);
}

TEST(MemoryFacts, NestedV2GroupsTheTightestLeavesWhatItLeaves) {
    // Goal: every enclosing group counts, page cache counts as left, and `max` is no limit.
    // Method: leaf `max`, parent 8 GiB of which 6 are used and 1 is cache, grandparent 12 GiB.
    const FakeMachine machine;
    machine.write("proc/self/cgroup", "0::/a/b/c\n");
    machine.write("sys/fs/cgroup/a/b/c/memory.max", "max\n");
    machine.write("sys/fs/cgroup/a/b/memory.max", "8589934592\n");
    machine.write("sys/fs/cgroup/a/b/memory.current", "6442450944\n");
    machine.write("sys/fs/cgroup/a/b/memory.stat",
                  "anon 5368709120\nfile 1073741824\ninactive_file 805306368\nactive_file "
                  "268435456\n");
    machine.write("sys/fs/cgroup/a/memory.max", "12884901888\n");
    const MemoryFacts facts = machine.memory();
    EXPECT_EQ(facts.cgroup_limit_bytes, 8 * kGiB);
    EXPECT_EQ(facts.available_bytes, 3 * kGiB);
    EXPECT_EQ(facts.total_bytes, 32 * kGiB);
}

TEST(MemoryFacts, V2HighIsALimitToo) {
    // Goal: memory.high below memory.max bounds the budget.
    // Method: high 2 GiB, max 4 GiB, 1 GiB used.
    const FakeMachine machine;
    machine.write("proc/self/cgroup", "0::/\n");
    machine.write("sys/fs/cgroup/memory.max", "4294967296\n");
    machine.write("sys/fs/cgroup/memory.high", "2147483648\n");
    machine.write("sys/fs/cgroup/memory.current", "1073741824\n");
    EXPECT_EQ(machine.memory().cgroup_limit_bytes, 2 * kGiB);
    EXPECT_EQ(machine.memory().available_bytes, kGiB);
}

TEST(MemoryFacts, V1LimitBelowAMountedSubtree) {
    // Goal: a v1 container whose cgroup path names the host's tree finds its limit at the mount.
    // Method: mount root /docker/ab, group /docker/ab; then the unlimited sentinel.
    const FakeMachine machine;
    machine.write("proc/self/mountinfo", kMountsV1);
    machine.write("proc/self/cgroup", "4:memory:/docker/ab\n3:cpu,cpuacct:/docker/ab\n0::/\n");
    machine.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n");
    machine.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "1610612736\n");
    machine.write("sys/fs/cgroup/memory/memory.stat",
                  "inactive_file 1\ntotal_inactive_file 536870912\ntotal_active_file 0\n");
    EXPECT_EQ(machine.memory().cgroup_limit_bytes, 2 * kGiB);
    EXPECT_EQ(machine.memory().available_bytes, kGiB);
    machine.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    EXPECT_FALSE(machine.memory().cgroup_limit_bytes);
    EXPECT_EQ(machine.memory().available_bytes, 16 * kGiB);
}

TEST(MemoryFacts, MalformedGroupFilesAreIgnored) {
    // Goal: garbage in a group's files neither crashes nor makes a limit of 0.
    // Method: several malformed limits and group tables against a sane meminfo.
    const FakeMachine machine;
    machine.write("proc/self/cgroup", "0::/a\n");
    for (const std::string_view text : {"", "\n", "0\n", "-1\n", "12 monkeys\n", "1e9\n",
                                        "18446744073709551616\n", "18446744073709551615\n"}) {
        machine.write("sys/fs/cgroup/a/memory.max", text);
        EXPECT_FALSE(machine.memory().cgroup_limit_bytes) << text;
        EXPECT_EQ(machine.memory().available_bytes, 16 * kGiB) << text;
    }
    machine.write("sys/fs/cgroup/a/memory.max", "1073741824\n");
    for (const std::string_view table : {"", ":", "::", "0:", "x\n\n", "0::/../../a\n"}) {
        machine.write("proc/self/cgroup", table);
        EXPECT_FALSE(machine.memory().cgroup_limit_bytes) << table;
    }
}

TEST(MemoryFacts, MoreUsedThanTheLimitLeavesNothing) {
    // Goal: a full group leaves 0 bytes, which is a true 0, and no wrap to a huge number.
    // Method: usage above the limit.
    const FakeMachine machine;
    machine.write("proc/self/cgroup", "0::/\n");
    machine.write("sys/fs/cgroup/memory.max", "1073741824\n");
    machine.write("sys/fs/cgroup/memory.current", "2147483648\n");
    EXPECT_EQ(machine.memory().available_bytes, 0U);
}

TEST(UsableCores, SiblingThreadsCountOnce) {
    // Goal: the default team is one thread per physical core.
    // Method: 4 cores with two threads each, siblings adjacent, then siblings far apart, on two
    // packages.
    const FakeMachine machine;
    machine.allow("0-7");
    for (uint32_t cpu = 0; cpu < 8; ++cpu) machine.cpu(cpu, 0, cpu / 2);
    EXPECT_EQ(machine.cores(), 4U);
    for (uint32_t cpu = 0; cpu < 8; ++cpu) machine.cpu(cpu, cpu % 2, cpu % 4 / 2);
    EXPECT_EQ(machine.cores(), 4U);
}

TEST(UsableCores, BigAndLittleCoresAllCount) {
    // Goal: a hybrid machine counts each core once, with and without sibling threads.
    // Method: 2 big cores with two threads, 4 little ones with one.
    const FakeMachine machine;
    machine.allow("0-7");
    for (uint32_t cpu = 0; cpu < 4; ++cpu) machine.cpu(cpu, 0, cpu / 2 * 4);
    for (uint32_t cpu = 4; cpu < 8; ++cpu) machine.cpu(cpu, 0, 32 + cpu);
    EXPECT_EQ(machine.cores(), 6U);
}

TEST(UsableCores, TheAffinityMaskIsRespected) {
    // Goal: an outer taskset bounds the team.
    // Method: 208 CPUs on two packages of 52 cores; the mask allows three CPUs, two of them
    // siblings.
    const FakeMachine machine;
    for (uint32_t cpu = 0; cpu < 208; ++cpu) machine.cpu(cpu, cpu / 52 % 2, cpu % 52);
    machine.allow("0-207");
    EXPECT_EQ(machine.cores(), 104U);
    machine.allow("3,7,107");
    EXPECT_EQ(machine.cores(), 2U);
}

TEST(UsableCores, QuotasRoundDownToWholeCoresAtLeastOne) {
    // Goal: a group's CPU quota bounds the team: threads beyond it would only be throttled.
    // Method: 8 cores; v2 quotas `max`, 2.5 cores, half a core, malformed; a tighter parent; a v1
    // quota.
    const FakeMachine machine;
    machine.allow("0-7");
    for (uint32_t cpu = 0; cpu < 8; ++cpu) machine.cpu(cpu, 0, cpu);
    machine.write("proc/self/cgroup", "0::/a\n");
    const std::pair<std::string_view, uint32_t> cases[] = {
        {"max 100000\n", 8}, {"250000 100000\n", 2}, {"50000 100000\n", 1},
        {"garbage\n", 8},    {"100000 0\n", 8},      {"1600000 100000\n", 8}};
    for (const auto& [text, expected] : cases) {
        machine.write("sys/fs/cgroup/a/cpu.max", text);
        EXPECT_EQ(machine.cores(), expected) << text;
    }
    machine.write("sys/fs/cgroup/cpu.max", "300000 100000\n");
    EXPECT_EQ(machine.cores(), 3U);
    machine.write("proc/self/mountinfo", kMountsV1);
    machine.write("proc/self/cgroup", "3:cpu,cpuacct:/docker/ab\n");
    machine.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "200000\n");
    machine.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(machine.cores(), 2U);
    machine.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    EXPECT_EQ(machine.cores(), 8U);
}

TEST(UsableCores, WithoutTopologyOrWithAHostileListThereIsAtLeastOne) {
    // Goal: missing or absurd tables never give 0 cores and never a giant loop.
    // Method: no topology files; lists that are empty, reversed or end at 2^32.
    const FakeMachine machine;
    machine.allow("0-3");
    EXPECT_EQ(machine.cores(), 4U);
    for (const std::string_view list : {"", "3-1", "0-4294967295", "a-b", ","}) {
        machine.allow(list);
        EXPECT_GE(machine.cores(), 1U) << list;
        EXPECT_LE(machine.cores(), 65536U) << list;
    }
}

TEST(ThisProcess, ResidentSizesArePlausible) {
    // Goal: the figures are bytes (not KiB or pages) of this process.
    // Method: touch 64 MiB and see the peak move to at least that, and the present set below the
    // peak.
    std::string touched(64 * kMiB, 'x');
    EXPECT_GE(peak_resident_bytes(), 64 * kMiB);
    EXPECT_LT(peak_resident_bytes(), 64 * kGiB);
    EXPECT_LE(resident_bytes(), peak_resident_bytes() + kMiB);
    EXPECT_EQ(touched.back(), 'x');
}

TEST(CpuModel, TakesTheNameOrSaysUnknown) {
    // Goal: benchmark records name the processor on x86 and ARM, and say so when it is not known.
    // Method: three cpuinfo texts.
    const TestTree tree;
    EXPECT_EQ(cpu_model({.root = tree.root()}), "unknown");
    tree.write("proc/cpuinfo", "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Foo CPU @ 2 GHz\n");
    EXPECT_EQ(cpu_model({.root = tree.root()}), "Foo CPU @ 2 GHz");
    tree.write("proc/cpuinfo", "processor\t: 0\nBogoMIPS\t: 1\nCPU implementer\t: 0x41\n");
    EXPECT_EQ(cpu_model({.root = tree.root()}), "0x41");
}

}  // namespace
}  // namespace colibri

#include "platform/machine.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"

namespace colibri {

namespace {

constexpr size_t kFactFileBytesMax = 1 << 20;
// v1 writes "no limit" as the largest multiple of the page size; anything this large is no limit.
constexpr uint64_t kUnlimitedBytes = uint64_t(1) << 60;

// Files below /proc and /sys report size 0 and are read to their end. Absent or unreadable:
// nothing.
std::optional<std::string> read_fact(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return std::nullopt;
    std::string text;
    char buffer[4096];
    ssize_t got = 0;
    while (text.size() < kFactFileBytesMax && (got = ::read(descriptor, buffer, sizeof buffer)) > 0)
        text.append(buffer, size_t(got));
    (void)::close(descriptor);
    if (got < 0) return std::nullopt;
    return text;
}

std::string_view trimmed(std::string_view text) {
    const size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

// A whole non-negative number and nothing else.
std::optional<uint64_t> number(std::string_view text) {
    text = trimmed(text);
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || text.empty())
        return std::nullopt;
    return value;
}

std::optional<uint64_t> number_in(const std::string& path) {
    const std::optional<std::string> text = read_fact(path);
    return text ? number(*text) : std::nullopt;
}

template <class Visit>
void for_each_line(std::string_view text, Visit&& visit) {
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        visit(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

// The rest of the line that starts with `key`.
std::optional<std::string_view> line_after(std::string_view text, std::string_view key) {
    std::optional<std::string_view> rest;
    for_each_line(text, [&](std::string_view line) {
        if (!rest && line.starts_with(key)) rest = trimmed(line.substr(key.size()));
    });
    return rest;
}

// "MemTotal:       24684084 kB"
std::optional<uint64_t> kib_line(std::string_view text, std::string_view key) {
    std::optional<std::string_view> rest = line_after(text, key);
    if (!rest || !rest->ends_with("kB")) return std::nullopt;
    const std::optional<uint64_t> value = number(rest->substr(0, rest->size() - 2));
    if (!value || *value > kUnlimitedBytes / kKiB) return std::nullopt;
    return *value * kKiB;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (true) {
        const size_t end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

bool lists(std::string_view comma_list, std::string_view word) {
    const std::vector<std::string_view> words = split(comma_list, ',');
    return std::find(words.begin(), words.end(), word) != words.end();
}

// ---- control groups
// ------------------------------------------------------------------------------------

// The directories of this process's group and of its ancestors, innermost first.
struct GroupDirectories {
    std::vector<std::string> v2;
    std::vector<std::string> v1;
};

std::vector<std::string> with_ancestors(const std::string& mount, std::string path) {
    std::vector<std::string> directories;
    while (path.size() > 1) {
        directories.push_back(mount + path);
        path.resize(path.rfind('/'));
    }
    directories.push_back(mount);
    return directories;
}

struct CgroupMount {
    std::string point, root;
};

// Where the hierarchy is mounted; `controller` empty means v2. Without a readable mountinfo: the
// usual places.
CgroupMount cgroup_mount(const MachineProbe& probe, std::string_view controller) {
    CgroupMount mount{
        controller.empty() ? "/sys/fs/cgroup" : "/sys/fs/cgroup/" + std::string(controller), "/"};
    const std::optional<std::string> table = read_fact(probe.root + "/proc/self/mountinfo");
    if (!table) return mount;
    bool found = false;
    for_each_line(*table, [&](std::string_view line) {
        const size_t dash = line.find(" - ");
        if (found || dash == std::string_view::npos) return;
        const std::vector<std::string_view> left = split(line.substr(0, dash), ' ');
        const std::vector<std::string_view> right = split(line.substr(dash + 3), ' ');
        if (left.size() < 5 || right.size() < 3) return;
        found = controller.empty() ? right[0] == "cgroup2"
                                   : right[0] == "cgroup" && lists(right[2], controller);
        if (found) mount = {std::string(left[4]), std::string(left[3])};
    });
    return mount;
}

// The group's path as seen below the mount: containers often mount only their own subtree.
std::string below_mount(const CgroupMount& mount, std::string_view group) {
    std::string_view path = group;
    if (mount.root != "/") {
        if (!path.starts_with(mount.root)) return "/";
        path.remove_prefix(mount.root.size());
    }
    if (path.find("/..") != std::string_view::npos) return "/";
    return path.empty() || path[0] != '/' ? "/" : std::string(path);
}

GroupDirectories group_directories(const MachineProbe& probe, std::string_view controller) {
    GroupDirectories directories;
    const std::optional<std::string> groups = read_fact(probe.root + "/proc/self/cgroup");
    if (!groups) return directories;
    for_each_line(*groups, [&](std::string_view line) {
        const size_t first = line.find(':');
        const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
        if (second == std::string_view::npos) return;
        const std::string_view controllers = line.substr(first + 1, second - first - 1);
        const std::string_view group = trimmed(line.substr(second + 1));
        const bool v2 = controllers.empty();
        if (!v2 && !lists(controllers, controller)) return;
        const CgroupMount mount = cgroup_mount(probe, v2 ? std::string_view{} : controller);
        std::vector<std::string>& into = v2 ? directories.v2 : directories.v1;
        into = with_ancestors(probe.root + mount.point, below_mount(mount, group));
    });
    return directories;
}

struct GroupMemory {
    std::optional<uint64_t> limit_bytes, left_bytes;
};

void tighten(std::optional<uint64_t>& bound, std::optional<uint64_t> value) {
    if (value && (!bound || *value < *bound)) bound = value;
}

// Page cache counts as used but gives way, so it counts as left.
std::optional<uint64_t> cache_bytes(const std::string& stat_path, std::string_view prefix) {
    const std::optional<std::string> stat = read_fact(stat_path);
    if (!stat) return std::nullopt;
    uint64_t sum = 0;
    for (const std::string_view key : {"inactive_file ", "active_file "}) {
        const auto line = line_after(*stat, std::string(prefix) + std::string(key));
        const std::optional<uint64_t> value = line ? number(*line) : std::nullopt;
        if (value && *value < kUnlimitedBytes) sum += *value;
    }
    return sum;
}

void add_level(GroupMemory& memory, std::optional<uint64_t> limit, std::optional<uint64_t> used,
               std::optional<uint64_t> cached) {
    if (!limit || *limit == 0 || *limit >= kUnlimitedBytes) return;
    tighten(memory.limit_bytes, limit);
    const uint64_t busy = used ? *used - std::min(*used, cached.value_or(0)) : 0;
    tighten(memory.left_bytes, *limit - std::min(*limit, busy));
}

GroupMemory group_memory(const MachineProbe& probe) {
    GroupMemory memory;
    const GroupDirectories directories = group_directories(probe, "memory");
    for (const std::string& directory : directories.v2) {
        const std::optional<uint64_t> used = number_in(directory + "/memory.current");
        const std::optional<uint64_t> cached = cache_bytes(directory + "/memory.stat", "");
        // Above memory.high the kernel stalls the group, which is as good as a limit for a budget.
        for (const char* name : {"/memory.max", "/memory.high"})
            add_level(memory, number_in(directory + name), used, cached);
    }
    for (const std::string& directory : directories.v1)
        add_level(memory, number_in(directory + "/memory.limit_in_bytes"),
                  number_in(directory + "/memory.usage_in_bytes"),
                  cache_bytes(directory + "/memory.stat", "total_"));
    return memory;
}

// Whole cores that the quotas allow; absent: no quota.
std::optional<uint64_t> quota_cores(const MachineProbe& probe) {
    std::optional<uint64_t> cores;
    const GroupDirectories directories = group_directories(probe, "cpu");
    const auto add = [&](std::optional<uint64_t> quota_us, std::optional<uint64_t> period_us) {
        if (!quota_us || !period_us || *quota_us == 0 || *period_us == 0) return;
        tighten(cores, std::max<uint64_t>(1, *quota_us / *period_us));
    };
    for (const std::string& directory : directories.v2) {
        const std::optional<std::string> text = read_fact(directory + "/cpu.max");
        if (!text) continue;
        const std::vector<std::string_view> words = split(trimmed(*text), ' ');
        if (words.size() == 2) add(number(words[0]), number(words[1]));
    }
    for (const std::string& directory : directories.v1)
        add(number_in(directory + "/cpu.cfs_quota_us"),
            number_in(directory + "/cpu.cfs_period_us"));
    return cores;
}

// ---- processors
// ----------------------------------------------------------------------------------------

constexpr uint32_t kCpuMax = 1 << 16;

// "0-3,8,10-11"; a malformed list is empty.
std::vector<uint32_t> cpu_list(std::string_view text) {
    std::vector<uint32_t> cpus;
    for (const std::string_view part : split(trimmed(text), ',')) {
        const size_t dash = part.find('-');
        const std::optional<uint64_t> first = number(part.substr(0, dash));
        const std::optional<uint64_t> last =
            dash == std::string_view::npos ? first : number(part.substr(dash + 1));
        if (!first || !last || *last < *first || *last >= kCpuMax) return {};
        for (uint64_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(uint32_t(cpu));
    }
    return cpus;
}

std::vector<uint32_t> allowed_cpus(const MachineProbe& probe) {
    const std::optional<std::string> status = read_fact(probe.root + "/proc/self/status");
    if (status) {
        const auto list = line_after(*status, "Cpus_allowed_list:");
        if (list) {
            std::vector<uint32_t> cpus = cpu_list(*list);
            if (!cpus.empty()) return cpus;
        }
    }
    const std::optional<std::string> online =
        read_fact(probe.root + "/sys/devices/system/cpu/online");
    return online ? cpu_list(*online) : std::vector<uint32_t>{};
}

uint64_t affinity_count() {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    if (::sched_getaffinity(0, sizeof mask, &mask) == 0) return uint64_t(CPU_COUNT(&mask));
    return uint64_t(std::max<long>(1, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

uint64_t status_bytes(std::string_view key) {
    const std::optional<std::string> status = read_fact("/proc/self/status");
    return status ? kib_line(*status, key).value_or(0) : 0;
}

}  // namespace

MemoryFacts memory_facts(const MachineProbe& probe) {
    MemoryFacts facts;
    if (const std::optional<std::string> text = read_fact(probe.root + "/proc/meminfo")) {
        facts.total_bytes = kib_line(*text, "MemTotal:");
        facts.available_bytes = kib_line(*text, "MemAvailable:");
        if (!facts.available_bytes) {
            // Old kernels and some sandboxes lack the kernel's own estimate; this one leaves out
            // what cannot be known.
            const std::optional<uint64_t> free = kib_line(*text, "MemFree:");
            const uint64_t cached = kib_line(*text, "Cached:").value_or(0);
            const uint64_t shared =
                kib_line(*text, "Shmem:").value_or(0);  // cached but not given back
            if (free) facts.available_bytes = *free + cached - std::min(cached, shared);
        }
    }
    if (facts.total_bytes == 0) facts.total_bytes.reset();
    if (facts.available_bytes == 0) facts.available_bytes.reset();
    if (facts.available_bytes) tighten(facts.available_bytes, facts.total_bytes);
    const GroupMemory group = group_memory(probe);
    facts.cgroup_limit_bytes = group.limit_bytes;
    tighten(facts.available_bytes, group.left_bytes);
    return facts;
}

uint32_t usable_cores(const MachineProbe& probe) {
    const std::vector<uint32_t> cpus = allowed_cpus(probe);
    std::set<std::pair<uint64_t, uint64_t>> cores;  // package, core
    for (const uint32_t cpu : cpus) {
        const std::string topology =
            probe.root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
        const std::optional<uint64_t> core = number_in(topology + "core_id");
        // Without a topology every CPU counts as a core of its own.
        if (core)
            cores.emplace(number_in(topology + "physical_package_id").value_or(0), *core);
        else
            cores.emplace(~uint64_t(0), cpu);
    }
    uint64_t count = cpus.empty() ? affinity_count() : cores.size();
    if (const std::optional<uint64_t> quota = quota_cores(probe)) count = std::min(count, *quota);
    return uint32_t(std::clamp<uint64_t>(count, 1, kCpuMax));
}

uint64_t peak_resident_bytes() {
    if (const uint64_t bytes = status_bytes("VmHWM:"); bytes != 0) return bytes;
    struct rusage usage{};
    if (::getrusage(RUSAGE_SELF, &usage) != 0 || usage.ru_maxrss < 0) return 0;
    return uint64_t(usage.ru_maxrss) * kKiB;
}

uint64_t resident_bytes() {
    return status_bytes("VmRSS:");
}

uint64_t device_read_bytes() {
    const std::optional<std::string> text = read_fact("/proc/self/io");
    const auto rest = text ? line_after(*text, "read_bytes:") : std::nullopt;
    uint64_t bytes = 0;
    if (rest) {
        const std::string_view digits = trimmed(*rest);
        (void)std::from_chars(digits.data(), digits.data() + digits.size(), bytes);
    }
    return bytes;
}

std::string cpu_model(const MachineProbe& probe) {
    const std::optional<std::string> text = read_fact(probe.root + "/proc/cpuinfo");
    if (!text) return "unknown";
    for (const std::string_view key : {"model name", "Model", "Hardware", "CPU implementer"}) {
        const auto rest = line_after(*text, key);
        if (!rest || rest->empty() || (*rest)[0] != ':') continue;
        const std::string_view name = trimmed(rest->substr(1));
        if (!name.empty()) return std::string(name);
    }
    return "unknown";
}

}  // namespace colibri

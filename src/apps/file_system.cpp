#include "apps/file_system.h"

#include <fmt/format.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include <cstring>
#include <string_view>

namespace colibri {

namespace {

struct Name {
    uint64_t magic;
    std::string_view name;
    bool slow;
};
constexpr Name kNames[] = {
    {0xEF53, "ext4", false},      {0x58465342, "xfs", false},   {0x9123683E, "btrfs", false},
    {0x2FC12FC1, "zfs", false},   {0x01021994, "tmpfs", false}, {0x794C7630, "overlayfs", false},
    {0x6969, "nfs", true},        {0xFF534D42, "cifs", true},   {0xFE534D42, "smb2", true},
    {0x65735546, "fuse", true},   {0x01021997, "9p", true},     {0xF2F52010, "f2fs", false},
    {0x2011BAB0, "exfat", false}, {0x4D44, "vfat", false},      {0x5346544E, "ntfs", false},
    {0x7366746E, "ntfs3", false}};

}  // namespace

FileSystemFacts file_system_facts(const std::string& directory) {
    FileSystemFacts facts;
    struct statfs system{};
    if (statfs(directory.c_str(), &system) != 0) return facts;
    const uint64_t magic = uint32_t(system.f_type);
    facts.name = fmt::format("type {:#x}", magic);
    for (const Name& name : kNames)
        if (name.magic == magic) {
            facts.name = name.name;
            facts.slow = name.slow;
        }
    uint64_t id = 0;
    static_assert(sizeof id == sizeof system.f_fsid);
    std::memcpy(&id, &system.f_fsid, sizeof id);
    facts.identity = fmt::format("{} {:016x}", facts.name, id);
    struct statvfs space{};
    if (statvfs(directory.c_str(), &space) == 0) {
        facts.free_bytes = uint64_t(space.f_bavail) * space.f_frsize;
        facts.read_only = (space.f_flag & ST_RDONLY) != 0;
    }
    return facts;
}

}  // namespace colibri

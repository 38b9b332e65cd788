// What holds a directory: the file system's name and identity.
#pragma once

#include <cstdint>
#include <string>

namespace colibri {

struct FileSystemFacts {
    std::string name;         // "ext4"; "type 0x1234" when it has none here; "" when unknown
    std::string identity;     // with the system's own id: the same one has the same text
    bool slow = false;        // reads leave the machine or pass through another process
    bool read_only = false;   // mounted so
    uint64_t free_bytes = 0;  // that a user may still write
};

[[nodiscard]] FileSystemFacts file_system_facts(const std::string& directory);

}  // namespace colibri

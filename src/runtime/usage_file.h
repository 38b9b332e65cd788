// The state file `usage` of a model: read at start, replaced after every answer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/notices.h"
#include "base/units.h"
#include "store/usage.h"

namespace colibri {

// A larger history, of ours or of another engine, is refused.
inline constexpr uint64_t kUsageBytesMax = 64 * kMiB;

struct UsagePlace {
    std::string directory;  // of state files; "": no history is kept
    // When the first cannot be written: a subdirectory of this one, named by the fingerprint.
    std::string fallback_directory;
    std::string model_directory;  // its .coli_usage is read where no history exists yet
    uint64_t fingerprint = 0;
    uint32_t layers = 0, experts = 0, top_k = 0;
    uint32_t expert_layers = 0;  // layers that have experts
};

// Where a state file of a model may be, in the order in which it is looked for and written:
// directory/NAME, then fallback/FINGERPRINT/NAME. An empty directory has none.
[[nodiscard]] std::vector<std::string> state_file_paths(const std::string& directory,
                                                        const std::string& fallback_directory,
                                                        uint64_t fingerprint,
                                                        std::string_view name);

// Writes the first of these paths that can be written, making its directory. Returns that path.
// Errors: io, of the first.
[[nodiscard]] Result<std::string> write_state_file(std::span<const std::string> paths,
                                                   std::string_view bytes);

class UsageFile {
public:
    UsageFile() = default;
    // A file of another model or a damaged one is ignored with a notice, and left alone: nothing is
    // written then.
    UsageFile(const UsagePlace& place, Notices& notices);

    [[nodiscard]] const UsageHistory& history() const { return history_; }
    [[nodiscard]] const std::string& path() const { return path_; }  // "" when there is none
    // Adds to the history and replaces the file. Errors: io, once; later failures are silent.
    [[nodiscard]] Status save(std::span<const ExpertUse> uses, uint64_t steps);

    // Another history in place of this one. Errors: io.
    [[nodiscard]] Status replace(UsageHistory history);

private:
    [[nodiscard]] bool read(const std::string& path, Notices& notices);
    [[nodiscard]] Status write();
    void read_text(const std::string& path, Notices& notices);

    UsagePlace place_;
    UsageHistory history_;
    std::string path_, fallback_path_;
    bool complained_ = false;
};

}  // namespace colibri

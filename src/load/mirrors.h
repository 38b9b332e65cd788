// Copies of a model's files on other drives: more bandwidth, and an answer when a drive fails.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/notices.h"
#include "format/checkpoint.h"
#include "platform/file.h"
#include "store/expert_store.h"

namespace colibri {

struct MirrorOptions {
    std::string directory;
    double bytes_per_s = 0;  // 0: measured
};

// Files that may stand in for those of a checkpoint. File numbers go on after the checkpoint's.
struct Mirrors {
    struct Copy {
        std::string directory;
        double bytes_per_s = 0;  // as given; 0: to be measured
        // By file of the checkpoint: number of its copy, or kNoFile.
        std::vector<uint32_t> file_of;
    };
    static constexpr uint32_t kNoFile = UINT32_MAX;
    std::vector<Copy> copies;
    std::vector<std::shared_ptr<const File>> files;  // of all copies, in the order of their numbers
};

// Opens the copies that are there; a mirror may hold a part of the files. A file counts as a copy
// when its name, size, header and a sample of its data agree with the original's; one that does
// not is named in a notice and not used. Nothing is ever written there. Errors: invalid_input when
// a directory is missing, is the model's own, or holds no copy at all.
[[nodiscard]] Result<Mirrors> open_mirrors(const Checkpoint& checkpoint,
                                           const std::vector<MirrorOptions>& options,
                                           Notices& notices);

// Gives each expert that has copies one to be read from, the others being asked when that fails.
// Shares are in proportion to speeds[0] (the original) and speeds[1 + m] (copies[m]); which expert
// goes where follows from its id and the shares alone.
void spread_over_mirrors(const Mirrors& mirrors, const std::vector<double>& speeds,
                         std::vector<ExpertSource>& experts);

}  // namespace colibri

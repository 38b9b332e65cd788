// Which files of a directory make up a checkpoint: by name alone, nothing is opened.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/notices.h"

namespace colibri {

inline constexpr const char* kIndexFileName = "model.safetensors.index.json";

struct ShardSet {
    std::vector<std::string> names;  // within the directory, sorted
    bool indexed = false;            // the index names exactly these files
    std::string gaps;                // see Checkpoint::gaps()
};

// `indexed_names` are the distinct files that the index names, empty without an index. Rules and
// errors as Checkpoint::open.
[[nodiscard]] Result<ShardSet> choose_shards(const std::string& directory,
                                             const std::vector<std::string>& indexed_names,
                                             Notices& notices);

}  // namespace colibri

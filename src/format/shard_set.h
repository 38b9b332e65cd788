// Which files make up a checkpoint, and in which directory each is: by name alone, nothing is
// opened.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/notices.h"

namespace colibri {

inline constexpr const char* kIndexFileName = "model.safetensors.index.json";

struct ShardSet {
    std::vector<std::string> names;  // sorted
    std::vector<std::string> paths;  // of the names
    bool indexed = false;            // the index names exactly these files
    std::string gaps;                // see Checkpoint::gaps()
};

// `directories` together hold the files, the model's own comes first; `indexed_names` are the
// distinct files that the index names, empty without an index. Rules and errors as
// Checkpoint::open.
[[nodiscard]] Result<ShardSet> choose_shards(std::span<const std::string> directories,
                                             const std::vector<std::string>& indexed_names,
                                             Notices& notices);

// A model's own directory and the further ones that hold some of its files.
[[nodiscard]] std::vector<std::string> joined(const std::string& directory,
                                              std::span<const std::string> further);

// For files with known names: the one directory that has each; paths in the order of `names`, ""
// for a file that none has. Errors: as Checkpoint::open for directories that are missing, useless
// or have the same file.
[[nodiscard]] Result<std::vector<std::string>> find_files(std::span<const std::string> directories,
                                                          const std::vector<std::string>& names);

}  // namespace colibri

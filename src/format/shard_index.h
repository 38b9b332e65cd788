// model.safetensors.index.json: {"metadata": {...}, "weight_map": {tensor: file}}.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace colibri {

inline constexpr uint64_t kIndexBytesMax = 256'000'000;

struct ShardIndex {
    std::vector<std::string> files;  // distinct, sorted
    std::vector<std::pair<std::string, uint32_t>>
        tensors;  // sorted by name; the number is an index into `files`
};

// `path` is for messages. Errors: corrupt (no JSON object, no weight_map, a value that is not the
// name of a *.safetensors file in the same directory, a tensor named twice, nesting over a bound).
[[nodiscard]] Result<ShardIndex> parse_shard_index(std::string_view text, const std::string& path);

}  // namespace colibri

// Configuration files: lines of `key = value`, or one flat JSON object.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace colibri {

inline constexpr uint64_t kConfigFileBytesMax = 1 << 20;  // a configuration file is written by hand

struct ConfigEntry {
    std::string key, value;
    std::string where;  // "coli.conf:3", "coli.json"
};

// Lines: blank ones and those that begin with # are skipped; a value may stand in double quotes.
// JSON (the first character is {): strings, numbers and booleans as values. Errors: invalid_input
// naming the file and the line, and what is wrong; also for a key that comes twice.
[[nodiscard]] Result<std::vector<ConfigEntry>> parse_config(std::string_view text,
                                                            const std::string& path);

}  // namespace colibri

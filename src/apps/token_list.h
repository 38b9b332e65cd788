// Token ids as people write them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace colibri {

// "1 2 3", "1,2,3", "1, 2, 3", with brackets around it if one likes. Errors: invalid_input naming
// what is no id, or that there is none.
[[nodiscard]] Result<std::vector<int32_t>> parse_token_list(std::string_view text);

// Errors: invalid_input naming the first id outside [0, vocab) and its place.
[[nodiscard]] Status check_token_range(std::span<const int32_t> tokens, uint32_t vocab);

}  // namespace colibri

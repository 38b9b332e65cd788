// Search of text in text, in linear time whatever the two contain.
#pragma once

#include <cstddef>
#include <string_view>

namespace colibri::jinja {

// The first occurrence at or after `from`; npos if there is none. An empty needle is found at
// `from`.
[[nodiscard]] size_t find_text(std::string_view text, std::string_view needle, size_t from);
// The last occurrence that ends at or before `end`; npos if there is none. An empty needle is found
// at `end`.
[[nodiscard]] size_t rfind_text(std::string_view text, std::string_view needle, size_t end);

}  // namespace colibri::jinja

// Canonical normal forms of valid UTF-8 text. Tables: Unicode 9, as in the
// reference library, made by tools/make_unicode_tables.py.
#pragma once

#include <string>
#include <string_view>

namespace colibri {

[[nodiscard]] std::string to_nfc(std::string_view text);
[[nodiscard]] std::string to_nfd(std::string_view text);

}  // namespace colibri

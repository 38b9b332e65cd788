// strftime in the C locale, as a pure function.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

namespace colibri::jinja {

// Knows Python's directives and the `-` flag (no padding); %f is zero, %z and %Z are empty (a local
// time without zone), and an unknown directive is copied. Only the broken-down fields of `time` are
// read.
[[nodiscard]] std::string format_time(std::string_view format, const std::tm& time);

}  // namespace colibri::jinja

// Escape sequences of string literals, as in Python.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace colibri::jinja {

// Resolves \n, \t, \\, \', \", \xhh, \ooo, \uXXXX, \UXXXXXXXX and an escaped newline; an unknown
// escape stays as it is written. Fails on a cut or impossible sequence, without naming a place.
[[nodiscard]] Result<std::string> unescape(std::string_view literal);

}  // namespace colibri::jinja

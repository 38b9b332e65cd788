// Help pages and the option reference, generated from the table in options.h.
#pragma once

#include <string>

#include "apps/options.h"

namespace colibri {

// The page of `coli`, of one command, and of `coli eval`.
[[nodiscard]] std::string general_help();
[[nodiscard]] std::string command_help(Command command);
[[nodiscard]] std::string eval_help();

// docs/options.md
[[nodiscard]] std::string markdown_reference();

}  // namespace colibri

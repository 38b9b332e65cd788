// Help pages and the option reference, generated from the table in options.h.
#pragma once

#include <string>

#include "apps/options.h"

namespace colibri {

// The page of `coli`, of one command, and of a group of commands (`coli eval`).
[[nodiscard]] std::string general_help();
[[nodiscard]] std::string command_help(Command command);
[[nodiscard]] std::string group_help(std::string_view group);

// docs/options.md
[[nodiscard]] std::string markdown_reference();

}  // namespace colibri

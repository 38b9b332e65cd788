// coli doctor's look at state files: usage history, tuning, and the place where they are kept.
#pragma once

#include <string>

#include "apps/findings.h"
#include "apps/options.h"
#include "runtime/usage_file.h"

namespace colibri {

// None of what is found here keeps a model from running, so nothing is an error. Writes nothing.
// `place` as Model::usage_place gives it, with the directories of state_places().
void check_state(const Settings& settings, const UsagePlace& place, Findings& findings);

}  // namespace colibri

// Threads where the system may refuse one (a limit on processes, a container's pids.max).
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error.h"

namespace colibri {

// Adds threads that run `body` until there are `count`. `role` names them in an error, as in
// "landing thread". Errors: out_of_budget; threads that had started stay in `threads` and run:
// their owner ends them as it always does.
[[nodiscard]] Status start_threads(std::vector<std::jthread>& threads, uint32_t count,
                                   std::string_view role, const std::function<void()>& body);

}  // namespace colibri

#include "base/threads.h"

#include <fmt/format.h>

#include <system_error>

namespace colibri {

Status start_threads(std::vector<std::jthread>& threads, uint32_t count, std::string_view role,
                     const std::function<void()>& body) {
    threads.reserve(count);
    try {
        while (threads.size() < count) threads.emplace_back(body);
    } catch (const std::system_error& error) {
        return fail(ErrorKind::out_of_budget,
                    fmt::format("the system refused {} {} of {}: {}; use fewer threads or raise "
                                "the limit on processes (ulimit -u, a container's pids.max)",
                                role, threads.size() + 1, count, error.what()));
    }
    return {};
}

}  // namespace colibri

#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace colibri {

// The one place below apps that writes to stderr: the process is about to die of a bug in this
// program.
void check_failed(const char* condition, std::source_location where) {
    std::fprintf(stderr, "colibri: bug: %s:%u: CHECK(%s) failed in %s\n", where.file_name(),
                 static_cast<unsigned>(where.line()), condition, where.function_name());
    std::abort();
}

}  // namespace colibri

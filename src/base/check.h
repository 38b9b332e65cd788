// CHECK: an assertion that stays in release builds. For programmer errors only; no input may reach
// it.
#pragma once

#include <source_location>

namespace colibri {

[[noreturn]] void check_failed(const char* condition, std::source_location where);

}  // namespace colibri

#define CHECK(condition)                                                          \
    do {                                                                          \
        if (!(condition)) [[unlikely]]                                            \
            ::colibri::check_failed(#condition, std::source_location::current()); \
    } while (false)

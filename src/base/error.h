// Errors as values: what went wrong, in a form that the caller can act on.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace colibri {

// What the caller can do about a failure. One list for the whole project: the command line maps a
// kind to an exit code, a server maps it to a status, and nobody parses messages.
enum class ErrorKind : uint8_t {
    invalid_input,  // the request or file is wrong; retrying changes nothing
    not_found,      // the named thing does not exist
    unsupported,    // valid, but this build or machine cannot do it
    corrupt,        // bytes on disk disagree with their header, shape or checksum
    out_of_budget,  // memory, disk or context limit; the message says which, how much, and what
                    // would work
    cancelled,      // the caller asked for it
    io,             // the device failed; another copy may still succeed
};

[[nodiscard]] std::string_view to_string(ErrorKind kind);

struct Error {
    ErrorKind kind;
    std::string message;  // what was found, what was expected, where, and what to do
    std::source_location where;

    // Prefixes context on the way up: "load layer 12: read expert 200: short read".
    [[nodiscard]] Error within(std::string_view step) &&;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

// Builds the error half of a Result: `return fail(ErrorKind::corrupt, fmt::format(...));`
[[nodiscard]] tl::unexpected<Error> fail(
    ErrorKind kind, std::string message,
    std::source_location where = std::source_location::current());

}  // namespace colibri

#define COLIBRI_JOIN2(a, b) a##b
#define COLIBRI_JOIN(a, b) COLIBRI_JOIN2(a, b)

// TRY(const auto value, expression): binds the value or returns the error to the caller.
#define TRY(declaration, expression)                                            \
    auto COLIBRI_JOIN(try_, __LINE__) = (expression);                           \
    if (!COLIBRI_JOIN(try_, __LINE__))                                          \
        return tl::unexpected(std::move(COLIBRI_JOIN(try_, __LINE__)).error()); \
    declaration = *std::move(COLIBRI_JOIN(try_, __LINE__))

// TRY_STATUS(expression): the same for an expression without a value.
#define TRY_STATUS(expression)                                    \
    do {                                                          \
        if (auto try_status = (expression); !try_status)          \
            return tl::unexpected(std::move(try_status).error()); \
    } while (false)

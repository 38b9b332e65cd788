#include "base/error.h"

namespace colibri {

std::string_view to_string(ErrorKind kind) {
    switch (kind) {
        case ErrorKind::invalid_input: return "invalid input";
        case ErrorKind::not_found: return "not found";
        case ErrorKind::unsupported: return "unsupported";
        case ErrorKind::corrupt: return "corrupt";
        case ErrorKind::out_of_budget: return "out of budget";
        case ErrorKind::cancelled: return "cancelled";
        case ErrorKind::io: return "i/o error";
    }
    return "unknown";
}

Error Error::within(std::string_view step) && {
    message.insert(0, ": ");
    message.insert(0, step);
    return std::move(*this);
}

tl::unexpected<Error> fail(ErrorKind kind, std::string message, std::source_location where) {
    return tl::unexpected(Error{kind, std::move(message), where});
}

}  // namespace colibri

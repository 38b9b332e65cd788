#include "base/units.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>

namespace colibri {

std::string format_bytes(uint64_t bytes) {
    const auto one_decimal = [](double value, const char* unit) {
        return value < 99.95 && std::fabs(value - std::round(value)) >= 0.05
                   ? fmt::format("{:.1f} {}", value, unit)
                   : fmt::format("{:.0f} {}", value, unit);
    };
    if (bytes >= kGiB) return one_decimal(double(bytes) / double(kGiB), "GiB");
    if (bytes >= kMiB) return one_decimal(double(bytes) / double(kMiB), "MiB");
    if (bytes >= kKiB) return one_decimal(double(bytes) / double(kKiB), "KiB");
    return fmt::format("{} B", bytes);
}

Result<uint64_t> parse_bytes(std::string_view text) {
    const auto bad = [&](const char* why) {
        return fail(ErrorKind::invalid_input,
                    fmt::format("'{}' is not a size: {}; write for example 800M, 1.5G or 16 (GiB)",
                                text, why));
    };
    double value = 0;
    const auto [rest, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (ec != std::errc() || !std::isfinite(value)) return bad("it does not begin with a number");
    if (value < 0) return bad("it is negative");
    std::string unit;
    for (const char c : std::string_view(rest, text.data() + text.size()))
        if (c != ' ') unit += char(std::tolower(static_cast<unsigned char>(c)));
    double factor = 0;
    if (unit.empty() || unit == "g" || unit == "gb" || unit == "gib")
        factor = double(kGiB);
    else if (unit == "m" || unit == "mb" || unit == "mib")
        factor = double(kMiB);
    else if (unit == "k" || unit == "kb" || unit == "kib")
        factor = double(kKiB);
    else if (unit == "t" || unit == "tb" || unit == "tib")
        factor = double(kGiB) * 1024;
    else if (unit == "b")
        factor = 1;
    else
        return bad("the unit is unknown");
    if (value * factor >= 9.0e18) return bad("it is too large");
    return static_cast<uint64_t>(value * factor);
}

}  // namespace colibri

#include "text/jinja/format_time.h"

#include <fmt/format.h>

#include <array>

namespace colibri::jinja {
namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};

std::string_view day_name(const std::tm& time) {
    return kDays[static_cast<unsigned>(time.tm_wday) % 7];
}
std::string_view month_name(const std::tm& time) {
    return kMonths[static_cast<unsigned>(time.tm_mon) % 12];
}

struct Number {
    int value;
    int width;
    char fill;
};

// ISO 8601: the week that holds the year's first Thursday is week 1.
struct IsoWeek {
    int year;
    int week;
};

IsoWeek iso_week(const std::tm& time) {
    const int year = time.tm_year + 1900;
    const int weekday = (time.tm_wday + 6) % 7;  // Monday is 0
    const auto is_leap = [](int y) { return (y % 4 == 0 && y % 100 != 0) || y % 400 == 0; };
    const int week = (time.tm_yday - weekday + 10) / 7;
    if (week < 1) {
        const int days = is_leap(year - 1) ? 366 : 365;
        return {.year = year - 1, .week = (time.tm_yday + days - weekday + 10) / 7};
    }
    const int days = is_leap(year) ? 366 : 365;
    if (week == 53 && time.tm_yday - weekday + 3 >= days) return {.year = year + 1, .week = 1};
    return {.year = year, .week = week};
}

// The number that a directive prints; width 0 if it is not a number.
Number number_of(char directive, const std::tm& time) {
    const int hour12 = time.tm_hour % 12 == 0 ? 12 : time.tm_hour % 12;
    switch (directive) {
        case 'd': return {time.tm_mday, 2, '0'};
        case 'e': return {time.tm_mday, 2, ' '};
        case 'm': return {time.tm_mon + 1, 2, '0'};
        case 'y': return {time.tm_year % 100, 2, '0'};
        case 'C': return {(time.tm_year + 1900) / 100, 2, '0'};
        case 'Y': return {time.tm_year + 1900, 1, '0'};
        case 'H': return {time.tm_hour, 2, '0'};
        case 'k': return {time.tm_hour, 2, ' '};
        case 'I': return {hour12, 2, '0'};
        case 'l': return {hour12, 2, ' '};
        case 'M': return {time.tm_min, 2, '0'};
        case 'S': return {time.tm_sec, 2, '0'};
        case 'f': return {0, 6, '0'};
        case 'j': return {time.tm_yday + 1, 3, '0'};
        case 'w': return {time.tm_wday, 1, '0'};
        case 'u': return {time.tm_wday == 0 ? 7 : time.tm_wday, 1, '0'};
        case 'U': return {(time.tm_yday + 7 - time.tm_wday) / 7, 2, '0'};
        case 'W': return {(time.tm_yday + 7 - (time.tm_wday + 6) % 7) / 7, 2, '0'};
        case 'V': return {iso_week(time).week, 2, '0'};
        case 'G': return {iso_week(time).year, 1, '0'};
        default: return {0, 0, '0'};
    }
}

// The spelling of a composed or textual directive; false if there is none.
bool expand(char directive, const std::tm& time, std::string& out) {
    switch (directive) {
        case 'a': out += day_name(time).substr(0, 3); return true;
        case 'A': out += day_name(time); return true;
        case 'b':
        case 'h': out += month_name(time).substr(0, 3); return true;
        case 'B': out += month_name(time); return true;
        case 'p': out += time.tm_hour < 12 ? "AM" : "PM"; return true;
        case 'P': out += time.tm_hour < 12 ? "am" : "pm"; return true;
        case 'c': out += format_time("%a %b %e %H:%M:%S %Y", time); return true;
        case 'D':
        case 'x': out += format_time("%m/%d/%y", time); return true;
        case 'F': out += format_time("%Y-%m-%d", time); return true;
        case 'R': out += format_time("%H:%M", time); return true;
        case 'r': out += format_time("%I:%M:%S %p", time); return true;
        case 'T':
        case 'X': out += format_time("%H:%M:%S", time); return true;
        case 'n': out += '\n'; return true;
        case 't': out += '\t'; return true;
        case '%': out += '%'; return true;
        case 'z':
        case 'Z': return true;
        default: return false;
    }
}

}  // namespace

std::string format_time(std::string_view format, const std::tm& time) {
    std::string out;
    for (size_t at = 0; at < format.size(); ++at) {
        if (format[at] != '%' || at + 1 == format.size()) {
            out += format[at];
            continue;
        }
        const bool unpadded = format[at + 1] == '-' && at + 2 < format.size();
        const size_t directive_at = at + (unpadded ? 2 : 1);
        const Number number = number_of(format[directive_at], time);
        if (number.width > 0) {
            const std::string digits = fmt::format("{}", number.value);
            const auto width = static_cast<size_t>(unpadded ? 1 : number.width);
            if (digits.size() < width) out.append(width - digits.size(), number.fill);
            out += digits;
        } else if (!expand(format[directive_at], time, out)) {
            out += format.substr(at, directive_at + 1 - at);
        }
        at = directive_at;
    }
    return out;
}

}  // namespace colibri::jinja

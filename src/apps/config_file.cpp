#include "apps/config_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace colibri {

namespace {

std::string_view trim(std::string_view text) {
    const auto begin = text.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

Status add(std::vector<ConfigEntry>& entries, ConfigEntry entry) {
    for (const ConfigEntry& other : entries)
        if (other.key == entry.key)
            return fail(ErrorKind::invalid_input,
                        fmt::format("{}: '{}' is set a second time (first at {})", entry.where,
                                    entry.key, other.where));
    entries.push_back(std::move(entry));
    return {};
}

Result<std::vector<ConfigEntry>> parse_lines(std::string_view text, const std::string& path) {
    std::vector<ConfigEntry> entries;
    for (size_t number = 1; !text.empty(); ++number) {
        const size_t end = text.find('\n');
        const std::string_view line = trim(text.substr(0, end));
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
        if (line.empty() || line.front() == '#') continue;
        const std::string where = fmt::format("{}:{}", path, number);
        const size_t equals = line.find('=');
        if (equals == std::string_view::npos || trim(line.substr(0, equals)).empty())
            return fail(ErrorKind::invalid_input,
                        fmt::format("{}: '{}' is not `key = value`", where, line));
        std::string_view value = trim(line.substr(equals + 1));
        if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
            value = value.substr(1, value.size() - 2);
        TRY_STATUS(add(entries, {.key = std::string(trim(line.substr(0, equals))),
                                 .value = std::string(value),
                                 .where = where}));
    }
    return entries;
}

// Keeps each value as it is written, so that numbers are judged once, by the option's own rules.
class FlatObjectReader : public nlohmann::json_sax<nlohmann::json> {
public:
    explicit FlatObjectReader(std::string path) : path_(std::move(path)) {}

    bool null() override { return stop("null is no value"); }
    bool boolean(bool value) override { return take(value ? "true" : "false"); }
    bool number_integer(number_integer_t value) override { return take(std::to_string(value)); }
    bool number_unsigned(number_unsigned_t value) override { return take(std::to_string(value)); }
    bool number_float(number_float_t, const string_t& text) override { return take(text); }
    bool string(string_t& value) override { return take(value); }
    bool binary(binary_t&) override { return stop("binary is no value"); }
    bool start_object(size_t) override { return ++depth_ == 1 || stop("an object is no value"); }
    bool key(string_t& value) override {
        key_ = value;
        return true;
    }
    bool end_object() override { return true; }
    bool start_array(size_t) override { return stop("a list is no value"); }
    bool end_array() override { return true; }
    bool parse_error(size_t position, const std::string&,
                     const nlohmann::detail::exception& error) override {
        error_ = fmt::format("{}: not JSON at byte {}: {}", path_, position, error.what());
        return false;
    }

    std::vector<ConfigEntry> entries;
    [[nodiscard]] const std::string& error() const { return error_; }

private:
    bool stop(const char* why) {
        error_ = fmt::format("{}: key '{}': {}, expected a string, a number or true/false", path_,
                             key_, why);
        return false;
    }
    bool take(std::string value) {
        if (depth_ != 1) return stop("a bare value is no configuration");
        const auto added = add(entries, {.key = key_, .value = std::move(value), .where = path_});
        if (!added) error_ = added.error().message;
        return added.has_value();
    }

    std::string path_, key_, error_;
    int depth_ = 0;
};

}  // namespace

Result<std::vector<ConfigEntry>> parse_config(std::string_view text, const std::string& path) {
    const size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos || text[first] != '{') return parse_lines(text, path);
    FlatObjectReader reader(path);
    if (!nlohmann::json::sax_parse(text, &reader)) {
        return fail(ErrorKind::invalid_input, reader.error());
    }
    return std::move(reader.entries);
}

}  // namespace colibri

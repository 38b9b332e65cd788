#include "bench/bench.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/units.h"
#include "platform/machine.h"

namespace colibri::bench {

namespace {

template <class T, class Parse>
Result<T> parse_number(const std::string& name, const std::string& text, Parse parse) {
    char* end = nullptr;
    const auto value = double(parse(text.c_str(), &end));
    if (text.empty() || end != text.c_str() + text.size() || !(value > 0) || value > 4e9)
        return fail(ErrorKind::invalid_input,
                    fmt::format("found --{} {}, expected a number above 0", name, text));
    return T(value);
}

std::string escape(std::string_view text) {
    std::string escaped;
    for (const char c : text) {
        if (c == '"' || c == '\\') escaped += '\\';
        if (static_cast<unsigned char>(c) >= 0x20) escaped += c;
    }
    return escaped;
}

}  // namespace

Result<Options> Options::parse(std::span<const char* const> arguments) {
    Options options;
    for (size_t i = 0; i < arguments.size(); i += 2) {
        const std::string_view name = arguments[i];
        if (!name.starts_with("--") || i + 1 == arguments.size())
            return fail(ErrorKind::invalid_input,
                        fmt::format("found '{}', expected '--name value'", name));
        options.given_[std::string(name.substr(2))] = arguments[i + 1];
    }
    return options;
}

std::string Options::text(const std::string& name, const std::string& otherwise) {
    asked_[name] = true;
    const auto found = given_.find(name);
    return found == given_.end() ? otherwise : found->second;
}

Result<uint32_t> Options::count(const std::string& name, uint32_t otherwise) {
    return parse_number<uint32_t>(
        name, text(name, std::to_string(otherwise)),
        [](const char* p, char** end) { return std::strtoll(p, end, 10); });
}

Result<double> Options::seconds(const std::string& name, double otherwise) {
    return parse_number<double>(name, text(name, fmt::format("{}", otherwise)),
                                [](const char* p, char** end) { return std::strtod(p, end); });
}

Result<uint64_t> Options::bytes(const std::string& name, uint64_t otherwise) {
    const std::string given = text(name, "");
    if (given.empty()) return otherwise;
    return parse_bytes(given);
}

Result<const Kernels*> Options::kernels() {
    const std::string name = text("isa", std::string(to_string(best_kernels().isa)));
    const auto isa = isa_from_string(name);
    const Kernels* table = isa ? kernels_for(*isa) : nullptr;
    if (table == nullptr)
        return fail(ErrorKind::invalid_input,
                    fmt::format("found --isa {}, which this machine cannot run", name));
    return table;
}

Status Options::unknown() const {
    for (const auto& [name, value] : given_)
        if (!asked_.contains(name))
            return fail(ErrorKind::invalid_input, fmt::format("found unknown option --{}", name));
    return {};
}

JsonLine::JsonLine(std::string_view benchmark) {
    add("bench", benchmark);
}

void JsonLine::key(std::string_view name) {
    text_ += fmt::format("{}\"{}\": ", text_.empty() ? "" : ", ", escape(name));
}
JsonLine& JsonLine::add(std::string_view name, std::string_view value) {
    key(name);
    text_ += fmt::format("\"{}\"", escape(value));
    return *this;
}
JsonLine& JsonLine::add(std::string_view name, double value) {
    key(name);
    text_ += std::isfinite(value) ? fmt::format("{:.4g}", value) : "null";
    return *this;
}
JsonLine& JsonLine::add(std::string_view name, uint64_t value) {
    key(name);
    text_ += std::to_string(value);
    return *this;
}
JsonLine& JsonLine::add(std::string_view name, bool value) {
    key(name);
    text_ += value ? "true" : "false";
    return *this;
}
JsonLine& JsonLine::add(std::string_view name, const std::vector<double>& values) {
    key(name);
    std::string list;
    for (const double value : values)
        list += fmt::format("{}{:.4g}", list.empty() ? "" : ", ", value);
    text_ += fmt::format("[{}]", list);
    return *this;
}
JsonLine& JsonLine::add_machine() {
    add("cpu", cpu_model()).add("cores", uint64_t(usable_cores()));
    if (const char* commit = std::getenv("COLIBRI_COMMIT")) add("commit", std::string_view(commit));
    return *this;
}
void JsonLine::print() const {
    fmt::print("{{{}}}\n", text_);
    std::fflush(stdout);
}

}  // namespace colibri::bench

#include "format/tune_file.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "format/digest.h"

namespace colibri {

namespace {

using Json = nlohmann::json;

constexpr uint32_t kTuneVersion = 1;
constexpr int kTuneDepthMax = 4;
constexpr size_t kTextBytesMax = 1024;
constexpr size_t kEntriesMax = 1024;
constexpr double kNumberMax = 1e15;  // whole numbers below it are exact

constexpr std::string_view kTuneSelfKey = "\"checksum\": \"";

// Members by name, the first problem kept: callers look once, at the end.
class Reader {
public:
    explicit Reader(std::string_view name) : name_(name) {}

    const Json& member(const Json& object, const char* key, Json::value_t type) {
        static const Json kNothing;
        if (!object.is_object()) return kNothing;
        const auto found = object.find(key);
        const bool number =
            type == Json::value_t::number_float && found != object.end() && found->is_number();
        if (found == object.end() || (!number && found->type() != type)) {
            problem(fmt::format("key \"{}\" is missing or of another kind than expected", key));
            return kNothing;
        }
        return *found;
    }
    std::string text(const Json& object, const char* key) {
        const Json& value = member(object, key, Json::value_t::string);
        if (!value.is_string()) return "";
        auto text = value.get<std::string>();
        if (text.size() > kTextBytesMax)
            problem(fmt::format("key \"{}\": {} bytes, expected at most {}", key, text.size(),
                                kTextBytesMax));
        return text;
    }
    double number(const Json& object, const char* key) {
        const Json& value = member(object, key, Json::value_t::number_float);
        const double number = value.is_number() ? value.get<double>() : 0;
        if (std::isfinite(number) && number >= 0 && number <= kNumberMax) return number;
        problem(fmt::format("key \"{}\": {}, expected 0 to {}", key, number, kNumberMax));
        return 0;
    }
    uint64_t whole(const Json& object, const char* key, uint64_t most) {
        const double value = number(object, key);
        if (value == std::floor(value) && value <= double(most)) return uint64_t(value);
        problem(fmt::format("key \"{}\": {}, expected a whole number up to {}", key, value, most));
        return 0;
    }
    void problem(std::string what) {
        if (what_.empty()) what_ = std::move(what);
    }
    [[nodiscard]] Status status() const {
        if (what_.empty()) return {};
        return fail(ErrorKind::corrupt, fmt::format("{}: {}", name_, what_));
    }

private:
    std::string_view name_;
    std::string what_;
};

uint64_t fingerprint_from(const std::string& digits, Reader& reader) {
    uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (error != std::errc() || end != digits.data() + digits.size() ||
        fmt::format("{:016x}", value) != digits)
        reader.problem(
            fmt::format("key \"model\": \"{:.40}\", expected 16 hexadecimal digits", digits));
    return value;
}

void read_chosen(const Json& root, Reader& reader, TuneFile& file) {
    const Json& chosen = reader.member(root, "chosen", Json::value_t::object);
    if (!chosen.is_object()) return;
    for (const auto& [option, value] : chosen.items())
        file.chosen.push_back({.option = option, .value = reader.text(chosen, option.c_str())});
    if (file.chosen.size() > kEntriesMax) reader.problem("more choices than there are options");
}

void read_measured(const Json& root, Reader& reader, TuneFile& file) {
    const Json& measured = reader.member(root, "measured", Json::value_t::array);
    if (measured.size() > kEntriesMax) return reader.problem("more measurements than possible");
    for (const Json& entry : measured) {
        if (!entry.is_object()) return reader.problem("a measurement that is no object");
        file.measured.push_back(
            {.candidate = {.option = reader.text(entry, "option"),
                           .value = reader.text(entry, "value")},
             .ratio = reader.number(entry, "ratio"),
             .spread = reader.number(entry, "spread"),
             .pairs = uint32_t(reader.whole(entry, "pairs", std::numeric_limits<uint32_t>::max())),
             .verdict = reader.text(entry, "verdict")});
    }
}

TuneFile read_file_object(const Json& root, Reader& reader) {
    TuneFile file;
    file.model = fingerprint_from(reader.text(root, "model"), reader);
    const Json& machine = reader.member(root, "machine", Json::value_t::object);
    if (machine.is_object())
        file.machine = {
            .processor = reader.text(machine, "processor"),
            .isa = reader.text(machine, "isa"),
            .cores = uint32_t(reader.whole(machine, "cores", std::numeric_limits<uint32_t>::max())),
            .drive = reader.text(machine, "drive")};
    file.date = reader.text(root, "date");
    file.seconds = reader.number(root, "seconds");
    file.ram_bytes = reader.whole(root, "ram_bytes", uint64_t(kNumberMax));
    file.cached_share = reader.number(root, "cached_share");
    file.gain = reader.number(root, "gain");
    read_chosen(root, reader, file);
    read_measured(root, reader, file);
    return file;
}

// Keys that come twice, and depth, before a tree is built.
Result<Json> parse_tree(std::string_view text, std::string_view name) {
    std::vector<std::set<std::string>> keys;
    std::string problem;
    Json root = Json::parse(
        text.begin(), text.end(),
        [&](int depth, Json::parse_event_t event, Json& value) {
            if (depth > kTuneDepthMax)
                problem = fmt::format("nested deeper than {} levels", kTuneDepthMax);
            if (event == Json::parse_event_t::object_start) keys.emplace_back();
            if (event == Json::parse_event_t::object_end && !keys.empty()) keys.pop_back();
            if (event == Json::parse_event_t::key && !keys.empty() &&
                !keys.back().insert(value.get<std::string>()).second)
                problem = fmt::format("key \"{:.200}\" appears twice", value.get<std::string>());
            return problem.empty();
        },
        /*allow_exceptions=*/false);
    if (problem.empty() && !root.is_object()) problem = "not a JSON object, or cut short";
    if (!problem.empty()) return fail(ErrorKind::corrupt, fmt::format("{}: {}", name, problem));
    return root;
}

}  // namespace

std::string format_tune(const TuneFile& file) {
    using Out = nlohmann::ordered_json;
    Out chosen = Out::object(), measured = Out::array();
    for (const TuneChoice& choice : file.chosen) chosen[choice.option] = choice.value;
    for (const TuneMeasurement& one : file.measured)
        measured.push_back({{"option", one.candidate.option},
                            {"value", one.candidate.value},
                            {"ratio", one.ratio},
                            {"spread", one.spread},
                            {"pairs", one.pairs},
                            {"verdict", one.verdict}});
    const Out root = {{"colibri_tune", kTuneVersion},
                      {"model", fmt::format("{:016x}", file.model)},
                      {"machine",
                       {{"processor", file.machine.processor},
                        {"isa", file.machine.isa},
                        {"cores", file.machine.cores},
                        {"drive", file.machine.drive}}},
                      {"date", file.date},
                      {"seconds", file.seconds},
                      {"ram_bytes", file.ram_bytes},
                      {"cached_share", file.cached_share},
                      {"chosen", std::move(chosen)},
                      {"gain", file.gain},
                      {"measured", std::move(measured)},
                      {"checksum", kZeroDigest}};
    std::string text = root.dump(2, ' ', false, Out::error_handler_t::replace) + "\n";
    write_self_digest(text, kTuneSelfKey);
    return text;
}

Result<TuneFile> parse_tune(std::string_view text, std::string_view name) {
    if (text.size() > kTuneFileBytesMax)
        return fail(ErrorKind::corrupt, fmt::format("{}: {} bytes, expected at most {}", name,
                                                    text.size(), kTuneFileBytesMax));
    TRY(const Json root, parse_tree(text, name));
    Reader reader(name);
    const uint64_t version =
        reader.whole(root, "colibri_tune", std::numeric_limits<uint32_t>::max());
    TRY_STATUS(reader.status());
    if (version != kTuneVersion)
        return fail(ErrorKind::unsupported,
                    fmt::format("{}: version {} of tuning files; this program reads {}", name,
                                version, kTuneVersion));
    // After the version: a later one may hash differently.
    if (!self_digest_matches(text, kTuneSelfKey))
        return fail(ErrorKind::corrupt, fmt::format("{}: the checksum does not match", name));
    TuneFile file = read_file_object(root, reader);
    TRY_STATUS(reader.status());
    return file;
}

}  // namespace colibri

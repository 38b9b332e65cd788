#include "apps/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "apps/config_file.h"
#include "base/units.h"
#include "platform/file.h"

namespace colibri {

namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (true) {
        const size_t end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text = text.substr(end + 1);
    }
}

// The first word of commands that have two.
bool is_group(std::string_view word) {
    const auto commands = command_table();
    return std::any_of(commands.begin(), commands.end(), [&](const CommandSpec& command) {
        const auto parts = split(command.words, ' ');
        return parts.size() == 2 && parts[0] == word;
    });
}

std::string limit_text(const OptionSpec& option, double limit) {
    if (option.type == OptionType::bytes) return format_bytes(uint64_t(limit));
    return fmt::format("{}",
                       limit >= 18446744073709551615.0 ? "2^64-1" : fmt::format("{:.0f}", limit));
}

// "a whole number from 1 to 1024, or auto"
std::string expectation(const OptionSpec& option) {
    std::string text;
    switch (option.type) {
        case OptionType::flag: return "true or false";
        case OptionType::choice: return fmt::format("one of {}", option.choices);
        case OptionType::text:
        case OptionType::path:
        case OptionType::optional_path: return "a text that is not empty";
        case OptionType::count: text = "a whole number"; break;
        case OptionType::number: text = "a number"; break;
        case OptionType::bytes: text = "a size such as 800M or 1.5G (a plain number is GiB)"; break;
    }
    text += fmt::format(" from {} to {}", limit_text(option, option.least),
                        limit_text(option, option.most));
    const bool word = !option.fallback.empty() &&
                      (option.fallback.front() < '0' || option.fallback.front() > '9');
    return word ? fmt::format("{}, or {}", text, option.fallback) : text;
}

tl::unexpected<Error> bad_value(const OptionSpec& option, std::string_view origin,
                                std::string_view value) {
    return fail(ErrorKind::invalid_input, fmt::format("{}: '{}' is not possible; expected {}",
                                                      origin, value, expectation(option)));
}

using Value = decltype(Setting::value);

std::optional<bool> flag_value(std::string_view text) {
    for (const std::string_view yes : {"true", "yes", "on", "1"})
        if (text == yes) return true;
    for (const std::string_view no : {"false", "no", "off", "0"})
        if (text == no) return false;
    return std::nullopt;
}

// The number of a text that holds nothing else.
template <class T>
std::optional<T> whole_number(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<Value> checked_value(const OptionSpec& option, std::string_view text) {
    const auto inside = [&](double value) {  // false for NaN
        return value >= option.least && value <= option.most;
    };
    switch (option.type) {
        case OptionType::flag:
            if (const auto value = flag_value(text)) return Value(*value);
            return std::nullopt;
        case OptionType::count: {
            const auto value = whole_number<uint64_t>(text);
            if (!value || !inside(double(*value))) return std::nullopt;
            return Value(*value);
        }
        case OptionType::number: {
            const auto value = whole_number<double>(text);
            if (!value || !inside(*value)) return std::nullopt;
            return Value(*value);
        }
        case OptionType::bytes: {
            const auto value = parse_bytes(text);
            if (!value || !inside(double(*value))) return std::nullopt;
            return Value(*value);
        }
        case OptionType::choice:
            for (const std::string_view choice : split(option.choices, '|'))
                if (text == choice) return Value(std::string(text));
            return std::nullopt;
        case OptionType::text:
        case OptionType::path:
        case OptionType::optional_path:
            if (text.empty()) return std::nullopt;
            return Value(std::string(text));
    }
    return std::nullopt;
}

Result<Value> parse_value(const OptionSpec& option, std::string_view origin,
                          std::string_view text) {
    if (auto value = checked_value(option, text)) return *std::move(value);
    // "auto" and the like: explicitly not set.
    if (!text.empty() && text == option.fallback && option.type != OptionType::text &&
        option.type != OptionType::path)
        return Value();
    return bad_value(option, origin, text);
}

std::vector<std::string_view> option_names(std::optional<Command> command) {
    std::vector<std::string_view> names{"help", "version"};
    for (const OptionSpec& option : option_table())
        if (!command || option.applies_to(*command)) names.push_back(option.name);
    return names;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> names,
                         std::string_view prefix) {
    const std::string nearest = nearest_name(name, names);
    return nearest.empty() ? "" : fmt::format("; did you mean {}{}?", prefix, nearest);
}

std::string commands_of(std::string_view name) {
    std::string list;
    for (const OptionSpec& option : option_table())
        for (const CommandSpec& command : command_table())
            if (option.name == name && option.applies_to(command.id))
                list += fmt::format("{}{}", list.empty() ? "" : ", ", command.words);
    return list;
}

bool takes_word(const OptionSpec& option) {
    return option.type != OptionType::flag && option.type != OptionType::optional_path;
}

// One option of the command line, still unchecked.
struct Word {
    std::string_view name;                  // dashes and a leading "no-" removed
    std::optional<std::string_view> value;  // after '='
    bool negated = false;
};

Word read_word(std::string_view argument) {
    Word word{.name = argument.substr(2), .value = {}};
    if (const size_t equals = word.name.find('='); equals != std::string_view::npos) {
        word.value = word.name.substr(equals + 1);
        word.name = word.name.substr(0, equals);
    }
    if (word.name.starts_with("no-")) {
        word.negated = true;
        word.name = word.name.substr(3);
    }
    return word;
}

bool is_option(std::string_view argument) {
    return argument.size() > 1 && argument.front() == '-';
}

class CommandLine {
public:
    CommandLine(std::span<const std::string> arguments, Invocation& result)
        : arguments_(arguments), result_(result) {}

    Status parse() {
        TRY_STATUS(find_command());
        if (result_.help || result_.version) return {};
        bool only_arguments = false;
        for (size_t at = 0; at < arguments_.size(); ++at) {
            const std::string& argument = arguments_[at];
            if (at == command_at_ || at == subcommand_at_) continue;
            if (!only_arguments && argument == "--") {
                only_arguments = true;
            } else if (!only_arguments && is_option(argument)) {
                TRY_STATUS(take_option(argument, at));
            } else {
                result_.arguments.push_back(argument);
            }
        }
        return check_arguments();
    }

private:
    // Options may stand before the command, so their values must be told from it.
    Status find_command() {
        std::vector<size_t> words;
        for (size_t at = 0; at < arguments_.size(); ++at) {
            const std::string& argument = arguments_[at];
            if (argument == "--") break;
            result_.help |= argument == "--help" || argument == "-h";
            result_.version |= argument == "--version" || argument == "-V";
            if (!is_option(argument)) {
                words.push_back(at);
            } else if (argument.starts_with("--")) {
                const Word word = read_word(argument);
                const OptionSpec* option =
                    find_option(word.name, words.empty() ? "" : name_at(words));
                if (option != nullptr && takes_word(*option) && !word.value) ++at;
            }
        }
        if (words.empty()) return {};
        command_at_ = words[0];
        const std::string& first = arguments_[words[0]];
        if (is_group(first)) result_.group_alone = first;
        for (const CommandSpec& command : command_table()) {
            const auto parts = split(command.words, ' ');
            if (parts[0] != first) continue;
            if (parts.size() == 1) result_.command = command.id;
            if (parts.size() != 2 || words.size() < 2 || parts[1] != arguments_[words[1]]) continue;
            result_.command = command.id;
            result_.group_alone.clear();
            subcommand_at_ = words[1];
        }
        if (result_.command || result_.help || result_.version) return {};
        return unknown_command(words);
    }

    // For options in front of their command the first row of a name decides whether a value
    // follows.
    const OptionSpec* find_option(std::string_view name, std::string_view command_word) const {
        const OptionSpec* any = nullptr;
        for (const OptionSpec& option : option_table()) {
            if (option.name != name) continue;
            if (any == nullptr) any = &option;
            for (const CommandSpec& command : command_table())
                if (command.words == command_word && option.applies_to(command.id)) return &option;
        }
        return any;
    }

    // The command that the words found so far spell.
    std::string name_at(const std::vector<size_t>& words) const {
        std::string name = arguments_[words[0]];
        if (is_group(name) && words.size() > 1) name += " " + arguments_[words[1]];
        return name;
    }

    Status unknown_command(const std::vector<size_t>& words) const {
        const std::string& group = result_.group_alone;
        std::vector<std::string_view> names;
        for (const CommandSpec& command : command_table()) {
            const auto parts = split(command.words, ' ');
            if (group.empty())
                names.push_back(parts[0]);
            else if (parts.size() == 2 && parts[0] == group)
                names.push_back(parts[1]);
        }
        if (!group.empty() && words.size() < 2)
            return fail(ErrorKind::invalid_input,
                        fmt::format("{0} needs one of: {1}; see coli {0} --help", group,
                                    fmt::join(names, ", ")));
        const std::string& word = arguments_[words[group.empty() ? 0 : 1]];
        return fail(ErrorKind::invalid_input,
                    fmt::format("unknown command '{}{}{}'{}; coli help lists them", group,
                                group.empty() ? "" : " ", word, did_you_mean(word, names, "")));
    }

    Status take_option(std::string_view argument, size_t& at) {
        if (!argument.starts_with("--"))
            return fail(ErrorKind::invalid_input,
                        fmt::format("unknown option '{}'; options are written with two dashes; a "
                                    "prompt that begins with a dash goes after --",
                                    argument));
        const Word word = read_word(argument);
        if (result_.command == Command::help && word.name == "markdown") {
            result_.arguments.emplace_back("--markdown");
            return {};
        }
        const OptionSpec* option = nullptr;
        bool known = false;
        for (const OptionSpec& candidate : option_table()) {
            if (candidate.name != word.name) continue;
            known = true;
            if (result_.command && candidate.applies_to(*result_.command)) option = &candidate;
        }
        if (!known) return unknown_option(argument, word);
        if (option == nullptr) {
            const std::string command =
                result_.command ? fmt::format("coli {}", spec_of(*result_.command).words)
                                : "coli without a command";
            return fail(ErrorKind::invalid_input,
                        fmt::format("--{} does not apply to {}; it belongs to: {}", word.name,
                                    command, commands_of(word.name)));
        }
        return assign(*option, word, at);
    }

    Status unknown_option(std::string_view argument, const Word& word) const {
        const auto names = option_names(result_.command);
        return fail(ErrorKind::invalid_input,
                    fmt::format("unknown option '{}'{}", argument.substr(0, argument.find('=')),
                                did_you_mean(word.name, names, "--")));
    }

    Status assign(const OptionSpec& option, const Word& word, size_t& at) {
        const std::string origin = fmt::format("--{}{}", word.negated ? "no-" : "", option.name);
        Setting& setting = result_.settings.at(option.id);
        const bool again = setting.source == Source::command_line;
        setting.source = Source::command_line;
        setting.origin = origin;
        if (option.type == OptionType::flag && (word.negated || !word.value)) {
            if (word.negated && word.value)
                return fail(ErrorKind::invalid_input, fmt::format("{} takes no value", origin));
            setting.value = !word.negated;
            return {};
        }
        if (word.negated)
            return fail(
                ErrorKind::invalid_input,
                fmt::format("{}: --{} is no switch that could be turned off", origin, option.name));
        if (option.type == OptionType::optional_path && !word.value) {
            setting.value = std::string();
            return {};
        }
        std::string_view text;
        if (word.value) {
            text = *word.value;
        } else {
            if (at + 1 >= arguments_.size() || arguments_[at + 1].starts_with("--"))
                return fail(ErrorKind::invalid_input,
                            fmt::format("{} needs a value: {}{}", origin, expectation(option),
                                        at + 1 < arguments_.size()
                                            ? fmt::format(" (to give '{0}', write {1}={0})",
                                                          arguments_[at + 1], origin)
                                            : ""));
            text = arguments_[++at];
        }
        TRY(auto value, parse_value(option, origin, text));
        const auto* before = std::get_if<std::string>(&setting.value);
        if (option.repeatable && again && before != nullptr)
            value = fmt::format("{}\n{}", *before, text);
        setting.value = std::move(value);
        return {};
    }

    Status check_arguments() const {
        if (!result_.command || result_.arguments.empty()) return {};
        const CommandSpec& command = spec_of(*result_.command);
        if (command.takes_arguments) return {};
        return fail(ErrorKind::invalid_input,
                    fmt::format("coli {} takes no further words, found '{}'", command.words,
                                result_.arguments.front()));
    }

    std::span<const std::string> arguments_;
    Invocation& result_;
    size_t command_at_ = SIZE_MAX, subcommand_at_ = SIZE_MAX;
};

const OptionSpec* find_everywhere(std::string_view name) {
    for (const OptionSpec& option : option_table())
        if (option.everywhere && option.name == name) return &option;
    return nullptr;
}

Status apply_environment(Settings& settings, const Environment& environment) {
    std::vector<std::string> names;
    for (const OptionSpec& option : option_table())
        if (option.everywhere) names.push_back(environment_name(option));
    const std::vector<std::string_view> known(names.begin(), names.end());
    for (const auto& [name, value] : environment) {
        if (!name.starts_with("COLI_")) continue;
        const OptionSpec* match = nullptr;
        for (const OptionSpec& option : option_table())
            if (option.everywhere && environment_name(option) == name) match = &option;
        if (match == nullptr)
            return fail(ErrorKind::invalid_input,
                        fmt::format("environment variable {} is unknown{}; unset it, or see coli "
                                    "help --markdown for those that exist",
                                    name, did_you_mean(name, known, "")));
        TRY_STATUS(apply_source(settings, *match, value, Source::environment, name));
    }
    return {};
}

Status apply_config_file(Settings& settings, const std::string& path) {
    auto text = read_file(path, kConfigFileBytesMax);
    if (!text) return tl::unexpected(std::move(text).error().within("configuration file"));
    TRY(const auto entries, parse_config(*text, path));
    std::vector<std::string_view> names;
    for (const OptionSpec& option : option_table())
        if (option.everywhere && option.id != Opt::config) names.push_back(option.name);
    for (const ConfigEntry& entry : entries) {
        const OptionSpec* option = find_everywhere(entry.key);
        if (option == nullptr || option->id == Opt::config)
            return fail(ErrorKind::invalid_input,
                        fmt::format("{}: unknown key '{}'{}", entry.where, entry.key,
                                    did_you_mean(entry.key, names, "")));
        TRY_STATUS(apply_source(settings, *option, entry.value, Source::file,
                                fmt::format("{} ({})", entry.where, entry.key)));
    }
    return {};
}

void apply_defaults(Settings& settings) {
    for (const OptionSpec& option : option_table()) {
        Setting& setting = settings.at(option.id);
        if (setting.source != Source::fallback) continue;
        setting.origin = "default";
        if (auto value = checked_value(option, option.fallback)) {
            const bool word = option.type == OptionType::path || option.type == OptionType::text;
            if (!word) setting.value = *std::move(value);
        }
    }
}

// Two options that cannot both hold. From different sources the stronger one wins, from the same it
// is an error.
Status exclude(Settings& settings, Opt first, Opt second, std::string_view why) {
    Setting& one = settings.at(first);
    Setting& other = settings.at(second);
    if (one.source == other.source)
        return fail(ErrorKind::invalid_input,
                    fmt::format("{} and {} exclude each other: {}", one.origin, other.origin, why));
    Setting& weaker = one.source < other.source ? one : other;
    weaker = {.value = {}, .source = Source::fallback, .origin = "default"};
    return {};
}

Status check_contradictions(Settings& settings) {
    if (settings.on(Opt::greedy) && settings.number(Opt::temp).value_or(0) > 0)
        TRY_STATUS(exclude(settings, Opt::greedy, Opt::temp,
                           "greedy is temperature 0; leave one of them out"));
    if (settings.on(Opt::raw) && !settings.text(Opt::system).empty())
        TRY_STATUS(exclude(settings, Opt::raw, Opt::system,
                           "a raw prompt has no system message; write it into the prompt"));
    if (settings.on(Opt::raw) && settings.on(Opt::think))
        TRY_STATUS(
            exclude(settings, Opt::raw, Opt::think, "a raw prompt opens a thinking block itself"));
    return {};
}

// Insertions, deletions, replacements and swaps of neighbors.
size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<size_t>> table(a.size() + 1, std::vector<size_t>(b.size() + 1));
    for (size_t i = 0; i <= a.size(); ++i) {
        for (size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                table[i][j] = i + j;
                continue;
            }
            size_t& least = table[i][j];
            least = std::min(table[i - 1][j], table[i][j - 1]) + 1;
            least = std::min(least, table[i - 1][j - 1] + size_t(a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                least = std::min(least, table[i - 2][j - 2] + 1);
        }
    }
    return table[a.size()][b.size()];
}

}  // namespace

std::string nearest_name(std::string_view name, std::span<const std::string_view> names) {
    if (name.size() > 64) return "";
    std::string best;
    size_t least = std::max<size_t>(1, name.size() / 3) + 1;
    for (const std::string_view candidate : names) {
        const size_t distance = edit_distance(name, candidate);
        // A beginning that fits one name alone is a better guess than similar letters.
        const bool begins = name.size() >= 3 && candidate.starts_with(name);
        if (begins || distance < least) {
            best = candidate;
            least = begins ? 0 : distance;
        }
    }
    return best;
}

Status apply_source(Settings& settings, const OptionSpec& option, std::string_view text,
                    Source source, const std::string& origin) {
    TRY(auto value, parse_value(option, origin, text));
    Setting& setting = settings.at(option.id);
    if (setting.source > source) return {};
    if (auto* list = std::get_if<std::string>(&value); list != nullptr && option.repeatable)
        std::replace(list->begin(), list->end(), ':', '\n');
    setting = {.value = std::move(value), .source = source, .origin = origin};
    return {};
}

std::string environment_name(const OptionSpec& option) {
    std::string name = "COLI_";
    for (const char c : option.name) name += c == '-' ? '_' : char(c >= 'a' ? c - 'a' + 'A' : c);
    return name;
}

std::string to_text(const OptionSpec& option, const Setting& setting) {
    const Value& value = setting.value;
    if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
    if (const auto* count = std::get_if<uint64_t>(&value))
        return option.type == OptionType::bytes ? format_bytes(*count) : fmt::format("{}", *count);
    return std::string(option.fallback);
}

Result<Invocation> parse_command_line(std::span<const std::string> arguments,
                                      const Environment& environment) {
    Invocation result;
    TRY_STATUS(CommandLine(arguments, result).parse());
    if (result.help || result.version || !result.command || result.command == Command::help ||
        result.command == Command::version)
        return result;
    TRY_STATUS(apply_environment(result.settings, environment));
    std::string config = result.settings.text(Opt::config);
    if (const std::string shown = result.settings.text(Opt::show_config); !shown.empty())
        config = shown;
    if (!config.empty()) TRY_STATUS(apply_config_file(result.settings, config));
    apply_defaults(result.settings);
    TRY_STATUS(check_contradictions(result.settings));
    return result;
}

}  // namespace colibri

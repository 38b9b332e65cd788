#include "apps/help.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace colibri {

namespace {

constexpr size_t kWidth = 80;
constexpr size_t kOptionColumn = 26;

// Words of `text` in lines of at most kWidth columns, each after `indent` spaces; the first line
// continues one that is `used` long.
std::string wrap(std::string_view text, size_t indent, size_t used) {
    std::string result;
    size_t column = used;
    bool fresh = true;
    while (!text.empty()) {
        const size_t end = std::min(text.find(' '), text.size());
        const std::string_view word = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (!fresh && column + 1 + word.size() > kWidth) {
            result += '\n';
            result.append(indent, ' ');
            column = indent;
            fresh = true;
        }
        if (!fresh) result += ' ';
        result += word;
        column += word.size() + size_t(!fresh);
        fresh = false;
    }
    return result;
}

// "--stats, --no-stats", "--ram SIZE", "--config[=FILE]"
std::string synopsis(const OptionSpec& option) {
    if (option.type == OptionType::flag) return fmt::format("--[no-]{}", option.name);
    if (option.type == OptionType::optional_path)
        return fmt::format("--{}[={}]", option.name, option.placeholder);
    return fmt::format("--{} {}", option.name, option.placeholder);
}

std::string number_text(double value) {
    return value >= 18446744073709551615.0 ? "2^64-1" : fmt::format("{:.0f}", value);
}

// "1 to 1024", "avx2|neon"; "" where everything goes.
std::string range_text(const OptionSpec& option) {
    switch (option.type) {
        case OptionType::choice: return std::string(option.choices);
        case OptionType::count:
        case OptionType::number:
            return fmt::format("{} to {}", number_text(option.least), number_text(option.most));
        case OptionType::bytes:
            return fmt::format("{} to {}", format_bytes(uint64_t(option.least)),
                               format_bytes(uint64_t(option.most)));
        case OptionType::flag:
        case OptionType::text:
        case OptionType::path:
        case OptionType::optional_path: return "";
    }
    return "";
}

std::string default_text(const OptionSpec& option) {
    if (option.fallback.empty() || option.fallback == "false") return "";
    return std::string(option.fallback);
}

std::string option_entry(const OptionSpec& option) {
    std::string head = fmt::format("  {}", synopsis(option));
    if (head.size() + 2 > kOptionColumn) {
        head += '\n';
        head.append(kOptionColumn, ' ');
    } else {
        head.resize(kOptionColumn, ' ');
    }
    std::string text(option.help);
    std::string facts;
    if (option.type == OptionType::choice) facts = fmt::format("one of {}", option.choices);
    if (const std::string fallback = default_text(option); !fallback.empty())
        facts += fmt::format("{}default: {}", facts.empty() ? "" : "; ", fallback);
    if (!facts.empty()) text += fmt::format(" [{}]", facts);
    return head + wrap(text, kOptionColumn, kOptionColumn) + "\n";
}

std::string option_groups(Command command) {
    std::string page;
    std::string_view group;
    for (const OptionSpec& option : option_table()) {
        if (!option.applies_to(command)) continue;
        if (option.group != group) {
            group = option.group;
            page += fmt::format("\n{}:\n", group);
        }
        page += option_entry(option);
    }
    return page;
}

constexpr std::string_view kSources =
    "Every option can also come from an environment variable (--max-tokens: COLI_MAX_TOKENS) or a "
    "configuration file; the command line wins over the environment, the environment over the "
    "file, the file over what coli tune has found. "
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.";

std::string command_line(const CommandSpec& command) {
    const std::string lead = fmt::format("  {}", command.words);
    return fmt::format("{:<16}{}\n", lead, wrap(command.summary, 16, 16));
}

std::string commands_of(const OptionSpec& option) {
    std::string list;
    for (const CommandSpec& command : command_table())
        if (option.applies_to(command.id))
            list += fmt::format("{}{}", list.empty() ? "" : ", ", command.words);
    return list;
}

// Pipes would end a table cell, angle brackets would be taken for tags.
std::string cell(std::string_view text) {
    std::string result;
    for (const char c : text) result += c == '|' ? std::string("\\|") : std::string(1, c);
    return result;
}

}  // namespace

std::string general_help() {
    std::string page = fmt::format(
        "colibri {}: Mixture-of-Experts language models that are larger than memory\n\n"
        "usage: coli COMMAND [OPTION...]\n\ncommands:\n",
        COLIBRI_VERSION);
    for (const CommandSpec& command : command_table()) page += command_line(command);
    const std::string last =
        fmt::format("coli COMMAND --help shows a command's options. {}", kSources);
    return fmt::format("{}\n{}\n\ntry: coli run \"What is the capital of France?\"\n", page,
                       wrap(last, 0, 0));
}

std::string command_help(Command id) {
    const CommandSpec& command = spec_of(id);
    std::string page = fmt::format("coli {}: {}\n\nusage: coli {} [OPTION...]{}{}\n", command.words,
                                   command.summary, command.words,
                                   command.arguments.empty() ? "" : " ", command.arguments);
    if (!command.details.empty()) page += fmt::format("\n{}\n", wrap(command.details, 0, 0));
    const std::string groups = option_groups(id);
    if (!groups.empty()) page += fmt::format("{}\n{}\n", groups, wrap(kSources, 0, 0));
    return page;
}

std::string group_help(std::string_view group) {
    std::string page = fmt::format("usage: coli {} COMMAND [OPTION...]\n\ncommands:\n", group);
    for (const CommandSpec& command : command_table())
        if (command.words.starts_with(fmt::format("{} ", group))) page += command_line(command);
    return page + fmt::format("\ncoli {} COMMAND --help shows a command's options.\n", group);
}

std::string markdown_reference() {
    std::string page =
        "# Options\n\n"
        "Generated by `coli help --markdown` from the table that the program itself uses; a test "
        "keeps the two equal.\n\n"
        "An option's value comes from the first of these that has one:\n\n"
        "1. the command line: `--max-tokens 200` or `--max-tokens=200`; switches are `--think` and "
        "`--no-think`;\n"
        "2. the environment: `COLI_MAX_TOKENS=200`, switches `true` or `false`;\n"
        "3. the configuration file that `--config FILE` or `COLI_CONFIG` names: lines of "
        "`max-tokens = 200`, or a JSON object;\n"
        "4. the default.\n\n"
        "Unknown options, unknown `COLI_*` variables and unknown keys are errors, and so is an "
        "option that the command does not have. `coli info --config` prints every value and where "
        "it came from. Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C. Colors "
        "appear on terminals only, and not when `NO_COLOR` is set.\n\n"
        "## Commands\n\n| command | what it does |\n|---|---|\n";
    for (const CommandSpec& command : command_table())
        page += fmt::format("| `coli {}{}{}` | {} |\n", command.words,
                            command.arguments.empty() ? "" : " ", cell(command.arguments),
                            cell(command.summary));
    std::string_view group;
    for (const OptionSpec& option : option_table()) {
        if (option.group != group) {
            group = option.group;
            page += fmt::format(
                "\n## {}\n\n| option | environment | default | range | commands | meaning "
                "|\n|---|---|---|---|---|---|\n",
                group);
        }
        const std::string environment =
            option.everywhere ? fmt::format("`{}`", environment_name(option)) : "";
        const std::string fallback =
            option.fallback.empty() ? "" : fmt::format("`{}`", option.fallback);
        page +=
            fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", cell(synopsis(option)), environment,
                        fallback, cell(range_text(option)), commands_of(option), cell(option.help));
    }
    return page;
}

}  // namespace colibri

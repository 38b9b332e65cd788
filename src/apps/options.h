// What `coli` can be told: one table of commands and options. From it come parsing, limits, --help,
// the names of environment variables and configuration keys, and docs/options.md. Nothing else
// reads the environment.
//
// Precedence: command line > environment (COLI_*) > configuration file > what coli tune found >
// default.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"

namespace colibri {

enum class Command : uint8_t {
    run,
    chat,
    info,
    plan,
    doctor,
    convert,
    calibrate,
    eval_logits,
    eval_trace,
    eval_ppl,
    eval_kld,
    trace_record,
    trace_replay,
    usage,
    iobench,
    tune,
    help,
    version,
};
inline constexpr uint32_t kCommandCount = 18;

struct CommandSpec {
    Command id;
    std::string_view words;      // as typed: "eval logits"
    std::string_view arguments;  // what follows the options: "[PROMPT...]"
    bool takes_arguments;
    std::string_view summary;  // one line
    std::string_view details;  // paragraphs for its --help page
};
[[nodiscard]] std::span<const CommandSpec> command_table();
[[nodiscard]] const CommandSpec& spec_of(Command command);

enum class OptionType : uint8_t {
    flag,    // --name, --no-name; elsewhere true/false, yes/no, on/off, 1/0
    count,   // whole number
    number,  // decimal number
    bytes,   // size: 800M, 1.5G, 16 (GiB)
    text,
    path,
    choice,
    optional_path,  // --name or --name=PATH
};

// One entry per row of the table, in its order.
enum class Opt : uint8_t {
    model,
    ram,
    ctx,
    threads,
    isa,
    activations,
    dense_attention,
    prefill_slice,
    reader,
    in_flight,
    chunk,
    dir,
    mirror,
    policy,
    prefetch,
    warm,
    usage,
    use_tuning,
    state_dir,
    prompt,
    system,
    raw,
    think,
    max_tokens,
    stop,
    loop_guard,
    temp,
    top_p,
    top_k,
    min_p,
    seed,
    greedy,
    json,
    stats,
    spec,
    show_config,
    tokens,
    out,
    greedy_count,
    drafts,
    drives,
    hit_rate,
    deep,
    tune_seconds,
    replay_policy,
    capacity,
    import_file,
    export_file,
    reference,
    limit,
    experts,
    dense,
    mtp,
    formats,
    scales,
    calibration,
    dry_run,
    delete_source_shards,
    window,
    block,
    depth,
    seconds,
    config,
};
inline constexpr size_t kOptionCount = size_t(Opt::config) + 1;

struct OptionSpec {
    Opt id;
    std::string_view name;  // without the dashes; also the configuration key
    OptionType type;
    std::string_view placeholder;  // "N", "DIR"
    // Default as one would write it. A word that is no value of the type ("auto") may be written
    // too and stands for "not set".
    std::string_view fallback;
    double least = 0, most = 0;     // of count, number and bytes, inclusive
    std::string_view choices = {};  // of choice: "auto|f32"
    uint32_t commands = 0;          // bit per Command
    bool repeatable = false;  // text; values are joined by line feeds, by colons in lower sources
    bool everywhere = true;   // false: command line only, neither environment nor file
    std::string_view group;
    std::string_view help;
    [[nodiscard]] bool applies_to(Command command) const {
        return (commands >> uint32_t(command) & 1) != 0;
    }
};
[[nodiscard]] std::span<const OptionSpec> option_table();
[[nodiscard]] const OptionSpec& spec_of(Opt option);
// "COLI_MAX_TOKENS"
[[nodiscard]] std::string environment_name(const OptionSpec& option);

enum class Source : uint8_t { fallback, tuned, file, environment, command_line };

struct Setting {
    // monostate: not set.
    std::variant<std::monostate, bool, uint64_t, double, std::string> value;
    Source source = Source::fallback;
    std::string origin;  // "--ram", "COLI_RAM", "coli.conf:3", "default"
};

// The checked value of every option.
class Settings {
public:
    [[nodiscard]] const Setting& at(Opt option) const { return settings_[size_t(option)]; }
    [[nodiscard]] Setting& at(Opt option) { return settings_[size_t(option)]; }
    [[nodiscard]] bool given(Opt option) const { return at(option).source != Source::fallback; }
    [[nodiscard]] std::optional<bool> flag(Opt option) const { return get<bool>(option); }
    [[nodiscard]] bool on(Opt option) const { return flag(option).value_or(false); }
    [[nodiscard]] std::optional<uint64_t> count(Opt option) const { return get<uint64_t>(option); }
    [[nodiscard]] std::optional<double> number(Opt option) const { return get<double>(option); }
    [[nodiscard]] std::string text(Opt option) const {
        return get<std::string>(option).value_or("");
    }

private:
    template <class T>
    [[nodiscard]] std::optional<T> get(Opt option) const {
        const T* value = std::get_if<T>(&at(option).value);
        return value == nullptr ? std::nullopt : std::optional<T>(*value);
    }
    std::vector<Setting> settings_ = std::vector<Setting>(kOptionCount);
};

using Environment = std::vector<std::pair<std::string, std::string>>;

struct Invocation {
    std::optional<Command> command;      // absent: none was named, or a group of commands alone
    std::string group_alone;             // "eval" or "trace", when nothing follows it
    bool help = false, version = false;  // asked for: nothing else of the line is looked at
    std::vector<std::string> arguments;  // what is no option
    Settings settings;
};

// Everything about the command line, environment and configuration file. Errors: invalid_input (a
// usage error: exit code 2), naming the option, variable or key, its value, the limit or the
// nearest known name.
[[nodiscard]] Result<Invocation> parse_command_line(std::span<const std::string> arguments,
                                                    const Environment& environment);

// Gives an option the value of a source weaker than the command line; a stronger one that has set
// it stays. The value is checked in any case. Errors: as parse_command_line, beginning with
// `origin`.
[[nodiscard]] Status apply_source(Settings& settings, const OptionSpec& option,
                                  std::string_view text, Source source, const std::string& origin);

// The value as one would write it.
[[nodiscard]] std::string to_text(const OptionSpec& option, const Setting& setting);

// The nearest of `names` within a third of the length, or "".
[[nodiscard]] std::string nearest_name(std::string_view name,
                                       std::span<const std::string_view> names);

}  // namespace colibri

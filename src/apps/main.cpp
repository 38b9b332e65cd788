// coli: everything that colibri does, as one program.

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "apps/commands.h"
#include "apps/help.h"
#include "apps/interrupt.h"
#include "apps/options.h"
#include "apps/setup.h"
#include "apps/terminal.h"
#include "apps/tuning.h"

extern char** environ;

namespace colibri {
namespace {

Environment read_environment() {
    Environment environment;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string text = *entry;
        const size_t equals = text.find('=');
        if (equals != std::string::npos)
            environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
    return environment;
}

bool wants_color() {
    const char* no_color = std::getenv("NO_COLOR");
    const char* terminal = std::getenv("TERM");
    return (no_color == nullptr || *no_color == '\0') &&
           (terminal == nullptr || std::string_view(terminal) != "dumb");
}

// `coli help [COMMAND]` and `coli help --markdown`.
int help_command(const std::vector<std::string>& arguments, const Console& console) {
    std::string name;
    for (const std::string& argument : arguments)
        name += fmt::format("{}{}", name.empty() ? "" : " ", argument);
    if (name.empty()) {
        console.out.write(general_help());
        return kExitOk;
    }
    if (name == "--markdown" || name == "eval" || name == "trace") {
        console.out.write(name == "--markdown" ? markdown_reference() : group_help(name));
        return kExitOk;
    }
    for (const CommandSpec& command : command_table()) {
        if (command.words != name) continue;
        console.out.write(command_help(command.id));
        return kExitOk;
    }
    console.error(fmt::format("no help for '{}'; coli help lists the commands", name));
    return kExitMisused;
}

int dispatch(const Invocation& invocation, const Console& console) {
    switch (*invocation.command) {
        case Command::run: return run_command(invocation, console);
        case Command::chat: return chat_command(invocation, console);
        case Command::info: return info_command(invocation, console);
        case Command::plan: return plan_command(invocation, console);
        case Command::doctor: return doctor_command(invocation, console);
        case Command::convert: return convert_command(invocation, console);
        case Command::calibrate: return calibrate_command(invocation, console);
        case Command::eval_kld: return eval_kld_command(invocation, console);
        case Command::eval_logits: return eval_logits_command(invocation, console);
        case Command::eval_trace: return eval_trace_command(invocation, console);
        case Command::eval_ppl: return eval_ppl_command(invocation, console);
        case Command::trace_record: return trace_record_command(invocation, console);
        case Command::trace_replay: return trace_replay_command(invocation, console);
        case Command::usage: return usage_command(invocation, console);
        case Command::iobench: return iobench_command(invocation, console);
        case Command::tune: return tune_command(invocation, console);
        case Command::help: return help_command(invocation.arguments, console);
        case Command::version: break;
    }
    console.out.write(fmt::format("colibri {}\n", COLIBRI_VERSION));
    return kExitOk;
}

int start(const std::vector<std::string>& arguments, const Console& console) {
    auto invocation = parse_command_line(arguments, read_environment());
    if (!invocation) {
        console.error(invocation.error().message);
        return kExitMisused;
    }
    if (invocation->version) {
        console.out.write(fmt::format("colibri {}\n", COLIBRI_VERSION));
        return kExitOk;
    }
    if (invocation->help || !invocation->command) {
        console.out.write(invocation->command                ? command_help(*invocation->command)
                          : !invocation->group_alone.empty() ? group_help(invocation->group_alone)
                                                             : general_help());
        return kExitOk;
    }
    // The model may be an argument.
    if (invocation->command == Command::plan && invocation->arguments.size() == 1)
        invocation->settings.at(Opt::model) = {.value = invocation->arguments.front(),
                                               .source = Source::command_line,
                                               .origin = "argument"};
    apply_tuning(*invocation->command, invocation->settings, console);
    return dispatch(*invocation, console);
}

// A model of many shards, each open twice, and its mirrors need more than the usual 1024.
void raise_open_files() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
    limit.rlim_cur = limit.rlim_max;
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace
}  // namespace colibri

int main(int count, char** words) {
    using namespace colibri;
    ignore_write_signals();
    raise_open_files();
    const bool color = wants_color();
    Stream out(STDOUT_FILENO, color), err(STDERR_FILENO, color);
    const Console console{.out = out, .err = err};
    const int code =
        start(std::vector<std::string>(words + (count > 0 ? 1 : 0), words + count), console);
    if (out.good()) return code;
    // A reader that has seen enough is no failure worth words, a full disk is.
    if (!out.reader_left()) console.error(fmt::format("standard output: {}", out.error()));
    return code == kExitOk ? kExitFailed : code;
}

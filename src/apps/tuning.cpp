#include "apps/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "apps/file_system.h"
#include "apps/setup.h"
#include "kernels/kernels.h"
#include "platform/file.h"
#include "platform/machine.h"

namespace colibri {

namespace {

// Whether any model has one in the user's state directory: to know which model this is costs a
// reading of its files' headers.
bool any_below(const std::string& directory) {
    if (directory.empty()) return false;
    std::error_code error;
    for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
         at.increment(error)) {
        std::error_code ignored;
        if (std::filesystem::exists(at->path() / kTuneFileName, ignored)) return true;
    }
    return false;
}

const OptionSpec* tunable_option(std::string_view name) {
    for (const Opt option : kTunableOptions)
        if (spec_of(option).name == name) return &spec_of(option);
    return nullptr;
}

Status apply(const TuneFile& file, const std::string& path, Settings& settings) {
    for (const TuneChoice& choice : file.chosen) {
        const OptionSpec* option = tunable_option(choice.option);
        if (option == nullptr)
            return fail(ErrorKind::corrupt, fmt::format("{}: '{:.100}' is no option that is tuned",
                                                        path, choice.option));
        TRY_STATUS(apply_source(settings, *option, choice.value, Source::tuned, path));
    }
    return {};
}

// What differs between the file's machine and this one.
std::string difference(const TuneMachine& file, const TuneMachine& here) {
    if (file.processor != here.processor)
        return fmt::format("processor '{:.200}', this one is '{}'", file.processor, here.processor);
    if (file.isa != here.isa)
        return fmt::format("instruction set {:.200}, this machine has {}", file.isa, here.isa);
    if (file.cores != here.cores)
        return fmt::format("{} cores, this process may use {}", file.cores, here.cores);
    if (file.drive != here.drive)
        return fmt::format("drive '{:.200}', the model is on '{}'", file.drive, here.drive);
    return "";
}

void judge(FoundTuning& found, uint64_t model, const TuneMachine& here) {
    found.kind = FoundTuning::Kind::foreign;
    if (found.file.model != model) {
        found.why = fmt::format("{}: measured with another model ({:016x}, this one is {:016x})",
                                found.path, found.file.model, model);
        return;
    }
    if (const std::string what = difference(found.file.machine, here); !what.empty()) {
        found.why = fmt::format("{}: measured on another machine: {}", found.path, what);
        return;
    }
    Settings scratch;
    const Status possible = apply(found.file, found.path, scratch);
    found.kind = possible ? FoundTuning::Kind::applies : FoundTuning::Kind::damaged;
    if (!possible) found.why = possible.error().message;
}

FoundTuning read_tuning(const std::string& path, uint64_t model, const TuneMachine& here) {
    FoundTuning found{.path = path};
    const auto text = read_file(path, kTuneFileBytesMax);
    if (!text && text.error().kind == ErrorKind::not_found) return found;
    auto file = text ? parse_tune(*text, path) : tl::unexpected(text.error());
    if (file) {
        found.file = *std::move(file);
        judge(found, model, here);
    } else {
        found.kind = FoundTuning::Kind::damaged;
        found.why = file.error().message;
    }
    return found;
}

}  // namespace

TuneMachine this_machine(const Settings& settings, const std::string& model_directory) {
    std::string drives = file_system_facts(model_directory).identity;
    for (const std::string& directory : split_directories(settings))
        drives += fmt::format(" + {}", file_system_facts(directory).identity);
    return {.processor = cpu_model(),
            .isa = std::string(to_string(best_kernels().isa)),
            .cores = usable_cores(),
            .drive = std::move(drives)};
}

std::string tuning_summary(const TuneFile& file) {
    std::string chosen;
    for (const TuneChoice& choice : file.chosen)
        chosen += fmt::format("{}{} {}", chosen.empty() ? "" : ", ", choice.option, choice.value);
    return fmt::format("{}, measured {}",
                       chosen.empty()
                           ? "the defaults are best"
                           : fmt::format("{}: {:.3f} times the defaults' speed", chosen, file.gain),
                       file.date);
}

FoundTuning find_tuning(const Settings& settings, const std::string& model_directory) {
    const StatePlaces places = state_places(settings, model_directory);
    FoundTuning best{.path = fmt::format("{}/{}", places.directory, kTuneFileName)};
    std::error_code ignored;
    if (!std::filesystem::exists(best.path, ignored) && !any_below(places.fallback)) return best;
    // What is wrong with the model is for others to say.
    const auto model = Model::fingerprint(model_directory, split_directories(settings));
    if (!model) return best;
    const TuneMachine here = this_machine(settings, model_directory);
    // One that could not be replaced may be in the first place.
    for (const std::string& path :
         state_file_paths(places.directory, places.fallback, *model, kTuneFileName)) {
        FoundTuning found = read_tuning(path, *model, here);
        if (found.kind == FoundTuning::Kind::applies) return found;
        if (best.kind == FoundTuning::Kind::none && found.kind != FoundTuning::Kind::none)
            best = std::move(found);
    }
    return best;
}

void apply_tuning(Command command, Settings& settings, const Console& console) {
    if (!spec_of(Opt::use_tuning).applies_to(command) || !settings.on(Opt::use_tuning)) return;
    const auto directory = model_directory(settings);
    if (!directory) return;
    const FoundTuning found = find_tuning(settings, *directory);
    switch (found.kind) {
        case FoundTuning::Kind::none: return;
        case FoundTuning::Kind::applies:
            // judge() has tried it.
            (void)apply(found.file, found.path, settings);
            return;
        case FoundTuning::Kind::foreign:
        case FoundTuning::Kind::damaged: break;
    }
    if (command == Command::info || command == Command::doctor) return;
    console.note(fmt::format(
        "{}; it is ignored and left alone (coli tune measures anew, --no-tune passes it over)",
        found.why));
}

}  // namespace colibri

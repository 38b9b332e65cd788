// coli doctor: is this machine, this model and its state in order? Every finding says why and what
// to do.

#include <fmt/format.h>
#include <sys/resource.h>

#include <nlohmann/json.hpp>

#include "apps/commands.h"
#include "apps/file_system.h"
#include "apps/findings.h"
#include "apps/interrupt.h"
#include "apps/setup.h"
#include "apps/state_checks.h"
#include "base/units.h"
#include "format/checkpoint.h"
#include "format/checkpoint_scan.h"
#include "format/container.h"
#include "kernels/kernels.h"
#include "platform/drive_speed.h"
#include "platform/machine.h"

namespace colibri {

namespace {

using Json = nlohmann::ordered_json;

std::string_view name(Severity severity) {
    switch (severity) {
        case Severity::ok: return "ok";
        case Severity::note: return "note";
        case Severity::warning: return "warning";
        case Severity::error: return "error";
    }
    return {};
}

constexpr double kSlowDrive = 0.5e9;  // bytes per second
constexpr uint64_t kFreeSpaceMin = kGiB;

void check_processor(const EngineOptions& options, Findings& report) {
    const Isa isa = best_kernels().isa;
    const uint32_t threads = options.threads == 0 ? usable_cores() : options.threads;
    const std::string found =
        fmt::format("{}, {}, {} threads", cpu_model(), to_string(isa), threads);
    if (isa == Isa::reference)
        report.add({.id = "machine.processor",
                    .severity = Severity::warning,
                    .summary = found,
                    .reason = "no fast kernels run here: this processor has neither AVX2 nor NEON",
                    .remedy = "answers are right but slow; use another machine for speed"});
    else
        report.ok("machine.processor", found);
}

void check_memory(Findings& report) {
    const MemoryFacts facts = memory_facts();
    if (!facts.available_bytes) {
        report.add({.id = "machine.memory",
                    .severity = Severity::warning,
                    .summary = "how much memory is free could not be found out",
                    .reason = "the automatic budget is a guess",
                    .remedy = "give --ram"});
        return;
    }
    std::string found = fmt::format("{} available", format_bytes(*facts.available_bytes));
    if (facts.total_bytes) found += fmt::format(" of {}", format_bytes(*facts.total_bytes));
    if (facts.cgroup_limit_bytes)
        found += fmt::format(", container limit {}", format_bytes(*facts.cgroup_limit_bytes));
    report.ok("machine.memory", found);
}

void check_limits(uint64_t files, Findings& report) {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        // Each file may be open twice, once for direct reads.
        const uint64_t needed = 2 * files + 64;
        const std::string found = fmt::format("{} files may be open, about {} are needed",
                                              uint64_t(limit.rlim_cur), needed);
        if (limit.rlim_cur < needed)
            report.add({.id = "machine.open_files",
                        .severity = Severity::error,
                        .summary = found,
                        .reason = "opening the model will fail",
                        .remedy = fmt::format("raise the limit: ulimit -Hn {}", needed)});
        else
            report.ok("machine.open_files", found);
    }
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0)
        report.ok("machine.locked_memory",
                  limit.rlim_cur == RLIM_INFINITY
                      ? std::string("unlimited")
                      : fmt::format("limit {} (colibri locks none)",
                                    format_bytes(uint64_t(limit.rlim_cur))));
}

void check_file_system(const std::string& directory, bool direct, Findings& report) {
    const FileSystemFacts facts = file_system_facts(directory);
    if (facts.name.empty()) return;
    const std::string& found = facts.name;
    if (facts.slow)
        report.add({.id = "storage.file_system",
                    .severity = Severity::warning,
                    .summary = found,
                    .reason = "reads leave this machine or pass through another process",
                    .remedy = "put the model on a local SSD"});
    else if (!direct)
        report.add(
            {.id = "storage.file_system",
             .severity = Severity::warning,
             .summary = found + ", refuses direct reads",
             .reason = "experts are read through the page cache, at a fraction of the "
                       "drive's speed",
             .remedy = "put the model on a file system with direct reads, like ext4 or xfs"});
    else
        report.ok("storage.file_system", found + ", direct reads");
}

void check_space(const std::string& directory, Findings& report) {
    const FileSystemFacts facts = file_system_facts(directory);
    if (facts.name.empty()) return;
    const std::string found =
        fmt::format("{} free beside the model", format_bytes(facts.free_bytes));
    if (facts.free_bytes < kFreeSpaceMin)
        report.add({.id = "storage.space",
                    .severity = Severity::warning,
                    .summary = found,
                    .reason = "usage history and tuning are saved there",
                    .remedy = "free some space, or give --state-dir on another drive"});
    else
        report.ok("storage.space", found);
}

void check_drive(const std::vector<std::shared_ptr<const File>>& files, uint64_t block_bytes,
                 const std::string& directory, Findings& report) {
    const auto speed = measure_random_reads(files, block_bytes, kDriveLook_s, kColdMemoryBytes);
    if (!speed) {
        report.add({.id = "storage.speed",
                    .severity = speed.error().kind == ErrorKind::invalid_input ? Severity::note
                                                                               : Severity::error,
                    .summary = speed.error().message,
                    .reason = "the drive's speed is not known",
                    .remedy = "check the drive with the system's tools if this says that reads "
                              "fail"});
        return;
    }
    check_file_system(directory, choose_reader(ReaderKind::automatic, files).direct, report);
    const std::string found =
        fmt::format("{:.2f} GB/s in random reads of {}", *speed / 1e9, format_bytes(block_bytes));
    if (*speed < kSlowDrive)
        report.add({.id = "storage.speed",
                    .severity = Severity::warning,
                    .summary = found,
                    .reason = "every expert that is not in memory waits for this drive",
                    .remedy = "use an NVMe drive, more --ram, or a smaller format (coli convert)"});
    else
        report.ok("storage.speed", found);
}

void add_error(std::string id, const Error& error, std::string remedy, Findings& report) {
    report.add({.id = std::move(id),
                .severity = Severity::error,
                .summary = error.message,
                .reason = "the model cannot be used like this",
                .remedy = std::move(remedy)});
}

// Everything that a read of all bytes finds.
void check_deep(const EngineOptions& options, const Checkpoint& checkpoint, const Console& console,
                Findings& report) {
    const std::string& directory = options.model_directory;
    Progress progress(console.err);
    const auto show = [&](uint64_t done, uint64_t total) {
        progress.show(fmt::format("reading {} of {}", format_bytes(done), format_bytes(total)));
    };
    CancelToken cancel;
    const InterruptScope interrupt(cancel);
    std::vector<ContainerFinding> found;
    if (is_container(directory)) {
        auto damage = verify_container(directory, true, show, &cancel, options.split_directories);
        if (!damage) return add_error("model.bytes", damage.error(), "run it again", report);
        found = *std::move(damage);
    } else {
        auto damage = scan_checkpoint(checkpoint, show, &cancel);
        if (!damage) return add_error("model.bytes", damage.error(), "run it again", report);
        found = *std::move(damage);
    }
    progress.clear();
    for (const ContainerFinding& one : found)
        report.add(
            {.id = "model.bytes",
             .severity = Severity::error,
             .summary = one.file.empty() ? one.what : fmt::format("{}: {}", one.file, one.what),
             .reason = "the file is damaged: answers from it cannot be right",
             .remedy = "copy or download this file again, or convert the model again"});
    if (found.empty())
        report.ok("model.bytes", is_container(directory)
                                     ? std::string("every byte agrees with its checksum")
                                     : std::string("every byte can be read, all numbers finite"));
}

void check_model(const EngineOptions& options, bool deep, const Console& console,
                 Findings& report) {
    const std::string& directory = options.model_directory;
    Notices notices;
    const auto checkpoint = Checkpoint::open(directory, notices, options.split_directories);
    if (!checkpoint)
        return add_error("model.files", checkpoint.error(),
                         "copy or download what is named here again", report);
    std::vector<std::shared_ptr<const File>> files;
    for (const CheckpointFile& file : checkpoint->files()) files.push_back(file.file);
    report.ok("model.files",
              fmt::format("{} files, {}", files.size(), format_bytes(checkpoint->data_bytes())));
    check_limits(files.size(), report);
    EngineOptions plan_options = options;
    plan_options.tokenizer_required = false;
    const auto plan = Engine::plan_only(plan_options, notices);
    if (!plan) {
        const bool budget = plan.error().kind == ErrorKind::out_of_budget;
        add_error(budget ? "model.plan" : "model.tensors", plan.error(),
                  budget ? "free memory, or use a smaller --ctx or --ram as said"
                         : "copy or download the model again; its files do not fit its config.json",
                  report);
    } else {
        report.ok("model.plan", fmt::format("{} for {} positions, {} of {} experts in memory",
                                            format_bytes(plan->total_bytes), plan->context,
                                            plan->expert_slots, plan->expert_count));
    }
    for (const std::string& notice : notices.take())
        report.add({.id = "model.notice",
                    .severity = Severity::note,
                    .summary = notice,
                    .reason = "",
                    .remedy = ""});
    check_space(directory, report);
    if (plan && plan->expert_count > 0)
        check_drive(files, plan->expert_read_bytes, directory, report);
    if (deep) check_deep(options, *checkpoint, console, report);
}

// What is wrong with a model that does not open has been said.
void check_state_files(const Settings& settings, Findings& report) {
    auto options = model_options(settings);
    if (!options) return;
    const StatePlaces places = state_places(settings, options->directory);
    options->state_directory = places.directory;
    options->fallback_state_directory = places.fallback;
    Notices ignored;
    if (const auto place = Model::usage_place(*options, ignored))
        check_state(settings, *place, report);
}

std::string to_text(const Findings& report) {
    std::string text;
    for (const Finding& finding : report.list()) {
        text +=
            fmt::format("{:<8} {:<22} {}\n", name(finding.severity), finding.id, finding.summary);
        if (!finding.reason.empty()) text += fmt::format("{:31} why: {}\n", "", finding.reason);
        if (!finding.remedy.empty()) text += fmt::format("{:31} do:  {}\n", "", finding.remedy);
    }
    return text + fmt::format("result   {}\n", name(report.worst()));
}

Json to_json(const std::string& directory, bool deep, const Findings& report) {
    Json checks = Json::array();
    for (const Finding& finding : report.list())
        checks.push_back({{"id", finding.id},
                          {"severity", name(finding.severity)},
                          {"summary", finding.summary},
                          {"reason", finding.reason},
                          {"remedy", finding.remedy}});
    return {{"schema_version", 1},
            {"status", name(report.worst())},
            {"model", directory},
            {"mode", deep ? "deep" : "quick"},
            {"checks", checks}};
}

}  // namespace

int doctor_command(const Invocation& invocation, const Console& console) {
    const Settings& settings = invocation.settings;
    auto options = engine_options(settings);
    if (!options) return misused(console, Command::doctor, options.error());
    const bool deep = settings.on(Opt::deep);
    Findings report;
    check_processor(*options, report);
    check_memory(report);
    check_model(*options, deep, console, report);
    check_state_files(settings, report);
    console.out.write(settings.on(Opt::json)
                          ? to_json(options->model_directory, deep, report)
                                    .dump(2, ' ', false, Json::error_handler_t::replace) +
                                "\n"
                          : to_text(report));
    return report.worst() == Severity::error ? kExitFailed : kExitOk;
}

}  // namespace colibri

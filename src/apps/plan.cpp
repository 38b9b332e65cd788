// coli plan: what a model needs on this machine, and what that means for speed.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <numeric>

#include "apps/commands.h"
#include "apps/setup.h"
#include "base/units.h"
#include "format/checkpoint.h"
#include "load/forecast.h"
#include "load/mirrors.h"
#include "platform/drive_speed.h"
#include "platform/machine.h"
#include "platform/memory_speed.h"

namespace colibri {

namespace {

using Json = nlohmann::ordered_json;

constexpr uint32_t kContextStep = 256;

// "3.2" or "3.2,1.5": gigabytes per second of each drive that holds a copy, as bytes.
Result<std::vector<double>> parse_drives(const std::string& text) {
    std::vector<double> speeds;
    for (size_t at = 0; at <= text.size();) {
        const size_t end = std::min(text.find(',', at), text.size());
        const std::string word = text.substr(at, end - at);
        char* stop = nullptr;
        const double value = std::strtod(word.c_str(), &stop);
        if (word.empty() || *stop != '\0' || !(value > 0) || !(value < 1e6))
            return fail(ErrorKind::invalid_input,
                        fmt::format("--drives \"{:.60}\": found \"{:.30}\", expected the speed of "
                                    "each drive in GB/s, like 3.2 or 3.2,1.5",
                                    text, word));
        speeds.push_back(value * 1e9);
        at = end + 1;
    }
    return speeds;
}

// Bytes per second of all drives together, when each file is read from those that have it in
// proportion to their speeds. The busiest drive decides.
double combined_speed(const Checkpoint& checkpoint, const Mirrors& mirrors,
                      const std::vector<double>& speeds) {
    std::vector<double> load(speeds.size(), 0);
    double bytes = 0;
    for (size_t i = 0; i < checkpoint.files().size(); ++i) {
        const auto has = [&](size_t drive) {
            return drive == 0 || mirrors.copies[drive - 1].file_of[i] != Mirrors::kNoFile;
        };
        double sum = 0;
        for (size_t drive = 0; drive < speeds.size(); ++drive)
            sum += has(drive) ? speeds[drive] : 0;
        const auto size = double(checkpoint.files()[i].size_bytes);
        bytes += size;
        for (size_t drive = 0; drive < speeds.size(); ++drive)
            if (has(drive)) load[drive] += size * speeds[drive] / sum;
    }
    double busiest_s = 0;
    for (size_t drive = 0; drive < speeds.size(); ++drive)
        busiest_s = std::max(busiest_s, load[drive] / speeds[drive]);
    return busiest_s > 0 ? bytes / busiest_s : speeds[0];
}

// The largest context whose plan fits, found by halving; the model's maximum is tried first.
uint32_t largest_context(EngineOptions options, uint32_t fits, uint32_t context_max) {
    const auto works = [&](uint32_t context) {
        options.context = context;
        Notices ignored;
        return Engine::plan_only(options, ignored).has_value();
    };
    if (works(context_max)) return context_max;
    uint32_t low = fits;
    uint32_t high = context_max;
    while (high - low > kContextStep) {
        const uint32_t middle = low + (high - low) / 2;
        (works(middle) ? low : high) = middle;
    }
    return low;
}

struct Report {
    MemoryPlan plan;
    Forecast forecast;
    MachineSpeeds speeds;
    std::vector<double> drive_speeds;  // the model's own, then each mirror's; or as given
    bool drive_given = false, drive_direct = true;
    uint32_t largest_context = 0;
    double history_steps = 0;
};

// One for the model's files and one for each mirror: as given with it, or measured.
Status measure_drives(const Checkpoint& checkpoint, const Mirrors& mirrors, uint64_t block_bytes,
                      Report& report) {
    std::vector<std::shared_ptr<const File>> files;
    for (const CheckpointFile& file : checkpoint.files()) files.push_back(file.file);
    TRY(const double own, measure_random_reads(files, block_bytes, kDriveLook_s, kColdMemoryBytes));
    report.drive_speeds.push_back(own);
    report.drive_direct = choose_reader(ReaderKind::automatic, files).direct;
    for (const Mirrors::Copy& copy : mirrors.copies) {
        if (copy.bytes_per_s > 0) {
            report.drive_speeds.push_back(copy.bytes_per_s);
            continue;
        }
        std::vector<std::shared_ptr<const File>> copies;
        for (const uint32_t number : copy.file_of)
            if (number != Mirrors::kNoFile)
                copies.push_back(mirrors.files[number - checkpoint.files().size()]);
        TRY(const double speed,
            measure_random_reads(copies, block_bytes, kDriveLook_s, kColdMemoryBytes));
        report.drive_speeds.push_back(speed);
    }
    return {};
}

Status find_drive_speed(const Settings& settings, const EngineOptions& options, Report& report) {
    report.drive_given = settings.given(Opt::drives);
    if (report.drive_given) {
        TRY(report.drive_speeds, parse_drives(settings.text(Opt::drives)));
    }
    if (report.plan.expert_count == 0) return {};
    Notices said;  // by the plan already
    TRY(const Checkpoint checkpoint,
        Checkpoint::open(options.model_directory, said, options.split_directories));
    std::vector<MirrorOptions> directories;
    for (const MirrorDirectory& mirror : options.mirrors)
        directories.push_back({.directory = mirror.directory, .bytes_per_s = mirror.bytes_per_s});
    TRY(const Mirrors mirrors, open_mirrors(checkpoint, directories, said));
    if (!report.drive_given)
        TRY_STATUS(measure_drives(checkpoint, mirrors, report.plan.expert_read_bytes, report));
    const size_t drives = 1 + mirrors.copies.size();
    if (report.drive_given && drives > 1 && report.drive_speeds.size() != drives)
        return fail(ErrorKind::invalid_input,
                    fmt::format("--drives: found {} speeds, expected {}: the model's drive and "
                                "each --mirror, in this order",
                                report.drive_speeds.size(), drives));
    report.speeds.drive_bytes_per_s =
        drives > 1 ? combined_speed(checkpoint, mirrors, report.drive_speeds)
                   : std::accumulate(report.drive_speeds.begin(), report.drive_speeds.end(), 0.0);
    return {};
}

// What earlier answers used, where they kept a history.
Result<std::optional<double>> hit_rate_of_history(const Settings& settings, Report& report,
                                                  Notices& notices) {
    if (!settings.on(Opt::usage)) return std::nullopt;
    TRY(ModelOptions options, model_options(settings));
    const StatePlaces places = state_places(settings, options.directory);
    options.state_directory = places.directory;
    options.fallback_state_directory = places.fallback;
    options.mirrors.clear();  // they would be measured
    Notices said;
    TRY(const UsagePlace place, Model::usage_place(options, said));
    const UsageFile file(place, notices);
    report.history_steps = file.history().steps;
    return history_hit_rate(file.history(), report.plan);
}

Result<Report> make_report(const Settings& settings, const EngineOptions& options,
                           Notices& notices) {
    Report report;
    // Before anything takes time.
    if (settings.given(Opt::drives)) TRY_STATUS(parse_drives(settings.text(Opt::drives)));
    std::optional<double> given;
    if (settings.given(Opt::hit_rate)) given = settings.number(Opt::hit_rate).value_or(0) / 100;
    TRY(report.plan, Engine::plan_only(options, notices));
    report.largest_context = largest_context(options, report.plan.context, report.plan.context_max);
    const uint32_t threads = options.threads == 0 ? usable_cores() : options.threads;
    TRY(report.speeds.memory_bytes_per_s, measure_memory_speed(threads));
    TRY_STATUS(find_drive_speed(settings, options, report));
    TRY(const auto history, hit_rate_of_history(settings, report, notices));
    report.forecast = forecast(report.plan, report.speeds, given, history);
    return report;
}

std::string hit_rate_source(const Report& r) {
    switch (r.forecast.hit_rate_from) {
        case HitRateSource::given: return "--hit-rate";
        case HitRateSource::history:
            return fmt::format("from the usage history of {:.0f} tokens", r.history_steps);
        case HitRateSource::prior: break;
    }
    if (r.history_steps > 0)
        return fmt::format(
            "a prior from recorded routes; the history has {:.0f} tokens, {:.0f} "
            "would do",
            r.history_steps, kForecastStepsMin);
    return "a prior from recorded routes; yours may differ";
}

std::string drive_source(const Report& r) {
    std::string text = r.drive_given    ? "--drives"
                       : r.drive_direct ? "measured just now"
                                        : "measured just now, through the page cache";
    if (r.drive_speeds.size() < 2) return text;
    for (size_t i = 0; i < r.drive_speeds.size(); ++i)
        text += fmt::format("{}{:.2f}", i == 0 ? ": " : " + ", r.drive_speeds[i] / 1e9);
    return text;
}

std::string line(std::string_view name, std::string_view value) {
    return fmt::format("  {:<28}{}\n", name, value);
}

std::string to_text(const std::string& directory, const Report& r) {
    const MemoryPlan& plan = r.plan;
    std::string text =
        fmt::format("{}\n\nmemory, for {} positions, budget {} ({})\n", directory, plan.context,
                    format_bytes(plan.budget_bytes), plan.budget_automatic ? "automatic" : "--ram");
    for (const PlanPart& part : plan.parts)
        text += fmt::format("  {:<28}{:>10}\n", part.name, format_bytes(part.bytes));
    text += fmt::format("  {:<28}{:>10}\n", "total", format_bytes(plan.total_bytes));
    text += line("largest context", fmt::format("{} positions (--ctx)", r.largest_context));
    text += line("smallest budget that works",
                 fmt::format("--ram {}M", ceil_div(plan.smallest_budget_bytes, kMiB)));
    text += line("all experts in memory",
                 fmt::format("--ram {}M", ceil_div(plan.everything_bytes, kMiB)));
    if (plan.expert_count == 0) return text;
    const Forecast& f = r.forecast;
    text += "\none token, once the cache is full\n";
    text += line("experts in memory", fmt::format("{} of {} ({:.1f} %)", plan.expert_slots,
                                                  plan.expert_count, 100 * f.cached_share));
    text += line("expected hit rate",
                 fmt::format("{:.1f} % ({})", 100 * f.hit_rate, hit_rate_source(r)));
    text += line("experts used", fmt::format("{} of {}", plan.experts_per_token,
                                             format_bytes(plan.expert_read_bytes)));
    text += line("read from disk", fmt::format("{} in {:.1f} ms at {:.2f} GB/s ({})",
                                               format_bytes(f.read_bytes_per_token), 1e3 * f.read_s,
                                               r.speeds.drive_bytes_per_s / 1e9, drive_source(r)));
    text += line("weights multiplied",
                 fmt::format("{} in {:.1f} ms at {:.0f} % of {:.1f} GB/s",
                             format_bytes(f.multiplied_bytes_per_token), 1e3 * f.compute_s,
                             100 * kComputeShareOfMemory, r.speeds.memory_bytes_per_s / 1e9));
    text += line("expected speed",
                 fmt::format("{:.3g} tokens/s, bound by {}", f.token_s > 0 ? 1 / f.token_s : 0.0,
                             f.read_s > f.compute_s ? "the disk" : "memory"));
    return text;
}

std::string_view name(HitRateSource source) {
    switch (source) {
        case HitRateSource::prior: return "prior";
        case HitRateSource::history: return "history";
        case HitRateSource::given: return "option";
    }
    return {};
}

Json to_json(const std::string& directory, const Report& r) {
    Json parts = Json::array();
    for (const PlanPart& part : r.plan.parts)
        parts.push_back({{"name", part.name}, {"bytes", part.bytes}});
    const Forecast& f = r.forecast;
    return {{"model", directory},
            {"memory",
             {{"parts", parts},
              {"total_bytes", r.plan.total_bytes},
              {"budget_bytes", r.plan.budget_bytes},
              {"budget_automatic", r.plan.budget_automatic},
              {"context", r.plan.context},
              {"largest_context", r.largest_context},
              {"smallest_budget_bytes", r.plan.smallest_budget_bytes},
              {"everything_bytes", r.plan.everything_bytes}}},
            {"token",
             {{"expert_slots", r.plan.expert_slots},
              {"expert_count", r.plan.expert_count},
              {"cached_share", f.cached_share},
              {"hit_rate", f.hit_rate},
              {"hit_rate_from", name(f.hit_rate_from)},
              {"history_tokens", r.history_steps},
              {"experts", r.plan.experts_per_token},
              {"expert_read_bytes", r.plan.expert_read_bytes},
              {"read_bytes", f.read_bytes_per_token},
              {"read_seconds", f.read_s},
              {"multiplied_bytes", f.multiplied_bytes_per_token},
              {"compute_seconds", f.compute_s},
              {"seconds", f.token_s}}},
            {"speeds",
             {{"drive_bytes_per_s", r.speeds.drive_bytes_per_s},
              {"drives_bytes_per_s", r.drive_speeds},
              {"drive_from", r.drive_given ? "option" : "measured"},
              {"drive_direct", r.drive_direct},
              {"memory_bytes_per_s", r.speeds.memory_bytes_per_s}}}};
}

}  // namespace

int plan_command(const Invocation& invocation, const Console& console) {
    Settings settings = invocation.settings;
    auto options = engine_options(settings);
    if (!options) return misused(console, Command::plan, options.error());
    if (invocation.arguments.size() > 1)
        return misused(console, Command::plan,
                       Error{ErrorKind::invalid_input,
                             fmt::format("found {} arguments, expected one model directory at most",
                                         invocation.arguments.size()),
                             std::source_location::current()});
    options->tokenizer_required = false;
    Notices notices;
    const auto report = make_report(settings, *options, notices);
    console.show(notices);
    if (!report) {
        if (report.error().kind == ErrorKind::invalid_input)
            return misused(console, Command::plan, report.error());
        return failed(console, report.error());
    }
    console.out.write(settings.on(Opt::json)
                          ? to_json(options->model_directory, *report)
                                    .dump(2, ' ', false, Json::error_handler_t::replace) +
                                "\n"
                          : to_text(options->model_directory, *report));
    return kExitOk;
}

}  // namespace colibri

// coli convert: a checkpoint into a container.

#include "convert/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/commands.h"
#include "apps/interrupt.h"
#include "apps/setup.h"
#include "base/clock.h"
#include "base/units.h"

namespace colibri {

namespace {

using Json = nlohmann::ordered_json;

Result<ConvertOptions> convert_options(const Invocation& invocation) {
    const Settings& settings = invocation.settings;
    if (invocation.arguments.size() != 2)
        return fail(ErrorKind::invalid_input,
                    fmt::format("a SOURCE and a DESTINATION directory are "
                                "needed, found {} arguments",
                                invocation.arguments.size()));
    ConvertOptions options{.source = invocation.arguments[0],
                           .destination = invocation.arguments[1],
                           .split_directories = split_directories(settings),
                           .writer = "colibri " COLIBRI_VERSION};
    const auto set = [&](Opt option, Status (Recipe::*setter)(std::string_view)) -> Status {
        if (!settings.given(option)) return {};
        Status status = (options.recipe.*setter)(settings.text(option));
        if (status) return status;
        return tl::unexpected(
            std::move(status).error().within(fmt::format("--{}", spec_of(option).name)));
    };
    TRY_STATUS(set(Opt::experts, &Recipe::set_experts));
    TRY_STATUS(set(Opt::dense, &Recipe::set_dense));
    TRY_STATUS(set(Opt::mtp, &Recipe::set_draft));
    TRY_STATUS(set(Opt::formats, &Recipe::set_overrides));
    if (settings.text(Opt::scales) == "nearest") options.search = ScaleSearch::nearest;
    options.calibration = settings.text(Opt::calibration);
    options.threads = uint32_t(settings.count(Opt::threads).value_or(0));
    options.delete_source_shards = settings.on(Opt::delete_source_shards);
    options.window_bytes = settings.count(Opt::window).value_or(options.window_bytes);
    return options;
}

std::string duration(double seconds) {
    const auto whole = uint64_t(std::llround(seconds));
    if (whole < 60) return fmt::format("{} s", whole);
    if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
    return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

Json to_json(const ConvertEstimate& estimate) {
    Json lines = Json::array();
    for (const PlanLine& line : estimate.lines)
        lines.push_back({{"tensors", line.what},
                         {"formats", line.formats},
                         {"in_bytes", line.in_bytes},
                         {"out_bytes", line.out_bytes}});
    return {{"classes", lines},
            {"in_bytes", estimate.in_bytes},
            {"out_bytes", estimate.out_bytes},
            {"done_bytes", estimate.done_bytes},
            {"free_bytes", estimate.free_bytes},
            {"peak_memory_bytes", estimate.peak_memory_bytes},
            {"exact", estimate.exact},
            {"complete", estimate.complete}};
}

void print_estimate(const ConvertEstimate& estimate, const Console& console) {
    size_t wide = 0;
    for (const PlanLine& line : estimate.lines) wide = std::max(wide, line.formats.size());
    for (const PlanLine& line : estimate.lines)
        console.out.write(fmt::format("{:<24} {:<{}}  {:>10} -> {:>10}\n", line.what, line.formats,
                                      wide, format_bytes(line.in_bytes),
                                      format_bytes(line.out_bytes)));
    console.out.write(fmt::format("{:<24} {:<{}}  {:>10} -> {:>10}{}\n", "all",
                                  estimate.exact ? "exact: nothing is quantized anew" : "", wide,
                                  format_bytes(estimate.in_bytes), format_bytes(estimate.out_bytes),
                                  estimate.complete ? ", complete already" : ""));
    if (estimate.done_bytes > 0 && !estimate.complete)
        console.out.write(fmt::format("done before: {}\n", format_bytes(estimate.done_bytes)));
    console.out.write(fmt::format("free on the destination's drive: {}; memory: at most {}\n",
                                  format_bytes(estimate.free_bytes),
                                  format_bytes(estimate.peak_memory_bytes)));
}

// "12.1 of 80.0 GiB, 512 MiB/s, 2 min 14 s left, experts-00007.safetensors"
std::string progress_line(const ConvertProgress& at, uint64_t begin_us) {
    const double elapsed_s = double(now_us() - begin_us) / 1e6;
    const double rate = elapsed_s > 0 ? double(at.done_bytes) / elapsed_s : 0;
    const double left_s = rate > 0 ? double(at.total_bytes - at.done_bytes) / rate : 0;
    return fmt::format("{} of {}, {}/s, {} left, {}", format_bytes(at.done_bytes),
                       format_bytes(at.total_bytes), format_bytes(uint64_t(rate)), duration(left_s),
                       at.file);
}

void report(const ConvertReport& done, const ConvertOptions& options, bool json,
            const Console& console) {
    const double elapsed_s = double(std::max<uint64_t>(done.elapsed_us, 1)) / 1e6;
    if (json) {
        const Json line = {{"destination", options.destination},
                           {"already_complete", done.already_complete},
                           {"in_bytes", done.in_bytes},
                           {"out_bytes", done.out_bytes},
                           {"resumed_bytes", done.resumed_bytes},
                           {"seconds", elapsed_s},
                           {"encode_core_seconds", double(done.encode_us) / 1e6}};
        console.out.write(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
        return;
    }
    if (done.already_complete) {
        console.out.write(fmt::format("{} is complete already\n", options.destination));
        return;
    }
    console.out.write(fmt::format(
        "{}: read {}, wrote {}{} in {}, {}/s\n", options.destination, format_bytes(done.in_bytes),
        format_bytes(done.out_bytes),
        done.resumed_bytes > 0
            ? fmt::format(" (beside {} of an earlier run)", format_bytes(done.resumed_bytes))
            : "",
        duration(elapsed_s),
        format_bytes(uint64_t(double(done.in_bytes + done.out_bytes) / elapsed_s))));
}

}  // namespace

int convert_command(const Invocation& invocation, const Console& console) {
    auto options = convert_options(invocation);
    if (!options) return misused(console, Command::convert, options.error());
    const bool json = invocation.settings.on(Opt::json);
    Notices notices;
    if (invocation.settings.on(Opt::dry_run)) {
        const auto estimate = estimate_conversion(*options, notices);
        console.show(notices);
        if (!estimate) return failed(console, estimate.error());
        if (json)
            console.out.write(to_json(*estimate).dump() + "\n");
        else
            print_estimate(*estimate, console);
        return kExitOk;
    }
    CancelToken cancel;
    const InterruptScope interrupts(cancel);
    options->cancel = &cancel;
    Progress progress(console.err);
    const uint64_t begin_us = now_us();
    options->progress = [&](const ConvertProgress& at) {
        progress.show(progress_line(at, begin_us));
    };
    const auto done = convert(*options, notices);
    progress.clear();
    console.show(notices);
    if (!done) {
        const int code = failed(console, done.error());
        return done.error().kind == ErrorKind::cancelled ? kExitInterrupted : code;
    }
    report(*done, *options, json, console);
    return kExitOk;
}

}  // namespace colibri

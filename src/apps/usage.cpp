// coli usage: what the usage history of a model knows; its exchange with the original engine.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/commands.h"
#include "apps/setup.h"
#include "platform/file.h"
#include "runtime/usage_file.h"

namespace colibri {

namespace {

// Of all uses, the part of the most used `percent` of all experts.
double share_of_best(const UsageHistory& history, uint64_t experts, double percent) {
    std::vector<double> uses;
    for (const UsageHistory::Entry& entry : history.entries) uses.push_back(entry.uses);
    std::sort(uses.rbegin(), uses.rend());
    const auto count = std::min<uint64_t>(uses.size(), uint64_t(double(experts) * percent / 100));
    double best = 0, all = 0;
    for (size_t i = 0; i < uses.size(); ++i) {
        all += uses[i];
        best += i < count ? uses[i] : 0;
    }
    return all == 0 ? 0 : best / all;
}

void report(const UsageFile& file, uint64_t experts, bool json, const Console& console) {
    const UsageHistory& history = file.history();
    const double eighth = share_of_best(history, experts, 12.5);
    const double quarter = share_of_best(history, experts, 25);
    const double half = share_of_best(history, experts, 50);
    if (!json) {
        console.out.write(fmt::format(
            "history   {}\ntokens    {:.0f}, older ones counting less\nexperts   {} of {} used\n"
            "shares    {:.0f} % of all uses are by 12.5 % of the experts, {:.0f} % by 25 %, {:.0f} "
            "% "
            "by 50 %\n",
            file.path(), history.steps, history.entries.size(), experts, 100 * eighth,
            100 * quarter, 100 * half));
        return;
    }
    const nlohmann::ordered_json line = {{"path", file.path()},
                                         {"tokens", history.steps},
                                         {"experts_used", history.entries.size()},
                                         {"experts", experts},
                                         {"share_of_best_12.5_percent", eighth},
                                         {"share_of_best_25_percent", quarter},
                                         {"share_of_best_50_percent", half}};
    console.out.write(line.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

Status exchange(const Settings& settings, const UsagePlace& place, UsageFile& file) {
    if (const std::string from = settings.text(Opt::import_file); !from.empty()) {
        TRY(const std::string text, read_file(from, kUsageBytesMax));
        TRY(UsageHistory history,
            parse_usage_text(text, from, place.layers, place.experts, place.top_k));
        TRY_STATUS(file.replace(std::move(history)));
    }
    if (const std::string to = settings.text(Opt::export_file); !to.empty()) {
        const std::string text = format_usage_text(file.history(), place.layers, place.experts);
        TRY_STATUS(write_file_atomic(to, std::as_bytes(std::span(text))));
    }
    return {};
}

}  // namespace

int usage_command(const Invocation& invocation, const Console& console) {
    const Settings& settings = invocation.settings;
    auto options = model_options(settings);
    if (!options) return misused(console, Command::usage, options.error());
    const StatePlaces places = state_places(settings, options->directory);
    options->state_directory = places.directory;
    options->fallback_state_directory = places.fallback;
    Notices notices;
    const auto place = Model::usage_place(*options, notices);
    if (!place) return failed(console, place.error());
    UsageFile file(*place, notices);
    console.show(notices);
    if (const Status done = exchange(settings, *place, file); !done)
        return failed(console, done.error());
    report(file, uint64_t(place->expert_layers) * place->experts, settings.on(Opt::json), console);
    return kExitOk;
}

}  // namespace colibri

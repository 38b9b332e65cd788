// coli trace replay: what cache policies make of recorded routes.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "apps/commands.h"
#include "apps/setup.h"
#include "base/units.h"
#include "format/route_trace.h"
#include "platform/file.h"
#include "store/belady.h"
#include "store/frequency.h"
#include "store/replay.h"

namespace colibri {

namespace {

using Sets = std::vector<std::vector<ExpertId>>;

constexpr std::string_view kPolicies[] = {"frequency", "frequency-global", "lru", "belady"};

// The decode steps of a trace, and the experts that a cache for them would be for.
struct Routes {
    Sets sets;
    std::vector<ExpertId> ids;       // ascending
    std::vector<uint64_t> id_bytes;  // of each
    uint64_t tokens = 0;
    uint32_t used_max = 0;  // experts of one step
};

struct ReplayRow {
    std::string policy;
    uint32_t slots = 0;
    uint64_t hits = 0, misses = 0, read_bytes = 0;
    double ratio = 0;  // of hits to Belady's
    [[nodiscard]] double rate() const {
        return hits + misses == 0 ? 0 : double(hits) / double(hits + misses);
    }
};

// "12.5,25" and the like.
Result<std::vector<double>> parse_capacities(const std::string& text) {
    std::vector<double> values;
    for (size_t at = 0; at <= text.size();) {
        const size_t end = std::min(text.find(',', at), text.size());
        const std::string word = text.substr(at, end - at);
        size_t used = 0;
        double value = 0;
        try {
            value = std::stod(word, &used);
        } catch (const std::exception&) {
            used = 0;
        }
        if (used == 0 || used != word.size() || !(value > 0) || value > 100)
            return fail(
                ErrorKind::invalid_input,
                fmt::format("--capacity: '{}' is no percentage above 0 and up to 100", word));
        values.push_back(value);
        at = end + 1;
    }
    return values;
}

Result<std::vector<std::string>> parse_policies(const std::string& text) {
    std::vector<std::string> names;
    for (size_t at = 0; at <= text.size();) {
        const size_t end = std::min(text.find(',', at), text.size());
        const std::string word = text.substr(at, end - at);
        at = end + 1;
        if (word == "all") {
            names.insert(names.end(), std::begin(kPolicies), std::end(kPolicies));
        } else if (std::count(std::begin(kPolicies), std::end(kPolicies), word) > 0) {
            names.push_back(word);
        } else {
            return fail(ErrorKind::invalid_input,
                        fmt::format("--policy: '{}' is no policy; there are frequency, "
                                    "frequency-global, lru, belady, and all",
                                    word));
        }
    }
    return names;
}

Result<Routes> routes_of(const RouteTrace& trace, const std::string& file) {
    Routes routes;
    std::set<uint32_t> layers;
    std::set<std::pair<uint32_t, uint32_t>> tokens;
    for (const RouteTrace::Step& step : trace.steps) {
        layers.insert(step.layer);
        if (!step.decode) continue;
        tokens.insert({step.turn, step.position});
        routes.sets.emplace_back();
        for (const RouteTrace::Choice& choice : trace.choices_of(step))
            routes.sets.back().push_back({step.layer, choice.expert});
        routes.used_max = std::max(routes.used_max, step.choice_count);
    }
    if (routes.sets.empty())
        return fail(ErrorKind::invalid_input,
                    fmt::format("{} has no decode steps; record some with --greedy N", file));
    for (const uint32_t layer : layers)
        for (uint32_t expert = 0; expert < trace.experts; ++expert) {
            routes.ids.push_back({layer, expert});
            routes.id_bytes.push_back(trace.layers[layer].expert_bytes);
        }
    routes.tokens = tokens.size();
    return routes;
}

PolicyFactory factory_of(const std::string& name, const Routes& routes) {
    if (name == "lru") return policy_factory(PolicyKind::lru);
    if (name == "frequency") return policy_factory(PolicyKind::frequency);
    if (name == "frequency-global")
        return [floor = routes.used_max](const PolicyShape& shape) -> std::unique_ptr<Policy> {
            return std::make_unique<FrequencyPolicy>(shape, Balance::global, floor);
        };
    return [&routes](const PolicyShape& shape) -> std::unique_ptr<Policy> {
        std::vector<std::vector<uint32_t>> steps;
        for (const std::vector<ExpertId>& set : routes.sets) {
            steps.emplace_back();
            for (const ExpertId id : set)
                steps.back().push_back(
                    uint32_t(std::lower_bound(routes.ids.begin(), routes.ids.end(), id) -
                             routes.ids.begin()));
        }
        return std::make_unique<BeladyPolicy>(uint32_t(shape.layers.size()), steps);
    };
}

Result<ReplayRow> replay_one(const Routes& routes, const std::string& policy, double percent) {
    ReplayRow row{.policy = policy,
                  .slots = std::max(1U, uint32_t(double(routes.ids.size()) * percent / 100))};
    PlacementShape shape{.ids = routes.ids,
                         .classes = std::vector<uint8_t>(routes.ids.size(), 0),
                         .pools = {{.slots = row.slots, .ring_slots = routes.used_max}}};
    TRY(const ReplayResult result,
        replay_routes(routes.sets, std::move(shape), factory_of(policy, routes)));
    row.hits = result.hits;
    row.misses = result.misses;
    for (size_t i = 0; i < routes.ids.size(); ++i)
        row.read_bytes += result.misses_of[i] * routes.id_bytes[i];
    return row;
}

struct Table {
    double percent = 0;
    std::vector<ReplayRow> rows;
};

Result<Table> replay_capacity(const Routes& routes, const std::vector<std::string>& policies,
                              double percent) {
    Table table{.percent = percent, .rows = {}};
    TRY(const ReplayRow bound, replay_one(routes, "belady", percent));
    for (const std::string& policy : policies) {
        TRY(ReplayRow row, replay_one(routes, policy, percent));
        row.ratio = bound.hits == 0 ? 1.0 : double(row.hits) / double(bound.hits);
        table.rows.push_back(std::move(row));
    }
    return table;
}

std::string text_report(const std::string& file, const RouteTrace& trace, const Routes& routes,
                        const std::vector<Table>& tables) {
    std::string text = fmt::format(
        "{}: {}, {} experts of which a step uses {}, {} decode tokens\n"
        "{:>8} {:>7}  {:<17} {:>8} {:>13} {:>14}\n",
        file, trace.arch.empty() ? trace.model : trace.arch, routes.ids.size(), routes.used_max,
        routes.tokens, "capacity", "slots", "policy", "hit rate", "of the bound", "bytes/token");
    for (const Table& table : tables)
        for (const ReplayRow& row : table.rows)
            text += fmt::format("{:>6g} % {:>7}  {:<17} {:>8.4f} {:>13.3f} {:>14}\n", table.percent,
                                row.slots, row.policy, row.rate(), row.ratio,
                                format_bytes(row.read_bytes / routes.tokens));
    return text;
}

nlohmann::ordered_json json_report(const std::string& file, const RouteTrace& trace,
                                   const Routes& routes, const std::vector<Table>& tables) {
    nlohmann::ordered_json results = nlohmann::ordered_json::array();
    for (const Table& table : tables)
        for (const ReplayRow& row : table.rows)
            results.push_back(
                {{"capacity_percent", table.percent},
                 {"slots", row.slots},
                 {"policy", row.policy},
                 {"hits", row.hits},
                 {"misses", row.misses},
                 {"hit_rate", row.rate()},
                 {"belady_ratio", row.ratio},
                 {"bytes_per_token", double(row.read_bytes) / double(routes.tokens)}});
    return {{"file", file},
            {"model", trace.model},
            {"arch", trace.arch},
            {"experts", routes.ids.size()},
            {"experts_used", routes.used_max},
            {"decode_tokens", routes.tokens},
            {"results", std::move(results)}};
}

// The text of an option, or its default.
std::string text_or_default(const Settings& settings, Opt option) {
    const std::string text = settings.text(option);
    return text.empty() ? std::string(spec_of(option).fallback) : text;
}

}  // namespace

int trace_replay_command(const Invocation& invocation, const Console& console) {
    const Settings& settings = invocation.settings;
    if (invocation.arguments.empty())
        return misused(console, Command::trace_replay,
                       {ErrorKind::invalid_input, "a route trace is needed", {}});
    const auto policies = parse_policies(text_or_default(settings, Opt::replay_policy));
    if (!policies) return misused(console, Command::trace_replay, policies.error());
    const auto capacities = parse_capacities(text_or_default(settings, Opt::capacity));
    if (!capacities) return misused(console, Command::trace_replay, capacities.error());
    nlohmann::ordered_json reports = nlohmann::ordered_json::array();
    for (const std::string& file : invocation.arguments) {
        const auto text = read_file(file, kTraceBytesMax);
        if (!text) return failed(console, text.error());
        const auto trace = parse_route_trace(*text, file);
        if (!trace) return failed(console, trace.error());
        const auto routes = routes_of(*trace, file);
        if (!routes) return failed(console, routes.error());
        std::vector<Table> tables;
        for (const double percent : *capacities) {
            auto table = replay_capacity(*routes, *policies, percent);
            if (!table) return failed(console, table.error());
            tables.push_back(*std::move(table));
        }
        if (settings.on(Opt::json))
            reports.push_back(json_report(file, *trace, *routes, tables));
        else
            console.out.write(text_report(file, *trace, *routes, tables));
    }
    if (settings.on(Opt::json))
        console.out.write(reports.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
                          "\n");
    return kExitOk;
}

}  // namespace colibri

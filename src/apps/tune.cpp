// coli tune: the fastest settings for this model on this machine, kept for later runs.

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <tuple>

#include "apps/commands.h"
#include "apps/interrupt.h"
#include "apps/setup.h"
#include "apps/tune_laps.h"
#include "apps/tune_search.h"
#include "apps/tuning.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/units.h"
#include "load/forecast.h"
#include "platform/machine.h"

namespace colibri {

namespace {

using Json = nlohmann::ordered_json;

// A lap is this part of the time: some thirty pairs and their confirmation fit.
constexpr double kLapShare = 0.01;
constexpr double kLapMax_s = 5;
constexpr double kBusyLoad = 0.5;  // of each core
constexpr const char* kInFlight[] = {"6M", "24M", "48M"};
constexpr const char* kChunks[] = {"256K", "2M", "4M"};

uint32_t default_threads(const Settings& settings) {
    const auto given = settings.count(Opt::threads);
    return given ? uint32_t(*given) : usable_cores();
}

// Other numbers of threads worth a try: one core left to reading, half of them, and all that the
// processor says it can run.
std::set<uint32_t> other_threads(const Settings& settings) {
    const uint32_t own = default_threads(settings);
    if (settings.given(Opt::threads)) return {};
    std::set<uint32_t> counts{own / 2, own - 1, std::thread::hardware_concurrency()};
    counts.erase(own);
    counts.erase(0);
    return counts;
}

// What may be varied: options that nobody has set; those of reading where anything is read.
std::vector<TuneKnob> make_knobs(const Settings& settings, const MemoryPlan& plan) {
    const bool reads = plan.expert_slots < plan.expert_count;
    std::vector<TuneKnob> knobs;
    for (const Opt option : kTunableOptions) {
        if (settings.given(option) || (!reads && option != Opt::threads)) continue;
        TuneKnob knob{.option = std::string(spec_of(option).name), .values = {"auto"}};
        if (option == Opt::reader) {
            for (const ReaderKind kind :
                 {ReaderKind::uring, ReaderKind::pread, ReaderKind::buffered})
                knob.values.emplace_back(to_string(kind));
        } else if (option == Opt::in_flight) {
            knob.values.insert(knob.values.end(), std::begin(kInFlight), std::end(kInFlight));
        } else if (option == Opt::chunk) {
            knob.values.insert(knob.values.end(), std::begin(kChunks), std::end(kChunks));
        } else if (option == Opt::threads) {
            for (const uint32_t count : other_threads(settings))
                knob.values.push_back(fmt::format("{}", count));
        } else if (option == Opt::prefetch) {
            knob.values.insert(knob.values.end(), {"on", "off"});
        }
        if (knob.values.size() > 1) knobs.push_back(std::move(knob));
    }
    return knobs;
}

const OptionSpec& option_named(const std::string& name) {
    for (const Opt option : kTunableOptions)
        if (spec_of(option).name == name) return spec_of(option);
    CHECK(false);  // a knob is one of the tunable options
}

Tunables tunables_of(const Settings& given, const std::vector<TuneKnob>& knobs,
                     const TuneSetting& setting) {
    Settings settings = given;
    for (size_t i = 0; i < knobs.size(); ++i)
        if (setting[i] != 0)
            CHECK(apply_source(settings, option_named(knobs[i].option), knobs[i].values[setting[i]],
                               Source::command_line, "tune"));
    Tunables tunables = chosen_tunables(settings);
    if (tunables.threads == 0) tunables.threads = default_threads(given);
    return tunables;
}

// What a step reads at most, for telling settings that differ in name only.
struct StepReads {
    uint64_t expert_bytes = 0;
    uint64_t layer_bytes = 0;  // all experts that a layer uses
    std::string reader;        // that "auto" stands for
};

StepReads step_reads(const ModelSpec& spec, const MemoryPlan& plan) {
    uint32_t top_k = 0;
    for (const Layer& layer : spec.layers)
        for (const Sublayer& sublayer : layer.sublayers)
            if (const auto* moe = std::get_if<MoeFeedForward>(&sublayer.body))
                top_k = std::max(top_k, std::visit([](const auto& router) { return router.top_k; },
                                                   moe->router));
    return {.expert_bytes = plan.expert_read_bytes,
            .layer_bytes = top_k * plan.expert_read_bytes,
            .reader = plan.reader.substr(0, plan.reader.find(','))};
}

bool same_in_effect(const Tunables& a, const Tunables& b, const StepReads& step) {
    const auto effect = [&](const Tunables& tunables) {
        const auto options =
            reader_options(tunables.reader, tunables.in_flight_bytes, tunables.chunk_bytes)
                .value_or(ReaderOptions{});
        const std::string reader = tunables.reader == ReaderKind::automatic
                                       ? step.reader
                                       : std::string(to_string(tunables.reader));
        const uint64_t chunk = std::min(options.chunk_bytes, std::max(step.expert_bytes, 1UL));
        const uint64_t chunks = ceil_div(std::max(step.layer_bytes, 1UL), chunk);
        const uint64_t in_flight = std::min(options.in_flight_bytes, step.layer_bytes);
        const uint64_t threads =
            reader == "uring" ? 0 : std::min<uint64_t>(options.threads, chunks);
        return std::tuple(reader, chunk, in_flight, threads, tunables.threads, tunables.prefetch);
    };
    return effect(a) == effect(b);
}

struct Tuned {
    std::vector<TuneKnob> knobs;
    TuneOutcome outcome;
    TuneFile file;
    uint32_t lap_tokens = 0, lap_texts = 0;
    bool laps_start_empty = false;
    double hit_rate = 0;
    uint32_t threads = 0;
    std::string reader;
};

void fill_file(Tuned& tuned) {
    for (const TuneTrial& trial : tuned.outcome.trials) {
        const TuneKnob& knob = tuned.knobs[trial.knob];
        tuned.file.measured.push_back(
            {.candidate = {.option = knob.option, .value = knob.values[trial.value]},
             .ratio = trial.ratio,
             .spread = trial.spread,
             .pairs = trial.pairs,
             .verdict = std::string(to_string(trial.verdict))});
    }
    for (size_t i = 0; i < tuned.knobs.size(); ++i)
        if (const size_t value = tuned.outcome.best[i]; value != 0)
            tuned.file.chosen.push_back(
                {.option = tuned.knobs[i].option, .value = tuned.knobs[i].values[value]});
    std::sort(tuned.file.chosen.begin(), tuned.file.chosen.end(),
              [](const TuneChoice& a, const TuneChoice& b) { return a.option < b.option; });
    if (!tuned.file.chosen.empty()) tuned.file.gain = tuned.outcome.together.ratio;
}

Result<Tuned> measure(Engine& engine, const Settings& settings, uint64_t begin_us,
                      const CancelToken& cancel, const Console& console) {
    const double seconds = settings.number(Opt::tune_seconds).value_or(110);
    const auto left = [&] { return seconds - double(now_us() - begin_us) / 1e6; };
    const MemoryPlan& plan = engine.plan();
    Model& model = engine.model();
    Tuned tuned{.threads = default_threads(settings), .reader = plan.reader};
    tuned.knobs = make_knobs(settings, plan);
    TRY(auto texts, tuning_texts(engine.tokenizer(), engine.spec().vocab));
    TuneLaps laps(model, std::move(texts), &cancel);
    const Forecast expected =
        forecast(plan, {}, std::nullopt, history_hit_rate(model.usage(), plan));
    Progress progress(console.err);
    const auto show = [&](std::string_view what) {
        progress.show(fmt::format("{}, {:.0f} s left", what, std::max(left(), 0.0)));
    };
    show("warming up");
    const TuneSetting defaults(tuned.knobs.size(), 0);
    TRY_STATUS(laps.prepare(std::min(kLapMax_s, kLapShare * std::max(left(), 0.0)), left(),
                            expected.hit_rate, tunables_of(settings, tuned.knobs, defaults)));
    const StepReads step = step_reads(engine.spec(), plan);
    const TuneBench bench{.lap =
                              [&](const TuneSetting& setting) {
                                  return laps.lap(tunables_of(settings, tuned.knobs, setting));
                              },
                          .same =
                              [&](const TuneSetting& a, const TuneSetting& b) {
                                  return same_in_effect(tunables_of(settings, tuned.knobs, a),
                                                        tunables_of(settings, tuned.knobs, b),
                                                        step);
                              },
                          .seconds_left = left,
                          .progress = show};
    TRY(tuned.outcome, search_tuning(tuned.knobs, bench));
    tuned.lap_tokens = laps.tokens();
    tuned.lap_texts = laps.texts();
    tuned.laps_start_empty = laps.starts_empty();
    tuned.hit_rate = laps.hit_rate();
    tuned.file.seconds = seconds - left();
    tuned.file.ram_bytes = plan.budget_bytes;
    tuned.file.cached_share = expected.cached_share;
    fill_file(tuned);
    return tuned;
}

std::string chosen_text(const Tuned& tuned) {
    if (!tuned.file.chosen.empty()) {
        std::string text;
        for (const TuneChoice& choice : tuned.file.chosen)
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", choice.option, choice.value);
        return fmt::format("{}: {:.3f} times the defaults' speed", text, tuned.file.gain);
    }
    const TuneTrial& together = tuned.outcome.together;
    if (together.pairs == 0) return "the defaults: nothing was faster beyond doubt";
    return fmt::format(
        "the defaults: what was faster did not hold when measured again ({:.3f}, {})",
        together.ratio, to_string(together.verdict));
}

std::string to_text(const std::string& model, const Tuned& tuned) {
    const auto row = [](std::string_view name, std::string_view value) {
        return fmt::format("{:<11}{}\n", name, value);
    };
    std::string text = row("model", model);
    text += row("defaults",
                fmt::format("{} thread{}, {}; {}, which holds {:.0f} % of the experts",
                            tuned.threads, tuned.threads == 1 ? "" : "s", tuned.reader,
                            format_bytes(tuned.file.ram_bytes), 100 * tuned.file.cached_share));
    text += row("laps", fmt::format("{} tokens of {} text{}, {:.0f} % of experts found in memory{}",
                                    tuned.lap_tokens, tuned.lap_texts,
                                    tuned.lap_texts == 1 ? "" : "s", 100 * tuned.hit_rate,
                                    tuned.laps_start_empty ? ", from an empty cache" : ""));
    if (tuned.outcome.trials.empty())
        text += row("measured", "nothing: there is no option left whose value would matter here");
    for (const TuneTrial& trial : tuned.outcome.trials) {
        const TuneKnob& knob = tuned.knobs[trial.knob];
        std::string result{to_string(trial.verdict)};
        if (trial.pairs > 0)
            result = fmt::format("{:.3f}  {} ({} pairs; the other side varied by {:.1f} %)",
                                 trial.ratio, result, trial.pairs, 100 * trial.spread);
        if (!trial.remark.empty()) result += fmt::format(": {}", trial.remark);
        text += row(knob.option, fmt::format("{:<10}{}", knob.values[trial.value], result));
    }
    return text + row("chosen", chosen_text(tuned));
}

std::string to_json(const std::string& model, const Tuned& tuned, const std::string& path) {
    const TuneTrial& together = tuned.outcome.together;
    const Json report = {
        {"model", model},
        {"path", path},
        {"laps",
         {{"tokens", tuned.lap_tokens},
          {"texts", tuned.lap_texts},
          {"start_empty", tuned.laps_start_empty},
          {"hit_rate", tuned.hit_rate}}},
        {"together", together.pairs == 0 ? Json()
                                         : Json{{"ratio", together.ratio},
                                                {"spread", together.spread},
                                                {"pairs", together.pairs},
                                                {"verdict", to_string(together.verdict)}}},
        {"tuning", Json::parse(format_tune(tuned.file))}};
    return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<std::string> save(const Settings& settings, const EngineOptions& options, Tuned& tuned) {
    TRY(tuned.file.model, Model::fingerprint(options.model_directory, split_directories(settings)));
    tuned.file.machine = this_machine(settings, options.model_directory);
    tuned.file.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    const StatePlaces places = state_places(settings, options.model_directory);
    return write_state_file(
        state_file_paths(places.directory, places.fallback, tuned.file.model, kTuneFileName),
        format_tune(tuned.file));
}

// Other work on the machine takes part in every measurement.
void warn_when_busy(const Console& console) {
    double load = 0;
    const uint32_t cores = usable_cores();
    if (::getloadavg(&load, 1) != 1 || load < kBusyLoad * double(cores)) return;
    console.note(
        fmt::format("the machine is busy (load {:.1f} on {} cores): what is found may hold "
                    "only while it is; better tune an idle one",
                    load, cores));
}

int stopped(const Console& console) {
    console.note("stopped; nothing was written");
    return kExitInterrupted;
}

}  // namespace

int tune_command(const Invocation& invocation, const Console& console) {
    const uint64_t begin_us = now_us();
    const Settings& settings = invocation.settings;
    auto options = engine_options(settings);
    if (!options) return misused(console, Command::tune, options.error());
    options->tokenizer_required = false;
    // Read, not written: laps are no conversation.
    const StatePlaces places = state_places(settings, options->model_directory);
    options->state_directory = places.directory;
    options->fallback_state_directory = places.fallback;
    options->threads = default_threads(settings);
    for (const uint32_t count : other_threads(settings))
        options->threads = std::max(options->threads, count);
    warn_when_busy(console);
    const auto engine = open_engine(*options, console);
    if (!engine) return failed(console, engine.error());
    // Until here Ctrl-C simply ends the program.
    CancelToken cancel;
    const InterruptScope interrupts(cancel);
    auto tuned = measure(**engine, settings, begin_us, cancel, console);
    if (!tuned)
        return tuned.error().kind == ErrorKind::cancelled ? stopped(console)
                                                          : failed(console, tuned.error());
    if (is_cancelled(&cancel)) return stopped(console);
    const auto path = save(settings, *options, *tuned);
    console.out.write(settings.on(Opt::json)
                          ? to_json(options->model_directory, *tuned, path.value_or(""))
                          : to_text(options->model_directory, *tuned));
    if (!path) {
        Error error = path.error();
        return failed(console, std::move(error).within("the result is not kept"));
    }
    if (!settings.on(Opt::json)) console.out.write(fmt::format("{:<11}{}\n", "kept in", *path));
    return kExitOk;
}

}  // namespace colibri

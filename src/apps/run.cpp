// coli run: one prompt, one answer.

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "apps/answer.h"
#include "apps/commands.h"
#include "apps/interrupt.h"
#include "apps/setup.h"
#include "base/units.h"
#include "load/plan.h"
#include "platform/machine.h"
#include "store/storage_health.h"
#include "text/chat.h"

namespace colibri {

namespace {

using Json = nlohmann::ordered_json;

// --prompt, or the words, or standard input.
Result<std::string> prompt_text(const Invocation& invocation) {
    std::string given = invocation.settings.text(Opt::prompt);
    std::string words;
    for (const std::string& word : invocation.arguments)
        words += fmt::format("{}{}", words.empty() ? "" : " ", word);
    if (!given.empty() && !words.empty())
        return fail(ErrorKind::invalid_input,
                    fmt::format("two prompts: --prompt, and the words '{}'", words));
    if (!given.empty()) return given;
    if (!words.empty() && words != "-") return words;
    if (words.empty() && ::isatty(STDIN_FILENO) == 1)
        return fail(ErrorKind::invalid_input,
                    "run needs a prompt: --prompt TEXT, words, or standard input");
    TRY(std::string text, read_standard_input());
    if (text.empty())
        return fail(ErrorKind::invalid_input, "the prompt is empty: standard input had no text");
    return text;
}

Result<Prompt> rendered_prompt(const Engine& engine, const Settings& settings,
                               const std::string& text) {
    if (settings.on(Opt::raw)) return engine.raw_prompt(text, true);
    std::vector<ChatMessage> messages;
    if (const std::string system = settings.text(Opt::system); !system.empty())
        messages.push_back({.role = "system", .content = system});
    messages.push_back({.role = "user", .content = text});
    return engine.render(messages, {.think = settings.on(Opt::think)});
}

// The number as it was written: 0.7, not 0.699999988.
double shortest(float value) {
    return std::stod(fmt::format("{}", value));
}

Json storage_json(const StorageReport& storage) {
    Json places = Json::array();
    for (const StoragePlace& place : storage.places)
        places.push_back({{"directory", place.directory},
                          {"state", to_string(place.state)},
                          {"errors", place.errors}});
    return {{"state", to_string(storage.state)}, {"places", std::move(places)}};
}

Json json_report(const Generation& generation, const Engine& engine, const Settings& settings,
                 const SamplingOptions& sampling, const std::string& model) {
    const GenerationStats& stats = generation.stats;
    Json report;
    report["text"] = generation.text;
    report["reasoning"] = generation.reasoning;
    report["finish_reason"] = to_string(generation.finish);
    report["usage"] = {{"prompt_tokens", stats.prompt_tokens},
                       {"completion_tokens", stats.generated_tokens},
                       {"reasoning_tokens", stats.reasoning_tokens}};
    report["stats"] = {{"tokens_per_second", tokens_per_second(stats)},
                       {"prefill_us", stats.prefill_us},
                       {"decode_us", stats.decode_us},
                       {"first_token_us", stats.first_token_us},
                       {"reused_tokens", stats.reused_tokens},
                       {"expert_hits", stats.expert_hits},
                       {"expert_misses", stats.expert_misses},
                       {"hit_rate", hit_rate(stats)},
                       {"read_bytes", stats.read_bytes},
                       {"wait_us", stats.wait_us},
                       {"prefetches", stats.prefetches},
                       {"useful_prefetches", stats.useful_prefetches},
                       {"wasted_prefetches", stats.wasted_prefetches},
                       {"useful_prefetch_bytes", stats.useful_prefetch_bytes},
                       {"wasted_prefetch_bytes", stats.wasted_prefetch_bytes},
                       {"wait_share", wait_share(stats)},
                       {"planned_bytes", engine.plan().total_bytes},
                       {"peak_resident_bytes", peak_resident_bytes()}};
    const CacheSize cache = engine.cache_size();
    report["cache"] = {{"slots", cache.slots}, {"planned_slots", cache.planned_slots}};
    report["storage"] = storage_json(engine.storage());
    report["model"] = {{"directory", model}, {"engine", engine.start_line()}};
    report["options"] = {{"temperature", shortest(sampling.temperature)},
                         {"top_p", shortest(sampling.top_p)},
                         {"top_k", sampling.top_k},
                         {"min_p", shortest(sampling.min_p)},
                         {"seed", sampling.seed},
                         {"think", settings.on(Opt::think)},
                         {"activations", settings.text(Opt::activations)},
                         {"ram_bytes", engine.plan().budget_bytes},
                         {"context", engine.plan().context},
                         {"lossy", lossy_options(settings)}};
    return report;
}

int report_text(const Generation& generation, const Settings& settings, const Console& console,
                uint32_t context) {
    if (!console.out.good()) return kExitFailed;  // the reader left: nobody to tell
    if (const std::string remark = ending_remark(generation, context); !remark.empty())
        console.note(remark);
    if (wants_statistics(settings, console))
        console.err.write_dim(statistics_line(generation.stats) + "\n");
    return generation.finish == FinishReason::cancelled ? kExitInterrupted : kExitOk;
}

// From an open engine to the end of the answer.
int answer(Engine& engine, const Invocation& invocation, const std::string& text,
           GenerateOptions options, const Console& console) {
    const Settings& settings = invocation.settings;
    const bool json = settings.on(Opt::json);
    const auto prompt = rendered_prompt(engine, settings, text);
    if (!prompt) return failed(console, prompt.error());
    auto session = engine.new_session();
    if (!session) return failed(console, session.error());

    CancelToken cancel;
    const InterruptScope interrupts(cancel);
    options.sampling = sampling_options(settings, engine.recommended_sampling(),
                                        settings.count(Opt::seed).value_or(random_seed()));
    options.cancel = &cancel;
    AnswerView view(console, cancel);
    view.attach(options);
    if (json) options.on_text = nullptr;
    const auto generation = session->generate(*prompt, options);
    view.finish();
    for (const std::string& notice : engine.take_notices()) console.note(notice);
    if (!generation) return failed(console, generation.error());
    if (!json) return report_text(*generation, settings, console, session->context());
    const auto report = json_report(*generation, engine, settings, options.sampling,
                                    model_directory(settings).value_or(""));
    // Half a character can end a cut answer; it becomes the replacement character.
    console.out.write(report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    return generation->finish == FinishReason::cancelled ? kExitInterrupted : kExitOk;
}

}  // namespace

int run_command(const Invocation& invocation, const Console& console) {
    const Settings& settings = invocation.settings;
    auto options = engine_options(settings);
    if (!options) return misused(console, Command::run, options.error());
    use_history(settings, *options);
    MemoryRequests memory;
    const MemorySignals memory_signals(memory);
    auto limits = answer_limits(settings);
    if (!limits) return misused(console, Command::run, limits.error());
    limits->memory = &memory;
    const auto text = prompt_text(invocation);
    if (!text)
        return text.error().kind == ErrorKind::invalid_input
                   ? misused(console, Command::run, text.error())
                   : failed(console, text.error());
    const auto engine = open_engine(*std::move(options), console);
    if (!engine) return failed(console, engine.error());
    if (wants_statistics(settings, console)) console.err.write_dim((*engine)->start_line() + "\n");
    for (const std::string& name : lossy_options(settings))
        console.note(fmt::format("--{} is lossy: answers may differ from the model's", name));
    return answer(**engine, invocation, *text, *std::move(limits), console);
}

}  // namespace colibri

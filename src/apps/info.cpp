// coli info: what a model is, what it needs, what this machine has.

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "apps/commands.h"
#include "apps/setup.h"
#include "apps/tuning.h"
#include "base/units.h"
#include "format/checkpoint.h"
#include "kernels/kernels.h"
#include "load/plan.h"
#include "model/config.h"
#include "model/registry.h"
#include "platform/file.h"
#include "platform/machine.h"

namespace colibri {

namespace {

using Json = nlohmann::ordered_json;

// What the files say, without weights.
struct ModelFacts {
    ModelSpec spec;
    uint64_t files = 0, file_bytes = 0;
    std::map<std::string, uint64_t> stored_bytes;  // per element type
    uint32_t moe_layers = 0, experts_per_layer = 0, experts_used = 0;
};

Result<ModelFacts> model_facts(const std::string& directory,
                               const std::vector<std::string>& split_directories,
                               Notices& notices) {
    const std::string path = directory + "/config.json";
    TRY(const std::string text, read_file(path, kConfigBytesMax));
    TRY(const Config config, Config::parse(text, path));
    ModelFacts facts;
    TRY(facts.spec, spec_from_config(config, notices));
    TRY(const Checkpoint checkpoint, Checkpoint::open(directory, notices, split_directories));
    for (const CheckpointFile& file : checkpoint.files()) {
        ++facts.files;
        facts.file_bytes += file.size_bytes;
    }
    for (const TensorInfo& tensor : checkpoint.tensors())
        facts.stored_bytes[std::string(to_string(tensor.dtype))] += tensor.size_bytes;
    for (const Layer& layer : facts.spec.layers)
        for (const Sublayer& sublayer : layer.sublayers) {
            const auto* moe = std::get_if<MoeFeedForward>(&sublayer.body);
            if (moe == nullptr) continue;
            ++facts.moe_layers;
            std::visit(
                [&](const auto& router) {
                    facts.experts_per_layer = router.experts;
                    facts.experts_used = router.top_k;
                },
                moe->router);
        }
    return facts;
}

std::string optional_bytes(const std::optional<uint64_t>& bytes) {
    return bytes ? format_bytes(*bytes) : "unknown";
}

std::string isa_names() {
    std::string names;
    for (const Isa isa : available_isas())
        names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(isa));
    return names;
}

std::string row(std::string_view name, std::string_view value) {
    return fmt::format("{:<13}{}\n", name, value);
}

std::string model_text(const std::string& directory, const ModelFacts& facts) {
    const ModelSpec& spec = facts.spec;
    std::string stored;
    for (const auto& [type, bytes] : facts.stored_bytes)
        stored += fmt::format("{}{} {}", stored.empty() ? "" : ", ", type, format_bytes(bytes));
    std::string text = row("model", directory);
    text += row("family", fmt::format("{}, {} layers, width {}, vocabulary {}, context up to {}{}",
                                      spec.family, spec.layers.size(), spec.dim, spec.vocab,
                                      spec.context_max, spec.draft ? ", MTP layer" : ""));
    if (facts.moe_layers > 0)
        text += row("experts",
                    fmt::format("{} in each of {} layers, {} used per token",
                                facts.experts_per_layer, facts.moe_layers, facts.experts_used));
    text += row("files",
                fmt::format("{}, {}: {}", facts.files, format_bytes(facts.file_bytes), stored));
    return text;
}

std::string machine_text(const MemoryFacts& memory, const ModelOptions& options) {
    std::string text = row("processor", cpu_model());
    text += row("kernels", fmt::format("{} (this machine has: {})",
                                       to_string(options.kernels != nullptr ? options.kernels->isa
                                                                            : best_kernels().isa),
                                       isa_names()));
    text += row("threads", fmt::format("{} of {} usable cores",
                                       options.threads == 0 ? usable_cores() : options.threads,
                                       usable_cores()));
    std::string state = fmt::format("{} available of {}", optional_bytes(memory.available_bytes),
                                    optional_bytes(memory.total_bytes));
    if (memory.cgroup_limit_bytes)
        state +=
            fmt::format(", limit of this container {}", format_bytes(*memory.cgroup_limit_bytes));
    return text + row("memory", state);
}

std::string plan_text(const MemoryPlan& plan) {
    std::string text =
        fmt::format("\nmemory plan for {} positions, budget {} ({})\n", plan.context,
                    format_bytes(plan.budget_bytes), plan.budget_automatic ? "automatic" : "--ram");
    for (const PlanPart& part : plan.parts)
        text += fmt::format("  {:<28}{:>10}\n", part.name, format_bytes(part.bytes));
    text += fmt::format("  {:<28}{:>10}\n", "total", format_bytes(plan.total_bytes));
    const double share = plan.expert_count == 0
                             ? 100.0
                             : 100.0 * double(plan.expert_slots) / double(plan.expert_count);
    text += fmt::format("{} of {} experts fit in memory at a time ({:.0f} %)\n", plan.expert_slots,
                        plan.expert_count, share);
    if (plan.expert_count > 0) text += fmt::format("experts are read by {}\n", plan.reader);
    return text + fmt::format(
                      "smallest budget that works: --ram {}M; all experts in memory: "
                      "--ram {}M\n",
                      ceil_div(plan.smallest_budget_bytes, kMiB),
                      ceil_div(plan.everything_bytes, kMiB));
}

Json optional_json(const std::optional<uint64_t>& bytes) {
    return bytes ? Json(*bytes) : Json();
}

Json model_json(const std::string& directory, const ModelFacts& facts) {
    const ModelSpec& spec = facts.spec;
    return {{"directory", directory},
            {"family", spec.family},
            {"layers", spec.layers.size()},
            {"width", spec.dim},
            {"vocabulary", spec.vocab},
            {"context_max", spec.context_max},
            {"mtp_layer", spec.draft.has_value()},
            {"moe_layers", facts.moe_layers},
            {"experts_per_layer", facts.experts_per_layer},
            {"experts_used", facts.experts_used},
            {"files", facts.files},
            {"file_bytes", facts.file_bytes},
            {"stored_bytes", facts.stored_bytes}};
}

Json machine_json(const MemoryFacts& memory, const ModelOptions& options) {
    Json isas = Json::array();
    for (const Isa isa : available_isas()) isas.push_back(to_string(isa));
    return {
        {"processor", cpu_model()},
        {"isas", isas},
        {"isa", to_string(options.kernels != nullptr ? options.kernels->isa : best_kernels().isa)},
        {"usable_cores", usable_cores()},
        {"threads", options.threads == 0 ? usable_cores() : options.threads},
        {"memory_total_bytes", optional_json(memory.total_bytes)},
        {"memory_available_bytes", optional_json(memory.available_bytes)},
        {"memory_limit_bytes", optional_json(memory.cgroup_limit_bytes)}};
}

Json plan_json(const MemoryPlan& plan) {
    Json parts = Json::array();
    for (const PlanPart& part : plan.parts)
        parts.push_back({{"name", part.name}, {"bytes", part.bytes}});
    return {{"parts", parts},
            {"total_bytes", plan.total_bytes},
            {"budget_bytes", plan.budget_bytes},
            {"budget_automatic", plan.budget_automatic},
            {"smallest_budget_bytes", plan.smallest_budget_bytes},
            {"everything_bytes", plan.everything_bytes},
            {"context", plan.context},
            {"slice_rows", plan.slice_rows},
            {"expert_slots", plan.expert_slots},
            {"expert_count", plan.expert_count},
            {"reader", plan.reader}};
}

std::string_view name(FoundTuning::Kind kind) {
    switch (kind) {
        case FoundTuning::Kind::none: return "none";
        case FoundTuning::Kind::applies: return "applies";
        case FoundTuning::Kind::foreign: return "foreign";
        case FoundTuning::Kind::damaged: return "damaged";
    }
    return {};
}

std::string tuning_text(const FoundTuning& found, bool wanted) {
    switch (found.kind) {
        case FoundTuning::Kind::none: return "not tuned (coli tune does it)\n";
        case FoundTuning::Kind::applies:
            return fmt::format("tuning {}: {}\n  {}\n", wanted ? "in use" : "not used (--no-tune)",
                               tuning_summary(found.file), found.path);
        case FoundTuning::Kind::foreign:
        case FoundTuning::Kind::damaged: break;
    }
    return fmt::format("tuning ignored: {}\n", found.why);
}

Json tuning_json(const FoundTuning& found, bool wanted) {
    Json tuning = {{"state", name(found.kind)},
                   {"in_use", wanted && found.kind == FoundTuning::Kind::applies},
                   {"path", found.path},
                   {"why", found.why}};
    if (found.file.date.empty()) return tuning;
    tuning["content"] = Json::parse(format_tune(found.file));
    return tuning;
}

// Every option that is not for one call alone, its value and where it came from.
int show_config(const Settings& settings, const Console& console) {
    Json list = Json::array();
    std::string text;
    for (const OptionSpec& option : option_table()) {
        if (!option.everywhere) continue;
        const Setting& setting = settings.at(option.id);
        const std::string value = to_text(option, setting);
        text += fmt::format("{:<18}{:<26}{}\n", option.name, value.empty() ? "-" : value,
                            setting.origin);
        list.push_back({{"name", option.name}, {"value", value}, {"origin", setting.origin}});
    }
    console.out.write(settings.on(Opt::json)
                          ? list.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
                          : text);
    return kExitOk;
}

int show_plan_error(const Error& error, const Json& report, const Settings& settings,
                    const Console& console) {
    if (settings.on(Opt::json))
        console.out.write(report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
    return failed(console, error);
}

}  // namespace

int info_command(const Invocation& invocation, const Console& console) {
    const Settings& settings = invocation.settings;
    if (settings.given(Opt::show_config)) return show_config(settings, console);
    const auto options = model_options(settings);
    if (!options) return misused(console, Command::info, options.error());
    Notices notices;
    const auto facts = model_facts(options->directory, options->split_directories, notices);
    console.show(notices);
    if (!facts) return failed(console, facts.error());
    if (settings.on(Opt::spec)) {
        console.out.write(describe(facts->spec));
        return kExitOk;
    }
    const bool json = settings.on(Opt::json);
    const MemoryFacts memory = memory_facts();
    Json report = {{"version", COLIBRI_VERSION},
                   {"model", model_json(options->directory, *facts)},
                   {"machine", machine_json(memory, *options)}};
    if (!json) {
        console.out.write(model_text(options->directory, *facts));
        console.out.write(machine_text(memory, *options));
    }
    auto engine = engine_options(settings);
    if (!engine) return misused(console, Command::info, engine.error());
    engine->tokenizer_required = false;  // eval works without one
    const auto plan = Engine::plan_only(*engine, notices);
    console.show(notices);
    if (!plan) return show_plan_error(plan.error(), report, settings, console);
    const FoundTuning tuning = find_tuning(settings, options->directory);
    const bool wanted = settings.on(Opt::use_tuning);
    if (!json) {
        console.out.write(plan_text(*plan) + tuning_text(tuning, wanted));
        return kExitOk;
    }
    report["plan"] = plan_json(*plan);
    report["tuning"] = tuning_json(tuning, wanted);
    console.out.write(report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
    return kExitOk;
}

}  // namespace colibri

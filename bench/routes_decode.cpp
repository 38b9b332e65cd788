// Decode of a model of random weights along recorded routes: streaming with the locality of a real
// model. Guessing the next layer's experts on against off, taking turns.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "base/clock.h"
#include "base/rng.h"
#include "base/units.h"
#include "bench/bench.h"
#include "bench/pairs.h"
#include "format/route_trace.h"
#include "platform/file.h"
#include "platform/machine.h"
#include "runtime/model.h"
#include "tests/support/synthetic_model.h"

namespace colibri::bench {

namespace {

// The decode steps of a recording: [token][layer with experts][slot], ids ascending.
struct Recording {
    std::vector<std::vector<std::vector<uint32_t>>> tokens;
    uint32_t layers = 0, experts = 0, top_k = 0;
};

Result<Recording> read_recording(const std::string& path, uint32_t layers_max) {
    TRY(const std::string text, read_file(path, kTraceBytesMax));
    TRY(const RouteTrace trace, parse_route_trace(text, path));
    std::vector<uint32_t> layers;
    for (const RouteTrace::Step& step : trace.steps) layers.push_back(step.layer);
    std::sort(layers.begin(), layers.end());
    layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
    if (layers_max != 0 && layers.size() > layers_max) layers.resize(layers_max);
    Recording recording{.tokens = {},
                        .layers = uint32_t(layers.size()),
                        .experts = trace.experts,
                        .top_k = trace.experts_used};
    int64_t position = -1;
    for (const RouteTrace::Step& step : trace.steps) {
        const auto layer = std::lower_bound(layers.begin(), layers.end(), step.layer);
        if (!step.decode || layer == layers.end() || *layer != step.layer) continue;
        if (int64_t(step.position) != position) recording.tokens.emplace_back(layers.size());
        position = step.position;
        std::vector<uint32_t>& ids = recording.tokens.back()[size_t(layer - layers.begin())];
        for (const RouteTrace::Choice& choice : trace.choices_of(step))
            ids.push_back(choice.expert);
        std::sort(ids.begin(), ids.end());
    }
    std::erase_if(recording.tokens, [&](const auto& token) {
        return std::any_of(token.begin(), token.end(),
                           [&](const auto& ids) { return ids.size() != recording.top_k; });
    });
    if (recording.tokens.size() < 2)
        return fail(ErrorKind::invalid_input,
                    fmt::format("--routes {}: {} whole decode tokens; 2 at least", path,
                                recording.tokens.size()));
    return recording;
}

// As many layers and experts as the recording has; widths for experts of about this size.
synthetic::GlmShape shape_for(const Recording& recording, uint64_t expert_bytes) {
    synthetic::GlmShape shape;
    shape.dim = 1024;
    shape.vocab = 4096;
    shape.heads = 8;
    shape.q_rank = 256;
    shape.kv_rank = 128;
    shape.nope = 64;
    shape.rope = 32;
    shape.value = 64;
    shape.dense_hidden = 2048;
    shape.expert_hidden = uint32_t(std::max<uint64_t>(64, expert_bytes / 3 / 1024 / 64 * 64));
    shape.experts = recording.experts;
    shape.top_k = recording.top_k;
    shape.index_heads = 4;
    shape.index_dims = 64;
    shape.index_topk = 1024;
    shape.indexers = "F" + std::string(recording.layers, 'S');
    shape.draft = false;
    return shape;
}

// The model made to follow the recording.
class Follower {
public:
    Follower(Model& model, const Recording& recording, uint32_t first_layer, double recall)
        : model_(model), recording_(recording), first_layer_(first_layer), recall_(recall) {
        options_.logits = LogitRows::none;
        options_.force_routes = [this](const RoutedSlice& routes, uint32_t* ids, float*) {
            const auto& token = recording_.tokens[at_ % recording_.tokens.size()];
            const std::vector<uint32_t>& chosen = token[routes.layer - first_layer_];
            for (uint32_t i = 0; i < routes.top_k; ++i) {
                // A guess that is not right is any expert.
                const bool right = !routes.guess || random_.uniform() < recall_;
                ids[i] = right ? chosen[i] : uint32_t(random_.below(recording_.experts));
            }
        };
    }

    // Tokens per second over about `seconds`, at least one pass over the recording.
    Result<double> rate(double seconds) {
        const uint64_t begin = now_us();
        uint64_t steps = 0;
        const int32_t token = 1;
        do {
            SequenceState state = model_.new_state();
            for (size_t i = 0; i < recording_.tokens.size(); ++i, ++at_, ++steps)
                TRY_STATUS(model_.forward(state, {&token, 1}, options_));
        } while (double(now_us() - begin) < seconds * 1e6);
        return double(steps) * 1e6 / double(now_us() - begin);
    }
    [[nodiscard]] uint64_t steps() const { return at_; }

private:
    Model& model_;
    const Recording& recording_;
    uint32_t first_layer_;
    double recall_;
    ForwardOptions options_;
    Rng random_{5};
    uint64_t at_ = 0;
};

struct Arm {
    std::unique_ptr<Model> model;
    std::unique_ptr<Follower> follower;
    std::vector<double> rates;
};

void add_arm(JsonLine& line, const std::string& name, const Arm& arm) {
    const StoreCounters c = arm.model->store_counters();
    const auto per_token = [&](uint64_t count) {
        return double(count) / double(arm.follower->steps());
    };
    line.add(name + "_tokens_per_s", quantile(arm.rates, 0.5))
        .add(name + "_hit_rate", double(c.hits) / double(std::max<uint64_t>(1, c.hits + c.misses)))
        .add(name + "_read_bytes_per_token", per_token(c.read_bytes))
        .add(name + "_wait_us_per_token", per_token(c.wait_us))
        .add(name + "_guesses_per_token", per_token(c.guesses))
        .add(name + "_useful_per_token", per_token(c.useful_guesses))
        .add(name + "_wasted_bytes_per_token", per_token(c.wasted_guess_bytes));
}

Result<std::string> model_directory(const std::string& given, const std::string& parent,
                                    const synthetic::GlmShape& shape) {
    if (std::filesystem::exists(given + "/config.json")) return given;
    const std::string directory = given.empty() ? parent + "/bench-routes-model" : given;
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (!std::filesystem::exists(directory + "/config.json"))
        TRY_STATUS(synthetic::write_glm(directory, shape, synthetic::Format::int8_row));
    return directory;
}

}  // namespace

Status run_routes_decode(Options options) {
    const std::string routes = options.text("routes", "");
    const std::string given = options.text("model", "");
    const std::string parent = options.text("directory", "build");
    TRY(const uint32_t layers, options.count("layers", 0));
    TRY(const uint64_t expert_bytes, options.bytes("expert", kMiB));
    TRY(const uint64_t ram_bytes, options.bytes("ram", kGiB));
    TRY(const uint32_t recall_percent, options.count("recall", 70));
    TRY(const uint32_t threads, options.count("threads", usable_cores()));
    const std::string policy = options.text("policy", "frequency");
    PairSettings settings;
    TRY(settings.pairs, options.count("pairs", settings.pairs));
    TRY(settings.seconds, options.seconds("seconds", settings.seconds));
    TRY(const Kernels* table, options.kernels());
    TRY_STATUS(options.unknown());
    if (routes.empty()) return fail(ErrorKind::invalid_input, "--routes TRACE is needed");
    TRY(const Recording recording, read_recording(routes, layers));
    TRY(const std::string directory,
        model_directory(given, parent, shape_for(recording, expert_bytes)));

    std::array<Arm, 2> arms;
    for (size_t i = 0; i < arms.size(); ++i) {
        Notices notices;
        TRY(arms[i].model,
            Model::open({.directory = directory,
                         .ram_budget_bytes = ram_bytes,
                         .context = std::max(256U, uint32_t(recording.tokens.size())),
                         .kernels = table,
                         .threads = threads,
                         .policy = policy_from_string(policy).value_or(PolicyKind::frequency),
                         .prefetch = i == 0 ? PrefetchMode::off : PrefetchMode::on},
                        notices));
        const auto& all = arms[i].model->spec().layers;
        const auto first = uint32_t(all.size()) - recording.layers;
        arms[i].follower = std::make_unique<Follower>(*arms[i].model, recording, first,
                                                      double(recall_percent) / 100);
        TRY_STATUS(arms[i].follower->rate(0));  // fills the cache
    }
    Status failed;
    const auto measure = [&](Arm& arm, double seconds) {
        const auto rate = arm.follower->rate(seconds);
        if (!rate) failed = tl::unexpected(rate.error());
        arm.rates.push_back(rate.value_or(1));
        return arm.rates.back();
    };
    const PairSummary summary = run_pairs(
        settings, [&](double seconds) { return measure(arms[0], seconds); },
        [&](double seconds) { return measure(arms[1], seconds); });
    TRY_STATUS(failed);
    const MemoryPlan& plan = arms[0].model->plan();
    JsonLine line("routes");
    line.add("routes", routes.substr(routes.find_last_of('/') + 1))
        .add("policy", policy)
        .add("recall_percent", uint64_t(recall_percent))
        .add("experts", uint64_t(plan.expert_count))
        .add("slots", uint64_t(plan.expert_slots))
        .add("reader", plan.reader)
        .add("isa", to_string(table->isa))
        .add("threads", uint64_t(threads))
        .add("pairs", uint64_t(settings.pairs))
        .add("seconds", settings.seconds);
    add_arm(line, "off", arms[0]);
    add_arm(line, "on", arms[1]);
    add_pairs(line, summary);
    line.add_machine().print();
    return {};
}

}  // namespace colibri::bench

// Decode of a model of random weights along recorded routes: streaming with the locality of a real
// model. Guessing the next layer's experts on against off, taking turns.
#include <array>

#include "base/units.h"
#include "bench/bench.h"
#include "bench/forced_routes.h"
#include "bench/pairs.h"
#include "platform/machine.h"
#include "runtime/model.h"

namespace colibri::bench {

namespace {

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

}  // namespace

Status run_routes_decode(Options options) {
    const std::string routes = options.text("routes", "");
    const std::string given = options.text("model", "");
    const std::string parent = options.text("directory", "build");
    TRY(const uint32_t layers, options.count("layers", kAllLayers));
    TRY(const uint64_t expert_bytes, options.bytes("expert", kMiB));
    TRY(const uint64_t ram_bytes, options.bytes("ram", kGiB));
    TRY(const uint32_t recall_percent, options.count("recall", 68));
    TRY(const uint32_t threads, options.count("threads", usable_cores()));
    const std::string policy = options.text("policy", "frequency");
    PairSettings settings;
    TRY(settings.pairs, options.count("pairs", settings.pairs));
    TRY(settings.seconds, options.seconds("seconds", settings.seconds));
    TRY(const Kernels* table, options.kernels());
    TRY_STATUS(options.unknown());
    if (routes.empty()) return fail(ErrorKind::invalid_input, "--routes TRACE is needed");
    TRY(const Recording recording, read_recording(routes, layers));
    const std::string directory = given.empty() ? parent + "/bench-routes-model" : given;
    TRY_STATUS(make_routed_model(directory, recording, expert_bytes));

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
        arms[i].follower =
            std::make_unique<Follower>(*arms[i].model, recording, double(recall_percent) / 100);
        for (size_t token = 0; token < recording.tokens.size(); ++token)  // fills the cache
            TRY_STATUS(arms[i].follower->step());
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

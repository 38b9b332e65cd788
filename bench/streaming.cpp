// How close a model that streams its experts comes to its bounds: the drive alone, and itself with
// every expert in memory.
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/heap.h"
#include "base/units.h"
#include "bench/bench.h"
#include "bench/forced_routes.h"
#include "bench/pairs.h"
#include "format/checkpoint.h"
#include "platform/drive_speed.h"
#include "platform/machine.h"
#include "runtime/model.h"

namespace colibri::bench {

namespace {

constexpr uint32_t kProbeDepth = 8;
// Decode reads into slots that no processor cache holds; so does its probe.
constexpr uint64_t kProbeMemoryBytes = 512 * kMiB;

struct StreamSetup {
    std::string routes, directory;
    Recording recording;
    uint64_t ram_bytes = 0;
    uint64_t chunk_bytes = 0, in_flight_bytes = 0;  // 0: the engine's defaults
    uint32_t rows = 0, context = 0, threads = 0;
    PrefetchMode prefetch = PrefetchMode::automatic;
    const Kernels* kernels = nullptr;
    PairSettings pairs;
};

Result<StreamSetup> read_stream_options(Options& options) {
    StreamSetup setup;
    setup.routes = options.text("routes", "");
    setup.directory = options.text("model", "build/bench-routes-model");
    TRY(const uint32_t layers, options.count("layers", kAllLayers));
    TRY(const uint64_t expert_bytes, options.bytes("expert", kMiB));
    TRY(setup.ram_bytes, options.bytes("ram", 2 * kGiB));
    TRY(setup.rows, options.count("rows", 1024));
    TRY(setup.context, options.count("ctx", 2048));
    TRY(setup.threads, options.count("threads", usable_cores()));
    TRY(setup.kernels, options.kernels());
    TRY(setup.chunk_bytes, options.bytes("chunk", 0));
    TRY(setup.in_flight_bytes, options.bytes("in-flight", 0));
    const std::string prefetch = options.text("prefetch", "auto");
    setup.prefetch = prefetch == "on"    ? PrefetchMode::on
                     : prefetch == "off" ? PrefetchMode::off
                                         : PrefetchMode::automatic;
    TRY(setup.pairs.pairs, options.count("pairs", setup.pairs.pairs));
    TRY(setup.pairs.seconds, options.seconds("seconds", setup.pairs.seconds));
    TRY_STATUS(options.unknown());
    if (setup.routes.empty()) return fail(ErrorKind::invalid_input, "--routes TRACE is needed");
    TRY(setup.recording, read_recording(setup.routes, layers));
    TRY_STATUS(make_routed_model(setup.directory, setup.recording, expert_bytes));
    return setup;
}

std::string_view prefetch_name(PrefetchMode mode) {
    return mode == PrefetchMode::on ? "on" : mode == PrefetchMode::off ? "off" : "auto";
}

ModelOptions model_options(const StreamSetup& setup) {
    return {.directory = setup.directory,
            .ram_budget_bytes = setup.ram_bytes,
            .context = setup.context,
            .kernels = setup.kernels,
            .threads = setup.threads,
            .in_flight_bytes = setup.in_flight_bytes,
            .chunk_bytes = setup.chunk_bytes,
            .prefetch = setup.prefetch};
}

// `ram_bytes` 0: what holds everything.
Result<std::unique_ptr<Model>> open_model(const StreamSetup& setup, uint64_t ram_bytes) {
    ModelOptions options = model_options(setup);
    options.ram_budget_bytes = ram_bytes;
    Notices notices;
    if (ram_bytes == 0) {
        TRY(const MemoryPlan plan, Model::plan_only(options, notices));
        options.ram_budget_bytes = plan.everything_bytes;
    }
    return Model::open(options, notices);
}

// Plain reads of the model's own files.
class DriveProbe {
public:
    static Result<DriveProbe> create(const StreamSetup& setup, const MemoryPlan& plan,
                                     bool sequential) {
        Notices notices;
        TRY(const Checkpoint checkpoint, Checkpoint::open(setup.directory, notices));
        DriveProbe probe;
        for (const CheckpointFile& file : checkpoint.files()) probe.files_.push_back(file.file);
        probe.pattern_ = {.sequential = sequential,
                          .block_bytes = round_up(plan.expert_read_bytes, kDirectBlockBytes),
                          .memory_bytes = sequential ? 0 : kProbeMemoryBytes,
                          .depth = kProbeDepth};
        return probe;
    }
    // Bytes per second; a failure is kept and the rate is 1.
    double rate(double seconds) { return kept(measure_raw(files_, next(seconds))); }
    // Through the engine's reader, whose threads compete with computation otherwise.
    double rate_of_reader(double seconds) {
        return kept(measure_reader(files_, next(seconds), ReaderOptions{}));
    }
    [[nodiscard]] Status status() const {
        return error_ ? Status(tl::unexpected(*error_)) : Status();
    }

private:
    const ReadPattern& next(double seconds) {
        pattern_.seconds = seconds;
        ++pattern_.seed;
        return pattern_;
    }
    double kept(const Result<ReadSpeed>& speed) {
        if (!speed) error_ = speed.error();
        return speed ? speed->bytes_per_second : 1;
    }

    std::vector<std::shared_ptr<const File>> files_;
    ReadPattern pattern_;
    std::optional<Error> error_;
};

void describe(JsonLine& line, const StreamSetup& setup, const Model& streamed) {
    const MemoryPlan& plan = streamed.plan();
    const uint64_t expert_bytes = plan.experts_per_token * plan.expert_slot_bytes;
    line.add("routes", setup.routes.substr(setup.routes.find_last_of('/') + 1))
        .add("experts", uint64_t(plan.expert_count))
        .add("slots", uint64_t(plan.expert_slots))
        .add("expert_bytes", plan.expert_read_bytes)
        .add("experts_bytes_total", plan.expert_read_bytes * plan.expert_count)
        .add("ram_bytes", setup.ram_bytes)
        .add("dense_share",
             double(plan.dense_bytes_per_token) / double(plan.dense_bytes_per_token + expert_bytes))
        .add("reader", plan.reader)
        .add("isa", to_string(streamed.kernels().isa))
        .add("threads", uint64_t(setup.threads))
        .add("pairs", uint64_t(setup.pairs.pairs))
        .add("seconds", setup.pairs.seconds);
}

// Drive and processor at the same time: a machine that has them share something cannot overlap
// them for free, whatever the engine does.
struct Together {
    std::vector<double> drive_bytes_per_s, cpu_s;

    Status add(DriveProbe& drive, Follower& resident, double seconds) {
        double speed = 0;
        std::jthread reading([&] { speed = drive.rate_of_reader(seconds); });
        const auto rate = resident.rate(seconds);
        reading.join();
        TRY_STATUS(drive.status());
        TRY(const double tokens_per_s, rate);
        drive_bytes_per_s.push_back(speed);
        cpu_s.push_back(1 / tokens_per_s);
        return {};
    }
};

// The two models, and what one round of all three measurements gave.
struct Bounds {
    std::unique_ptr<Model> resident, streamed;
    std::vector<double> drive_bytes_per_s, io_s, cpu_s, streamed_s;

    void add(double drive, double io, double cpu, double streamed_seconds) {
        drive_bytes_per_s.push_back(drive);
        io_s.push_back(io);
        cpu_s.push_back(cpu);
        streamed_s.push_back(streamed_seconds);
    }
    // The time taken over the larger bound.
    [[nodiscard]] PairSummary times() const { return judged(larger_s(), streamed_s); }
    // The rate reached over what the larger bound allows.
    [[nodiscard]] PairSummary rates() const {
        return judged(inverses(larger_s()), inverses(streamed_s));
    }
    void describe_bounds(JsonLine& line) const {
        line.add("io_s_median", quantile(io_s, 0.5))
            .add("cpu_s_median", quantile(cpu_s, 0.5))
            .add("drive_gb_per_s", quantile(drive_bytes_per_s, 0.5) / 1e9)
            .add("io_s", io_s)
            .add("cpu_s", cpu_s);
    }

private:
    [[nodiscard]] std::vector<double> larger_s() const {
        std::vector<double> larger;
        for (size_t i = 0; i < io_s.size(); ++i) larger.push_back(std::max(io_s[i], cpu_s[i]));
        return larger;
    }
    static std::vector<double> inverses(std::vector<double> values) {
        for (double& value : values) value = 1 / value;
        return values;
    }
    // The rule is about the plain measurement that decides the bound.
    [[nodiscard]] PairSummary judged(const std::vector<double>& bound,
                                     const std::vector<double>& measured) const {
        PairSummary pairs = summarize_pairs(bound, measured);
        const std::vector<double>& deciding =
            quantile(io_s, 0.5) > quantile(cpu_s, 0.5) ? drive_bytes_per_s : cpu_s;
        pairs.probe_spread =
            (quantile(deciding, 1) - quantile(deciding, 0)) / quantile(deciding, 0.5);
        pairs.is_void = pairs.probe_spread > 0.25;
        return pairs;
    }
};

Result<Bounds> open_both(const StreamSetup& setup) {
    Bounds bounds;
    TRY(bounds.streamed, open_model(setup, setup.ram_bytes));
    TRY(bounds.resident, open_model(setup, 0));
    return bounds;
}

// What was read in vain is no part of the bound.
double needed_bytes(const StoreCounters& counters) {
    return double(counters.read_bytes) - double(counters.wasted_guess_bytes);
}

// Tokens of a prompt; the model's own router sends them all over the experts.
std::vector<int32_t> prompt_tokens(const Model& model, uint32_t rows, uint64_t seed) {
    Rng rng(seed);
    std::vector<int32_t> tokens(rows);
    for (int32_t& token : tokens) token = int32_t(rng.below(model.spec().vocab));
    return tokens;
}

// Experts that came from the drive more than once.
uint64_t landed_again(const std::vector<StoreEvent>& events) {
    std::map<ExpertId, uint32_t> times;
    for (const StoreEvent& event : events)
        if (event.kind == StoreEvent::Kind::land) ++times[event.expert];
    return uint64_t(
        std::count_if(times.begin(), times.end(), [](const auto& of) { return of.second > 1; }));
}

Result<double> prefill_seconds(Model& model, std::span<const int32_t> tokens) {
    SequenceState state = model.new_state();
    const ForwardOptions options{.logits = LogitRows::last};
    const uint64_t begin_us = now_us();
    TRY_STATUS(model.forward(state, tokens, options));
    return double(now_us() - begin_us) / 1e6;
}

struct WarmStart {
    double first_token_s = 0;
    double bytes_per_s = 0;  // until every slot is full
};

Result<WarmStart> start(const StreamSetup& setup, const std::string& state_directory, bool warm) {
    Notices notices;
    ModelOptions options = model_options(setup);
    options.state_directory = state_directory;
    options.warm = warm;
    TRY(const auto model, Model::open(options, notices));
    const uint64_t begin_us = now_us();
    Follower follower(*model, setup.recording, kRecall);
    TRY_STATUS(follower.step());
    WarmStart result{.first_token_s = double(now_us() - begin_us) / 1e6};
    while (warm && model->store_counters().resident < model->plan().expert_slots) {
        (void)model->store().ready();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    result.bytes_per_s =
        double(model->store_counters().read_bytes) / (double(now_us() - begin_us) / 1e6);
    return result;
}

}  // namespace

Status run_warm(Options options) {
    const std::string state_directory = options.text("state", "build/bench-state");
    TRY(const StreamSetup setup, read_stream_options(options));
    {
        Notices notices;
        ModelOptions recorder = model_options(setup);
        recorder.state_directory = state_directory;
        TRY(const auto model, Model::open(recorder, notices));
        Follower follower(*model, setup.recording, kRecall);
        for (int token = 0; token < 64; ++token) TRY_STATUS(follower.step());
        TRY_STATUS(model->save_usage(64));
    }
    TRY(const auto plan_of, open_model(setup, setup.ram_bytes));
    TRY(DriveProbe drive, DriveProbe::create(setup, plan_of->plan(), true));
    std::vector<double> probe, filling, cold_s, warm_s;
    for (uint32_t pair = 0; pair < setup.pairs.pairs; ++pair) {
        probe.push_back(drive.rate(setup.pairs.seconds) / 1e9);
        TRY_STATUS(drive.status());
        TRY(const WarmStart cold, start(setup, state_directory, false));
        TRY(const WarmStart warm, start(setup, state_directory, true));
        filling.push_back(warm.bytes_per_s / 1e9);
        cold_s.push_back(cold.first_token_s);
        warm_s.push_back(warm.first_token_s);
    }
    std::vector<double> delays;
    for (size_t i = 0; i < cold_s.size(); ++i) delays.push_back(warm_s[i] / cold_s[i]);
    JsonLine line("warm");
    describe(line, setup, *plan_of);
    line.add("first_token_s_cold", quantile(cold_s, 0.5))
        .add("first_token_s_warm", quantile(warm_s, 0.5))
        .add("first_token_ratio_median", quantile(delays, 0.5))
        .add("first_token_ratio_p90", quantile(delays, 0.9));
    add_pairs(line, summarize_pairs(probe, filling));
    line.add_machine().print();
    return {};
}

Status run_overlap(Options options) {
    TRY(const double turn_seconds, options.seconds("turn", 1));
    TRY(StreamSetup setup, read_stream_options(options));
    setup.pairs.turn_seconds = turn_seconds;
    TRY(Bounds bounds, open_both(setup));
    TRY(DriveProbe drive, DriveProbe::create(setup, bounds.streamed->plan(), false));
    Follower resident(*bounds.resident, setup.recording, kRecall);
    Follower streamed(*bounds.streamed, setup.recording, kRecall);
    for (size_t i = 0; i < setup.recording.tokens.size(); ++i) {
        TRY_STATUS(resident.step());
        TRY_STATUS(streamed.step());
    }
    Together together;
    const StoreCounters first = bounds.streamed->store_counters();
    const uint64_t first_step = streamed.steps();
    for (uint32_t pair = 0; pair < setup.pairs.pairs; ++pair) {
        const uint32_t turns = setup.pairs.turns();
        const double seconds = setup.pairs.seconds / turns;
        const double bytes = needed_bytes(bounds.streamed->store_counters());
        const uint64_t steps = streamed.steps();
        double speed = 0;
        double resident_rate = 0;
        double rate = 0;
        for (uint32_t turn = 0; turn < turns; ++turn) {
            speed += drive.rate(seconds) / turns;
            TRY_STATUS(drive.status());
            TRY(const double alone, resident.rate(seconds));
            resident_rate += alone / turns;
            TRY(const double measured, streamed.rate(seconds));
            rate += measured / turns;
        }
        const double read = needed_bytes(bounds.streamed->store_counters()) - bytes;
        bounds.add(speed, read / double(streamed.steps() - steps) / speed, 1 / resident_rate,
                   1 / rate);
        TRY_STATUS(together.add(drive, resident, setup.pairs.seconds));
    }
    const StoreCounters last = bounds.streamed->store_counters();
    const uint64_t steps_of_pairs = streamed.steps() - first_step;
    const double hits = double(last.hits - first.hits);
    const auto per_token = [&](uint64_t count) { return double(count) / double(steps_of_pairs); };
    JsonLine line("overlap");
    describe(line, setup, *bounds.streamed);
    line.add("turn_seconds", turn_seconds)
        .add("hit_rate", hits / (hits + double(last.misses - first.misses)))
        .add("wait_s", double(last.wait_us - first.wait_us) / 1e6 / double(steps_of_pairs))
        .add("prefetch", prefetch_name(setup.prefetch))
        .add("useful_guesses_per_token", per_token(last.useful_guesses - first.useful_guesses))
        .add("wasted_guesses_per_token", per_token(last.wasted_guesses - first.wasted_guesses))
        .add("misses_per_token", per_token(last.misses - first.misses))
        .add("drive_gb_per_s_while_computing", quantile(together.drive_bytes_per_s, 0.5) / 1e9)
        .add("cpu_s_while_reading", quantile(together.cpu_s, 0.5));
    bounds.describe_bounds(line);
    add_pairs(line, bounds.rates());
    line.add_machine().print();
    return {};
}

Status run_streamed_prefill(Options options) {
    TRY(const StreamSetup setup, read_stream_options(options));
    TRY(Bounds bounds, open_both(setup));
    TRY(DriveProbe drive, DriveProbe::create(setup, bounds.streamed->plan(), true));
    uint64_t reads_most = 0, read_again = 0;
    std::vector<double> wait_s;
    bounds.streamed->store().record_events(true);
    for (uint32_t pair = 0; pair < setup.pairs.pairs + 1; ++pair) {
        const auto tokens = prompt_tokens(*bounds.streamed, setup.rows, pair);
        const double speed = drive.rate(setup.pairs.seconds);
        TRY_STATUS(drive.status());
        TRY(const double cpu_s, prefill_seconds(*bounds.resident, tokens));
        const StoreCounters before = bounds.streamed->store_counters();
        (void)bounds.streamed->store().take_events();
        TRY(const double time_s, prefill_seconds(*bounds.streamed, tokens));
        const StoreCounters after = bounds.streamed->store_counters();
        if (pair == 0) continue;  // fills the slots
        reads_most = std::max(reads_most, after.reads - before.reads);
        read_again = std::max(read_again, landed_again(bounds.streamed->store().take_events()));
        wait_s.push_back(double(after.wait_us - before.wait_us) / 1e6);
        bounds.add(speed, double(after.read_bytes - before.read_bytes) / speed, cpu_s, time_s);
    }
    JsonLine line("prefill");
    describe(line, setup, *bounds.streamed);
    line.add("rows", uint64_t(setup.rows))
        .add("slice_rows", uint64_t(bounds.streamed->plan().slice_rows))
        .add("reads_of_a_prompt", reads_most)
        .add("read_more_than_once", read_again)
        .add("prefetch", prefetch_name(setup.prefetch))
        .add("wait_s", quantile(wait_s, 0.5));
    bounds.describe_bounds(line);
    add_pairs(line, bounds.times());
    line.add_machine().print();
    return {};
}

Status run_residency(Options options) {
    const uint64_t at_start = resident_bytes();
    TRY(const StreamSetup setup, read_stream_options(options));
    return_unused_heap();
    // The recording, which no plan knows of.
    const uint64_t own_bytes = resident_bytes() - std::min(resident_bytes(), at_start);
    TRY(const auto model, open_model(setup, setup.ram_bytes));
    const uint32_t rows = std::min(setup.rows, setup.context - 1);
    TRY([[maybe_unused]] const double seconds,
        prefill_seconds(*model, prompt_tokens(*model, setup.context, 1)));
    Follower follower(*model, setup.recording, kRecall);
    const uint64_t tokens_max = 4 * setup.recording.tokens.size();
    while (
        follower.steps() < tokens_max &&
        (model->store_counters().resident < model->plan().expert_slots || follower.steps() < rows))
        TRY_STATUS(follower.step());
    const uint64_t peak = peak_resident_bytes() - own_bytes;
    const uint64_t plan = model->plan().total_bytes;
    const double ratio = double(peak) / double(plan);
    const double least = std::min(0.9, 1 - 32.0 * kMiB / double(plan));
    JsonLine line("residency");
    describe(line, setup, *model);
    line.add("context", uint64_t(model->plan().context))
        .add("slots_filled", model->store_counters().resident)
        .add("peak_bytes", peak)
        .add("recording_bytes", own_bytes)
        .add("plan_bytes", plan)
        .add("ratio", ratio)
        .add("least", least)
        .add("met", ratio <= 1 && ratio >= least)
        .add_machine()
        .print();
    return {};
}

}  // namespace colibri::bench

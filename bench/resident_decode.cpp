// Decode of a whole synthetic model that lies in memory, as a share of what a plain read of memory
// reaches: the kernels, the pool, the store's hits and everything between them.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "bench/bench.h"
#include "bench/membw.h"
#include "bench/pairs.h"
#include "kernels/selection.h"
#include "platform/machine.h"
#include "runtime/model.h"
#include "tests/support/synthetic_model.h"

namespace colibri::bench {

namespace {

// A fresh directory that goes away with its contents.
class TemporaryDirectory {
public:
    explicit TemporaryDirectory(const std::string& parent) {
        std::string pattern = parent + "/colibri-bench-XXXXXX";
        if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
    }
    ~TemporaryDirectory() {
        std::error_code ignored;
        if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
    }
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
};

// Published proportions in small: experts of several megabytes, ten layers with experts.
synthetic::GlmShape shape_for(synthetic::Format format, uint64_t size_bytes) {
    synthetic::GlmShape shape;
    shape.dim = 2048;
    shape.vocab = 8192;
    shape.heads = 16;
    shape.q_rank = 512;
    shape.kv_rank = 256;
    shape.nope = 64;
    shape.rope = 32;
    shape.value = 64;
    shape.dense_hidden = 4096;
    shape.expert_hidden = 1024;
    shape.index_heads = 8;
    shape.index_dims = 64;
    shape.index_topk = 1024;
    shape.indexers = "FSSSFSSSFSS";
    shape.top_k = 8;
    shape.draft = false;
    const double bytes_per_weight = format == synthetic::Format::int8_row ? 1.0 : 0.5625;
    const double expert_bytes = 3.0 * shape.dim * shape.expert_hidden * bytes_per_weight;
    const uint32_t moe_layers = shape.layers() - shape.dense_layers;
    shape.experts = uint32_t(double(size_bytes) / expert_bytes / moe_layers) + 1;
    return shape;
}

// Bytes of weights that one decode step multiplies.
uint64_t weight_bytes_per_token(const Model& model, const synthetic::GlmShape& shape) {
    uint64_t dense = 0;
    uint64_t slots = 0;
    for (const PlanPart& part : model.plan().parts) {
        if (part.name == "dense weights") dense = part.bytes;
        if (part.name == "expert slots") slots = part.bytes;
    }
    const uint64_t embedding = uint64_t(shape.vocab) * (shape.dim + sizeof(float));
    const uint64_t expert = slots / model.plan().expert_slots;
    return dense - embedding + expert * shape.top_k * (shape.layers() - shape.dense_layers);
}

struct Decoder {
    Model& model;
    SequenceState start;
    int32_t token = 1;

    // Tokens per second for about `seconds`.
    double rate(double seconds) {
        uint64_t steps = 0;
        ForwardOptions options;
        options.on_logits = [&](uint32_t, std::span<const float> logits) -> Status {
            token = int32_t(argmax(logits));
            return {};
        };
        const double begin = now_seconds();
        do {
            SequenceState state = start.snapshot();
            for (int i = 0; i < 4; ++i, ++steps)
                if (!model.forward(state, {&token, 1}, options)) return 0;
        } while (now_seconds() - begin < seconds);
        return double(steps) / (now_seconds() - begin);
    }
};

// Every expert into its slot, layer by layer.
Status bring_in_experts(Model& model, const synthetic::GlmShape& shape) {
    for (uint32_t layer = shape.dense_layers; layer < shape.layers(); ++layer) {
        std::vector<ExpertId> experts;
        for (uint32_t e = 0; e < shape.experts; ++e)
            experts.push_back({.layer = layer, .index = e});
        TRY_STATUS(model.store().open_stream(experts, StreamKind::scan));
        bool more = true;
        while (more) {
            TRY(const ExpertLease lease, model.store().next());
            more = bool(lease);
        }
    }
    model.store().close_stream();
    if (model.store_counters().resident == model.plan().expert_count) return {};
    return fail(ErrorKind::out_of_budget,
                fmt::format("{} of {} experts are resident", model.store_counters().resident,
                            model.plan().expert_count));
}

}  // namespace

Status run_resident_decode(Options options) {
    const std::string format_name = options.text("format", "int8-row");
    const std::string parent = options.text("directory", "build");
    TRY(const uint64_t size_bytes, options.bytes("bytes", 4 * kGiB));
    TRY(const uint32_t threads, options.count("threads", usable_cores()));
    PairSettings settings;
    TRY(settings.pairs, options.count("pairs", settings.pairs));
    TRY(settings.seconds, options.seconds("seconds", settings.seconds));
    TRY(settings.turn_seconds, options.seconds("turn", 0.25));
    TRY(settings.pairs_max, options.count("pairs-max", settings.pairs));
    TRY(const Kernels* table, options.kernels());
    TRY_STATUS(options.unknown());
    if (format_name != "int8-row" && format_name != "int4-g64")
        return fail(ErrorKind::invalid_input,
                    fmt::format("--format {}: int8-row or int4-g64", format_name));
    const auto format =
        format_name == "int8-row" ? synthetic::Format::int8_row : synthetic::Format::int4_g64;

    const TemporaryDirectory directory(parent);
    if (directory.path().empty())
        return fail(ErrorKind::io, fmt::format("cannot make a directory in {}", parent));
    const synthetic::GlmShape shape = shape_for(format, size_bytes);
    TRY_STATUS(synthetic::write_glm(directory.path(), shape, format));
    Notices notices;
    TRY(const auto model, Model::open({.directory = directory.path(),
                                       .ram_budget_bytes = size_bytes + 4 * kGiB,
                                       .context = 1024,
                                       .kernels = table,
                                       .threads = threads},
                                      notices));
    TRY_STATUS(bring_in_experts(*model, shape));

    SequenceState start = model->new_state();
    const std::vector<int32_t> prompt(16, 3);
    TRY_STATUS(model->forward(start, prompt, {.logits = LogitRows::none}));
    const StoreCounters before = model->store_counters();
    Decoder decoder{*model, std::move(start)};
    const uint64_t bytes = weight_bytes_per_token(*model, shape);
    TRY(const auto team, ThreadPool::create(threads));
    ThreadPool& pool = *team;
    TRY(const AlignedBuffer buffer, AlignedBuffer::allocate(kGiB));
    std::fill_n(buffer.as<uint8_t>(), buffer.size_bytes(), uint8_t(1));
    const ReadLoop loop = fastest_read_loop(pool, buffer.bytes());
    const PairSummary summary = run_pairs(
        settings,
        [&](double seconds) { return read_rate(pool, buffer.bytes(), loop, seconds) / 1e9; },
        [&](double seconds) { return decoder.rate(seconds) * double(bytes) / 1e9; });
    const uint64_t misses = model->store_counters().misses - before.misses;
    JsonLine line("decode");
    line.add("format", format_name)
        .add("expert_bytes_total", uint64_t(model->plan().everything_bytes))
        .add("experts", uint64_t(model->plan().expert_count))
        .add("weight_bytes_per_token", bytes)
        .add("tokens_per_s", quantile(summary.measured, 0.5) * 1e9 / double(bytes))
        .add("misses", misses)
        .add("isa", to_string(table->isa))
        .add("threads", uint64_t(threads))
        .add("read_loop", loop.name)
        .add("pairs", uint64_t(settings.pairs))
        .add("seconds", settings.seconds)
        .add("turn_seconds", settings.turn_seconds)
        .add("unit", std::string_view("GB/s"));
    add_pairs(line, summary);
    line.add_machine().print();
    return {};
}

}  // namespace colibri::bench

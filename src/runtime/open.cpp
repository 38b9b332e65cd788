// Opening a model: config, binding, plan, dense weights, store.
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <set>

#include "blocks/attention/grouped_query.h"
#include "blocks/attention/latent.h"
#include "load/expert_source.h"
#include "load/mirrors.h"
#include "model/config.h"
#include "model/registry.h"
#include "platform/drive_speed.h"
#include "platform/file.h"
#include "platform/machine.h"
#include "runtime/model_impl.h"

namespace colibri {

namespace {

// Code, shared libraries, allocator and thread stacks of a process that has just started.
constexpr uint64_t kProgramBytes = 16 * kMiB;
// Per tensor: name, record, index entry.
constexpr uint64_t kTensorTableBytes = 256;
constexpr double kMirrorMeasure_s = 0.1;
// Drives are only compared with each other, and measuring must not exceed the budget.
constexpr uint64_t kMirrorMemoryBytes = 0;
constexpr uint32_t kDefaultContext = 4096;
// The history itself, its successor while it is saved, and the file's bytes.
constexpr uint64_t kHistoryCopies = 4;
// Tokens before a history says more than chance.
constexpr double kHistoryStepsMin = 32;
// Reads in flight: enough to keep a drive busy, within a few large experts.
constexpr uint64_t kStagingTarget = 32 * kMiB;
constexpr uint32_t kRingSlotsMin = 4;
constexpr uint32_t kRingSlotsMax = 16;

// Everything known before weights are read.
struct Opened {
    ModelSpec spec;
    Checkpoint checkpoint;
    BoundModel sizes;
    uint32_t context = 0;
    uint32_t threads = 0;
    uint64_t fingerprint = 0;
    PlannedSlots planned;
    ReaderChoice reader;
    StoreConfig store;  // without slots until planned
    Mirrors mirrors;
    std::vector<double> drive_speeds;  // of the original and each mirror
};

Result<uint32_t> choose_context(const ModelSpec& spec, const ModelOptions& options,
                                bool indexers_present) {
    if (options.context > spec.context_max)
        return fail(ErrorKind::invalid_input,
                    fmt::format("--ctx {}: this model has at most {} positions", options.context,
                                spec.context_max));
    uint32_t context =
        options.context != 0 ? options.context : std::min(kDefaultContext, spec.context_max);
    if (indexers_present || options.dense_attention) return context;
    for (const Layer& layer : spec.layers)
        for (const Sublayer& sublayer : layer.sublayers) {
            const auto* latent = std::get_if<LatentAttention>(&sublayer.body);
            if (latent == nullptr || !latent->indexer || context <= latent->indexer->top_keys)
                continue;
            if (options.context != 0)
                return fail(ErrorKind::unsupported,
                            fmt::format("--ctx {}: the checkpoint has no indexer tensors, so it is "
                                        "exact only up to {} "
                                        "positions; use --ctx {} or add --dense-attention (lossy)",
                                        options.context, latent->indexer->top_keys,
                                        latent->indexer->top_keys));
            context = latent->indexer->top_keys;
        }
    return context;
}

// Identity for saved state: the config and the files' names and sizes; for a container also what
// it was made from and how.
uint64_t fingerprint_of(std::string_view config, const Checkpoint& checkpoint) {
    std::string text(config);
    if (const Container* container = checkpoint.container())
        text += "\n" + container->manifest().identity;
    for (const CheckpointFile& file : checkpoint.files())
        text += fmt::format("\n{} {}", file.path.substr(file.path.find_last_of('/') + 1),
                            file.size_bytes);
    return XXH3_64bits(text.data(), text.size());
}

uint64_t raw_expert_bytes(const ExpertSource& source) {
    uint64_t bytes = 0;
    for (const Extent& extent : source.extents) bytes += extent.size_bytes;
    return bytes;
}

StateShape shape_of(const ModelSpec& spec, const std::vector<Layer>& layers,
                    const BoundModel& bound, bool draft, uint64_t fingerprint) {
    StateShape shape;
    shape.hidden = spec.dim;
    shape.fingerprint = fingerprint;
    for (size_t i = 0; i < layers.size(); ++i) {
        LayerStateShape rows;
        const LayerWeights& weights = draft ? bound.weights.draft->layer : bound.weights.layers[i];
        for (size_t s = 0; s < layers[i].sublayers.size(); ++s) {
            const Body& body = layers[i].sublayers[s].body;
            if (const auto* latent = std::get_if<LatentAttention>(&body))
                rows = latent_state_shape(
                    *latent,
                    std::get<LatentWeights>(weights.sublayers[s].body).indexer.has_value());
            else if (const auto* grouped = std::get_if<GroupedQueryAttention>(&body))
                rows = grouped_query_state_shape(*grouped);
        }
        shape.layers.push_back(rows);
    }
    return shape;
}

std::vector<std::shared_ptr<const File>> expert_files(const Checkpoint& checkpoint,
                                                      const std::vector<ExpertSource>& experts) {
    std::set<uint32_t> numbers;
    for (const ExpertSource& source : experts)
        for (const Extent& extent : source.extents) numbers.insert(extent.file);
    std::vector<std::shared_ptr<const File>> files;
    for (const uint32_t number : numbers) files.push_back(checkpoint.files()[number].file);
    return files;
}

// Experts read in place need no staging: the ring itself holds a scan's reads in flight.
uint32_t ring_slots_of(const BoundModel& bound, const std::vector<ExpertSource>& experts) {
    const bool in_place = std::any_of(experts.begin(), experts.end(),
                                      [](const ExpertSource& source) { return source.in_place; });
    uint64_t largest = 1;
    for (const uint64_t bytes : bound.slot_class_bytes) largest = std::max(largest, bytes);
    if (!in_place) return kRingSlotsMin;
    return uint32_t(std::clamp<uint64_t>(kStagingTarget / largest, kRingSlotsMin, kRingSlotsMax));
}

StoreConfig store_config(const Checkpoint& checkpoint, const BoundModel& bound,
                         std::vector<ExpertSource> experts, ReaderOptions reader) {
    StoreConfig config;
    for (const CheckpointFile& file : checkpoint.files()) config.files.push_back(file.file);
    uint64_t largest = 1;
    for (const ExpertSource& source : experts)
        largest = std::max(largest, raw_expert_bytes(source));
    const uint32_t ring_slots = ring_slots_of(bound, experts);
    config.experts = std::move(experts);
    config.reader = std::move(reader);
    for (const uint64_t bytes : bound.slot_class_bytes)
        config.classes.push_back({.slot_bytes = bytes, .slots = 0, .ring_slots = ring_slots});
    config.staging_buffers =
        uint32_t(std::clamp(kStagingTarget / largest, uint64_t(4), uint64_t(16)));
    return config;
}

Result<PlannedSlots> make_plan(const ModelOptions& options, const Opened& o) {
    const MemoryFacts facts = memory_facts();
    PlanInputs in;
    in.budget_bytes = options.ram_budget_bytes;
    in.available_bytes = facts.available_bytes;
    in.total_bytes = facts.total_bytes;
    in.program_bytes = kProgramBytes;
    in.other_bytes = options.extra_bytes;
    in.table_bytes = o.checkpoint.tensors().size() * kTensorTableBytes +
                     expert_source_bytes(o.sizes.expert_layers);
    if (const Container* container = o.checkpoint.container())
        in.table_bytes += container->manifest().tensors.size() * kTensorTableBytes;
    in.table_bytes += kHistoryCopies * sizeof(UsageHistory::Entry) * o.store.experts.size();
    in.dense_bytes = o.sizes.dense_bytes;
    in.context = o.context;
    in.state_bytes = shape_of(o.spec, o.spec.layers, o.sizes, false, 0).bytes_for(o.context);
    const bool draft = o.sizes.weights.draft.has_value();
    if (draft)
        in.state_bytes +=
            shape_of(o.spec, {o.spec.draft->layer}, o.sizes, true, 0).bytes_for(o.context);
    in.slice_rows = options.prefill_slice;
    const uint32_t ring_slots =
        o.store.classes.empty() ? kRingSlotsMin : o.store.classes.front().ring_slots;
    in.ring_slots = ring_slots;
    in.ring_slots_max = kRingSlotsMax;
    in.scratch_bytes = [&, draft](uint32_t rows) {
        return pass_scratch_bytes(o.spec, o.sizes.indexers_present, draft, rows, o.context,
                                  o.threads);
    };
    StoreConfig full = o.store;
    uint64_t slot_bytes = 0;
    for (size_t i = 0; i < full.classes.size(); ++i) {
        uint32_t experts = 0;
        for (const ExpertLayer& layer : o.sizes.expert_layers)
            if (layer.slot_class == i) experts += layer.experts;
        in.classes.push_back({.slot_bytes = full.classes[i].slot_bytes, .experts = experts});
        full.classes[i].slots = experts;
        full.classes[i].ring_slots = kRingSlotsMax;
        slot_bytes +=
            full.classes[i].slot_bytes * (experts + std::min(kRingSlotsMax, std::max(2U, experts)));
    }
    in.staging_bytes = store_memory_bytes(full) - slot_bytes;
    return plan_memory(in);
}

// What a decode step reads and multiplies, for forecasts.
void add_traffic(const ModelSpec& spec, const BoundModel& bound, const StoreConfig& store,
                 MemoryPlan& plan) {
    for (const Layer& layer : spec.layers)
        for (const Sublayer& sublayer : layer.sublayers)
            if (const auto* moe = std::get_if<MoeFeedForward>(&sublayer.body))
                plan.experts_per_token +=
                    std::visit([](const auto& router) { return router.top_k; }, moe->router);
    plan.context_max = spec.context_max;
    uint64_t read = 0;
    uint64_t slots = 0;
    for (const ExpertSource& source : store.experts) {
        read += raw_expert_bytes(source);
        slots += store.classes[source.slot_class].slot_bytes;
    }
    const uint64_t count = std::max<uint64_t>(store.experts.size(), 1);
    plan.expert_read_bytes = read / count;
    plan.expert_slot_bytes = slots / count;
    // Of the embedding one row is read, unless it is the output head too.
    const uint64_t idle = spec.tied_head ? 0 : bound.weights.embedding.shape.total_bytes();
    plan.dense_bytes_per_token = bound.dense_bytes - std::min(bound.dense_bytes, idle);
}

// Opens the mirrors and finds out which drive may carry how much.
Status add_mirrors(const ModelOptions& options, const std::vector<ExpertSource>& experts, Opened& o,
                   Notices& notices) {
    if (options.mirrors.empty()) return {};
    TRY(o.mirrors, open_mirrors(o.checkpoint, options.mirrors, notices));
    uint64_t largest = 1;
    for (const ExpertSource& source : experts)
        largest = std::max(largest, raw_expert_bytes(source));
    TRY(const double own, measure_random_reads(expert_files(o.checkpoint, experts), largest,
                                               kMirrorMeasure_s, kMirrorMemoryBytes));
    o.drive_speeds.push_back(own);
    for (const Mirrors::Copy& copy : o.mirrors.copies) {
        if (copy.bytes_per_s > 0) {
            o.drive_speeds.push_back(copy.bytes_per_s);
            continue;
        }
        std::vector<std::shared_ptr<const File>> files;
        for (const uint32_t number : copy.file_of)
            if (number != Mirrors::kNoFile)
                files.push_back(o.mirrors.files[number - o.checkpoint.files().size()]);
        const auto speed =
            measure_random_reads(files, largest, kMirrorMeasure_s, kMirrorMemoryBytes);
        // A copy of small files alone cannot be measured: it gets the original's share.
        o.drive_speeds.push_back(speed.value_or(own));
    }
    return {};
}

// The directories of the model's own files, then the mirrors.
StorePlaces places_of(const std::string& directory, const Checkpoint& checkpoint,
                      const Mirrors& mirrors) {
    StorePlaces places{.directories = {directory}, .of_file = {}};
    for (const CheckpointFile& file : checkpoint.files()) {
        const std::string own = file.path.substr(0, file.path.find_last_of('/'));
        auto& known = places.directories;
        const auto found = std::find(known.begin(), known.end(), own);
        places.of_file.push_back(uint32_t(found - known.begin()));
        if (found == known.end()) known.push_back(own);
    }
    places.of_file.resize(checkpoint.files().size() + mirrors.files.size());
    for (const Mirrors::Copy& copy : mirrors.copies) {
        for (const uint32_t number : copy.file_of)
            if (number != Mirrors::kNoFile)
                places.of_file[number] = uint32_t(places.directories.size());
        places.directories.push_back(copy.directory);
    }
    return places;
}

Result<Opened> open_without_weights(const ModelOptions& options, Notices& notices) {
    TRY(const std::string text, read_file(options.directory + "/config.json", kConfigBytesMax));
    TRY(const Config config, Config::parse(text, options.directory + "/config.json"));
    TRY(ModelSpec spec, spec_from_config(config, notices));
    TRY(Checkpoint checkpoint,
        Checkpoint::open(options.directory, notices, options.split_directories));
    Opened o{.spec = std::move(spec), .checkpoint = std::move(checkpoint)};
    TRY(o.sizes,
        bind_model(o.spec, o.checkpoint,
                   {.draft_head = options.draft_head, .dense_attention = options.dense_attention},
                   notices));
    TRY(o.context, choose_context(o.spec, options, o.sizes.indexers_present));
    o.threads = options.threads != 0 ? options.threads : usable_cores();
    o.fingerprint = fingerprint_of(text, o.checkpoint);
    TRY(ExpertSources sources,
        make_expert_sources(o.checkpoint, o.sizes.expert_layers, /*sizes_only=*/true));
    o.reader = choose_reader(options.reader, expert_files(o.checkpoint, sources.sources));
    if (!o.reader.remark.empty() && !sources.sources.empty()) notices.add(o.reader.remark);
    TRY_STATUS(add_mirrors(options, sources.sources, o, notices));
    if (!o.mirrors.copies.empty()) spread_over_mirrors(o.mirrors, o.drive_speeds, sources.sources);
    TRY(ReaderOptions reader,
        reader_options(o.reader.kind, options.in_flight_bytes, options.chunk_bytes));
    o.store = store_config(o.checkpoint, o.sizes, std::move(sources.sources), std::move(reader));
    o.store.files.insert(o.store.files.end(), o.mirrors.files.begin(), o.mirrors.files.end());
    o.store.places = places_of(options.directory, o.checkpoint, o.mirrors);
    o.store.reader.hook = options.read_hook;
    o.store.policy = options.policy;
    TRY(o.planned, make_plan(options, o));
    add_traffic(o.spec, o.sizes, o.store, o.planned.plan);
    o.planned.plan.reader = fmt::format("{}, {}", to_string(o.reader.kind),
                                        o.reader.direct ? "direct" : "through the page cache");
    const MemoryFacts facts = memory_facts();
    if (facts.available_bytes && o.planned.plan.total_bytes > *facts.available_bytes)
        notices.add(fmt::format(
            "the plan of {} is more than the {} that this machine has free: expect swapping or a "
            "kill; "
            "use a smaller --ram",
            format_bytes(o.planned.plan.total_bytes), format_bytes(*facts.available_bytes)));
    if (!facts.available_bytes && options.ram_budget_bytes == 0)
        notices.add(fmt::format(
            "could not find out how much memory is free; assuming {}. Use --ram to say it",
            format_bytes(o.planned.plan.budget_bytes)));
    return o;
}

RopeTable rope_table(const Rope& rope) {
    if (rope.dims == 0) return RopeTable();
    return RopeTable(RopeParameters{.theta = rope.theta, .dims = rope.dims});
}

LayerRopes ropes_of(const Layer& layer) {
    LayerRopes ropes;
    for (const Sublayer& sublayer : layer.sublayers) {
        if (const auto* latent = std::get_if<LatentAttention>(&sublayer.body)) {
            ropes.main = rope_table(latent->rope);
            if (latent->indexer) ropes.index = rope_table(latent->indexer->rope);
        } else if (const auto* grouped = std::get_if<GroupedQueryAttention>(&sublayer.body)) {
            ropes.main = rope_table(grouped->rope);
        }
    }
    return ropes;
}

std::string formats_of(const BoundModel& bound) {
    std::set<std::string> experts, dense;
    for (const ExpertLayer& layer : bound.expert_layers)
        for (const TileShape& shape : layer.layout.shapes) experts.insert(to_string(shape.format));
    for (const FillJob& job : bound.jobs)
        if (job.kind == FillJob::Kind::matrix ||
            (job.kind == FillJob::Kind::stored && job.source.shape.columns > 1))
            dense.insert(to_string(job.source.shape.format));
    const auto list = [](const std::set<std::string>& names) {
        std::string text;
        for (const std::string& name : names) text += (text.empty() ? "" : "+") + name;
        return text;
    };
    return fmt::format("experts {}, dense {}", list(experts), list(dense));
}

UsagePlace usage_place_of(const ModelOptions& options, const Opened& o) {
    UsagePlace place{.directory = options.state_directory,
                     .fallback_directory = options.fallback_state_directory,
                     .model_directory = options.directory,
                     .fingerprint = o.fingerprint,
                     .layers = uint32_t(o.spec.layers.size())};
    for (const Layer& layer : o.spec.layers)
        for (const Sublayer& sublayer : layer.sublayers)
            if (const auto* moe = std::get_if<MoeFeedForward>(&sublayer.body)) {
                ++place.expert_layers;
                place.experts = std::get<Router>(moe->router).experts;
                place.top_k = std::get<Router>(moe->router).top_k;
            }
    return place;
}

std::vector<ExpertPrior> priors_of(const UsageHistory& history) {
    std::vector<ExpertPrior> priors;
    if (history.steps < kHistoryStepsMin) return priors;
    for (const UsageHistory::Entry& entry : history.entries)
        priors.push_back({entry.id, entry.uses / history.steps});
    return priors;
}

void warm(ExpertStore& store, const UsageHistory& history) {
    std::vector<UsageHistory::Entry> best = history.entries;
    std::sort(best.begin(), best.end(), [](const auto& a, const auto& b) {
        return a.uses != b.uses ? a.uses > b.uses : a.id < b.id;
    });
    std::vector<ExpertId> set;
    for (const UsageHistory::Entry& entry : best) set.push_back(entry.id);
    store.warm(set);
}

}  // namespace

Result<MemoryPlan> Model::plan_only(const ModelOptions& options, Notices& notices) {
    TRY(Opened opened, open_without_weights(options, notices));
    return std::move(opened.planned.plan);
}

Result<UsagePlace> Model::usage_place(const ModelOptions& options, Notices& notices) {
    TRY(const Opened opened, open_without_weights(options, notices));
    return usage_place_of(options, opened);
}

Result<uint64_t> Model::fingerprint(const std::string& directory,
                                    const std::vector<std::string>& split_directories) {
    TRY(const std::string text, read_file(directory + "/config.json", kConfigBytesMax));
    Notices ignored;
    TRY(const Checkpoint checkpoint, Checkpoint::open(directory, ignored, split_directories));
    return fingerprint_of(text, checkpoint);
}

Result<std::unique_ptr<Model>> Model::open(const ModelOptions& options, Notices& notices) {
    TRY(Opened o, open_without_weights(options, notices));
    auto impl = std::make_unique<Impl>();
    impl->options = options;
    impl->kernels = options.kernels != nullptr ? options.kernels : &best_kernels();
    TRY(impl->pool, ThreadPool::create(o.threads));
    impl->threads_max = o.threads;
    impl->plan = std::move(o.planned.plan);
    impl->indexers_present = o.sizes.indexers_present;
    impl->draft_loaded = o.sizes.weights.draft.has_value();
    TRY(impl->arena, AlignedBuffer::allocate(o.sizes.dense_bytes));
    TRY(BoundModel bound, bind_model(o.spec, o.checkpoint,
                                     {.draft_head = options.draft_head,
                                      .dense_attention = options.dense_attention,
                                      .arena = impl->arena.data()},
                                     notices));
    o.sizes = BoundModel{};
    const auto progress = [&](uint64_t done, uint64_t total) {
        if (options.progress) options.progress("reading dense weights", done, total);
    };
    TRY_STATUS(fill_dense(o.checkpoint, bound.jobs, *impl->pool, progress));

    if (options.observer != nullptr)
        for (const FillJob& job : bound.jobs) options.observer->resident(job.out, job.source.name);

    impl->formats = formats_of(bound);
    impl->state_shape =
        std::make_shared<StateShape>(shape_of(o.spec, o.spec.layers, bound, false, o.fingerprint));
    if (impl->draft_loaded)
        impl->draft_shape = std::make_shared<StateShape>(
            shape_of(o.spec, {o.spec.draft->layer}, bound, true, o.fingerprint));
    for (const Layer& layer : o.spec.layers) impl->ropes.push_back(ropes_of(layer));
    if (o.spec.draft) impl->ropes.push_back(ropes_of(o.spec.draft->layer));

    TRY(ExpertSources sources, make_expert_sources(o.checkpoint, std::move(bound.expert_layers)));
    if (!o.mirrors.copies.empty()) spread_over_mirrors(o.mirrors, o.drive_speeds, sources.sources);
    o.store.experts = std::move(sources.sources);
    o.store.landing = std::move(sources.landing);
    o.store.make_arrival_check = std::move(sources.make_arrival_check);
    for (size_t i = 0; i < o.store.classes.size(); ++i) {
        o.store.classes[i].slots = o.planned.slots[i];
        o.store.classes[i].ring_slots = o.planned.ring_slots;
    }
    impl->usage = UsageFile(usage_place_of(options, o), notices);
    o.store.priors = priors_of(impl->usage.history());
    impl->files = o.store.files;
    TRY(impl->store, ExpertStore::create(std::move(o.store)));
    if (options.warm) warm(*impl->store, impl->usage.history());
    impl->prefetch = PrefetchControl(options.prefetch);
    TRY(impl->scratch, AlignedBuffer::allocate(pass_scratch_bytes(
                           o.spec, impl->indexers_present, impl->draft_loaded,
                           impl->plan.slice_rows, impl->plan.context, o.threads)));
    impl->weights = std::move(bound.weights);
    impl->spec = std::move(o.spec);
    impl->checkpoint = std::make_unique<Checkpoint>(std::move(o.checkpoint));
    return std::unique_ptr<Model>(new Model(std::move(impl)));
}

Model::Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::~Model() = default;

const ModelSpec& Model::spec() const {
    return impl_->spec;
}
const MemoryPlan& Model::plan() const {
    return impl_->plan;
}
const Kernels& Model::kernels() const {
    return *impl_->kernels;
}
uint32_t Model::threads() const {
    return impl_->pool->thread_count();
}
bool Model::has_draft_head() const {
    return impl_->draft_loaded;
}
std::string Model::formats() const {
    return impl_->formats;
}
StoreCounters Model::store_counters() const {
    return impl_->store->counters();
}
ExpertStore& Model::store() {
    return *impl_->store;
}
bool Model::prefetching() const {
    return impl_->prefetch.active();
}
const UsageHistory& Model::usage() const {
    return impl_->usage.history();
}
Status Model::save_usage(uint64_t steps) {
    return impl_->usage.save(impl_->store->take_uses(), steps);
}

Status Model::check_files(Notices& notices) const {
    for (const auto& file : impl_->files) {
        TRY_STATUS(file->check_unchanged());
        const FileChange change = file->change();
        if (change != FileChange::replaced && change != FileChange::missing) continue;
        notices.add(
            fmt::format("{} {}; this run goes on with the bytes that it has open, the next "
                        "start {}",
                        file->path(),
                        change == FileChange::replaced ? "was replaced by another file"
                                                       : "is gone from its directory",
                        change == FileChange::replaced ? "will use the new ones" : "will miss it"));
    }
    return {};
}

SequenceState Model::new_state() const {
    return {impl_->state_shape, impl_->plan.context};
}
SequenceState Model::new_draft_state() const {
    return {impl_->draft_shape, impl_->plan.context};
}

}  // namespace colibri

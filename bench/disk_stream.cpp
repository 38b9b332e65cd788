// Experts through the store, as a share of what plain reads of the same drive reach: decode against
// reads of the same size at the places where the same steps miss, scan against a sequential read.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/rng.h"
#include "base/units.h"
#include "bench/bench.h"
#include "bench/membw.h"
#include "bench/pairs.h"
#include "format/digest.h"
#include "format/route_trace.h"
#include "platform/drive_speed.h"
#include "platform/file.h"
#include "platform/machine.h"
#include "store/expert_store.h"

namespace colibri::bench {

namespace {

constexpr uint64_t kWriteBytes = 8 * kMiB;
constexpr uint32_t kStreamExperts = 8;  // of a decode step without recorded routes

// A file of experts, one behind the other. Kept when its path was given, for the next run.
class ExpertFile {
public:
    ExpertFile(std::string path, bool keep) : path_(std::move(path)), keep_(keep) {}
    ExpertFile(const ExpertFile&) = delete;
    ExpertFile& operator=(const ExpertFile&) = delete;
    ~ExpertFile() {
        std::error_code ignored;
        if (!keep_) std::filesystem::remove(path_, ignored);
    }

    Status write(uint64_t size_bytes) const {
        std::error_code ignored;
        if (std::filesystem::file_size(path_, ignored) == size_bytes) return {};
        const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (file < 0) return fail(ErrorKind::io, fmt::format("cannot create {}", path_));
        std::vector<uint64_t> block(kWriteBytes / sizeof(uint64_t));
        Rng rng(size_bytes);
        Status status;
        for (uint64_t at = 0; at < size_bytes && status; at += kWriteBytes) {
            for (uint64_t& word : block) word = rng.next();
            const uint64_t bytes = std::min(kWriteBytes, size_bytes - at);
            if (::pwrite(file, block.data(), bytes, off_t(at)) != ssize_t(bytes))
                status = fail(ErrorKind::io,
                              fmt::format("{}: cannot write {} bytes at {}", path_, bytes, at));
        }
        if (status && ::fsync(file) != 0)
            status = fail(ErrorKind::io, fmt::format("{}: cannot sync", path_));
        (void)::close(file);
        return status;
    }

private:
    std::string path_;
    bool keep_;
};

// The sets that decode steps ask for: a recording, its experts numbered through the file.
struct Routes {
    std::vector<std::vector<ExpertId>> sets;
    uint32_t layers = 0, experts = 0;
};

Routes random_routes(uint32_t count) {
    Routes routes{.sets = {}, .layers = 1, .experts = count};
    Rng rng(7);
    for (int step = 0; step < 4096; ++step) {
        std::vector<ExpertId>& set = routes.sets.emplace_back();
        while (set.size() < std::min(kStreamExperts, count)) {
            const ExpertId id{.layer = 0, .index = uint32_t(rng.below(count))};
            if (std::find(set.begin(), set.end(), id) == set.end()) set.push_back(id);
        }
    }
    return routes;
}

// As many of the recording's first layers as the file has room for.
Result<Routes> recorded_routes(const std::string& path, uint32_t count) {
    TRY(const std::string text, read_file(path, kTraceBytesMax));
    TRY(const RouteTrace trace, parse_route_trace(text, path));
    Routes routes{.sets = {},
                  .layers = std::min(uint32_t(trace.layers.size()), count / trace.experts),
                  .experts = trace.experts};
    if (routes.layers == 0)
        return fail(ErrorKind::invalid_input,
                    fmt::format("--routes {}: one layer has {} experts, the file only {}", path,
                                trace.experts, count));
    for (const RouteTrace::Step& step : trace.steps) {
        if (!step.decode || step.layer >= routes.layers) continue;
        std::vector<ExpertId>& set = routes.sets.emplace_back();
        for (const RouteTrace::Choice& choice : trace.choices_of(step))
            set.push_back({.layer = step.layer, .index = choice.expert});
    }
    return routes;
}

// What a container's expert costs: one pass of the checksum, as its bytes come in.
class OnePass final : public ArrivalCheck {
public:
    void begin(ExpertId) override { stream_.reset(); }
    void take(std::span<const std::byte> bytes) override { stream_.update(bytes); }
    Status finish() override {
        if (stream_.digest() == Digest128{})
            return fail(ErrorKind::corrupt, "the checksum is zero");
        return {};
    }

private:
    Xxh3Stream stream_;
};

StoreConfig store_config(const std::shared_ptr<const File>& file, const Routes& routes,
                         uint64_t expert_bytes, uint32_t slots, uint32_t ring_slots,
                         ReaderOptions reader) {
    StoreConfig config;
    config.files = {file};
    for (uint32_t layer = 0; layer < routes.layers; ++layer)
        for (uint32_t index = 0; index < routes.experts; ++index)
            config.experts.push_back(
                {.id = {.layer = layer, .index = index},
                 .extents = {{.file = 0,
                              .offset = (uint64_t(layer) * routes.experts + index) * expert_bytes,
                              .size_bytes = expert_bytes}},
                 .slot_class = 0,
                 .in_place = true});
    config.classes = {{.slot_bytes = expert_bytes, .slots = slots, .ring_slots = ring_slots}};
    config.reader = std::move(reader);
    config.landing = [](ExpertId, std::span<const std::span<const std::byte>>,
                        std::span<std::byte>) -> Status { return {}; };
    config.make_arrival_check = [] { return std::make_unique<OnePass>(); };
    return config;
}

struct Streamer {
    ExpertStore& store;
    const Routes& routes;
    size_t step = 0;
    uint32_t layer = 0;
    std::optional<Error> error;

    // Bytes read per second.
    double rate(StreamKind kind, double seconds) {
        const uint64_t before = store.counters().read_bytes;
        const double begin = now_seconds();
        while (now_seconds() - begin < seconds && !error) {
            const Status status = kind == StreamKind::decode ? decode_step() : scan_layer();
            if (!status) error = status.error();
        }
        return double(store.counters().read_bytes - before) / (now_seconds() - begin);
    }

    // Where a whole round of steps reads, once the slots are full.
    Result<std::vector<uint64_t>> places(StreamKind kind, uint64_t expert_bytes) {
        const size_t rounds = kind == StreamKind::decode ? routes.sets.size() : routes.layers;
        for (size_t i = 0; i < rounds; ++i)
            TRY_STATUS(kind == StreamKind::decode ? decode_step() : scan_layer());
        store.record_events(true);
        for (size_t i = 0; i < rounds; ++i)
            TRY_STATUS(kind == StreamKind::decode ? decode_step() : scan_layer());
        store.record_events(false);
        std::vector<uint64_t> offsets;
        for (const StoreEvent& event : store.take_events())
            if (event.kind == StoreEvent::Kind::issue)
                offsets.push_back(
                    (uint64_t(event.expert.layer) * routes.experts + event.expert.index) *
                    expert_bytes);
        return offsets;
    }

    Status take_all() const {
        while (true) {
            TRY(const ExpertLease lease, store.next());
            if (!lease) return {};
        }
    }
    Status decode_step() {
        TRY_STATUS(store.open_stream(routes.sets[step++ % routes.sets.size()], StreamKind::decode));
        return take_all();
    }
    Status scan_layer() {
        std::vector<ExpertId> all;
        const uint32_t at = layer++ % routes.layers;
        for (uint32_t index = 0; index < routes.experts; ++index) all.push_back({at, index});
        TRY_STATUS(store.open_stream(all, StreamKind::scan));
        return take_all();
    }
};

struct DiskSetup {
    bool scan = false;
    uint64_t expert_bytes = 0, size_bytes = 0;
    uint32_t slots_percent = 0, depth = 0;
    std::string routes, path;
    bool keep = false;
    bool reader_probe = false;  // the reader by itself, not plain preads
    ReaderOptions reader;
    PairSettings pairs;
};

Result<DiskSetup> read_disk_options(Options& options) {
    DiskSetup setup;
    const std::string mode = options.text("mode", "decode");
    setup.scan = mode == "scan";
    if (mode != "decode" && mode != "scan")
        return fail(ErrorKind::invalid_input, fmt::format("--mode {}: decode or scan", mode));
    TRY(setup.expert_bytes, options.bytes("expert", 2 * kMiB));
    TRY(setup.size_bytes, options.bytes("bytes", 8 * kGiB));
    TRY(setup.slots_percent, options.count("slots-percent", 10));
    TRY(setup.depth, options.count("depth", kStreamExperts));
    const std::string probe = options.text("probe", "raw");
    setup.reader_probe = probe == "reader";
    if (probe != "raw" && probe != "reader")
        return fail(ErrorKind::invalid_input, fmt::format("--probe {}: raw or reader", probe));
    setup.routes = options.text("routes", "");
    setup.path = options.text("file", "");
    setup.keep = !setup.path.empty();
    const std::string directory = options.text("directory", "build");
    if (!setup.keep) setup.path = directory + "/colibri-bench-experts.bin";
    const std::string reader = options.text("reader", "auto");
    for (const ReaderKind kind : {ReaderKind::uring, ReaderKind::pread, ReaderKind::buffered})
        if (reader == to_string(kind)) setup.reader.kind = kind;
    TRY(setup.reader.chunk_bytes, options.bytes("chunk", setup.reader.chunk_bytes));
    TRY(setup.reader.in_flight_bytes, options.bytes("in-flight", setup.reader.in_flight_bytes));
    TRY(setup.reader.threads, options.count("reader-threads", setup.reader.threads));
    TRY(setup.pairs.pairs, options.count("pairs", setup.pairs.pairs));
    TRY(setup.pairs.seconds, options.seconds("seconds", setup.pairs.seconds));
    TRY(setup.pairs.turn_seconds, options.seconds("turn", 1));
    TRY(setup.pairs.pairs_max, options.count("pairs-max", setup.pairs.pairs));
    TRY_STATUS(options.unknown());
    setup.expert_bytes = round_up(setup.expert_bytes, kDirectBlockBytes);
    return setup;
}

Result<ReadSpeed> measure_probe(const DiskSetup& setup, const std::shared_ptr<const File>& file,
                                double seconds, uint64_t memory_bytes,
                                std::span<const uint64_t> places, size_t first) {
    const ReadPattern pattern{.block_bytes = setup.expert_bytes,
                              .memory_bytes = memory_bytes,
                              .depth = setup.depth,
                              .seconds = seconds,
                              .offsets = places,
                              .first = first};
    return setup.reader_probe ? measure_reader({&file, 1}, pattern, setup.reader)
                              : measure_raw({&file, 1}, pattern);
}

// What a plan gives: the most for a scan, which has few slots here but not in a model.
uint32_t ring_slots(const DiskSetup& setup, uint32_t slots) {
    if (setup.scan) return 16;
    return uint32_t(std::clamp<uint64_t>(
        std::max(32 * kMiB / setup.expert_bytes, uint64_t(slots) / 16), 4, 16));
}

}  // namespace

Status run_disk_stream(Options options) {
    TRY(const DiskSetup setup, read_disk_options(options));
    const auto count = uint32_t(setup.size_bytes / setup.expert_bytes);
    const ExpertFile keeper(setup.path, setup.keep);
    TRY_STATUS(keeper.write(count * setup.expert_bytes));
    TRY(const auto file, File::open(setup.path));
    TRY(Routes routes, setup.routes.empty() ? Result<Routes>(random_routes(count))
                                            : recorded_routes(setup.routes, count));
    const uint32_t experts = routes.layers * routes.experts;
    const uint32_t slots = setup.scan ? 2 : experts * setup.slots_percent / 100;
    TRY(const auto store,
        ExpertStore::create(store_config(file, routes, setup.expert_bytes, slots,
                                         ring_slots(setup, slots), setup.reader)));
    Streamer streamer{.store = *store, .routes = routes};
    const StreamKind kind = setup.scan ? StreamKind::scan : StreamKind::decode;
    TRY(const std::vector<uint64_t> places, streamer.places(kind, setup.expert_bytes));

    uint64_t device_bytes = 0, padded_bytes = 0;
    size_t place = places.size() / 2;  // not where the store is at the same time
    std::optional<Error> probe_error;
    const StoreCounters before = store->counters();
    const size_t first_step = streamer.step;
    const PairSummary summary = run_pairs(
        setup.pairs,
        [&](double seconds) {
            const auto speed =
                measure_probe(setup, file, seconds, slots * setup.expert_bytes, places, place);
            if (!speed) probe_error = speed.error();
            if (speed) place += speed->reads;
            return speed ? speed->bytes_per_second / 1e9 : 1;
        },
        [&](double seconds) {
            const uint64_t device = device_read_bytes();
            const uint64_t asked = store->counters().read_bytes;
            const double rate = streamer.rate(kind, seconds) / 1e9;
            device_bytes += device_read_bytes() - device;
            padded_bytes += store->counters().read_bytes - asked;
            return rate;
        });
    if (probe_error) return tl::unexpected(*std::move(probe_error));
    if (streamer.error) return tl::unexpected(*std::move(streamer.error));
    const StoreCounters after = store->counters();
    const double hits = double(after.hits - before.hits);
    const double misses = double(after.misses - before.misses);
    JsonLine line("disk");
    line.add("mode", std::string_view(setup.scan ? "scan" : "decode"))
        .add("expert_bytes", setup.expert_bytes)
        .add("file_bytes", file->size_bytes())
        .add("depth", uint64_t(setup.depth))
        .add("probe_kind", std::string_view(setup.reader_probe ? "reader" : "raw"))
        .add("reader", to_string(choose_reader(setup.reader.kind, {&file, 1}).kind))
        .add("chunk_bytes", setup.reader.chunk_bytes)
        .add("in_flight_bytes", setup.reader.in_flight_bytes)
        .add("routes", setup.routes.empty()
                           ? std::string("random")
                           : std::filesystem::path(setup.routes).filename().string())
        .add("slots", uint64_t(slots))
        .add("turn_seconds", setup.pairs.turn_seconds)
        .add("hit_rate", hits / std::max(1.0, hits + misses));
    if (!setup.scan)
        line.add("misses_per_step",
                 misses / double(std::max<size_t>(1, streamer.step - first_step)));
    if (device_bytes > 0)
        line.add("device_over_padded",
                 double(device_bytes) / double(std::max<uint64_t>(1, padded_bytes)));
    add_pairs(line, summary);
    line.add_machine().print();
    return {};
}

}  // namespace colibri::bench

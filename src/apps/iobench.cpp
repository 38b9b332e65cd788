// coli iobench: what the drive delivers, read as experts are read, and what that means for a model.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "apps/commands.h"
#include "apps/interrupt.h"
#include "apps/setup.h"
#include "base/units.h"
#include "format/checkpoint.h"
#include "load/bind.h"
#include "load/expert_source.h"
#include "model/config.h"
#include "model/registry.h"
#include "platform/drive_speed.h"
#include "platform/machine.h"

namespace colibri {

namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kBlockBytes = 2 * kMiB;  // when there is no model to say it
constexpr uint64_t kSequentialBytes = 8 * kMiB;
constexpr uint32_t kSequentialDepth = 4;
constexpr double kHitRates[] = {0, 50, 80, 90, 95};

// What is read, and for whom.
struct Target {
    std::string name;
    bool is_model = false;
    std::vector<std::shared_ptr<const File>> files;
    uint64_t expert_bytes = 0;            // of the largest expert
    uint64_t expert_bytes_per_token = 0;  // when none is in memory
};

struct Row {
    std::string reader;  // "raw" or a reader's name
    bool sequential = false;
    bool direct = true;
    uint64_t block_bytes = 0;
    uint32_t depth = 0;
    ReadSpeed speed;
};

struct Plan {
    uint64_t block_bytes = 0;
    uint32_t depth = 0;
    double seconds = 0;
    std::vector<ReaderKind> readers;
    std::vector<double> hit_rates;  // percent
};

uint32_t experts_used(const MoeFeedForward& moe) {
    return std::visit([](const auto& router) { return router.top_k; }, moe.router);
}

Result<Target> open_model_files(const std::string& directory,
                                const std::vector<std::string>& split_directories,
                                Notices& notices) {
    const std::string path = directory + "/config.json";
    TRY(const std::string text, read_file(path, kConfigBytesMax));
    TRY(const Config config, Config::parse(text, path));
    TRY(const ModelSpec spec, spec_from_config(config, notices));
    TRY(const Checkpoint checkpoint, Checkpoint::open(directory, notices, split_directories));
    TRY(BoundModel bound, bind_model(spec, checkpoint, {.dense_attention = true}, notices));
    TRY(const ExpertSources sources,
        make_expert_sources(checkpoint, std::move(bound.expert_layers), /*sizes_only=*/true));
    Target target{.name = directory, .is_model = true};
    std::set<uint32_t> files;
    std::vector<uint64_t> layer_bytes(spec.layers.size() + 1, 0);  // of its largest expert
    for (const ExpertSource& source : sources.sources) {
        uint64_t bytes = 0;
        for (const Extent& extent : source.extents) {
            bytes += extent.size_bytes;
            files.insert(extent.file);
        }
        target.expert_bytes = std::max(target.expert_bytes, bytes);
        layer_bytes[source.id.layer] = std::max(layer_bytes[source.id.layer], bytes);
    }
    for (size_t i = 0; i < spec.layers.size(); ++i)
        for (const Sublayer& sublayer : spec.layers[i].sublayers)
            if (const auto* moe = std::get_if<MoeFeedForward>(&sublayer.body))
                target.expert_bytes_per_token += layer_bytes[i] * experts_used(*moe);
    for (const uint32_t file : files) target.files.push_back(checkpoint.files()[file].file);
    if (target.files.empty())
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}: this model has no routed experts; name a file", directory));
    return target;
}

Result<Target> open_target(const Invocation& invocation, Notices& notices) {
    std::string path = invocation.arguments.empty() ? "" : invocation.arguments.front();
    if (path.empty()) {
        TRY(path, model_directory(invocation.settings));
    }
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored))
        return open_model_files(path, split_directories(invocation.settings), notices);
    Target target{.name = path};
    TRY(auto file, File::open(path));
    target.files.push_back(std::move(file));
    return target;
}

Result<Plan> make_plan(const Settings& settings, const Target& target) {
    Plan plan{.depth = uint32_t(settings.count(Opt::depth).value_or(8)),
              .seconds = settings.number(Opt::seconds).value_or(2)};
    const uint64_t fallback = target.expert_bytes > 0 ? target.expert_bytes : kBlockBytes;
    plan.block_bytes = round_up(settings.count(Opt::block).value_or(fallback), kDirectBlockBytes);
    uint64_t largest = 0;
    for (const auto& file : target.files) largest = std::max(largest, file->size_bytes());
    if (largest < plan.block_bytes)
        return fail(
            ErrorKind::invalid_input,
            fmt::format("{}: its largest file has {}, expected at least one block of {}; "
                        "use a larger file or a smaller --block",
                        target.name, format_bytes(largest), format_bytes(plan.block_bytes)));
    const std::string reader = settings.text(Opt::reader);
    for (const ReaderKind kind : {ReaderKind::uring, ReaderKind::pread, ReaderKind::buffered})
        if (reader.empty() || reader == "auto" || reader == to_string(kind))
            plan.readers.push_back(kind);
    if (const auto rate = settings.number(Opt::hit_rate)) {
        plan.hit_rates = {*rate};
    } else {
        plan.hit_rates.assign(std::begin(kHitRates), std::end(kHitRates));
    }
    return plan;
}

Result<Row> measure(const Target& target, const Plan& plan, std::optional<ReaderKind> reader,
                    bool sequential, const CancelToken* cancel) {
    uint64_t largest = 0;
    for (const auto& file : target.files) largest = std::max(largest, file->size_bytes());
    Row row{.reader = reader ? std::string(to_string(*reader)) : "raw", .sequential = sequential};
    row.block_bytes =
        sequential ? std::min(kSequentialBytes, largest / kDirectBlockBytes * kDirectBlockBytes)
                   : plan.block_bytes;
    row.depth = sequential ? kSequentialDepth : plan.depth;
    row.direct = choose_reader(reader.value_or(ReaderKind::pread), target.files).direct;
    const ReadPattern pattern{.sequential = sequential,
                              .block_bytes = row.block_bytes,
                              .memory_bytes = sequential ? 0 : kColdMemoryBytes,
                              .depth = row.depth,
                              .seconds = plan.seconds,
                              .seed = plan.block_bytes,
                              .cancel = cancel};
    // What an earlier run left in the page cache would be measured instead of the drive.
    for (const auto& file : target.files) drop_page_cache(*file);
    ReaderOptions options{.threads = row.depth};
    if (reader) options.kind = *reader;
    TRY(row.speed, reader ? measure_reader(target.files, pattern, options)
                          : measure_raw(target.files, pattern));
    return row;
}

Result<std::vector<Row>> measure_all(const Target& target, const Plan& plan,
                                     const Console& console) {
    CancelToken cancel;
    const InterruptScope interrupts(cancel);
    Progress progress(console.err);
    std::vector<std::optional<ReaderKind>> readers{std::nullopt};
    readers.insert(readers.end(), plan.readers.begin(), plan.readers.end());
    std::vector<Row> rows;
    for (const bool sequential : {true, false})
        for (const auto& reader : readers) {
            progress.show(fmt::format("measurement {} of {}", rows.size() + 1, 2 * readers.size()));
            auto row = measure(target, plan, reader, sequential, &cancel);
            if (!row && row.error().kind == ErrorKind::unsupported) {
                progress.clear();
                console.note(row.error().message);
                continue;
            }
            if (!row) return tl::unexpected(std::move(row).error());
            rows.push_back(*std::move(row));
        }
    progress.clear();
    return rows;
}

// The fastest reader at random reads; nothing below a rate of 0.
const Row* fastest(const std::vector<Row>& rows) {
    const Row* best = nullptr;
    for (const Row& row : rows)
        if (!row.sequential && row.reader != "raw" &&
            (best == nullptr || row.speed.bytes_per_second > best->speed.bytes_per_second))
            best = &row;
    return best;
}

struct Expectation {
    double hit_rate = 0;  // percent
    double bytes_per_token = 0;
    double tokens_per_second = 0;
};

std::vector<Expectation> expectations(const Target& target, const Plan& plan, const Row& best) {
    std::vector<Expectation> list;
    for (const double rate : plan.hit_rates) {
        Expectation at{.hit_rate = rate};
        at.bytes_per_token = double(target.expert_bytes_per_token) * (1 - rate / 100);
        if (at.bytes_per_token > 0)
            at.tokens_per_second = best.speed.bytes_per_second / at.bytes_per_token;
        list.push_back(at);
    }
    return list;
}

std::string text_report(const Target& target, const Plan& plan, const std::vector<Row>& rows) {
    uint64_t bytes = 0;
    for (const auto& file : target.files) bytes += file->size_bytes();
    std::string text = fmt::format("{}: {} file{}, {}\n", target.name, target.files.size(),
                                   target.files.size() == 1 ? "" : "s", format_bytes(bytes));
    text += fmt::format("{:<10}{:<12}{:<10}{:>10}{:>7}{:>12}{:>12}{:>12}\n", "pattern", "reader",
                        "path", "block", "depth", "GB/s", "median ms", "p99 ms");
    for (const Row& row : rows)
        text += fmt::format("{:<10}{:<12}{:<10}{:>10}{:>7}{:>12.3f}{:>12.2f}{:>12.2f}\n",
                            row.sequential ? "in order" : "random", row.reader,
                            row.direct ? "direct" : "buffered", format_bytes(row.block_bytes),
                            row.depth, row.speed.bytes_per_second / 1e9,
                            row.speed.latency_us_median / 1e3, row.speed.latency_us_p99 / 1e3);
    const Row* best = fastest(rows);
    if (best == nullptr) return text;
    text += fmt::format("fastest at random reads: --reader {}\n", best->reader);
    if (!target.is_model) return text;
    text += fmt::format("\none token uses {} of experts; what is not in memory is read:\n",
                        format_bytes(target.expert_bytes_per_token));
    text += fmt::format("{:>10}{:>16}{:>18}\n", "hit rate", "read per token", "tokens/s at most");
    for (const Expectation& at : expectations(target, plan, *best))
        text += fmt::format(
            "{:>8.4g} %{:>16}{:>18}\n", at.hit_rate, format_bytes(uint64_t(at.bytes_per_token)),
            at.bytes_per_token > 0 ? fmt::format("{:.3g}", at.tokens_per_second) : "-");
    return text;
}

std::string json_report(const Target& target, const Plan& plan, const std::vector<Row>& rows) {
    Json list = Json::array();
    for (const Row& row : rows)
        list.push_back({{"pattern", row.sequential ? "sequential" : "random"},
                        {"reader", row.reader},
                        {"direct", row.direct},
                        {"block_bytes", row.block_bytes},
                        {"depth", row.depth},
                        {"bytes_per_second", row.speed.bytes_per_second},
                        {"reads_per_second", row.speed.reads_per_second},
                        {"latency_us_median", row.speed.latency_us_median},
                        {"latency_us_p99", row.speed.latency_us_p99}});
    Json report = {{"target", target.name},
                   {"files", target.files.size()},
                   {"processor", cpu_model()},
                   {"seconds", plan.seconds},
                   {"measurements", std::move(list)}};
    if (const Row* best = fastest(rows)) {
        report["fastest_reader"] = best->reader;
        if (target.is_model) {
            Json expected = Json::array();
            for (const Expectation& at : expectations(target, plan, *best))
                expected.push_back(
                    {{"hit_rate", at.hit_rate / 100},
                     {"bytes_per_token", at.bytes_per_token},
                     {"tokens_per_second_max",
                      at.bytes_per_token > 0 ? Json(at.tokens_per_second) : Json()}});
            report["expert_bytes"] = target.expert_bytes;
            report["expert_bytes_per_token"] = target.expert_bytes_per_token;
            report["expected"] = std::move(expected);
        }
    }
    return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

int iobench_command(const Invocation& invocation, const Console& console) {
    if (invocation.arguments.size() > 1)
        return misused(console, Command::iobench,
                       {ErrorKind::invalid_input, "one file or model at a time", {}});
    Notices notices;
    const auto target = open_target(invocation, notices);
    if (!target) return failed(console, target.error());
    const auto plan = make_plan(invocation.settings, *target);
    if (!plan) return misused(console, Command::iobench, plan.error());
    const auto rows = measure_all(*target, *plan, console);
    if (!rows) return failed(console, rows.error());
    console.out.write(invocation.settings.on(Opt::json) ? json_report(*target, *plan, *rows)
                                                        : text_report(*target, *plan, *rows));
    return kExitOk;
}

}  // namespace colibri

// coli convert against what the drive itself needs for the same bytes: a plain sequential read of
// the source and a plain write of as much as the result has.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <span>

#include "base/aligned_buffer.h"
#include "base/clock.h"
#include "base/units.h"
#include "bench/bench.h"
#include "bench/pairs.h"
#include "convert/convert.h"
#include "format/checkpoint.h"
#include "kernels/kernels.h"
#include "platform/drive_speed.h"
#include "platform/machine.h"
#include "tests/support/synthetic_model.h"

namespace colibri::bench {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kBlockBytes = 4 * kMiB;

// A source of about `size_bytes` in bf16, nearly all of it experts.
Status write_source(const std::string& directory, uint64_t size_bytes) {
    synthetic::GlmShape shape;
    shape.dim = 2048;
    shape.vocab = 4096;
    shape.dense_hidden = 4096;
    shape.expert_hidden = 768;
    shape.experts = 64;
    shape.draft = false;
    const uint64_t layer_bytes = uint64_t(shape.experts) * 3 * shape.dim * shape.expert_hidden * 2;
    shape.indexers = "F" + std::string(std::max<uint64_t>(1, size_bytes / layer_bytes), 'S');
    std::error_code error;
    fs::create_directories(directory, error);
    return synthetic::write_glm(directory, shape, synthetic::Format::bf16);
}

// Seconds for every byte of the files, in order, eight blocks under way.
Result<double> read_seconds(std::span<const CheckpointFile> files) {
    double seconds = 0;
    for (const CheckpointFile& file : files) {
        std::vector<uint64_t> places;
        for (uint64_t at = 0; at + kBlockBytes <= file.size_bytes; at += kBlockBytes)
            places.push_back(at);
        // Long enough to be a speed; whole passes are not needed for that.
        const std::shared_ptr<const File> one = file.file;
        TRY(const ReadSpeed speed,
            measure_raw({&one, 1}, {.block_bytes = kBlockBytes, .seconds = 1, .offsets = places}));
        seconds += double(file.size_bytes) / speed.bytes_per_second;
    }
    return seconds;
}

Result<double> write_seconds(const std::string& path, uint64_t size_bytes) {
    TRY(const AlignedBuffer block, AlignedBuffer::allocate(kBlockBytes));
    std::fill_n(block.as<uint8_t>(), kBlockBytes, uint8_t(0x5a));
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0) return fail(ErrorKind::io, fmt::format("cannot create {}", path));
    const uint64_t begin_us = now_us();
    bool written = true;
    for (uint64_t at = 0; at < size_bytes && written; at += kBlockBytes)
        written = ::pwrite(file, block.data(), kBlockBytes, off_t(at)) == ssize_t(kBlockBytes);
    written = written && ::fsync(file) == 0;
    const double seconds = double(now_us() - begin_us) / 1e6;
    (void)::close(file);
    std::error_code ignored;
    fs::remove(path, ignored);
    if (!written) return fail(ErrorKind::io, fmt::format("{}: cannot write", path));
    return seconds;
}

struct Job {
    std::string source, destination, experts;
    uint32_t threads = 0;
};

Result<ConvertReport> run_once(const Job& job, ScaleSearch search,
                               std::span<const CheckpointFile> files) {
    std::error_code ignored;
    fs::remove_all(job.destination, ignored);
    for (const CheckpointFile& file : files) drop_page_cache(*file.file);
    ConvertOptions options{.source = job.source,
                           .destination = job.destination,
                           .writer = "colibri_bench",
                           .search = search,
                           .threads = job.threads};
    TRY_STATUS(options.recipe.set_experts(job.experts));
    Notices notices;
    auto report = convert(options, notices);
    fs::remove_all(job.destination, ignored);
    return report;
}

}  // namespace

Status run_convert_speed(Options options) {
    Job job;
    const std::string directory = options.text("directory", "build");
    job.source = options.text("source", directory + "/bench-convert-source");
    job.destination = directory + "/bench-convert-result";
    job.experts = options.text("experts", "int4-g64");
    TRY(const uint64_t size_bytes, options.bytes("bytes", 6 * kGiB));
    TRY(job.threads, options.count("threads", usable_cores()));
    PairSettings settings;
    TRY(settings.pairs, options.count("pairs", settings.pairs));
    TRY_STATUS(options.unknown());
    std::error_code error;
    if (!fs::exists(job.source + "/config.json", error))
        TRY_STATUS(write_source(job.source, size_bytes));
    Notices notices;
    TRY(const Checkpoint checkpoint, Checkpoint::open(job.source, notices));
    TRY(const ConvertReport first, run_once(job, ScaleSearch::nearest, checkpoint.files()));

    std::vector<double> plain, converted;  // bytes in and out per second
    const double bytes = double(first.in_bytes + first.out_bytes);
    for (uint32_t pair = 0; pair < settings.pairs; ++pair) {
        TRY(const double read_s, read_seconds(checkpoint.files()));
        TRY(const double write_s, write_seconds(job.destination + ".plain", first.out_bytes));
        plain.push_back(bytes / (read_s + write_s) / 1e9);
        TRY(const ConvertReport report, run_once(job, ScaleSearch::nearest, checkpoint.files()));
        converted.push_back(bytes / double(report.elapsed_us) / 1e3);
    }
    TRY(const ConvertReport searched, run_once(job, ScaleSearch::search, checkpoint.files()));
    const double weights = double(first.in_bytes) / 2;
    JsonLine line("convert");
    line.add("experts", job.experts)
        .add("in_bytes", first.in_bytes)
        .add("out_bytes", first.out_bytes)
        .add("isa", to_string(best_kernels().isa))
        .add("threads", uint64_t(job.threads))
        .add("pairs", uint64_t(settings.pairs))
        .add("nearest_core_ns_per_weight", double(first.encode_us) * 1e3 / weights)
        .add("search_core_ns_per_weight", double(searched.encode_us) * 1e3 / weights);
    add_pairs(line, summarize_pairs(plain, converted));
    line.add_machine().print();
    return {};
}

}  // namespace colibri::bench

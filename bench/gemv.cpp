// Decode products over a weight set that no cache holds, as a share of what a plain read of memory
// reaches.
#include "base/thread_pool.h"
#include "base/units.h"
#include "bench/bench.h"
#include "bench/membw.h"
#include "bench/pairs.h"
#include "bench/synthetic.h"
#include "platform/machine.h"

namespace colibri::bench {

namespace {

// Weight bytes per second of products over the matrices in turn, starting where the last call
// stopped.
double product_rate(ThreadPool& pool, const Kernels& table, const MatrixSet& set,
                    Activations& activations, double seconds, uint64_t& next) {
    uint64_t done = 0;
    const double start = now_seconds();
    while (now_seconds() - start < seconds) {
        for (int i = 0; i < 16; ++i) {
            const MatrixView matrix = set.at(next);
            next = (next + 1) % set.count;
            pool.split(set.shape.blocks(), 8, [&](uint32_t begin, uint32_t end) {
                activations.multiply(table, matrix, begin, end);
            });
        }
        done += 16 * set.shape.total_bytes();
    }
    return double(done) / (now_seconds() - start);
}

}  // namespace

Status run_gemv(Options options) {
    TRY(const WeightFormat format, parse_format(options.text("format", "int8-row")));
    TRY(const uint64_t size_bytes, options.bytes("bytes", 4 * kGiB));
    TRY(const uint32_t threads, options.count("threads", usable_cores()));
    TRY(const uint32_t row_count, options.count("rows", 1));
    TRY(const uint32_t outputs, options.count("outputs", 2048));
    TRY(const uint32_t columns, options.count("columns", 6144));
    PairSettings settings;
    TRY(settings.pairs, options.count("pairs", settings.pairs));
    TRY(settings.seconds, options.seconds("seconds", settings.seconds));
    TRY(settings.turn_seconds, options.seconds("turn", 0.25));
    TRY(const Kernels* table, options.kernels());
    TRY_STATUS(options.unknown());

    const TileShape shape{format, outputs, columns};
    TRY(const MatrixSet set, make_matrix_set(shape, size_bytes));
    Activations activations(shape, row_count);
    TRY(const auto team, ThreadPool::create(threads));
    ThreadPool& pool = *team;
    const std::span<const std::byte> bytes(set.buffer.data(), set.weight_bytes());
    const ReadLoop loop = fastest_read_loop(pool, bytes);
    uint64_t next = 0;
    const PairSummary summary = run_pairs(
        settings, [&](double seconds) { return read_rate(pool, bytes, loop, seconds) / 1e9; },
        [&](double seconds) {
            return product_rate(pool, *table, set, activations, seconds, next) / 1e9;
        });
    JsonLine line("gemv");
    line.add("format", to_string(format))
        .add("bytes", set.weight_bytes())
        .add("outputs", uint64_t(outputs))
        .add("columns", uint64_t(columns))
        .add("rows", uint64_t(row_count))
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

// Products of one matrix that stays in the cache, beside the peak of what the processor's fma units
// do.
#include "base/thread_pool.h"
#include "bench/bench.h"
#include "bench/membw.h"
#include "bench/pairs.h"
#include "bench/synthetic.h"
#include "platform/machine.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace colibri::bench {

namespace {

constexpr int kChains = 12;  // more than latency times units of any core

#if defined(__x86_64__)
[[gnu::target("avx512f")]] float spin_avx512(uint64_t steps) {
    __m512 sums[kChains];
    for (__m512& sum : sums) sum = _mm512_set1_ps(1.0F);
    const __m512 factor = _mm512_set1_ps(0.999F);
    for (uint64_t i = 0; i < steps; ++i)
#pragma GCC unroll 12
        for (__m512& sum : sums) sum = _mm512_fmadd_ps(sum, factor, factor);
    float total = 0;
    for (const __m512& sum : sums) total += _mm512_cvtss_f32(sum);
    return total;
}
[[gnu::target("avx2,fma")]] float spin_avx2(uint64_t steps) {
    __m256 sums[kChains];
    for (__m256& sum : sums) sum = _mm256_set1_ps(1.0F);
    const __m256 factor = _mm256_set1_ps(0.999F);
    for (uint64_t i = 0; i < steps; ++i)
#pragma GCC unroll 12
        for (__m256& sum : sums) sum = _mm256_fmadd_ps(sum, factor, factor);
    float total = 0;
    for (const __m256& sum : sums) total += _mm256_cvtss_f32(sum);
    return total;
}
#endif

// Floating-point operations per second of independent fma chains on every thread; 0 where no loop
// exists.
double fma_peak(ThreadPool& pool, Isa isa, double seconds) {
#if defined(__x86_64__)
    if (isa == Isa::reference) return 0;
    const bool wide = isa == Isa::avx512;
    constexpr uint64_t kSteps = 200'000;
    std::vector<double> rates(pool.thread_count());
    pool.run([&](uint32_t member, uint32_t) {
        volatile float keep = 0;
        const double start = now_seconds();
        uint64_t done = 0;
        while (now_seconds() - start < seconds) {
            keep = wide ? spin_avx512(kSteps) : spin_avx2(kSteps);
            done += kSteps;
        }
        (void)keep;
        rates[member] = double(done) * kChains * (wide ? 32 : 16) / (now_seconds() - start);
    });
    double total = 0;
    for (const double rate : rates) total += rate;
    return total;
#else
    (void)pool;
    return double(seconds * 0) * double(isa);
#endif
}

}  // namespace

Status run_matmul(Options options) {
    TRY(const WeightFormat format, parse_format(options.text("format", "bf16")));
    TRY(const uint32_t threads, options.count("threads", 1));
    TRY(const uint32_t row_count, options.count("rows", 64));
    TRY(const uint32_t outputs, options.count("outputs", 2048));
    TRY(const uint32_t columns, options.count("columns", 6144));
    PairSettings settings{.pairs = 5, .seconds = 0.3};
    TRY(settings.pairs, options.count("pairs", settings.pairs));
    TRY(settings.seconds, options.seconds("seconds", settings.seconds));
    TRY(const Kernels* table, options.kernels());
    TRY_STATUS(options.unknown());

    const TileShape shape{format, outputs, columns};
    TRY(const MatrixSet set, make_matrix_set(shape, 1));
    Activations activations(shape, row_count);
    TRY(const auto team, ThreadPool::create(threads));
    ThreadPool& pool = *team;
    const double operations = 2.0 * row_count * outputs * columns;
    const PairSummary summary = run_pairs(
        settings, [&](double seconds) { return fma_peak(pool, table->isa, seconds) / 1e9; },
        [&](double seconds) {
            const double start = now_seconds();
            double done = 0;
            while (now_seconds() - start < seconds) {
                pool.split(shape.blocks(), 8, [&](uint32_t begin, uint32_t end) {
                    activations.multiply(*table, set.at(0), begin, end);
                });
                done += operations;
            }
            return done / (now_seconds() - start) / 1e9;
        });
    JsonLine line("matmul");
    line.add("format", to_string(format))
        .add("rows", uint64_t(row_count))
        .add("outputs", uint64_t(outputs))
        .add("columns", uint64_t(columns))
        .add("isa", to_string(table->isa))
        .add("threads", uint64_t(threads))
        .add("unit", std::string_view("GFLOP/s"));
    add_pairs(line, summary);
    line.add_machine().print();
    return {};
}

}  // namespace colibri::bench

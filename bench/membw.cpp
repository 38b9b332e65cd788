#include "bench/membw.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/units.h"
#include "bench/bench.h"
#include "platform/machine.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace colibri::bench {

namespace {

// What the loops read, combined, so that no read can be left out.
std::atomic<uint64_t> sink{0};

// kStreams places, each `size / kStreams` bytes long, read side by side.
#if defined(__x86_64__)
template <int kStreams, int kPrefetchBytes>
[[gnu::target("avx512f")]] uint64_t read_avx512(const std::byte* data, uint64_t size_bytes) {
    const uint64_t part = size_bytes / kStreams / 256 * 256;
    __m512i sum[kStreams];
    for (__m512i& one : sum) one = _mm512_setzero_si512();
    for (uint64_t i = 0; i < part; i += 256)
#pragma GCC unroll 8
        for (int s = 0; s < kStreams; ++s) {
            const std::byte* p = data + s * part + i;
            if (kPrefetchBytes != 0)
                for (int line = 0; line < 4; ++line)
                    _mm_prefetch(reinterpret_cast<const char*>(p) + kPrefetchBytes + line * 64,
                                 _MM_HINT_T0);
            const __m512i a = _mm512_or_si512(_mm512_loadu_si512(p), _mm512_loadu_si512(p + 64));
            const __m512i b =
                _mm512_or_si512(_mm512_loadu_si512(p + 128), _mm512_loadu_si512(p + 192));
            sum[s] = _mm512_or_si512(sum[s], _mm512_or_si512(a, b));
        }
    __m512i all = sum[0];
    for (const __m512i& one : sum) all = _mm512_or_si512(all, one);
    uint64_t words[8];
    _mm512_storeu_si512(words, all);
    return words[0] | words[1] | words[2] | words[3] | words[4] | words[5] | words[6] | words[7];
}

template <int kStreams, int kPrefetchBytes>
[[gnu::target("avx2")]] uint64_t read_avx2(const std::byte* data, uint64_t size_bytes) {
    const uint64_t part = size_bytes / kStreams / 128 * 128;
    __m256i sum[kStreams];
    for (__m256i& one : sum) one = _mm256_setzero_si256();
    for (uint64_t i = 0; i < part; i += 128)
#pragma GCC unroll 8
        for (int s = 0; s < kStreams; ++s) {
            const auto* p = reinterpret_cast<const __m256i*>(data + s * part + i);
            if (kPrefetchBytes != 0)
                for (int line = 0; line < 2; ++line)
                    _mm_prefetch(reinterpret_cast<const char*>(p) + kPrefetchBytes + line * 64,
                                 _MM_HINT_T0);
            const __m256i a = _mm256_or_si256(_mm256_loadu_si256(p), _mm256_loadu_si256(p + 1));
            const __m256i b = _mm256_or_si256(_mm256_loadu_si256(p + 2), _mm256_loadu_si256(p + 3));
            sum[s] = _mm256_or_si256(sum[s], _mm256_or_si256(a, b));
        }
    __m256i all = sum[0];
    for (const __m256i& one : sum) all = _mm256_or_si256(all, one);
    uint64_t words[4];
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(words), all);
    return words[0] | words[1] | words[2] | words[3];
}
#endif

template <int kStreams>
uint64_t read_words(const std::byte* data, uint64_t size_bytes) {
    const uint64_t part = size_bytes / kStreams / 64 * 64;
    uint64_t all = 0;
    for (uint64_t i = 0; i < part; i += 64)
        for (int s = 0; s < kStreams; ++s) {
            uint64_t words[8];
            std::memcpy(words, data + s * part + i, sizeof words);
            for (const uint64_t word : words) all |= word;
        }
    return all;
}

std::vector<ReadLoop> read_loops() {
    std::vector<ReadLoop> loops{{"words x1", read_words<1>}, {"words x4", read_words<4>}};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        loops.push_back({"avx2 x1", read_avx2<1, 0>});
        loops.push_back({"avx2 x4", read_avx2<4, 0>});
        loops.push_back({"avx2 x8", read_avx2<8, 0>});
        loops.push_back({"avx2 x1 prefetch", read_avx2<1, 2048>});
        loops.push_back({"avx2 x4 prefetch", read_avx2<4, 1024>});
    }
    if (__builtin_cpu_supports("avx512f")) {
        loops.push_back({"avx512 x1", read_avx512<1, 0>});
        loops.push_back({"avx512 x2", read_avx512<2, 0>});
        loops.push_back({"avx512 x4", read_avx512<4, 0>});
        loops.push_back({"avx512 x8", read_avx512<8, 0>});
        loops.push_back({"avx512 x1 prefetch", read_avx512<1, 2048>});
        loops.push_back({"avx512 x4 prefetch", read_avx512<4, 1024>});
        loops.push_back({"avx512 x8 prefetch", read_avx512<8, 1024>});
    }
#endif
    return loops;
}

}  // namespace

double now_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

double read_rate(ThreadPool& pool, std::span<const std::byte> data, const ReadLoop& loop,
                 double seconds) {
    constexpr uint64_t kPartBytes = 64 * kMiB;  // between two looks at the clock
    const uint64_t each = data.size() / pool.thread_count() / kPartBytes * kPartBytes;
    const uint64_t part_bytes = each == 0 ? data.size() / pool.thread_count() : kPartBytes;
    std::atomic<uint64_t> total{0};
    const double start = now_seconds();
    pool.run([&](uint32_t member, uint32_t) {
        const std::byte* mine = data.data() + member * (each == 0 ? part_bytes : each);
        uint64_t done = 0;
        uint64_t offset = 0;
        while (now_seconds() - start < seconds) {
            sink.fetch_or(loop.read(mine + offset, part_bytes), std::memory_order_relaxed);
            done += part_bytes;
            offset += part_bytes;
            if (offset + part_bytes > each) offset = 0;
        }
        total.fetch_add(done);
    });
    return double(total.load()) / (now_seconds() - start);
}

// The loops take many short turns: a machine whose speed changes within seconds would otherwise
// choose the loop that ran at the better moment.
ReadLoop fastest_read_loop(ThreadPool& pool, std::span<const std::byte> data) {
    const std::vector<ReadLoop> loops = read_loops();
    std::vector<double> sums(loops.size(), 0);
    for (int round = 0; round < 20; ++round)
        for (size_t i = 0; i < loops.size(); ++i) sums[i] += read_rate(pool, data, loops[i], 0.03);
    return loops[size_t(std::max_element(sums.begin(), sums.end()) - sums.begin())];
}

Status run_membw(Options options) {
    TRY(const uint64_t size_bytes, options.bytes("bytes", 4 * kGiB));
    TRY(const uint32_t threads, options.count("threads", usable_cores()));
    TRY(const double seconds, options.seconds("seconds", 5));
    TRY_STATUS(options.unknown());
    TRY(const AlignedBuffer buffer, AlignedBuffer::allocate(size_bytes));
    std::memset(buffer.data(), 0x11, size_bytes);
    TRY(const auto team, ThreadPool::create(threads));
    ThreadPool& pool = *team;
    for (const ReadLoop& loop : read_loops())
        JsonLine("membw-loop")
            .add("loop", loop.name)
            .add("gb_per_s", read_rate(pool, buffer.bytes(), loop, 0.5) / 1e9)
            .print();
    const ReadLoop loop = fastest_read_loop(pool, buffer.bytes());
    JsonLine("membw")
        .add("loop", loop.name)
        .add("bytes", size_bytes)
        .add("threads", uint64_t(threads))
        .add("seconds", seconds)
        .add("gb_per_s", read_rate(pool, buffer.bytes(), loop, seconds) / 1e9)
        .add_machine()
        .print();
    return {};
}

}  // namespace colibri::bench

#include "platform/speeds.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/aligned_buffer.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "platform/reader.h"

namespace colibri {

namespace {

constexpr uint64_t kMemoryBytes = 256 * kMiB;  // beyond the caches
constexpr uint64_t kMemoryMeasure_us = 200'000;
constexpr uint32_t kDriveReads = 4;  // at a time

// Places to read at.
struct Place {
    const File* file;
    uint64_t blocks;
};

// One thread's reads until `end_us`.
struct Drill {
    const std::vector<Place>& places;
    uint64_t block_bytes;
    uint64_t end_us;
    uint64_t seed;
    std::span<std::byte> into;
    uint64_t done_bytes = 0;
    bool direct = true;
    int error = 0;

    void run() {
        Rng rng(seed);
        while (error == 0 && now_us() < end_us) {
            const Place& place = places[rng.below(places.size())];
            const uint64_t offset = rng.below(place.blocks) * block_bytes;
            const int fd = place.file->direct_descriptor();
            if (fd < 0) direct = false;
            const ssize_t got = pread(fd < 0 ? place.file->descriptor() : fd, into.data(),
                                      block_bytes, off_t(offset));
            if (got < 0 && errno != EINTR) error = errno;
            if (got > 0) done_bytes += uint64_t(got);
        }
    }
};

}  // namespace

Result<double> measure_memory_speed(uint32_t threads) {
    TRY(const AlignedBuffer buffer, AlignedBuffer::allocate(kMemoryBytes));
    std::memset(buffer.data(), 1, kMemoryBytes);
    ThreadPool pool(threads);
    std::atomic<uint64_t> sink{0};
    std::atomic<uint64_t> done{0};
    const uint64_t begin_us = now_us();
    pool.run([&](uint32_t member, uint32_t members) {
        const uint64_t words = kMemoryBytes / sizeof(uint64_t) / members;
        const uint64_t* mine = buffer.as<uint64_t>() + member * words;
        while (now_us() - begin_us < kMemoryMeasure_us) {
            uint64_t any[8] = {};
            for (uint64_t i = 0; i + 8 <= words; i += 8)
                for (uint64_t lane = 0; lane < 8; ++lane) any[lane] |= mine[i + lane];
            for (const uint64_t word : any) sink.fetch_or(word);
            done.fetch_add(words * sizeof(uint64_t));
        }
    });
    return double(done.load()) * 1e6 / double(now_us() - begin_us);
}

Result<DriveSpeed> measure_drive_speed(const std::vector<std::shared_ptr<const File>>& files,
                                       uint64_t block_bytes, double seconds) {
    const uint64_t block = round_up(std::max<uint64_t>(block_bytes, 1), kDirectBlockBytes);
    std::vector<Place> places;
    for (const auto& file : files)
        if (file->size_bytes() >= block)
            places.push_back({.file = file.get(), .blocks = file->size_bytes() / block});
    if (places.empty())
        return fail(ErrorKind::invalid_input,
                    fmt::format("no file of the model holds {}: nothing to measure the drive with",
                                format_bytes(block)));
    TRY(const AlignedBuffer buffer, AlignedBuffer::allocate(block * kDriveReads));
    std::vector<Drill> drills;
    const uint64_t begin_us = now_us();
    for (uint32_t i = 0; i < kDriveReads; ++i)
        drills.push_back({.places = places,
                          .block_bytes = block,
                          .end_us = begin_us + uint64_t(seconds * 1e6),
                          .seed = i + 1,
                          .into = buffer.bytes().subspan(i * block, block)});
    std::vector<std::jthread> threads;
    for (Drill& drill : drills) threads.emplace_back([&drill] { drill.run(); });
    threads.clear();
    const uint64_t elapsed_us = std::max<uint64_t>(now_us() - begin_us, 1);
    DriveSpeed speed{.direct = true};
    for (const Drill& drill : drills) {
        if (drill.error != 0)
            return fail(ErrorKind::io,
                        fmt::format("reading the model's files: {}", std::strerror(drill.error)));
        speed.bytes_per_s += double(drill.done_bytes) * 1e6 / double(elapsed_us);
        speed.direct = speed.direct && drill.direct;
    }
    return speed;
}

}  // namespace colibri

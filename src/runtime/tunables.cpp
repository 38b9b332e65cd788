#include "runtime/tunables.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "runtime/model_impl.h"

namespace colibri {

namespace {

constexpr uint64_t kReaderThreadsMax = 64;

Status check_bound(std::string_view option, uint64_t bytes, uint64_t least, uint64_t most) {
    if (bytes == 0 || (bytes >= least && bytes <= most)) return {};
    return fail(ErrorKind::invalid_input,
                fmt::format("--{} {}: expected {} to {}", option, format_bytes(bytes),
                            format_bytes(least), format_bytes(most)));
}

}  // namespace

Result<ReaderOptions> reader_options(ReaderKind kind, uint64_t in_flight_bytes,
                                     uint64_t chunk_bytes) {
    TRY_STATUS(check_bound("in-flight", in_flight_bytes, kInFlightBytesMin, kInFlightBytesMax));
    TRY_STATUS(check_bound("chunk", chunk_bytes, kChunkBytesMin, kChunkBytesMax));
    ReaderOptions options{.kind = kind};
    if (chunk_bytes != 0) options.chunk_bytes = round_up(chunk_bytes, kDirectBlockBytes);
    if (in_flight_bytes != 0) options.in_flight_bytes = in_flight_bytes;
    options.bulk_chunk_bytes = std::max(options.bulk_chunk_bytes, options.chunk_bytes);
    options.bulk_in_flight_bytes = std::max(options.bulk_in_flight_bytes, options.in_flight_bytes);
    if (in_flight_bytes != 0 || chunk_bytes != 0)
        options.threads = uint32_t(std::clamp<uint64_t>(
            ceil_div(options.in_flight_bytes, options.chunk_bytes), 1, kReaderThreadsMax));
    return options;
}

Status Model::retune(const Tunables& tunables) {
    Impl& impl = *impl_;
    const uint32_t threads = tunables.threads == 0 ? impl.threads_max : tunables.threads;
    if (threads > impl.threads_max)
        return fail(ErrorKind::invalid_input,
                    fmt::format("{} threads: the model was opened with memory for {}", threads,
                                impl.threads_max));
    TRY(ReaderOptions reader,
        reader_options(tunables.reader, tunables.in_flight_bytes, tunables.chunk_bytes));
    reader.hook = impl.options.read_hook;
    TRY_STATUS(impl.store->use_reader(reader));
    if (threads != impl.pool->thread_count()) {
        TRY(impl.pool, ThreadPool::create(threads));
    }
    impl.prefetch.change(tunables.prefetch);
    return {};
}

}  // namespace colibri

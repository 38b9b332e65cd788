#include "store/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/units.h"

namespace colibri {

namespace {

// How soon a raised cancel token is noticed: nobody notifies a waiting consumer of it.
constexpr std::chrono::milliseconds kCancelPoll{5};
constexpr uint64_t kThreadStackBytes = 16 * kKiB;  // touched part of a thread's stack

Result<std::unique_ptr<Reader>> make_reader(ReadSink& sink, const StoreConfig& config,
                                            uint32_t requests) {
    if (config.make_reader) return config.make_reader(sink, requests);
    ReaderOptions options = config.reader;
    options.queue_capacity = requests;
    return make_reader(sink, std::move(options));
}

}  // namespace

Pipeline::Pipeline(const ExpertTable& table, const StoreConfig& config)
    : table_(table), files_(config.files), landing_(config.landing), flights_(table.size()) {}

Result<std::unique_ptr<Pipeline>> Pipeline::create(const ExpertTable& table,
                                                   const StoreConfig& config) {
    std::unique_ptr<Pipeline> pipeline(new Pipeline(table, config));
    const uint32_t staging_count = std::max(1U, config.staging_buffers);
    const uint64_t buffer_bytes = staging_buffer_bytes(config);
    size_t parts_max = 0;
    for (uint32_t expert = 0; expert < table.size(); ++expert)
        parts_max = std::max(parts_max, table.parts(expert).size());
    for (uint32_t i = 0; i < staging_count; ++i) {
        Staging& staging = pipeline->staging_.emplace_back();
        TRY(staging.buffer, AlignedBuffer::allocate(buffer_bytes));
        staging.ranges.reserve(parts_max);
        pipeline->free_staging_.push_back(staging_count - 1 - i);
    }
    pipeline->queue_.reserve(table.size());
    pipeline->landing_queue_.reserve(staging_count);
    pipeline->completions_.reserve(staging_count);
    TRY(pipeline->reader_, make_reader(*pipeline, config, staging_count));
    TRY_STATUS(pipeline->start_workers(std::max(1U, config.landing_threads)));
    return pipeline;
}

Status Pipeline::start_workers(uint32_t count) {
    try {
        while (workers_.size() < count) workers_.emplace_back([this] { landing_worker(); });
    } catch (const std::system_error& error) {
        return fail(ErrorKind::out_of_budget,
                    fmt::format("the system refused landing thread {} of {}: {}",
                                workers_.size() + 1, count, error.what()));
    }
    return {};
}

Pipeline::~Pipeline() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    landing_came_.notify_all();
    // Workers submit to the reader, the reader only queues for the workers: so the workers end
    // first.
    workers_.clear();
    reader_.reset();
}

void Pipeline::request(std::span<const Order> orders) {
    const std::lock_guard lock(mutex_);
    for (const Order& order : orders) {
        Flight& flight = flights_[order.expert];
        flight.slot = order.slot;
        flight.keep = order.keep;
        queue_.push_back(order.expert);
        if (flight.unwanted) {
            flight.wanted_again = true;
            continue;
        }
        CHECK(flight.phase == Phase::idle);
        flight.phase = Phase::queued;
    }
    start_reads();
}

void Pipeline::assign(const Order& order) {
    const std::lock_guard lock(mutex_);
    Flight& flight = flights_[order.expert];
    // An idle flight has failed already; its completion is on the way to the consumer.
    if (flight.phase == Phase::idle) return;
    flight.slot = order.slot;
    flight.keep = order.keep;
    if (flight.phase == Phase::arrived) start_landing(order.expert);
}

void Pipeline::start_reads() {
    for (; queue_begin_ < queue_.size(); ++queue_begin_) {
        const uint32_t expert = queue_[queue_begin_];
        Flight& flight = flights_[expert];
        if (flight.wanted_again) {
            // Only now, in its turn: an earlier revival could fill the staging with experts whose
            // slots wait for those before them.
            flight.unwanted = flight.wanted_again = false;
            flight.orphaned = true;  // of the stream that started it
            continue;
        }
        if (free_staging_.empty()) break;
        flight.staging = free_staging_.back();
        free_staging_.pop_back();
        Staging& staging = staging_[flight.staging];
        staging.expert = expert;
        staging.ranges.clear();
        for (const ExpertRun& run : table_.runs(expert))
            staging.ranges.push_back(
                {.file = files_[run.file].get(),
                 .offset = run.offset,
                 .out = staging.buffer.bytes().subspan(run.staging_offset, run.size_bytes),
                 .roomy = true});
        submit(expert);
    }
    if (queue_begin_ == queue_.size()) {
        queue_.clear();
        queue_begin_ = 0;
    }
}

void Pipeline::submit(uint32_t expert) {
    Flight& flight = flights_[expert];
    flight.phase = Phase::reading;
    CHECK(reader_->submit({.tag = expert, .ranges = staging_[flight.staging].ranges}));
}

void Pipeline::read_done(uint64_t tag, Status status, uint32_t retries) {
    const std::lock_guard lock(mutex_);
    const auto expert = uint32_t(tag);
    Flight& flight = flights_[expert];
    counters_.retries += retries;
    if (status) {
        ++counters_.reads;
        for (const ExpertPart& part : table_.parts(expert)) counters_.read_bytes += part.size_bytes;
    }
    if (stop_) return;
    if (flight.wanted_again) {
        const std::span<std::byte> slot = flight.slot;
        const bool keep = flight.keep;
        finish(expert, {.slot = slot, .phase = Phase::queued, .keep = keep});
    } else if (flight.unwanted) {
        finish(expert, Flight{});
    } else if (!status) {
        complete(expert, std::move(status));
    } else if (flight.slot.empty()) {
        flight.phase = Phase::arrived;
    } else {
        start_landing(expert);
    }
}

void Pipeline::start_landing(uint32_t expert) {
    flights_[expert].phase = Phase::ready;
    landing_queue_.push_back(expert);
    landing_came_.notify_one();
}

void Pipeline::finish(uint32_t expert, const Flight& after) {
    free_staging_.push_back(flights_[expert].staging);
    flights_[expert] = after;
    start_reads();
}

void Pipeline::complete(uint32_t expert, Status status) {
    const bool parked = !status && flights_[expert].orphaned;
    if (parked) {
        flights_[expert].phase = Phase::parked;
    } else {
        finish(expert, Flight{});
    }
    completions_.push_back({expert, std::move(status), parked});
    completion_count_.store(uint32_t(completions_.size()), std::memory_order_release);
    if (consumer_waits_) completion_came_.notify_one();
}

void Pipeline::retry(uint32_t expert) {
    const std::lock_guard lock(mutex_);
    CHECK(flights_[expert].phase == Phase::parked);
    flights_[expert].orphaned = false;
    submit(expert);
}

void Pipeline::give_up(uint32_t expert) {
    const std::lock_guard lock(mutex_);
    CHECK(flights_[expert].phase == Phase::parked);
    finish(expert, Flight{});
}

void Pipeline::landing_worker() {
    std::vector<std::span<const std::byte>> raw;
    std::unique_lock lock(mutex_);
    while (true) {
        landing_came_.wait(lock, [this] { return stop_ || !landing_queue_.empty(); });
        if (stop_) return;
        const uint32_t expert = landing_queue_.front();
        landing_queue_.erase(landing_queue_.begin());
        flights_[expert].phase = Phase::landing;
        const Flight flight = flights_[expert];
        lock.unlock();
        Status status = land(expert, flight, raw);
        lock.lock();
        if (stop_) return;
        complete(expert, std::move(status));
    }
}

Status Pipeline::land(uint32_t expert, const Flight& flight,
                      std::vector<std::span<const std::byte>>& raw) const {
    const std::span<const ExpertPart> parts = table_.parts(expert);
    const std::span<const std::byte> bytes = staging_[flight.staging].buffer.bytes();
    raw.resize(parts.size());
    for (const ExpertPart& part : parts)
        raw[part.raw_index] = bytes.subspan(part.staging_offset, part.size_bytes);
    return landing_(table_.id(expert), raw, flight.slot);
}

void Pipeline::drain(std::vector<Completion>& completions) {
    if (!has_completions()) return;
    const std::lock_guard lock(mutex_);
    std::move(completions_.begin(), completions_.end(), std::back_inserter(completions));
    completions_.clear();
    completion_count_.store(0, std::memory_order_relaxed);
}

void Pipeline::cancel(std::vector<uint32_t>& dropped, std::vector<Completion>& completions) {
    const std::lock_guard lock(mutex_);
    for (; queue_begin_ < queue_.size(); ++queue_begin_) {
        Flight& flight = flights_[queue_[queue_begin_]];
        if (flight.wanted_again) {
            flight.wanted_again = false;
        } else {
            flight = Flight{};
        }
        dropped.push_back(queue_[queue_begin_]);
    }
    queue_.clear();
    queue_begin_ = 0;
    for (uint32_t i = 0; i < staging_.size(); ++i) {
        const uint32_t expert = staging_[i].expert;
        Flight& flight = flights_[expert];
        if (flight.staging != i || flight.unwanted || flight.phase == Phase::parked) continue;
        const bool reading = flight.phase == Phase::reading;
        if (reading && reader_->cancel(expert)) {
            finish(expert, Flight{});
        } else if (flight.keep) {
            flight.orphaned = true;
            continue;
        } else if (flight.phase == Phase::landing) {
            continue;
        } else if (reading) {
            flight.unwanted = true;
        } else {
            std::erase(landing_queue_, expert);
            finish(expert, Flight{});
        }
        dropped.push_back(expert);
    }
    std::move(completions_.begin(), completions_.end(), std::back_inserter(completions));
    completions_.clear();
    completion_count_.store(0, std::memory_order_relaxed);
}

bool Pipeline::wait(const CancelToken* token) {
    std::unique_lock lock(mutex_);
    consumer_waits_ = true;
    while (completions_.empty() && !is_cancelled(token))
        completion_came_.wait_for(lock, kCancelPoll);
    consumer_waits_ = false;
    return !completions_.empty();
}

Pipeline::Counters Pipeline::counters() const {
    const std::lock_guard lock(mutex_);
    return counters_;
}

uint64_t Pipeline::memory_bytes(const StoreConfig& config) {
    size_t parts_max = 0;
    for (const ExpertSource& source : config.experts)
        parts_max = std::max(parts_max, source.extents.size());
    const uint64_t staging =
        std::max(1U, config.staging_buffers) *
        (staging_buffer_bytes(config) + sizeof(Staging) + parts_max * sizeof(ReadRange));
    const uint64_t tables = config.experts.size() * (sizeof(Flight) + sizeof(uint32_t));
    const uint64_t workers = std::max(1U, config.landing_threads) * kThreadStackBytes;
    ReaderOptions reader = config.reader;
    reader.queue_capacity = std::max(1U, config.staging_buffers);
    return staging + tables + workers + reader_memory_bytes(reader);
}

}  // namespace colibri

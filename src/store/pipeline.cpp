#include "store/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "platform/scheduling.h"

namespace colibri {

namespace {

// Reads in place cost no memory of their own; more than the reader has under way just wait there.
constexpr uint32_t kInPlaceTickets = 64;
constexpr uint64_t kArrivalCheckBytes = kKiB;  // the state of a hash

struct TicketCounts {
    uint32_t staged = 0;
    uint32_t in_place = 0;
    [[nodiscard]] uint32_t all() const { return staged + in_place; }
};

TicketCounts count_tickets(const StoreConfig& config) {
    const auto in_place = uint64_t(std::count_if(config.experts.begin(), config.experts.end(),
                                                 [](const auto& e) { return e.in_place; }));
    TicketCounts counts;
    if (in_place < config.experts.size()) counts.staged = std::max(1U, config.staging_buffers);
    counts.in_place = uint32_t(std::min<uint64_t>(in_place, kInPlaceTickets));
    return counts;
}

std::vector<std::string> place_names(const StoreConfig& config) {
    if (!config.places.directories.empty()) return config.places.directories;
    if (config.files.empty()) return {"the model"};
    const std::string& path = config.files.front()->path();
    const size_t slash = path.rfind('/');
    return {slash == std::string::npos ? "." : path.substr(0, slash)};
}

// A drive may deliver all it has been asked for at once; the rest of the ring is what a scan
// computes meanwhile, and whose slots it gives back for what is read next (decision 017).
uint64_t quarter_of_ring(const StoreConfig& config) {
    uint64_t bytes = UINT64_MAX;
    for (const SlotClass& slot_class : config.classes)
        if (slot_class.ring_slots > 0)
            bytes = std::min(bytes, slot_class.ring_slots * slot_class.slot_bytes / 4);
    return bytes;
}

}  // namespace

Pipeline::Pipeline(const ExpertTable& table, const StoreConfig& config)
    : table_(table),
      files_(config.files),
      landing_(config.landing),
      quarter_of_ring_(quarter_of_ring(config)),
      flights_(table.size()),
      health_(place_names(config), config.storage_pause_us) {}

Result<std::unique_ptr<Pipeline>> Pipeline::create(const ExpertTable& table,
                                                   const StoreConfig& config) {
    std::unique_ptr<Pipeline> pipeline(new Pipeline(table, config));
    TRY_STATUS(pipeline->make_tickets(config));
    const auto ticket_count = uint32_t(pipeline->tickets_.size());
    pipeline->demand_.experts.reserve(table.size());
    pipeline->slotless_.reserve(table.size());
    pipeline->landing_queue_.reserve(ticket_count);
    pipeline->completions_.reserve(ticket_count);
    if (config.make_reader) {
        TRY(pipeline->reader_, config.make_reader(*pipeline, std::max(1U, ticket_count)));
    } else {
        TRY(pipeline->reader_, make_reader(*pipeline, pipeline->bounded(config.reader)));
    }
    TRY_STATUS(pipeline->start_workers(std::max(1U, config.landing_threads)));
    return pipeline;
}

Status Pipeline::make_tickets(const StoreConfig& config) {
    const TicketCounts counts = count_tickets(config);
    const uint64_t buffer_bytes = staging_buffer_bytes(config);
    size_t runs_max = 0;
    for (uint32_t expert = 0; expert < table_.size(); ++expert)
        runs_max = std::max(runs_max, table_.runs(expert).size());
    TRY(staging_, AlignedBuffer::allocate(counts.staged * buffer_bytes));
    tickets_.resize(counts.all());
    staged_tickets_ = counts.staged;
    for (uint32_t i = counts.all(); i-- > 0;) {
        if (i < counts.staged)
            tickets_[i].buffer = staging_.bytes().subspan(i * buffer_bytes, buffer_bytes);
        tickets_[i].ranges.reserve(i < counts.staged ? runs_max : 1);
        if (i >= counts.staged && config.make_arrival_check)
            tickets_[i].check = config.make_arrival_check();
        (i < counts.staged ? free_staged_ : free_in_place_).push_back(i);
    }
    return {};
}

ReaderOptions Pipeline::bounded(ReaderOptions options) const {
    options.queue_capacity = std::max(1U, uint32_t(tickets_.size()));
    options.bulk_in_flight_bytes =
        std::max(options.in_flight_bytes, std::min(options.bulk_in_flight_bytes, quarter_of_ring_));
    return options;
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

void Pipeline::Queue::pop() {
    if (++begin == experts.size()) clear();
}

bool Pipeline::Queue::remove(uint32_t expert) {
    const auto found = std::find(experts.begin() + int64_t(begin), experts.end(), expert);
    if (found == experts.end()) return false;
    experts.erase(found);
    return true;
}

void Pipeline::Queue::clear() {
    experts.clear();
    begin = 0;
}

void Pipeline::request(std::span<const Order> orders) {
    const std::lock_guard lock(mutex_);
    bool somebody_waits = false;
    for (const Order& order : orders) {
        Flight& flight = flights_[order.expert];
        flight.slot = order.slot;
        flight.keep = order.keep;
        flight.bulk = order.bulk;
        somebody_waits |= !order.speculative;
        if (flight.unwanted) {
            flight.wanted_again = true;
            demand_.push(order.expert);
            continue;
        }
        CHECK(flight.phase == Phase::idle);
        flight.speculative = order.speculative;
        if (table_.in_place(order.expert) && order.slot.empty()) {
            flight.phase = Phase::slotless;
            slotless_.push_back(order.expert);
            continue;
        }
        flight.phase = Phase::queued;
        (order.speculative ? speculative_ : demand_).push(order.expert);
    }
    if (somebody_waits) recall_speculative();
    start_reads();
}

void Pipeline::assign(const Order& order) {
    const std::lock_guard lock(mutex_);
    Flight& flight = flights_[order.expert];
    // An idle flight has failed already; its completion is on the way to the consumer.
    if (flight.phase == Phase::idle) return;
    flight.slot = order.slot;
    flight.keep = order.keep;
    flight.bulk = order.bulk;
    if (flight.phase == Phase::slotless) {
        std::erase(slotless_, order.expert);
        flight.phase = Phase::queued;
        demand_.push(order.expert);
        recall_speculative();
        start_reads();
    } else if (flight.phase == Phase::arrived) {
        start_landing(order.expert);
    }
}

void Pipeline::promote(uint32_t expert) {
    const std::lock_guard lock(mutex_);
    Flight& flight = flights_[expert];
    if (!flight.speculative) return;
    if (flight.phase == Phase::reading) {
        --speculative_reading_;
        ++demand_reading_;
        reader_->promote(tickets_[flight.ticket].tag);
    }
    flight.speculative = false;
    // A failure belongs to the guess: whoever waits gets an attempt of their own.
    flight.orphaned = flight.phase != Phase::queued;
    if (flight.phase != Phase::queued) return;
    CHECK(speculative_.remove(expert));
    demand_.push(expert);
    recall_speculative();
    start_reads();
}

void Pipeline::hold_speculative(bool held) {
    const std::lock_guard lock(mutex_);
    speculative_held_ = held;
    if (held) {
        recall_speculative();
    } else {
        start_reads();
    }
}

bool Pipeline::demand_under_way() const {
    for (uint32_t i = 0; i < tickets_.size(); ++i) {
        const Flight& flight = flights_[tickets_[i].expert];
        if (flight.ticket == i && !flight.speculative &&
            (flight.phase == Phase::reading || flight.phase == Phase::ready ||
             flight.phase == Phase::landing))
            return true;
    }
    return false;
}

// What the reader has not started goes back, so that it is not in the way of the demand.
void Pipeline::recall_speculative() {
    if (speculative_reading_ == 0) return;
    for (Ticket& ticket : tickets_) {
        Flight& flight = flights_[ticket.expert];
        if (!flight.speculative || flight.phase != Phase::reading ||
            &tickets_[flight.ticket] != &ticket || !reader_->cancel(ticket.tag))
            continue;
        --speculative_reading_;
        free_tickets(ticket.expert).push_back(flight.ticket);
        flight.ticket = kNoTicket;
        flight.phase = Phase::queued;
        speculative_.experts.insert(speculative_.experts.begin() + int64_t(speculative_.begin),
                                    ticket.expert);
    }
}

void Pipeline::start_reads() {
    while (!demand_.empty()) {
        if (!start_read(demand_.experts[demand_.begin])) return;
        demand_.pop();
    }
    // A drive serves all that it has at once: a guess that joins a demand read slows it down.
    if (speculative_held_ || demand_reading_ > 0) return;
    while (!speculative_.empty()) {
        const uint32_t expert = speculative_.experts[speculative_.begin];
        const uint32_t most = flights_[expert].bulk ? kBulkSpeculativeMax : kSpeculativeMax;
        if (speculative_reading_ >= most || !start_read(expert)) return;
        speculative_.pop();
    }
}

// Staging can be full of experts that wait for slots while every slot waits for an expert that
// waits for staging: guesses queue behind demand, and a consumer that waits holds what it has. The
// last one gives its place up to one that has a slot, and is read again. Not before the consumer
// has seen what came: it may release something then.
void Pipeline::break_deadlock() {
    if (!free_staged_.empty() || !completions_.empty()) return;
    uint32_t last = 0;
    for (uint32_t i = 0; i < staged_tickets_; ++i) {
        const Flight& flight = flights_[tickets_[i].expert];
        if (flight.ticket != i || flight.phase != Phase::arrived) return;
        last = std::max(last, tickets_[i].expert);
    }
    for (Queue* queue : {&demand_, &speculative_})
        for (size_t i = queue->begin; i < queue->experts.size(); ++i) {
            const uint32_t expert = queue->experts[i];
            if (flights_[expert].slot.empty() || table_.in_place(expert)) continue;
            CHECK(queue->remove(expert));
            free_staged_.push_back(std::exchange(flights_[last].ticket, kNoTicket));
            flights_[last].phase = Phase::queued;
            demand_.experts.insert(demand_.experts.begin() + int64_t(demand_.begin), last);
            CHECK(start_read(expert));
            return;
        }
}

// False when there is no ticket for it.
bool Pipeline::start_read(uint32_t expert) {
    Flight& flight = flights_[expert];
    if (flight.wanted_again) {
        // Only now, in its turn: an earlier revival could fill the staging with experts whose slots
        // wait for those before them.
        flight.unwanted = flight.wanted_again = false;
        flight.orphaned = true;  // of the stream that started it
        return true;
    }
    std::vector<uint32_t>& free = free_tickets(expert);
    if (free.empty()) return false;
    flight.ticket = free.back();
    free.pop_back();
    tickets_[flight.ticket].expert = expert;
    begin_attempts(expert);
    return true;
}

void Pipeline::submit(uint32_t expert) {
    Flight& flight = flights_[expert];
    Ticket& ticket = tickets_[flight.ticket];
    ticket.ranges.clear();
    const std::span<const ExpertRun> runs = table_.runs(expert);
    for (uint32_t i = 0; i < runs.size(); ++i) {
        const ExpertRun& run = runs[i];
        // A slot reaches to the end of its last block.
        std::byte* out = table_.in_place(expert) ? flight.slot.data()
                                                 : ticket.buffer.data() + run.staging_offset;
        ticket.ranges.push_back({.file = files_[table_.file_of(expert, i, ticket.copy)].get(),
                                 .offset = run.offset,
                                 .out = {out, run.size_bytes},
                                 .roomy = true});
    }
    flight.phase = Phase::reading;
    ++(flight.speculative ? speculative_reading_ : demand_reading_);
    ticket.tag = uint64_t(++attempts_) << 32 | expert;
    ticket.arrived_bytes = ticket.checked_bytes = 0;
    std::erase(landing_queue_, expert);
    CHECK(reader_->submit({.tag = ticket.tag,
                           .ranges = ticket.ranges,
                           .background = flight.speculative,
                           .bulk = flight.bulk}));
}

void Pipeline::read_done(uint64_t tag, Status status, uint32_t retries) {
    const auto expert = uint32_t(tag);
    if (!status && status.error().kind != ErrorKind::cancelled) explain(expert, status.error());
    const std::lock_guard lock(mutex_);
    if (stop_) return;
    Ticket& ticket = tickets_[flights_[expert].ticket];
    if (ticket.checking) {
        ticket.result = {std::move(status), retries};
    } else {
        take_result(expert, std::move(status), retries);
    }
}

void Pipeline::take_result(uint32_t expert, Status status, uint32_t retries) {
    Flight& flight = flights_[expert];
    --(flight.speculative ? speculative_reading_ : demand_reading_);
    counters_.retries += retries;
    if (status) {
        ++counters_.reads;
        if (tickets_[flight.ticket].copy > 0) ++counters_.mirror_reads;
        for (const ExpertPart& part : table_.parts(expert)) counters_.read_bytes += part.size_bytes;
    }
    if (!status && (flight.unwanted || flight.wanted_again))
        blame(tickets_[flight.ticket], status.error(), false);
    if (flight.wanted_again) {
        const std::span<std::byte> slot = flight.slot;
        const bool keep = flight.keep, bulk = flight.bulk;
        finish(expert, {.slot = slot, .phase = Phase::queued, .keep = keep, .bulk = bulk});
    } else if (flight.unwanted) {
        finish(expert, Flight{});
    } else if (!status && status.error().kind == ErrorKind::cancelled) {
        complete(expert, std::move(status));
    } else if (!status) {
        if (!try_elsewhere(expert, status.error())) complete(expert, std::move(status));
    } else if (flight.slot.empty()) {
        flight.phase = Phase::arrived;
        if (consumer_waits_) break_deadlock();
    } else {
        start_landing(expert);
    }
    if (demand_reading_ == 0 && !speculative_.empty()) start_reads();
}

void Pipeline::finish(uint32_t expert, const Flight& after) {
    std::erase(landing_queue_, expert);
    free_tickets(expert).push_back(flights_[expert].ticket);
    flights_[expert] = after;
    start_reads();
}

void Pipeline::complete(uint32_t expert, Status status) {
    const Flight& flight = flights_[expert];
    const bool parked = !status && (flight.orphaned || flight.speculative);
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
    Flight& flight = flights_[expert];
    CHECK(flight.phase == Phase::parked);
    flight.orphaned = flight.speculative = false;
    begin_attempts(expert);
}

void Pipeline::give_up(uint32_t expert) {
    const std::lock_guard lock(mutex_);
    CHECK(flights_[expert].phase == Phase::parked);
    finish(expert, Flight{});
}

void Pipeline::drain(std::vector<Completion>& completions) {
    if (!has_completions()) return;
    const std::lock_guard lock(mutex_);
    take_completions(completions);
}

void Pipeline::take_completions(std::vector<Completion>& completions) {
    std::move(completions_.begin(), completions_.end(), std::back_inserter(completions));
    completions_.clear();
    completion_count_.store(0, std::memory_order_relaxed);
}

void Pipeline::cancel(std::vector<uint32_t>& dropped, std::vector<Completion>& completions) {
    const std::lock_guard lock(mutex_);
    for (; !demand_.empty(); demand_.pop()) {
        const uint32_t expert = demand_.experts[demand_.begin];
        Flight& flight = flights_[expert];
        if (flight.wanted_again) {
            flight.wanted_again = false;
        } else {
            flight = Flight{};
        }
        dropped.push_back(expert);
    }
    for (const uint32_t expert : slotless_) {
        flights_[expert] = Flight{};
        dropped.push_back(expert);
    }
    slotless_.clear();
    for (uint32_t i = 0; i < tickets_.size(); ++i) {
        const uint32_t expert = tickets_[i].expert;
        const Flight& flight = flights_[expert];
        if (flight.ticket != i || flight.unwanted || flight.speculative ||
            flight.phase == Phase::parked)
            continue;
        if (drop_started(expert)) dropped.push_back(expert);
    }
    take_completions(completions);
}

// Of a stream that ends: true when nothing more will be heard of the expert.
bool Pipeline::drop_started(uint32_t expert) {
    Flight& flight = flights_[expert];
    const bool reading = flight.phase == Phase::reading;
    if (reading && reader_->cancel(tickets_[flight.ticket].tag)) {
        --demand_reading_;
        finish(expert, Flight{});
        return true;
    }
    // A read in place still writes into its slot, which must not get another expert meanwhile.
    if (flight.keep || (reading && table_.in_place(expert))) {
        flight.orphaned = true;
        return false;
    }
    if (flight.phase == Phase::landing || tickets_[flight.ticket].checking) return false;
    if (reading) {
        flight.unwanted = true;
        return true;
    }
    finish(expert, Flight{});
    return true;
}

void Pipeline::cancel_speculative(std::vector<uint32_t>& dropped) {
    const std::lock_guard lock(mutex_);
    recall_speculative();
    for (; !speculative_.empty(); speculative_.pop()) {
        const uint32_t expert = speculative_.experts[speculative_.begin];
        flights_[expert] = Flight{};
        dropped.push_back(expert);
    }
    speculative_.clear();
    for (uint32_t i = 0; i < tickets_.size(); ++i) {
        const uint32_t expert = tickets_[i].expert;
        const Flight& flight = flights_[expert];
        if (flight.ticket != i || !flight.speculative || flight.phase != Phase::reading) continue;
        if (!reader_->abandon(tickets_[i].tag)) continue;
        if (tickets_[i].checking) {  // whoever is at it hears of it
            tickets_[i].result = {fail(ErrorKind::cancelled, "nobody wants it any more"), 0};
            continue;
        }
        --speculative_reading_;
        finish(expert, Flight{});
        dropped.push_back(expert);
    }
}

Pipeline::Counters Pipeline::counters() const {
    const std::lock_guard lock(mutex_);
    return counters_;
}

Status Pipeline::use_reader(ReaderOptions options) {
    // A read that nobody wants any more ends without a completion to wait for.
    std::unique_lock lock(mutex_);
    while (!all_tickets_free()) {
        lock.unlock();
        std::this_thread::sleep_for(kCancelPoll);
        lock.lock();
    }
    CHECK(demand_.empty() && speculative_.empty() && slotless_.empty());
    TRY(auto reader, make_reader(*this, bounded(std::move(options))));
    reader.swap(reader_);
    lock.unlock();  // the old reader's threads may be on their way out of read_done()
    return {};
}

StorageReport Pipeline::storage() const {
    const std::lock_guard lock(mutex_);
    return health_.report();
}

std::vector<StorageEvent> Pipeline::take_storage_events() {
    const std::lock_guard lock(mutex_);
    return health_.take_events();
}

uint64_t Pipeline::memory_bytes(const StoreConfig& config) {
    size_t parts_max = 1;
    for (const ExpertSource& source : config.experts)
        parts_max = std::max(parts_max, source.extents.size());
    const TicketCounts counts = count_tickets(config);
    const uint64_t staging = counts.staged * staging_buffer_bytes(config) +
                             counts.all() * (sizeof(Ticket) + parts_max * sizeof(ReadRange)) +
                             counts.in_place * kArrivalCheckBytes;
    const uint64_t tables = config.experts.size() * (sizeof(Flight) + 3 * sizeof(uint32_t));
    const uint64_t workers = std::max(1U, config.landing_threads) * kThreadStackBytes;
    ReaderOptions reader = config.reader;
    reader.queue_capacity = std::max(1U, counts.all());
    return staging + tables + workers + reader_memory_bytes(reader);
}

}  // namespace colibri

// The threads between disk and slots: reads into staging buffers or straight into slots, landing.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/cancel.h"
#include "platform/reader.h"
#include "store/expert_store.h"
#include "store/expert_table.h"
#include "store/storage_health.h"

namespace colibri {

// Decides nothing: what is read, in which order and into which slot is what the consumer's thread
// asked for. All public functions are for that one thread.
//
// A staged read starts when a staging buffer is free, in the order of request(), even while its
// slot is not known yet; it lands when both are there. A read in place starts when its slot is
// known, in the order in which that happened. Completed reads start the next without waiting for
// the consumer.
//
// Speculative reads wait until no other is waiting or with the reader, and at most kSpeculativeMax
// (in bulk kBulkSpeculativeMax) are with the reader.
class Pipeline final : private ReadSink {
public:
    struct Order {
        uint32_t expert = 0;
        std::span<std::byte> slot;  // empty: not known yet
        bool keep = false;          // lands even when its stream is cancelled meanwhile
        bool speculative = false;   // nobody waits for it: slot known, kept, not of any stream
        bool bulk = false;          // of a scan, or for one: ReadRequest::bulk
    };
    struct Completion {
        uint32_t expert = 0;
        Status status;
        // A read that outlived the stream it was for has failed. It keeps its staging buffer until
        // the consumer says retry() or give_up().
        bool parked = false;
    };
    struct Counters {
        uint64_t read_bytes = 0, reads = 0, retries = 0, corrupt_reads = 0, mirror_reads = 0;
    };
    static constexpr uint32_t kSpeculativeMax = 2;
    static constexpr uint32_t kBulkSpeculativeMax = 16;

    // `table` must outlive the pipeline; files and the landing function are taken from `config`.
    // Errors: out_of_budget.
    [[nodiscard]] static Result<std::unique_ptr<Pipeline>> create(const ExpertTable& table,
                                                                  const StoreConfig& config);
    ~Pipeline();

    // Queues reads of experts that are neither queued nor on their way to a slot.
    void request(std::span<const Order> orders);
    // Names the slot of an expert that was requested without one.
    void assign(const Order& order);
    // Somebody waits for this expert now: a speculative read of it that was not started goes behind
    // the reads that others wait for. Nothing happens to any other expert.
    void promote(uint32_t expert);
    // Appends what has come since the last call.
    void drain(std::vector<Completion>& completions);
    // Drops what was not started, and of the rest what has no slot to be kept in (both appended to
    // `dropped`). Appends the completions so far. Afterwards only reads to be kept, reads in place
    // and landings that were under way complete. Speculative reads are left alone.
    void cancel(std::vector<uint32_t>& dropped, std::vector<Completion>& completions);
    // While held, speculative reads that have not begun stay where they are, unless the consumer
    // waits and no other read is under way: then the hold ends.
    void hold_speculative(bool held);
    // Drops speculative reads that were not started (appended to `dropped`).
    void cancel_speculative(std::vector<uint32_t>& dropped);
    // What becomes of a parked read: another attempt for a stream that has asked for the expert
    // since, or nothing.
    void retry(uint32_t expert);
    void give_up(uint32_t expert);
    // Waits for a completion. False when `token` was raised meanwhile.
    [[nodiscard]] bool wait(const CancelToken* token);
    [[nodiscard]] bool has_completions() const {
        return completion_count_.load(std::memory_order_acquire) > 0;
    }
    [[nodiscard]] Counters counters() const;
    // Waits for the reads under way, then reads through a reader of these options (their
    // queue_capacity is not looked at). Nothing may be queued. Errors: of make_reader; the reader
    // is the old one then.
    [[nodiscard]] Status use_reader(ReaderOptions options);
    [[nodiscard]] StorageReport storage() const;
    [[nodiscard]] std::vector<StorageEvent> take_storage_events();

    // What a pipeline keeps in memory.
    [[nodiscard]] static uint64_t memory_bytes(const StoreConfig& config);

private:
    static constexpr uint32_t kNoTicket = UINT32_MAX;
    // How soon a raised cancel token is noticed: nobody notifies a waiting consumer of it.
    static constexpr std::chrono::milliseconds kCancelPoll{5};

    enum class Phase : uint8_t {
        idle,
        slotless,  // waits for assign(), to be read in place
        queued,    // waits for a ticket
        reading,   // with the reader
        arrived,   // in staging, waits for its slot
        ready,     // waits for a landing worker
        landing,
        parked,  // failed, waits for retry() or give_up()
    };
    struct Flight {
        std::span<std::byte> slot;
        uint32_t ticket = kNoTicket;
        Phase phase = Phase::idle;
        bool keep = false;
        bool speculative = false;
        bool bulk = false;
        bool orphaned = false;  // started for a stream that was cancelled, and kept or wanted again
        bool unwanted = false;  // reading, and to be thrown away
        bool wanted_again = false;  // unwanted, and in the queue
    };
    struct ReadResult {
        Status status;
        uint32_t retries = 0;
    };
    // A read that may be with the reader, and what is left of its attempts.
    struct Ticket {
        std::span<std::byte> buffer;    // of a staged read
        std::vector<ReadRange> ranges;  // in file order
        uint32_t expert = 0;
        uint32_t copy = 0;        // which of the expert's copies is read
        uint32_t tried = 0;       // bit i: copy i was read, or is
        bool read_again = false;  // its bytes were corrupt once
        uint64_t tag = 0;         // of the reader's request
        // Of a read in place that is checked as it comes in:
        std::unique_ptr<ArrivalCheck> check;
        uint64_t arrived_bytes = 0, checked_bytes = 0;
        bool checking = false;             // by a thread without the mutex
        std::optional<ReadResult> result;  // what the reader said meanwhile
        std::optional<Error> failed;       // of the copies before
    };
    // Experts in the order in which they are to be read.
    struct Queue {
        std::vector<uint32_t> experts;
        size_t begin = 0;
        [[nodiscard]] bool empty() const { return begin == experts.size(); }
        void push(uint32_t expert) { experts.push_back(expert); }
        void pop();
        [[nodiscard]] bool remove(uint32_t expert);
        void clear();
    };

    Pipeline(const ExpertTable& table, const StoreConfig& config);
    [[nodiscard]] Status make_tickets(const StoreConfig& config);
    // With what this pipeline may ask of a reader.
    [[nodiscard]] ReaderOptions bounded(ReaderOptions options) const;
    void read_done(uint64_t tag, Status status, uint32_t retries) override;
    [[nodiscard]] Status start_workers(uint32_t count);
    void landing_worker();
    [[nodiscard]] Status land(uint32_t expert, const Flight& flight,
                              std::vector<std::span<const std::byte>>& raw) const;
    void explain(uint32_t expert, Error& error) const;
    void read_progress(uint64_t tag, uint64_t bytes) override;
    // Both give the mutex back for what takes time.
    void land_or_check(std::unique_lock<std::mutex>& lock, uint32_t expert,
                       std::vector<std::span<const std::byte>>& raw);
    [[nodiscard]] std::optional<Status> check_arrived(std::unique_lock<std::mutex>& lock,
                                                      uint32_t expert);
    // With mutex_ held:
    void start_reads();
    [[nodiscard]] bool start_read(uint32_t expert);
    void break_deadlock();
    void recall_speculative();
    [[nodiscard]] bool demand_under_way() const;
    void start_landing(uint32_t expert);
    void offer(uint32_t expert);
    void take_result(uint32_t expert, Status status, uint32_t retries);
    void finish(uint32_t expert, const Flight& after);
    void begin_attempts(uint32_t expert);
    void next_copy(Ticket& ticket);
    [[nodiscard]] uint32_t place_to_ask(uint32_t expert, uint32_t copy) const;
    void submit(uint32_t expert);
    [[nodiscard]] bool try_elsewhere(uint32_t expert, Error& error);
    void blame(const Ticket& ticket, const Error& error, bool last);
    void praise(const Ticket& ticket);
    [[nodiscard]] std::string places_of(uint32_t expert, uint32_t copy) const;
    void complete(uint32_t expert, Status status);
    [[nodiscard]] bool drop_started(uint32_t expert);
    [[nodiscard]] bool all_tickets_free() const {
        return free_staged_.size() + free_in_place_.size() == tickets_.size();
    }
    void take_completions(std::vector<Completion>& completions);
    [[nodiscard]] std::vector<uint32_t>& free_tickets(uint32_t expert) {
        return table_.in_place(expert) ? free_in_place_ : free_staged_;
    }

    const ExpertTable& table_;
    const std::vector<std::shared_ptr<const File>> files_;
    const LandingFunction landing_;
    const uint64_t quarter_of_ring_;

    mutable std::mutex mutex_;
    std::condition_variable landing_came_;
    std::condition_variable completion_came_;
    bool stop_ = false;
    bool consumer_waits_ = false;
    bool consumer_idle_ = false;  // and nobody has woken it
    std::vector<std::span<const std::byte>> consumer_raw_;
    bool speculative_held_ = false;
    std::vector<Flight> flights_;  // by expert
    AlignedBuffer staging_;        // of all tickets
    std::vector<Ticket> tickets_;
    uint32_t staged_tickets_ = 0;  // the first ones of tickets_
    std::vector<uint32_t> free_staged_;
    std::vector<uint32_t> free_in_place_;
    std::vector<uint32_t> slotless_;
    Queue demand_;
    Queue speculative_;
    uint32_t speculative_reading_ = 0, demand_reading_ = 0;  // with the reader
    uint32_t attempts_ = 0;                                  // makes tags differ
    std::vector<uint32_t> landing_queue_;  // at most one entry for each ticket, oldest first
    std::vector<Completion> completions_;
    Counters counters_;
    StorageHealth health_;
    std::atomic<uint32_t> completion_count_{0};

    std::unique_ptr<Reader> reader_;
    std::vector<std::jthread> workers_;
};

}  // namespace colibri

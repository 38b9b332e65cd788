// Where routed experts live: on disk, and as many as fit in slots of RAM. The store moves bytes and
// computes nothing; placement decides speed, never the answer.
//
// Threads: one consumer thread opens streams and takes experts from them; reader threads fill
// staging buffers, landing workers turn them into slots. The consumer alone evicts and releases;
// every function below is for its thread.
//
// Hits, misses and evictions of streams that are read to their end and whose set fits the slots
// follow from the sets alone. Beyond that they follow also from the order of takes and releases
// (larger sets) and from what a cancel found not started (streams left early); the event log holds
// both.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "platform/file.h"
#include "platform/reader.h"
#include "store/policies.h"
#include "store/storage_health.h"

namespace colibri {

struct ExpertId {
    uint32_t layer = 0;  // index into the spec's layers (a draft layer comes after the last one)
    uint32_t index = 0;
    friend auto operator<=>(const ExpertId&, const ExpertId&) = default;
};

// A byte range of a checkpoint file.
struct Extent {
    uint32_t file = 0;
    uint64_t offset = 0;
    uint64_t size_bytes = 0;
};

// Where an expert's bytes are. The landing function gets the extents' bytes in this order.
struct ExpertSource {
    ExpertId id;
    std::vector<Extent> extents;
    uint32_t slot_class = 0;
    // The one extent is what belongs in the slot: it is read straight into it, and `raw[0]` of the
    // landing function is the slot's beginning, to be checked where it lies. The extent begins at a
    // multiple of kDirectBlockBytes and fits the slot, rounded up to one.
    bool in_place = false;
    // Copies, tried in this order when a read fails or landing says that its bytes are corrupt:
    // for each extent the file that has the same bytes at the same offset. At most 31. A copy in a
    // place that has stopped answering is passed over.
    std::vector<std::vector<uint32_t>> mirrors;
};

// Turns raw bytes into a slot (check, re-tile). Runs on landing workers, several at once, each on
// its own slot. `raw[i]` holds extent i. An error of kind corrupt makes the store read the expert
// again, then from its mirrors, before anybody hears of it.
using LandingFunction = std::function<Status(
    ExpertId, std::span<const std::span<const std::byte>> raw, std::span<std::byte> slot)>;

// Looks at an expert that is read in place while its bytes come in, instead of a landing function
// afterwards: then little is left to do when the last of them is there. For one thread at a time.
class ArrivalCheck {
public:
    virtual ~ArrivalCheck() = default;
    virtual void begin(ExpertId id) = 0;                      // starts over
    virtual void take(std::span<const std::byte> bytes) = 0;  // the next ones of the extent
    [[nodiscard]] virtual Status finish() = 0;  // after the last one; as a LandingFunction
};

struct SlotClass {
    uint64_t slot_bytes = 0;  // size of a landed expert
    uint32_t slots = 0;       // cache slots; no more are made than the class has experts
    // Scan ring: landing area of streams that must not evict, and of decode when every cache slot
    // is held. At least 2, or any number when `slots` covers every expert of the class. 8 or so let
    // a scan's reads overlap the computation.
    uint32_t ring_slots = 2;
};

// How often decode steps asked for an expert.
struct ExpertUse {
    ExpertId id;
    uint64_t count = 0;
};

// What is known of an expert before the store opens: the share of its layer's steps that ask for
// it, 0 to 1.
struct ExpertPrior {
    ExpertId id;
    double uses_per_step = 0;
};

// Where copies of the files are; what happens to the reads from one of them is seen together.
struct StorePlaces {
    std::vector<std::string> directories;  // none: one, named after the first file; at most 64
    std::vector<uint32_t> of_file;         // index into directories; none: 0 for every file
};

struct StoreConfig {
    std::vector<std::shared_ptr<const File>> files;
    StorePlaces places;
    std::vector<ExpertSource> experts;  // any order; ids unique
    std::vector<SlotClass> classes;     // at most 4
    LandingFunction landing;
    // For experts that are read in place, if set; one is made for each read under way.
    std::function<std::unique_ptr<ArrivalCheck>()> make_arrival_check;
    // Kind and bounds; queue_capacity is the store's own business.
    ReaderOptions reader;
    PolicyKind policy = PolicyKind::frequency;  // who leaves when a decode step needs a slot
    std::vector<ExpertPrior> priors;            // for the policy; unknown ids are ignored
    uint32_t landing_threads = 1;
    // Reads in flight or waiting to land, each of the largest raw size of an expert that is not
    // read in place.
    uint32_t staging_buffers = 4;
    uint64_t storage_pause_us = StorageHealth::kPauseMinUs;  // for tests
    // Instead of `reader`, for tests. `requests` is how many may be submitted at once.
    std::function<Result<std::unique_ptr<Reader>>(ReadSink& sink, uint32_t requests)> make_reader;
};

// What a store of this config keeps in memory (slots, ring, staging, tables): the planner's number.
[[nodiscard]] uint64_t store_memory_bytes(const StoreConfig& config);

enum class StreamKind : uint8_t {
    // Residents first, then the others as they arrive, in any order; misses enter the cache,
    // evicting.
    decode,
    // Ascending id; misses pass through the ring, filling free cache slots but never evicting.
    scan,
};

struct StoreCounters {
    uint64_t hits = 0, misses = 0, evictions = 0;
    uint64_t read_bytes = 0;     // from files, as asked
    uint64_t reads = 0;          // experts read
    uint64_t wait_us = 0;        // consumer waiting for an expert
    uint64_t retries = 0;        // read attempts repeated after an error
    uint64_t corrupt_reads = 0;  // whose bytes the landing function refused
    uint64_t mirror_reads = 0;   // that a mirror answered
    uint64_t resident = 0;       // experts in slots now
    // Guesses of prefetch(): given a slot; of these asked for; of these read in vain.
    uint64_t guesses = 0, useful_guesses = 0, wasted_guesses = 0;
    // Bytes of reads that went to their end; what of a broken-off one had come is in no counter.
    uint64_t useful_guess_bytes = 0, wasted_guess_bytes = 0;
};

// Cache slots that a class must keep, if it has so many: with the ring any layer can run.
inline constexpr uint32_t kCacheSlotsMin = 2;

// The cache slots of one class.
struct CacheClass {
    uint64_t slot_bytes = 0;  // of memory
    uint32_t slots = 0;       // as last asked for with resize()
    uint32_t slots_max = 0;   // of the config
    uint32_t slots_min = 0;
};

// One line of the store's history; replaying the log through the policy gives the same hits and
// evictions (store/replay.h). An ask without a hit is a miss. `expert` is {0, 0} for open_decode,
// open_scan and close.
struct StoreEvent {
    enum class Kind : uint8_t {
        // What happened to the store, in the order in which the consumer's thread learned of it:
        open_decode,
        open_scan,
        ask,
        land,
        fail,
        take,
        release,
        cancel,
        close,
        warm,
        guess,
        resize,  // expert.layer is a slot class, expert.index its cache slots from now on
        // What the store decided: follows from the others.
        hit,
        evict,
        issue,
    };
    Kind kind;
    ExpertId expert;
    friend bool operator==(const StoreEvent&, const StoreEvent&) = default;
};

class ExpertStore;

// A resident expert on loan. Its slot cannot be evicted until released (destruction releases). Must
// not outlive its store.
class ExpertLease {
public:
    ExpertLease() = default;
    ExpertLease(ExpertLease&& other) noexcept;
    ExpertLease& operator=(ExpertLease&& other) noexcept;
    ~ExpertLease();
    [[nodiscard]] ExpertId id() const { return id_; }
    [[nodiscard]] const std::byte* data() const { return data_; }  // the landed slot
    [[nodiscard]] explicit operator bool() const { return data_ != nullptr; }
    void release();

private:
    friend class ExpertStore;
    ExpertStore* store_ = nullptr;
    ExpertId id_;
    const std::byte* data_ = nullptr;
    uint32_t slot_ = 0;
};

class ExpertStore {
public:
    // Errors: out_of_budget when the slots or threads cannot be had; invalid_input for a config
    // that breaks its rules (see SlotClass); corrupt for an extent outside its file.
    [[nodiscard]] static Result<std::unique_ptr<ExpertStore>> create(StoreConfig config);
    ~ExpertStore();

    // Opens the one demand stream over `set` (unique ids). Ends the previous one: its unread rest
    // is cancelled. The set may exceed all slots as long as the consumer releases leases: at most
    // `max_held()` may be held while calling next(). Errors: invalid_input for an unknown or
    // repeated id; no stream is open then.
    [[nodiscard]] Status open_stream(std::span<const ExpertId> set, StreamKind kind,
                                     const CancelToken* cancel = nullptr);
    // The next expert, waiting for it if none is ready; an empty lease at the end. In decode order:
    // all residents first (ready() counts what can be taken without waiting). Errors: io, corrupt
    // (from landing, naming file and tensor), cancelled. After an error the stream is closed and
    // the store stays usable.
    [[nodiscard]] Result<ExpertLease> next();
    // Experts that next() would return at once.
    [[nodiscard]] uint32_t ready() const;
    // Leases that may be out while next() waits. Decode: all slots of the smallest class but one;
    // scan: its ring slots but one; never less than 1. Of the open stream, else of a scan. Holding
    // more is an error (invalid_input) from next() when nothing can move any more, not a hang.
    [[nodiscard]] uint32_t max_held() const;
    void close_stream();

    // Fills free cache slots with the first of these experts that fit, read in file order, in the
    // background: reads that anybody waits for come first. Resident and unknown ones are passed
    // over; a failure is nobody's error.
    void warm(std::span<const ExpertId> set);

    // While held, reads of warm() that have not begun wait even when nobody else wants the disk,
    // unless the consumer waits for a slot that only they can free. Does nothing where none is
    // under way.
    void hold_warming(bool held);

    // The next stream, of this kind, may ask for these: reads those that are not resident into
    // slots that the cache does not need, in this order, as long as nobody else waits for the disk.
    // Evicts nothing. The next stream ends what it does not ask for. Does nothing while warm()
    // reads. Decode: as many as there are slots for now. Scan: the others follow as slots become
    // free; ascending is the order in which they are of use.
    void prefetch(std::span<const ExpertId> set, StreamKind kind = StreamKind::decode);

    // Gives cache slots up, or takes back those that were given up: slots[i] of class i from now
    // on, held between slots_min and slots_max. While a stream is open, when it ends. A slot that
    // is on loan or being read goes when it becomes free. The pages of slots that go are given back
    // to the system. Answers stay the same.
    void resize(std::span<const uint32_t> slots);
    [[nodiscard]] std::vector<CacheClass> cache() const;

    // For measurements. Both end the open stream and wait for every read under way, those of warm()
    // and prefetch() too; no lease may be out.
    //
    // Reads through a reader of these options from now on (queue_capacity is the store's own
    // business). Errors: of make_reader; nothing has changed then.
    [[nodiscard]] Status use_reader(const ReaderOptions& options);
    // Empties every slot. The policy remembers what was used.
    void forget();

    // Uses by decode streams since the last call, ascending id.
    [[nodiscard]] std::vector<ExpertUse> take_uses();

    [[nodiscard]] StoreCounters counters() const;
    // Whether the drives answer, and how that has changed since the last call: each event is worth
    // one line to the user.
    [[nodiscard]] StorageReport storage() const;
    [[nodiscard]] std::vector<StorageEvent> take_storage_events();
    [[nodiscard]] uint64_t memory_bytes() const;
    // What is read for one expert of this layer; 0 when it has none.
    [[nodiscard]] uint64_t expert_bytes(uint32_t layer) const;
    // Event log, off by default. take_events returns and clears it.
    void record_events(bool on);
    [[nodiscard]] std::vector<StoreEvent> take_events();

private:
    friend class ExpertLease;
    struct Impl;
    explicit ExpertStore(std::unique_ptr<Impl> impl);
    void give_back(uint32_t slot);
    std::unique_ptr<Impl> impl_;
};

}  // namespace colibri

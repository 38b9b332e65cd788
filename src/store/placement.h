// Which expert is in which slot, and who has to leave: the store's decisions without its bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "store/expert_store.h"
#include "store/expert_table.h"
#include "store/policies.h"
#include "store/policy.h"

namespace colibri {

inline constexpr uint32_t kNoSlot = UINT32_MAX;

struct PlacementShape {
    struct Pool {
        uint32_t slots = 0;
        uint32_t ring_slots = 0;
    };
    std::vector<ExpertId> ids;     // ascending; an expert's number is its place here
    std::vector<uint8_t> classes;  // of each expert: index into pools
    std::vector<Pool> pools;
    std::vector<double> uses_per_step = {};   // of each expert, from earlier runs; empty: unknown
    std::vector<uint64_t> expert_bytes = {};  // to read, for GuessCounts; empty: not counted
};

// What became of guesses (Placement::guess).
struct GuessCounts {
    uint64_t taken = 0;   // given a slot
    uint64_t useful = 0;  // asked for while in it
    uint64_t wasted = 0;  // read, or being read, and not asked for
    uint64_t useful_bytes = 0;
    uint64_t wasted_bytes = 0;  // of those that were read to their end; never becomes less
};

[[nodiscard]] PlacementShape placement_shape(const ExpertTable& table,
                                             std::span<const SlotClass> classes,
                                             std::span<const ExpertPrior> priors = {});

// Pure and single-threaded: its decisions follow from the calls alone, so a recorded run can be
// replayed.
//
// Life of a slot: empty -> reading (assigned; bytes on their way) -> ready -> empty again by
// eviction, failure or, in the ring, release. A slot is pinned while the open stream still has to
// hand its expert out, and held while a lease is out; neither can be evicted, and a reading slot
// cannot either.
//
// A guess is an expert that nobody has asked for, on its way to a slot that costs the cache
// nothing: a free one, or one of the ring. It never evicts. When the next decode stream asks for
// it, it takes the place in the cache that a miss would have got: its ring slot and the victim's
// change roles. A scan hands it out of the ring in its turn, unless more experts come before it
// than the rest of the ring holds. The opening of any stream ends the others.
//
// A pool's cache can be made smaller and larger again. Slots that are given up are retired: they
// belong to nobody until it grows. Free ones go first, then the policy's victims; while too few can
// be had (held, pinned or reading), each that becomes free goes.
//
// Free cache slots that a scan or a guess fills are spread evenly over layers and within each:
// where many residents lie together, a scan leaves the drive idle, and elsewhere the processor.
// Decode steps, which evict, take any; so does everybody where there is a slot for every expert.
//
// Slots are numbered through all pools: a pool's cache slots, then its ring slots, to begin with.
class Placement {
public:
    struct Assignment {
        uint32_t expert = 0;
        uint32_t slot = 0;
    };

    explicit Placement(PlacementShape shape, const PolicyFactory& make_policy);

    // Opens a stream over experts (ascending, unique; the previous stream is closed). Experts with
    // a slot are hits, the others misses. Misses get slots in ascending order: an empty cache slot,
    // else (decode only) the policy's victim, else a ring slot, else they wait for a release.
    void open(StreamKind kind, std::span<const uint32_t> members);
    // The expert's bytes arrived. True when the open stream waits for it.
    bool land(uint32_t expert);
    // They could not be had: the slot, if it had one, is empty again. True when the open stream
    // waits for it (which must be closed then).
    bool fail(uint32_t expert);
    // An assigned read was dropped before it started: only on the way to close(). Or, while no
    // stream is open, a landed expert gives up its slot.
    void cancel(uint32_t expert);
    // The open stream hands out a lease of a landed member.
    void take(uint32_t expert);
    // The bytes of an absent expert shall fill a free cache slot, for nobody in particular. False
    // when there is none.
    bool warm(uint32_t expert);
    // The next stream may ask for this absent expert. False when there is no slot for it, or the
    // open stream still needs some itself.
    bool guess(uint32_t expert);
    [[nodiscard]] bool has_room_for_guess(uint32_t expert) const;
    // The same where a scan comes next: a quarter of the ring stays free for what nobody guessed,
    // so that guesses need not go to let it through, and be read again.
    [[nodiscard]] bool has_room_ahead(uint32_t expert) const;
    // The guesses in the ring that a scan over these members would hand out, ascending.
    [[nodiscard]] std::vector<uint32_t> kept_by_scan(std::span<const uint32_t> members) const;
    // A lease came back.
    void release(uint32_t expert);
    // Ends the stream. What it did not hand out is no longer protected. A decode stream touches its
    // members in ascending order; a scan leaves recency alone.
    void close();

    // From now on this pool shall have `slots` cache slots, at most those it was made with. While a
    // stream is open: from its end on.
    void resize(uint32_t pool, uint32_t slots);
    // Cache slots of a pool; until all of those that are to go could be retired, more are in use.
    [[nodiscard]] uint32_t cache_slots(uint32_t pool) const { return pools_[pool].slots; }
    [[nodiscard]] uint32_t surplus_slots(uint32_t pool) const { return pools_[pool].surplus; }
    // What resize() was last called with.
    [[nodiscard]] uint32_t wanted_slots(uint32_t pool) const {
        return pools_[pool].wanted.value_or(pools_[pool].slots);
    }
    [[nodiscard]] bool may_resize(uint32_t pool, uint32_t slots) const {
        return !open_ && pool < pools_.size() && slots <= pools_[pool].slots_max;
    }
    // Slots retired since the last call.
    [[nodiscard]] bool has_retired() const { return !retired_.empty(); }
    [[nodiscard]] std::vector<uint32_t> take_retired() { return std::exchange(retired_, {}); }

    // Slots given out since the last clear_assignments(), in order.
    [[nodiscard]] std::span<const Assignment> assignments() const { return assignments_; }
    void clear_assignments() { assignments_.clear(); }
    // Misses of the last open(), ascending.
    [[nodiscard]] std::span<const uint32_t> missed() const { return missed_; }

    [[nodiscard]] bool is_open() const { return open_; }
    [[nodiscard]] uint32_t slot_of(uint32_t expert) const { return slot_of_[expert]; }
    [[nodiscard]] uint32_t expert_in(uint32_t slot) const { return slots_[slot].expert; }
    [[nodiscard]] bool is_landed(uint32_t expert) const {
        return slot_of_[expert] != kNoSlot && slots_[slot_of_[expert]].landed;
    }
    [[nodiscard]] std::vector<uint32_t> free_cache_slots() const;  // by pool
    // A recorded event that these say no to does not belong to this history.
    [[nodiscard]] bool may_land(uint32_t expert) const {
        return slot_of_[expert] != kNoSlot && !is_landed(expert);
    }
    [[nodiscard]] bool may_take(uint32_t expert) const {
        return undelivered_[expert] != 0 && is_landed(expert);
    }
    [[nodiscard]] bool may_release(uint32_t expert) const {
        return is_landed(expert) && slots_[slot_of_[expert]].pins > undelivered_[expert];
    }
    [[nodiscard]] bool may_warm(uint32_t expert) const {
        return slot_of_[expert] == kNoSlot && undelivered_[expert] == 0;
    }
    // The open stream has asked for it and not taken it yet.
    [[nodiscard]] bool awaits(uint32_t expert) const { return undelivered_[expert] != 0; }
    [[nodiscard]] uint32_t undelivered() const { return undelivered_count_; }
    [[nodiscard]] bool in_ring(uint32_t slot) const { return slots_[slot].ring; }
    [[nodiscard]] uint32_t reading() const { return reading_; }
    // Of these, in ring slots.
    [[nodiscard]] uint32_t ring_reading() const { return ring_reading_; }
    [[nodiscard]] uint32_t resident() const { return resident_; }
    [[nodiscard]] uint32_t held() const { return held_; }
    [[nodiscard]] uint64_t hits() const { return hits_; }
    [[nodiscard]] uint64_t misses() const { return misses_; }
    [[nodiscard]] uint64_t evictions() const { return evictions_; }
    // In ring slots, or they were until an error or a cancel.
    [[nodiscard]] bool has_guesses() const { return !guessed_.empty(); }
    [[nodiscard]] const GuessCounts& guesses() const { return guesses_; }
    // Leases that may be out while the next expert is awaited, for a stream of this kind: one slot
    // of the smallest pool must be left to move on.
    [[nodiscard]] uint32_t max_held(StreamKind kind) const {
        return kind == StreamKind::decode ? max_held_decode_ : max_held_scan_;
    }

    // What the placement of this config keeps in memory, the event log aside.
    [[nodiscard]] static uint64_t memory_bytes(const StoreConfig& config);

    void record_events(bool on) { recording_ = on; }
    [[nodiscard]] std::vector<StoreEvent> take_events();

private:
    struct Slot {
        uint32_t expert = 0;
        uint32_t pins = 0;  // by the open stream and by leases
        bool landed = false;
        bool ring = false;
        bool guess = false;   // nobody has asked for the expert since it was guessed
        bool wasted = false;  // nobody will: a guess that was on its way when its stream came
    };
    struct Pool {
        std::vector<uint32_t> free_cache, free_ring;
        std::unique_ptr<Policy> policy;
        std::vector<uint32_t>
            waiting;  // misses of the open stream in order; those before `placed` got a slot
        size_t placed = 0;
        uint32_t slots = 0;      // of the cache, the surplus not among them
        uint32_t slots_max = 0;  // that it was made with
        uint32_t surplus = 0;    // in use, to be retired
        std::vector<uint32_t> retired;
        std::optional<uint32_t> wanted;  // by resize(), when the open stream ends
        uint32_t ring_slots = 0, experts = 0;
        std::vector<uint32_t> cached_of_layer;  // by number in layers_: experts in cache slots
    };

    void log(StoreEvent::Kind kind, uint32_t expert) {
        if (recording_) events_.push_back({kind, ids_[expert]});
    }
    void log(StoreEvent::Kind kind) {
        if (recording_) events_.push_back({kind, {}});
    }
    void log_resize(uint32_t pool, uint32_t slots) {
        if (recording_) events_.push_back({StoreEvent::Kind::resize, {pool, slots}});
    }
    void compute_max_held();
    void apply_resize(uint32_t pool, uint32_t slots);
    void retire_surplus(Pool& pool);
    void drop_victim(Pool& pool, uint32_t victim);
    uint32_t find_slot(Pool& pool, uint32_t newcomer);
    void fill_slots(Pool& pool);
    void assign(uint32_t expert, uint32_t slot, uint32_t pins);
    uint32_t find_cache_slot(Pool& pool, uint32_t newcomer);
    void adopt(uint32_t expert);
    [[nodiscard]] bool is_ring_guess(uint32_t expert) const {
        return slot_of_[expert] != kNoSlot && slots_[slot_of_[expert]].guess &&
               slots_[slot_of_[expert]].ring;
    }
    // Of those in the ring, all but `kept` (ascending).
    void end_guesses(std::span<const uint32_t> kept);
    [[nodiscard]] uint64_t bytes_of(uint32_t expert) const;
    void count_guess(uint32_t expert, uint64_t& number, uint64_t& bytes);
    void pin(uint32_t expert);
    void unpin(uint32_t expert);
    void empty_slot(uint32_t expert);
    [[nodiscard]] size_t layer_of(uint32_t expert) const;
    // A cache slot is free, and the experts of the layer up to this one have fewer than their
    // share.
    [[nodiscard]] bool has_share(const Pool& pool, uint32_t expert) const;

    std::vector<ExpertId> ids_;
    struct LayerRange {
        uint32_t layer = 0;
        uint32_t begin = 0;  // its first expert
    };
    std::vector<LayerRange> layers_;  // ascending
    std::vector<uint8_t> classes_;
    std::vector<uint32_t> slot_of_;
    std::vector<uint8_t> undelivered_;  // by expert: asked for by the open stream, not yet taken
    std::vector<Slot> slots_;
    std::vector<Pool> pools_;

    bool open_ = false;
    bool failed_ = false;  // the open stream lost a member: it gets no more slots
    StreamKind kind_ = StreamKind::decode;
    std::vector<uint32_t> members_, missed_;
    std::vector<Assignment> assignments_;
    std::vector<uint64_t> expert_bytes_;
    std::vector<uint32_t> retired_;  // since take_retired()
    std::vector<uint32_t> guessed_;  // experts in ring slots as guesses
    GuessCounts guesses_;
    uint32_t undelivered_count_ = 0, reading_ = 0, ring_reading_ = 0, resident_ = 0, held_ = 0;
    uint64_t hits_ = 0, misses_ = 0, evictions_ = 0;
    uint32_t max_held_decode_ = 1, max_held_scan_ = 1;
    bool recording_ = false;
    std::vector<StoreEvent> events_;
};

}  // namespace colibri

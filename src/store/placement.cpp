#include "store/placement.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"

namespace colibri {

using Kind = StoreEvent::Kind;

namespace {

uint32_t pop(std::vector<uint32_t>& stack) {
    const uint32_t slot = stack.back();
    stack.pop_back();
    return slot;
}

}  // namespace

PlacementShape placement_shape(const ExpertTable& table, std::span<const SlotClass> classes,
                               std::span<const ExpertPrior> priors) {
    PlacementShape shape{.ids = table.ids(), .classes = table.classes(), .pools = {}};
    for (const SlotClass& slot_class : classes)
        shape.pools.push_back({.slots = slot_class.slots, .ring_slots = slot_class.ring_slots});
    if (!priors.empty()) shape.uses_per_step.assign(table.size(), 0);
    for (const auto& [id, uses_per_step] : priors)
        if (const uint32_t expert = table.find(id); expert != kNoExpert)
            shape.uses_per_step[expert] = uses_per_step;
    for (uint32_t expert = 0; expert < table.size(); ++expert) {
        uint64_t bytes = 0;
        for (const ExpertPart& part : table.parts(expert)) bytes += part.size_bytes;
        shape.expert_bytes.push_back(bytes);
    }
    return shape;
}

Placement::Placement(PlacementShape shape, const PolicyFactory& make_policy)
    : ids_(std::move(shape.ids)),
      classes_(std::move(shape.classes)),
      slot_of_(ids_.size(), kNoSlot),
      undelivered_(ids_.size(), 0),
      expert_bytes_(std::move(shape.expert_bytes)) {
    std::vector<uint32_t> layers;
    for (const ExpertId id : ids_) layers.push_back(id.layer);
    for (uint32_t expert = 0; expert < ids_.size(); ++expert)
        if (layers_.empty() || layers_.back().layer != ids_[expert].layer)
            layers_.push_back({.layer = ids_[expert].layer, .begin = expert});
    for (const PlacementShape::Pool& pool_shape : shape.pools) {
        Pool& pool = pools_.emplace_back();
        pool.slots = pool.slots_max = pool_shape.slots;
        pool.ring_slots = pool_shape.ring_slots;
        pool.policy = make_policy({.layers = layers,
                                   .classes = classes_,
                                   .slot_class = uint8_t(pools_.size() - 1),
                                   .slots = pool_shape.slots});
        for (uint32_t expert = 0; expert < shape.uses_per_step.size(); ++expert)
            if (shape.uses_per_step[expert] > 0)
                pool.policy->remember(expert, shape.uses_per_step[expert]);
        for (uint32_t i = 0; i < pool_shape.slots + pool_shape.ring_slots; ++i) {
            const bool ring = i >= pool_shape.slots;
            (ring ? pool.free_ring : pool.free_cache).push_back(uint32_t(slots_.size()));
            slots_.push_back({.ring = ring});
        }
        // The free lists are stacks: the lowest slot goes first.
        std::reverse(pool.free_cache.begin(), pool.free_cache.end());
        std::reverse(pool.free_ring.begin(), pool.free_ring.end());
        pool.cached_of_layer.assign(layers_.size(), 0);
    }
    for (const uint8_t slot_class : classes_) ++pools_[slot_class].experts;
    compute_max_held();
}

size_t Placement::layer_of(uint32_t expert) const {
    const auto after = std::upper_bound(
        layers_.begin(), layers_.end(), expert,
        [](uint32_t number, const LayerRange& range) { return number < range.begin; });
    return size_t(after - layers_.begin()) - 1;
}

bool Placement::has_share(const Pool& pool, uint32_t expert) const {
    if (pool.free_cache.empty()) return false;
    if (pool.slots >= pool.experts) return true;
    const size_t layer = layer_of(expert);
    const uint64_t up_to = expert + 1 - layers_[layer].begin;
    return uint64_t(pool.cached_of_layer[layer]) * pool.experts < up_to * pool.slots;
}

void Placement::compute_max_held() {
    max_held_decode_ = max_held_scan_ = std::max(1U, uint32_t(ids_.size()));
    for (const Pool& pool : pools_) {
        // Where every expert has its own slot, leases never stand in anybody's way.
        if (pool.slots >= pool.experts) continue;
        max_held_decode_ =
            std::min(max_held_decode_, std::max(1U, pool.slots + pool.ring_slots - 1));
        max_held_scan_ = std::min(max_held_scan_, std::max(2U, pool.ring_slots) - 1);
    }
}

void Placement::resize(uint32_t pool, uint32_t slots) {
    CHECK(slots <= pools_[pool].slots_max);
    if (open_) {
        pools_[pool].wanted = slots;
    } else {
        apply_resize(pool, slots);
    }
}

void Placement::apply_resize(uint32_t number, uint32_t slots) {
    Pool& pool = pools_[number];
    if (slots == pool.slots) return;
    log_resize(number, slots);
    if (slots < pool.slots) {
        pool.surplus += pool.slots - slots;
    } else {
        const uint32_t kept = std::min(pool.surplus, slots - pool.slots);
        pool.surplus -= kept;
        for (uint32_t i = pool.slots + kept; i < slots; ++i)
            pool.free_cache.push_back(pop(pool.retired));
    }
    pool.slots = slots;
    pool.policy->resize(slots);
    compute_max_held();
    retire_surplus(pool);
}

// Free slots, then victims, until there is no surplus or none can be had.
void Placement::retire_surplus(Pool& pool) {
    for (; pool.surplus > 0; --pool.surplus) {
        if (pool.free_cache.empty()) {
            const auto victim = pool.policy->evict(kNobody);
            if (!victim) return;
            drop_victim(pool, *victim);
        }
        pool.retired.push_back(pop(pool.free_cache));
        retired_.push_back(pool.retired.back());
    }
}

// Its slot is free.
void Placement::drop_victim(Pool& pool, uint32_t victim) {
    log(Kind::evict, victim);
    ++evictions_;
    --resident_;
    const uint32_t slot = std::exchange(slot_of_[victim], kNoSlot);
    --pool.cached_of_layer[layer_of(victim)];
    if (slots_[slot].guess) count_guess(victim, guesses_.wasted, guesses_.wasted_bytes);
    slots_[slot].guess = false;
    pool.free_cache.push_back(slot);
}

void Placement::open(StreamKind kind, std::span<const uint32_t> members) {
    CHECK(!open_);
    open_ = true;
    kind_ = kind;
    members_.assign(members.begin(), members.end());
    missed_.clear();
    log(kind == StreamKind::decode ? Kind::open_decode : Kind::open_scan);
    if (kind == StreamKind::scan) end_guesses(kept_by_scan(members));
    for (const uint32_t expert : members_) {
        log(Kind::ask, expert);
        undelivered_[expert] = 1;
    }
    undelivered_count_ = uint32_t(members_.size());
    if (kind == StreamKind::decode)
        for (const Pool& pool : pools_) pool.policy->begin_step(members_);
    // All hits are pinned before the first miss looks for a victim.
    for (const uint32_t expert : members_) {
        if (slot_of_[expert] != kNoSlot) {
            ++hits_;
            log(Kind::hit, expert);
            pin(expert);
            if (slots_[slot_of_[expert]].guess) {
                slots_[slot_of_[expert]].guess = false;
                count_guess(expert, guesses_.useful, guesses_.useful_bytes);
            }
        } else {
            ++misses_;
            missed_.push_back(expert);
            pools_[classes_[expert]].waiting.push_back(expert);
        }
    }
    if (kind == StreamKind::decode) {
        for (const uint32_t expert : members_)
            if (slot_of_[expert] != kNoSlot && slots_[slot_of_[expert]].ring) adopt(expert);
        end_guesses({});
    }
    if (missed_.empty()) return;
    for (Pool& pool : pools_) fill_slots(pool);
}

// A scan goes in order, and its ring moves on only with the lowest expert that is missing: a guess
// may stay in it when those before it find room beside it and the other guesses.
std::vector<uint32_t> Placement::kept_by_scan(std::span<const uint32_t> members) const {
    std::vector<uint32_t> kept;
    if (guessed_.empty()) return kept;
    std::vector<uint32_t> in_ring(pools_.size(), 0);
    for (const uint32_t expert : members) {
        const bool guess = is_ring_guess(expert);
        if (slot_of_[expert] != kNoSlot && !guess) continue;
        const uint8_t pool = classes_[expert];
        if (++in_ring[pool] <= pools_[pool].ring_slots && guess) kept.push_back(expert);
    }
    return kept;
}

// What nobody has asked for is over; a decode stream has taken its own out before.
void Placement::end_guesses(std::span<const uint32_t> kept) {
    for (const uint32_t expert : guessed_) {
        if (slot_of_[expert] == kNoSlot || !slots_[slot_of_[expert]].guess ||
            std::binary_search(kept.begin(), kept.end(), expert))
            continue;
        Slot& slot = slots_[slot_of_[expert]];
        slot.guess = false;
        ++guesses_.wasted;
        slot.wasted = !slot.landed;  // its bytes count when they have come
        if (!slot.landed) continue;
        guesses_.wasted_bytes += bytes_of(expert);
        empty_slot(expert);
    }
    guessed_.clear();
}

// The expert's ring slot becomes a cache slot, and the one that a miss would have got a ring slot.
void Placement::adopt(uint32_t expert) {
    Pool& pool = pools_[classes_[expert]];
    const uint32_t place = find_cache_slot(pool, expert);
    if (place == kNoSlot) return;
    const uint32_t own = slot_of_[expert];
    slots_[own].ring = false;
    ++pool.cached_of_layer[layer_of(expert)];
    if (!slots_[own].landed) --ring_reading_;
    slots_[place].ring = true;
    pool.free_ring.push_back(place);
    pool.policy->insert(expert);
}

uint64_t Placement::bytes_of(uint32_t expert) const {
    return expert_bytes_.empty() ? 0 : expert_bytes_[expert];
}

void Placement::count_guess(uint32_t expert, uint64_t& number, uint64_t& bytes) {
    ++number;
    bytes += bytes_of(expert);
}

uint32_t Placement::find_slot(Pool& pool, uint32_t newcomer) {
    if (const uint32_t slot = find_cache_slot(pool, newcomer); slot != kNoSlot) return slot;
    if (pool.free_ring.empty()) return kNoSlot;
    return pop(pool.free_ring);
}

// An empty cache slot, else, for decode, the policy's victim's.
uint32_t Placement::find_cache_slot(Pool& pool, uint32_t newcomer) {
    if (kind_ == StreamKind::scan)
        return has_share(pool, newcomer) ? pop(pool.free_cache) : kNoSlot;
    if (!pool.free_cache.empty()) return pop(pool.free_cache);
    const auto victim = pool.policy->evict(newcomer);
    if (!victim) return kNoSlot;
    drop_victim(pool, *victim);
    return pop(pool.free_cache);
}

void Placement::fill_slots(Pool& pool) {
    while (pool.placed < pool.waiting.size() && !failed_) {
        const uint32_t expert = pool.waiting[pool.placed];
        const uint32_t slot = find_slot(pool, expert);
        if (slot == kNoSlot) return;
        ++pool.placed;
        assign(expert, slot, 1);
    }
}

void Placement::pin(uint32_t expert) {
    Slot& slot = slots_[slot_of_[expert]];
    if (slot.pins++ == 0 && slot.landed && !slot.ring)
        pools_[classes_[expert]].policy->hold(expert);
}

void Placement::unpin(uint32_t expert) {
    Slot& slot = slots_[slot_of_[expert]];
    if (--slot.pins > 0 || !slot.landed) return;
    if (slot.ring) {
        empty_slot(expert);
    } else {
        pools_[classes_[expert]].policy->release(expert);
    }
}

void Placement::empty_slot(uint32_t expert) {
    const uint32_t number = std::exchange(slot_of_[expert], kNoSlot);
    const Slot& slot = slots_[number];
    Pool& pool = pools_[classes_[expert]];
    if (slot.landed) {
        --resident_;
    } else {
        --reading_;
        if (slot.ring) --ring_reading_;
    }
    if (slot.ring) {
        pool.free_ring.push_back(number);
    } else {
        pool.policy->erase(expert);
        pool.free_cache.push_back(number);
        --pool.cached_of_layer[layer_of(expert)];
    }
}

bool Placement::land(uint32_t expert) {
    CHECK(slot_of_[expert] != kNoSlot);
    log(Kind::land, expert);
    Slot& slot = slots_[slot_of_[expert]];
    slot.landed = true;
    if (slot.wasted) guesses_.wasted_bytes += bytes_of(expert);
    --reading_;
    if (slot.ring) --ring_reading_;
    ++resident_;
    if (slot.pins == 0 && !(slot.ring && slot.guess)) {
        // Left over from a stream that was closed early.
        Pool& pool = pools_[classes_[expert]];
        if (slot.ring) {
            empty_slot(expert);
        } else {
            pool.policy->release(expert);
        }
        retire_surplus(pool);
        fill_slots(pool);
    }
    return undelivered_[expert] != 0;
}

bool Placement::fail(uint32_t expert) {
    log(Kind::fail, expert);
    if (slot_of_[expert] != kNoSlot) empty_slot(expert);
    retire_surplus(pools_[classes_[expert]]);
    if (undelivered_[expert] != 0) {
        failed_ = true;
        return true;
    }
    fill_slots(pools_[classes_[expert]]);
    return false;
}

void Placement::cancel(uint32_t expert) {
    if (slot_of_[expert] == kNoSlot) return;
    log(Kind::cancel, expert);
    empty_slot(expert);
    retire_surplus(pools_[classes_[expert]]);
}

std::vector<uint32_t> Placement::free_cache_slots() const {
    std::vector<uint32_t> counts;
    for (const Pool& pool : pools_) counts.push_back(uint32_t(pool.free_cache.size()));
    return counts;
}

bool Placement::warm(uint32_t expert) {
    CHECK(may_warm(expert));
    log(Kind::warm, expert);
    Pool& pool = pools_[classes_[expert]];
    if (pool.free_cache.empty()) return false;
    assign(expert, pop(pool.free_cache), 0);
    return true;
}

bool Placement::has_room_for_guess(uint32_t expert) const {
    const Pool& pool = pools_[classes_[expert]];
    return pool.placed == pool.waiting.size() &&
           (has_share(pool, expert) || !pool.free_ring.empty());
}

bool Placement::has_room_ahead(uint32_t expert) const {
    const Pool& pool = pools_[classes_[expert]];
    if (!has_room_for_guess(expert) || has_share(pool, expert)) return has_room_for_guess(expert);
    const auto taken = std::count_if(guessed_.begin(), guessed_.end(), [&](uint32_t other) {
        return classes_[other] == classes_[expert] && is_ring_guess(other);
    });
    return uint64_t(taken) + pool.ring_slots / 4 < pool.ring_slots;
}

bool Placement::guess(uint32_t expert) {
    CHECK(may_warm(expert));
    log(Kind::guess, expert);
    if (!has_room_for_guess(expert)) return false;
    Pool& pool = pools_[classes_[expert]];
    if (has_share(pool, expert)) {
        assign(expert, pop(pool.free_cache), 0);
    } else {
        assign(expert, pop(pool.free_ring), 0);
        guessed_.push_back(expert);
    }
    slots_[slot_of_[expert]].guess = true;
    ++guesses_.taken;
    return true;
}

void Placement::assign(uint32_t expert, uint32_t slot, uint32_t pins) {
    slots_[slot].expert = expert;
    slots_[slot].pins = pins;
    slots_[slot].landed = false;
    slots_[slot].guess = slots_[slot].wasted = false;
    slot_of_[expert] = slot;
    ++reading_;
    if (slots_[slot].ring) {
        ++ring_reading_;
    } else {
        Pool& pool = pools_[classes_[expert]];
        pool.policy->insert(expert);
        ++pool.cached_of_layer[layer_of(expert)];
    }
    log(Kind::issue, expert);
    assignments_.push_back({expert, slot});
}

void Placement::take(uint32_t expert) {
    CHECK(undelivered_[expert] != 0 && is_landed(expert));
    log(Kind::take, expert);
    undelivered_[expert] = 0;
    --undelivered_count_;
    ++held_;
}

void Placement::release(uint32_t expert) {
    log(Kind::release, expert);
    --held_;
    unpin(expert);
    retire_surplus(pools_[classes_[expert]]);
    fill_slots(pools_[classes_[expert]]);
}

void Placement::close() {
    CHECK(open_);
    log(Kind::close);
    for (const uint32_t expert : members_) {
        const bool delivered = std::exchange(undelivered_[expert], uint8_t(0)) == 0;
        if (slot_of_[expert] == kNoSlot) continue;
        if (!delivered) unpin(expert);
        if (kind_ != StreamKind::decode || slot_of_[expert] == kNoSlot) continue;
        const Slot& slot = slots_[slot_of_[expert]];
        // In the ring it is a guess, made since the stream gave it back.
        if (slot.landed && slot.pins == 0 && !slot.ring)
            pools_[classes_[expert]].policy->touch(expert);
    }
    for (Pool& pool : pools_) {
        pool.waiting.clear();
        pool.placed = 0;
    }
    undelivered_count_ = 0;
    open_ = false;
    failed_ = false;
    for (Pool& pool : pools_) retire_surplus(pool);
    for (uint32_t pool = 0; pool < pools_.size(); ++pool)
        if (const auto wanted = std::exchange(pools_[pool].wanted, std::nullopt))
            apply_resize(pool, *wanted);
}

uint64_t Placement::memory_bytes(const StoreConfig& config) {
    uint64_t slots = 0;
    for (const SlotClass& slot_class : useful_classes(config))
        slots += uint64_t(slot_class.slots) + slot_class.ring_slots;
    std::set<uint32_t> layers;
    for (const ExpertSource& source : config.experts) layers.insert(source.id.layer);
    // slot_of_, undelivered_, ids_, classes_ and expert_bytes_.
    constexpr uint64_t kExpertBytes =
        sizeof(uint32_t) + sizeof(uint8_t) + sizeof(ExpertId) + sizeof(uint8_t) + sizeof(uint64_t);
    const uint64_t experts = config.experts.size();
    return experts * kExpertBytes + slots * (sizeof(Slot) + 3 * sizeof(uint32_t)) +
           layers.size() * (sizeof(LayerRange) + sizeof(uint32_t) * config.classes.size()) +
           config.classes.size() * policy_memory_bytes(config.policy, experts, layers.size());
}

std::vector<StoreEvent> Placement::take_events() {
    return std::exchange(events_, {});
}

}  // namespace colibri

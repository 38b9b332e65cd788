#include "store/placement.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"

namespace colibri {

using Kind = StoreEvent::Kind;

PlacementShape placement_shape(const ExpertTable& table, std::span<const SlotClass> classes) {
    PlacementShape shape{.ids = table.ids(), .classes = table.classes(), .pools = {}};
    for (const SlotClass& slot_class : classes)
        shape.pools.push_back({.slots = slot_class.slots, .ring_slots = slot_class.ring_slots});
    return shape;
}

Placement::Placement(PlacementShape shape, const PolicyFactory& make_policy)
    : ids_(std::move(shape.ids)),
      classes_(std::move(shape.classes)),
      slot_of_(ids_.size(), kNoSlot),
      undelivered_(ids_.size(), 0) {
    std::vector<uint32_t> layers;
    for (const ExpertId id : ids_) layers.push_back(id.layer);
    for (const PlacementShape::Pool& pool_shape : shape.pools) {
        Pool& pool = pools_.emplace_back();
        pool.policy = make_policy({.layers = layers,
                                   .classes = classes_,
                                   .slot_class = uint8_t(pools_.size() - 1),
                                   .slots = pool_shape.slots});
        for (uint32_t i = 0; i < pool_shape.slots + pool_shape.ring_slots; ++i) {
            const bool ring = i >= pool_shape.slots;
            (ring ? pool.free_ring : pool.free_cache).push_back(uint32_t(slots_.size()));
            slots_.push_back({.ring = ring});
        }
        // The free lists are stacks: the lowest slot goes first.
        std::reverse(pool.free_cache.begin(), pool.free_cache.end());
        std::reverse(pool.free_ring.begin(), pool.free_ring.end());
    }
    compute_max_held(shape.pools);
}

void Placement::compute_max_held(std::span<const PlacementShape::Pool> pools) {
    std::vector<uint32_t> experts(pools.size(), 0);
    for (const uint8_t slot_class : classes_) ++experts[slot_class];
    max_held_decode_ = max_held_scan_ = std::max(1U, uint32_t(ids_.size()));
    for (size_t i = 0; i < pools.size(); ++i) {
        // Where every expert has its own slot, leases never stand in anybody's way.
        if (pools[i].slots >= experts[i]) continue;
        const uint32_t ring = pools[i].ring_slots;
        max_held_decode_ = std::min(max_held_decode_, std::max(1U, pools[i].slots + ring - 1));
        max_held_scan_ = std::min(max_held_scan_, std::max(2U, ring) - 1);
    }
}

void Placement::open(StreamKind kind, std::span<const uint32_t> members) {
    CHECK(!open_);
    open_ = true;
    kind_ = kind;
    members_.assign(members.begin(), members.end());
    missed_.clear();
    log(kind == StreamKind::decode ? Kind::open_decode : Kind::open_scan);
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
        } else {
            ++misses_;
            missed_.push_back(expert);
            pools_[classes_[expert]].waiting.push_back(expert);
        }
    }
    if (missed_.empty()) return;
    for (Pool& pool : pools_) fill_slots(pool);
}

uint32_t Placement::find_slot(Pool& pool, uint32_t newcomer) {
    const auto pop = [](std::vector<uint32_t>& stack) {
        const uint32_t slot = stack.back();
        stack.pop_back();
        return slot;
    };
    if (!pool.free_cache.empty()) return pop(pool.free_cache);
    if (kind_ == StreamKind::decode) {
        if (const auto victim = pool.policy->evict(newcomer)) {
            log(Kind::evict, *victim);
            ++evictions_;
            --resident_;
            return std::exchange(slot_of_[*victim], kNoSlot);
        }
    }
    if (!pool.free_ring.empty()) return pop(pool.free_ring);
    return kNoSlot;
}

void Placement::fill_slots(Pool& pool) {
    while (pool.placed < pool.waiting.size() && !failed_) {
        const uint32_t expert = pool.waiting[pool.placed];
        const uint32_t slot = find_slot(pool, expert);
        if (slot == kNoSlot) return;
        ++pool.placed;
        slots_[slot].expert = expert;
        slots_[slot].pins = 1;
        slots_[slot].landed = false;
        slot_of_[expert] = slot;
        ++reading_;
        if (slots_[slot].ring) {
            ++ring_reading_;
        } else {
            pool.policy->insert(expert);
        }
        log(Kind::issue, expert);
        assignments_.push_back({expert, slot});
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
    }
}

bool Placement::land(uint32_t expert) {
    CHECK(slot_of_[expert] != kNoSlot);
    log(Kind::land, expert);
    Slot& slot = slots_[slot_of_[expert]];
    slot.landed = true;
    --reading_;
    if (slot.ring) --ring_reading_;
    ++resident_;
    if (slot.pins == 0) {
        // Left over from a stream that was closed early.
        Pool& pool = pools_[classes_[expert]];
        if (slot.ring) {
            empty_slot(expert);
        } else {
            pool.policy->release(expert);
        }
        fill_slots(pool);
    }
    return undelivered_[expert] != 0;
}

bool Placement::fail(uint32_t expert) {
    log(Kind::fail, expert);
    if (slot_of_[expert] != kNoSlot) empty_slot(expert);
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
        if (slot.landed && slot.pins == 0) pools_[classes_[expert]].policy->touch(expert);
    }
    for (Pool& pool : pools_) {
        pool.waiting.clear();
        pool.placed = 0;
    }
    undelivered_count_ = 0;
    open_ = false;
    failed_ = false;
}

uint64_t Placement::memory_bytes(const StoreConfig& config) {
    uint64_t slots = 0;
    for (const SlotClass& slot_class : useful_classes(config))
        slots += uint64_t(slot_class.slots) + slot_class.ring_slots;
    std::set<uint32_t> layers;
    for (const ExpertSource& source : config.experts) layers.insert(source.id.layer);
    // slot_of_, undelivered_, ids_ and classes_.
    constexpr uint64_t kExpertBytes =
        sizeof(uint32_t) + sizeof(uint8_t) + sizeof(ExpertId) + sizeof(uint8_t);
    const uint64_t experts = config.experts.size();
    return experts * kExpertBytes + slots * (sizeof(Slot) + sizeof(uint32_t)) +
           config.classes.size() * policy_memory_bytes(config.policy, experts, layers.size());
}

std::vector<StoreEvent> Placement::take_events() {
    return std::exchange(events_, {});
}

}  // namespace colibri

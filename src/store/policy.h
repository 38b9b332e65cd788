// Which resident expert gives up its slot: the replaceable part of the cache.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace colibri {

// For evict(): no key is about to come.
inline constexpr uint32_t kNobody = UINT32_MAX;

// What a policy is made for. The spans live as long as the call that gets them.
struct PolicyShape {
    std::span<const uint32_t> layers;  // of each key, ascending
    std::span<const uint8_t> classes;  // slot class of each key
    uint8_t slot_class = 0;            // the one this policy is for
    uint32_t slots = 0;                // cache slots of that class
};

// A pure object: its victims follow from the calls it got and from nothing else (no clock, no
// thread, no randomness), so a recorded run can be replayed. It covers the cache slots of one slot
// class. A key is an expert's number (ascending in (layer, index)). The cost of a call does not
// depend on the number of slots (BeladyPolicy, which no store uses, excepted).
//
// A key is absent, held or free. Only free keys can become victims.
class Policy {
public:
    virtual ~Policy() = default;
    // A decode step begins and asks for these keys (ascending, of any state, also of other slot
    // classes). Comes before the step's hold() and insert() calls.
    virtual void begin_step(std::span<const uint32_t> keys) = 0;
    // absent -> held: an expert gets a slot; its bytes are still to come.
    virtual void insert(uint32_t key) = 0;
    // free -> held: a stream still needs it, or somebody computes with it.
    virtual void hold(uint32_t key) = 0;
    // held -> free.
    virtual void release(uint32_t key) = 0;
    // A decode step used this free key. Called once for each of its experts, ascending, at the end
    // of the step, so that the order in which experts arrived leaves no trace.
    virtual void touch(uint32_t key) = 0;
    // free or held -> absent, not as a victim: the read failed or was cancelled.
    virtual void erase(uint32_t key) = 0;
    // free -> absent: picks the victim that makes room for `newcomer`, an absent key, or for
    // kNobody, when its slot is to be given up. Empty when no key is free.
    [[nodiscard]] virtual std::optional<uint32_t> evict(uint32_t newcomer) = 0;
    // What earlier runs know of an absent key: how often a step of its layer asks for it, 0 to 1.
    // Only before the first step.
    virtual void remember(uint32_t key, double uses_per_step) = 0;
    // From now on there are so many slots. Keys beyond that stay until they are evicted.
    virtual void resize(uint32_t slots) = 0;
};

}  // namespace colibri

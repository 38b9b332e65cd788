// Which resident expert gives up its slot: the replaceable part of the cache.
#pragma once

#include <cstdint>
#include <optional>

namespace colibri {

// A pure object: its victims follow from the calls it got and from nothing else (no clock, no
// thread, no randomness), so a recorded run can be replayed. It covers the cache slots of one slot
// class. A key is an expert's number (0 .. key_count - 1, ascending in (layer, index)). Every call
// is O(1).
//
// A key is absent, held or free. Only free keys can become victims.
class Policy {
public:
    virtual ~Policy() = default;
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
    // free -> absent: picks the victim. Empty when no key is free.
    [[nodiscard]] virtual std::optional<uint32_t> evict() = 0;
};

}  // namespace colibri

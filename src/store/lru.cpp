#include "store/lru.h"

#include "base/check.h"

namespace colibri {

namespace {

// Values of next_ for keys that are not in the list.
constexpr uint32_t kAbsent = UINT32_MAX;
constexpr uint32_t kHeld = UINT32_MAX - 1;

}  // namespace

LruPolicy::LruPolicy(uint32_t key_count)
    : next_(size_t(key_count) + 1, kAbsent), previous_(size_t(key_count) + 1, 0), end_(key_count) {
    next_[end_] = end_;
    previous_[end_] = end_;
}

void LruPolicy::unlink(uint32_t key) {
    next_[previous_[key]] = next_[key];
    previous_[next_[key]] = previous_[key];
}

void LruPolicy::append(uint32_t key) {
    next_[key] = end_;
    previous_[key] = previous_[end_];
    next_[previous_[end_]] = key;
    previous_[end_] = key;
}

void LruPolicy::begin_step(std::span<const uint32_t> /*keys*/) {}

void LruPolicy::remember(uint32_t /*key*/, double /*uses_per_step*/) {}

void LruPolicy::resize(uint32_t /*slots*/) {}

void LruPolicy::insert(uint32_t key) {
    CHECK(next_[key] == kAbsent);
    next_[key] = kHeld;
}

void LruPolicy::hold(uint32_t key) {
    CHECK(next_[key] <= end_);
    unlink(key);
    next_[key] = kHeld;
}

void LruPolicy::release(uint32_t key) {
    CHECK(next_[key] == kHeld);
    append(key);
}

void LruPolicy::touch(uint32_t key) {
    CHECK(next_[key] <= end_);
    unlink(key);
    append(key);
}

void LruPolicy::erase(uint32_t key) {
    CHECK(next_[key] != kAbsent);
    if (next_[key] != kHeld) unlink(key);
    next_[key] = kAbsent;
}

std::optional<uint32_t> LruPolicy::evict(uint32_t /*newcomer*/) {
    const uint32_t oldest = next_[end_];
    if (oldest == end_) return std::nullopt;
    unlink(oldest);
    next_[oldest] = kAbsent;
    return oldest;
}

}  // namespace colibri

// The expert cache made smaller and larger while the model is in use.
#include <algorithm>

#include "runtime/model_impl.h"

namespace colibri {

namespace {

struct Bytes {
    uint64_t now = 0, most = 0, least = 0;
};

Bytes bytes_of(const std::vector<CacheClass>& cache) {
    Bytes bytes;
    for (const CacheClass& c : cache) {
        bytes.now += c.slot_bytes * c.slots;
        bytes.most += c.slot_bytes * c.slots_max;
        bytes.least += c.slot_bytes * c.slots_min;
    }
    return bytes;
}

}  // namespace

CacheSize Model::cache_size() const {
    const std::vector<CacheClass> cache = impl_->store->cache();
    const Bytes bytes = bytes_of(cache);
    CacheSize size{.bytes = bytes.now, .planned_bytes = bytes.most};
    for (const CacheClass& c : cache) {
        size.slots += c.slots;
        size.planned_slots += c.slots_max;
    }
    // Slots that are padded to pages take more than the plan's part for them, which counts the
    // padding elsewhere.
    const uint64_t fixed = impl_->plan.total_bytes - std::min(impl_->plan.total_bytes, bytes.most);
    size.total_bytes = fixed + bytes.now;
    size.smallest_total_bytes = fixed + bytes.least;
    return size;
}

// Every class gives up the same share of what it can spare, as the planner shares it out.
void Model::resize_cache(uint64_t budget_bytes) {
    const CacheSize size = cache_size();
    const uint64_t spare = budget_bytes - std::min(budget_bytes, size.smallest_total_bytes);
    const uint64_t most = size.total_bytes - size.bytes + size.planned_bytes;
    const uint64_t wanted = most - size.smallest_total_bytes;
    const double share = wanted == 0 ? 1.0 : std::min(1.0, double(spare) / double(wanted));
    std::vector<uint32_t> slots;
    for (const CacheClass& c : impl_->store->cache())
        slots.push_back(c.slots_min + uint32_t(double(c.slots_max - c.slots_min) * share));
    impl_->store->resize(slots);
}

void Model::halve_cache() {
    std::vector<uint32_t> slots;
    for (const CacheClass& c : impl_->store->cache()) slots.push_back(c.slots / 2);
    impl_->store->resize(slots);
}

void Model::restore_cache() {
    std::vector<uint32_t> slots;
    for (const CacheClass& c : impl_->store->cache()) slots.push_back(c.slots_max);
    impl_->store->resize(slots);
}

}  // namespace colibri

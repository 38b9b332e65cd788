#include <utility>

#include "store/expert_store.h"

namespace colibri {

ExpertLease::ExpertLease(ExpertLease&& other) noexcept
    : store_(std::exchange(other.store_, nullptr)),
      id_(other.id_),
      data_(std::exchange(other.data_, nullptr)),
      slot_(other.slot_) {}

ExpertLease& ExpertLease::operator=(ExpertLease&& other) noexcept {
    std::swap(store_, other.store_);
    std::swap(id_, other.id_);
    std::swap(data_, other.data_);
    std::swap(slot_, other.slot_);
    other.release();
    return *this;
}

ExpertLease::~ExpertLease() {
    release();
}

void ExpertLease::release() {
    if (data_ == nullptr) return;
    data_ = nullptr;
    std::exchange(store_, nullptr)->give_back(slot_);
}

}  // namespace colibri

#include "text/vocabulary.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"

namespace colibri {
namespace {

uint64_t mixed(uint64_t value) {
    value ^= value >> 32;
    value *= 0x9FB21C651E98DF25ULL;
    value ^= value >> 29;
    value *= 0xD6E8FEB86659FD93ULL;
    return value ^ value >> 32;
}

// The first eight bytes, or what there is.
uint64_t load(std::string_view bytes) {
    uint64_t value = 0;
    std::memcpy(&value, bytes.data(), std::min<size_t>(bytes.size(), 8));
    return value;
}

}  // namespace

uint64_t hash_bytes(std::string_view bytes) {
    uint64_t hash = 0x2545F4914F6CDD1DULL ^ bytes.size();
    while (bytes.size() >= 8) {
        hash = mixed(hash ^ load(bytes)) + 0x9E3779B97F4A7C15ULL;
        bytes.remove_prefix(8);
    }
    return bytes.empty() ? mixed(hash) : mixed(hash ^ load(bytes));
}

uint64_t hash_pair(int32_t left, int32_t right) {
    return mixed(uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right));
}

StringIndex::StringIndex(size_t count)
    : slots_(std::bit_ceil(std::max<size_t>(count * 2, 2)), kNoToken), mask_(slots_.size() - 1) {}

Vocabulary::Vocabulary(std::vector<Entry> entries) : index_(entries.size()) {
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.id < b.id; });
    size_t total = 0;
    for (const Entry& entry : entries) total += entry.bytes.size();
    CHECK(total < UINT32_MAX);
    arena_.reserve(total);
    offsets_.assign(entries.empty() ? 1 : static_cast<size_t>(entries.back().id) + 2, 0);
    int32_t next = 0;
    for (const Entry& entry : entries) {
        CHECK(entry.id >= next);
        for (; next < entry.id; ++next) offsets_[next + 1] = static_cast<uint32_t>(arena_.size());
        arena_ += entry.bytes;
        offsets_[entry.id + 1] = static_cast<uint32_t>(arena_.size());
        next = entry.id + 1;
    }
    for (const Entry& entry : entries) {
        if (!entry.findable || entry.bytes.empty()) continue;
        const bool distinct = index_.insert(entry.id, [this](int32_t id) { return bytes(id); });
        CHECK(distinct);
        longest_ = std::max(longest_, entry.bytes.size());
    }
}

size_t Vocabulary::memory_bytes() const {
    return arena_.capacity() + offsets_.capacity() * sizeof(uint32_t) + index_.memory_bytes();
}

}  // namespace colibri

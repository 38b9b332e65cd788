#include "store/frequency.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.h"

namespace colibri {

namespace {

constexpr uint32_t kAbsent = UINT32_MAX;
constexpr uint32_t kHeld = UINT32_MAX - 1;
constexpr int64_t kNever = INT64_MIN;  // position of a key that nobody has used
constexpr int64_t kPerOctave = 16;     // positions
// Positions are in sixteenths of an octave, and a half-life is an octave.
constexpr uint32_t kStepsPerPosition = FrequencyPolicy::kHalfLifeSteps / kPerOctave;
// Most positions lie below that of a key used once, just now: above it there is room for the
// largest count, 1 / (1 - 2^(-1/32)) = 46.7 or 5.6 octaves.
constexpr int64_t kBelow = 160;
constexpr double kCountMax = 46.7;

}  // namespace

FrequencyPolicy::FrequencyPolicy(const PolicyShape& shape, Balance balance, uint32_t floor)
    : key_count_(uint32_t(shape.layers.size())),
      balance_(balance),
      kept_(floor),
      counts_(shape.layers.size()) {
    uint32_t sharing = 0, last_sharing = UINT32_MAX;
    for (uint32_t key = 0; key < key_count_; ++key) {
        if (key == 0 || shape.layers[key] != shape.layers[key - 1])
            layers_.push_back({.base = -kBelow});
        counts_[key].layer = uint32_t(layers_.size()) - 1;
        if (shape.classes[key] != shape.slot_class || last_sharing == counts_[key].layer) continue;
        last_sharing = counts_[key].layer;
        ++sharing;
    }
    sharing_ = std::max(1U, sharing);
    resize(shape.slots);
    links_.resize(key_count_ + layers_.size() * kBuckets);
    for (uint32_t node = 0; node < links_.size(); ++node)
        links_[node] = {.next = node < key_count_ ? kAbsent : node, .previous = node};
    // Square roots are rounded the same everywhere, pow is not.
    double root = 0.5;
    for (size_t bit = kHalfLifeSteps / 2; bit > 0; bit /= 2) {
        root = std::sqrt(root);
        for (size_t i = bit; i < kHalfLifeSteps; i += 2 * bit)
            decay_[i] = (i == bit ? 1.0 : decay_[i - bit]) * root;
    }
    decay_[0] = 1.0;
    for (size_t i = 0; i < kPerOctave; ++i)
        sixteenths_[i] = i == 0 ? 0.5 : decay_[kHalfLifeSteps - kStepsPerPosition * i];
}

int64_t FrequencyPolicy::position(const Count& count) const {
    if (count.value <= 0) return kNever;
    int exponent = 0;
    const double mantissa = std::frexp(count.value, &exponent);  // in [0.5, 1)
    const auto above = std::upper_bound(sixteenths_.begin(), sixteenths_.end(), mantissa);
    return kPerOctave * (int64_t(exponent) - 1) + (above - sixteenths_.begin() - 1) +
           count.step / kStepsPerPosition;
}

std::optional<int64_t> FrequencyPolicy::lowest(const Layer& layer) const {
    const auto first = uint32_t(layer.base & (kBuckets - 1));
    for (uint32_t i = 0; i <= kWords; ++i) {
        const uint32_t word = (first / 64 + i) % kWords;
        uint64_t bits = layer.occupied[word];
        const uint64_t from_first = ~uint64_t(0) << (first % 64);
        if (i == 0) bits &= from_first;
        if (i == kWords) bits &= ~from_first;
        if (bits == 0) continue;
        const uint32_t bucket = word * 64 + uint32_t(std::countr_zero(bits));
        return layer.base + ((bucket - first) & (kBuckets - 1));
    }
    return std::nullopt;
}

void FrequencyPolicy::link(uint32_t key) {
    Layer& layer = layers_[counts_[key].layer];
    const int64_t at =
        std::clamp(position(counts_[key]), layer.base, layer.base + int64_t(kBuckets) - 1);
    const auto bucket = uint32_t(at & (kBuckets - 1));
    const uint32_t end = head(counts_[key].layer, bucket);
    links_[key] = {.next = end, .previous = links_[end].previous};
    links_[links_[end].previous].next = key;
    links_[end].previous = key;
    layer.occupied[bucket / 64] |= uint64_t(1) << (bucket % 64);
}

void FrequencyPolicy::unlink(uint32_t key) {
    const Link& own = links_[key];
    links_[own.previous].next = own.next;
    links_[own.next].previous = own.previous;
    if (own.next != own.previous) return;
    // Only the head is left on both sides.
    const uint32_t bucket = (own.next - key_count_) % kBuckets;
    layers_[counts_[key].layer].occupied[bucket / 64] &= ~(uint64_t(1) << (bucket % 64));
}

// A step of the layer goes by: the lowest bucket may be merged into the next one, in front.
void FrequencyPolicy::advance(uint32_t layer_number) {
    Layer& layer = layers_[layer_number];
    ++layer.step;
    if (int64_t(layer.step / kStepsPerPosition) - kBelow <= layer.base) return;
    const auto bucket = uint32_t(layer.base & (kBuckets - 1));
    ++layer.base;
    const uint32_t old_end = head(layer_number, bucket);
    if (links_[old_end].next == old_end) return;
    const auto next_bucket = uint32_t(layer.base & (kBuckets - 1));
    const uint32_t new_end = head(layer_number, next_bucket);
    const auto [first, last] = links_[old_end];
    links_[last].next = links_[new_end].next;
    links_[links_[new_end].next].previous = last;
    links_[new_end].next = first;
    links_[first].previous = new_end;
    links_[old_end] = {.next = old_end, .previous = old_end};
    layer.occupied[bucket / 64] &= ~(uint64_t(1) << (bucket % 64));
    layer.occupied[next_bucket / 64] |= uint64_t(1) << (next_bucket % 64);
}

void FrequencyPolicy::begin_step(std::span<const uint32_t> keys) {
    for (size_t i = 0; i < keys.size(); ++i) {
        Count& count = counts_[keys[i]];
        if (i == 0 || count.layer != counts_[keys[i - 1]].layer) advance(count.layer);
        const uint32_t step = layers_[count.layer].step;
        const uint32_t age = step - count.step;
        const double faded = count.value * decay_[age % kHalfLifeSteps];
        count.value = std::ldexp(faded, -int(age / kHalfLifeSteps)) + 1.0;
        count.step = step;
    }
}

void FrequencyPolicy::insert(uint32_t key) {
    CHECK(links_[key].next == kAbsent);
    links_[key].next = kHeld;
    ++layers_[counts_[key].layer].resident;
}

void FrequencyPolicy::hold(uint32_t key) {
    CHECK(links_[key].next < kHeld);
    unlink(key);
    links_[key].next = kHeld;
}

void FrequencyPolicy::release(uint32_t key) {
    CHECK(links_[key].next == kHeld);
    link(key);
}

void FrequencyPolicy::touch(uint32_t key) {
    CHECK(links_[key].next < kHeld);
    unlink(key);
    link(key);
}

void FrequencyPolicy::erase(uint32_t key) {
    CHECK(links_[key].next != kAbsent);
    if (links_[key].next != kHeld) unlink(key);
    links_[key].next = kAbsent;
    --layers_[counts_[key].layer].resident;
}

// The layer with most keys that has a free one; the lower layer among equals.
std::optional<uint32_t> FrequencyPolicy::donor_for(uint32_t newcomer) const {
    if (newcomer != kNobody) {
        const uint32_t layer = counts_[newcomer].layer;
        if (layers_[layer].resident >= kept_ && lowest(layers_[layer])) return layer;
    }
    std::optional<uint32_t> best;
    for (uint32_t i = 0; i < layers_.size(); ++i)
        if ((!best || layers_[i].resident > layers_[*best].resident) && lowest(layers_[i]))
            best = i;
    return best;
}

// The layer whose least frequent free key has faded most; layers at their floor come last.
std::optional<uint32_t> FrequencyPolicy::poorest() const {
    std::optional<uint32_t> best;
    bool best_spare = false;
    int64_t best_height = 0;
    for (uint32_t i = 0; i < layers_.size(); ++i) {
        const Layer& layer = layers_[i];
        const auto position = lowest(layer);
        if (!position) continue;
        const bool spare = layer.resident > kept_;
        const int64_t height = *position - layer.step / kStepsPerPosition;
        if (best && (best_spare && !spare)) continue;
        if (best && best_spare == spare && height >= best_height) continue;
        best = i;
        best_spare = spare;
        best_height = height;
    }
    return best;
}

std::optional<uint32_t> FrequencyPolicy::evict(uint32_t newcomer) {
    const auto donor = balance_ == Balance::share ? donor_for(newcomer) : poorest();
    if (!donor) return std::nullopt;
    const auto bucket = uint32_t(*lowest(layers_[*donor]) & (kBuckets - 1));
    const uint32_t victim = links_[head(*donor, bucket)].next;
    unlink(victim);
    links_[victim].next = kAbsent;
    --layers_[*donor].resident;
    return victim;
}

void FrequencyPolicy::resize(uint32_t slots) {
    if (balance_ == Balance::share) kept_ = std::max(1U, slots / sharing_);
}

void FrequencyPolicy::remember(uint32_t key, double uses_per_step) {
    CHECK(layers_[counts_[key].layer].step == 0);
    counts_[key].value = std::clamp(uses_per_step, 0.0, 1.0) * kCountMax;
}

uint64_t FrequencyPolicy::memory_bytes(uint64_t keys, uint64_t layers) {
    return keys * (sizeof(Count) + sizeof(Link)) +
           layers * (sizeof(Layer) + kBuckets * sizeof(Link));
}

}  // namespace colibri

#include "runtime/sequence_state.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "base/aligned_buffer.h"
#include "base/check.h"
#include "base/units.h"

namespace colibri {

struct SequenceState::Block {
    AlignedBuffer memory;
};

namespace {

// Header of a serialized state; all integers little-endian. The checksum covers everything after
// it.
struct SerialHeader {
    char magic[8];
    uint32_t version;
    uint32_t positions;
    uint64_t fingerprint;
    uint64_t elements_per_position;
    uint64_t
        hidden;  // elements of the last hidden row that follow the rows, 0 or the shape's width
    uint64_t checksum;
};
constexpr char kMagic[8] = {'c', 'o', 'l', 'i', 's', 't', 'a', 't'};
constexpr uint32_t kVersion = 1;

uint64_t elements_per_position(const StateShape& shape) {
    uint64_t elements = 0;
    for (const LayerStateShape& layer : shape.layers) elements += layer.total();
    return elements;
}

}  // namespace

uint64_t StateShape::bytes_per_position() const {
    return elements_per_position(*this) * sizeof(float);
}

uint64_t StateShape::bytes_for(uint32_t positions) const {
    return bytes_per_position() * round_up(positions, kStateBlockPositions);
}

SequenceState::SequenceState(std::shared_ptr<const StateShape> shape, uint32_t capacity)
    : shape_(std::move(shape)), capacity_(capacity) {
    uint64_t offset = 0;
    for (const LayerStateShape& layer : shape_->layers) {
        layer_offsets_.push_back(offset);
        offset += uint64_t(layer.total()) * kStateBlockPositions;
    }
}

Status SequenceState::append(uint32_t rows) {
    CHECK(pending_ == 0);
    if (rows > capacity_ - length_)
        return fail(ErrorKind::out_of_budget,
                    fmt::format("the context is full: {} positions are used and {} more are "
                                "needed, the limit is {}; "
                                "raise it with --ctx (the model's maximum and the memory budget "
                                "permitting) or start over",
                                length_, rows, capacity_));
    const uint64_t block_bytes = shape_->bytes_per_position() * kStateBlockPositions;
    const uint32_t needed = ceil_div(length_ + rows, kStateBlockPositions);
    // Rows are written into the last block in use: it must be ours alone.
    const uint32_t first_written = length_ / kStateBlockPositions;
    for (uint32_t b = first_written; b < needed; ++b) {
        const bool exists = b < blocks_.size();
        if (exists && blocks_[b].use_count() == 1) continue;
        auto block = std::make_shared<Block>();
        TRY(block->memory, AlignedBuffer::allocate(block_bytes));
        if (exists) {
            std::memcpy(block->memory.data(), blocks_[b]->memory.data(), block_bytes);
            block_rows_[b] = block->memory.as<float>();
            blocks_[b] = std::move(block);
        } else {
            block_rows_.push_back(block->memory.as<float>());
            blocks_.push_back(std::move(block));
        }
    }
    pending_ = rows;
    return {};
}

void SequenceState::accept(uint32_t rows) {
    CHECK(rows <= pending_);
    length_ += rows;
    pending_ = 0;
}

void SequenceState::truncate(uint32_t length) {
    CHECK(length <= length_);
    if (length < length_) last_hidden_.clear();
    length_ = length;
    pending_ = 0;
    const uint32_t needed = ceil_div(length_, kStateBlockPositions);
    if (blocks_.size() > needed) {
        blocks_.resize(needed);
        block_rows_.resize(needed);
    }
}

SequenceState SequenceState::fork(uint32_t prefix) const {
    CHECK(prefix <= length_);
    SequenceState copy = *this;
    copy.pending_ = 0;
    copy.truncate(prefix);
    return copy;
}

LayerState SequenceState::layer(uint32_t index) {
    return {.blocks = block_rows_.data(),
            .offset = layer_offsets_[index],
            .shape = shape_->layers[index]};
}

void SequenceState::set_last_hidden(std::span<const float> hidden) {
    last_hidden_.assign(hidden.begin(), hidden.end());
}

std::string SequenceState::serialize() const {
    // Whole blocks: their layout is part of the shape, and the tail of the last one is harmless.
    const uint64_t block_bytes = shape_->bytes_per_position() * kStateBlockPositions;
    SerialHeader header{.magic = {},
                        .version = kVersion,
                        .positions = length_,
                        .fingerprint = shape_->fingerprint,
                        .elements_per_position = elements_per_position(*shape_),
                        .hidden = last_hidden_.size(),
                        .checksum = 0};
    std::memcpy(header.magic, kMagic, sizeof kMagic);
    std::string bytes(sizeof header, '\0');
    const uint32_t count = ceil_div(length_, kStateBlockPositions);
    bytes.reserve(sizeof header + count * block_bytes + last_hidden_.size() * sizeof(float));
    for (uint32_t b = 0; b < count; ++b)
        bytes.append(reinterpret_cast<const char*>(blocks_[b]->memory.data()), block_bytes);
    if (!last_hidden_.empty())
        bytes.append(reinterpret_cast<const char*>(last_hidden_.data()),
                     last_hidden_.size() * sizeof(float));
    header.checksum = XXH3_64bits_withSeed(bytes.data() + sizeof header,
                                           bytes.size() - sizeof header, header.positions);
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes;
}

Result<SequenceState> SequenceState::deserialize(std::shared_ptr<const StateShape> shape,
                                                 uint32_t capacity, std::string_view bytes) {
    SerialHeader header;
    if (bytes.size() < sizeof header)
        return fail(ErrorKind::corrupt,
                    fmt::format("saved sequence state: {} bytes, a header alone has {}",
                                bytes.size(), sizeof header));
    std::memcpy(&header, bytes.data(), sizeof header);
    if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0)
        return fail(ErrorKind::corrupt,
                    "saved sequence state: not a state file (its first bytes differ)");
    if (header.version != kVersion)
        return fail(ErrorKind::invalid_input,
                    fmt::format("saved sequence state: version {}, this program reads {}",
                                header.version, kVersion));
    if (header.fingerprint != shape->fingerprint ||
        header.elements_per_position != elements_per_position(*shape))
        return fail(ErrorKind::invalid_input,
                    "saved sequence state: it belongs to another model; ignored");
    if (header.positions > capacity)
        return fail(
            ErrorKind::out_of_budget,
            fmt::format(
                "saved sequence state: {} positions, the context has {}; raise it with --ctx",
                header.positions, capacity));
    if (header.hidden != 0 && header.hidden != shape->hidden)
        return fail(ErrorKind::corrupt,
                    fmt::format("saved sequence state: hidden row of {} elements, expected {}",
                                header.hidden, shape->hidden));
    const uint64_t block_bytes = shape->bytes_per_position() * kStateBlockPositions;
    const uint64_t expected = sizeof header +
                              ceil_div(header.positions, kStateBlockPositions) * block_bytes +
                              header.hidden * sizeof(float);
    if (bytes.size() != expected)
        return fail(ErrorKind::corrupt, fmt::format("saved sequence state: {} bytes, expected {}",
                                                    bytes.size(), expected));
    if (XXH3_64bits_withSeed(bytes.data() + sizeof header, bytes.size() - sizeof header,
                             header.positions) != header.checksum)
        return fail(ErrorKind::corrupt,
                    "saved sequence state: the checksum does not match; ignored");
    SequenceState state(std::move(shape), capacity);
    TRY_STATUS(state.append(header.positions));
    const char* cursor = bytes.data() + sizeof header;
    for (const auto& block : state.blocks_) {
        std::memcpy(block->memory.data(), cursor, block_bytes);
        cursor += block_bytes;
    }
    state.accept(header.positions);
    state.last_hidden_.resize(header.hidden);
    if (header.hidden != 0)
        std::memcpy(state.last_hidden_.data(), cursor, header.hidden * sizeof(float));
    return state;
}

}  // namespace colibri

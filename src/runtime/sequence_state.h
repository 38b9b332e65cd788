// What attention remembers of one sequence: rows of f32 per position and layer, in
// reference-counted blocks of 64 positions.
//
// append(T) makes T pending rows after the accepted ones; accept(n) keeps the first n of them and
// drops the rest. fork and snapshots share full blocks; a shared block is copied before it is
// written. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "blocks/layer_state.h"

namespace colibri {

struct StateShape {
    std::vector<LayerStateShape> layers;
    uint32_t hidden = 0;       // width of the last hidden row kept with the state
    uint64_t fingerprint = 0;  // of the model; a serialized state of another one is refused
    [[nodiscard]] uint64_t bytes_per_position() const;
    [[nodiscard]] uint64_t bytes_for(uint32_t positions) const;  // whole blocks
};

class SequenceState {
public:
    SequenceState(std::shared_ptr<const StateShape> shape, uint32_t capacity);

    [[nodiscard]] uint32_t length() const { return length_; }
    [[nodiscard]] uint32_t pending() const { return pending_; }
    [[nodiscard]] uint32_t capacity() const { return capacity_; }
    [[nodiscard]] const StateShape& shape() const { return *shape_; }

    // Errors: out_of_budget when the rows do not fit the context, with need, limit and the option
    // that raises it.
    [[nodiscard]] Status append(uint32_t rows);
    void accept(uint32_t rows);      // rows <= pending()
    void truncate(uint32_t length);  // length <= length(); pending rows are dropped
    [[nodiscard]] SequenceState fork(uint32_t prefix) const;  // prefix <= length()
    // A snapshot is a fork of everything; restoring is assigning it back.
    [[nodiscard]] SequenceState snapshot() const { return fork(length_); }

    // One layer's rows, for blocks; `position` < length() + pending(). Valid until the next append,
    // truncate or assignment.
    [[nodiscard]] LayerState layer(uint32_t index);

    // Hidden row (after the final norm) of the last accepted position; MTP continues from it.
    [[nodiscard]] std::span<const float> last_hidden() const { return last_hidden_; }
    void set_last_hidden(std::span<const float> hidden);

    // Accepted rows with a header (version, fingerprint, shape) and a checksum. deserialize errors:
    // corrupt (damaged), invalid_input (another model or version); nothing is half restored.
    [[nodiscard]] std::string serialize() const;
    [[nodiscard]] static Result<SequenceState> deserialize(std::shared_ptr<const StateShape> shape,
                                                           uint32_t capacity,
                                                           std::string_view bytes);

private:
    struct Block;

    std::shared_ptr<const StateShape> shape_;
    std::vector<uint64_t> layer_offsets_;  // in elements, within a block
    std::vector<std::shared_ptr<Block>> blocks_;
    std::vector<float*> block_rows_;  // blocks_[i]'s memory
    uint32_t capacity_ = 0, length_ = 0, pending_ = 0;
    std::vector<float> last_hidden_;
};

}  // namespace colibri

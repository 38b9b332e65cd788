// What attention remembers of one sequence: rows of f32 per position and layer, in reference-counted blocks of 64 positions.
//
// append(T) makes T pending rows after the accepted ones; accept(n) keeps the first n of them and drops the rest. fork and
// snapshots share full blocks; a shared block is copied before it is written. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace colibri {

inline constexpr uint32_t kStateBlockPositions = 64;

// Per layer, elements kept per position. Rows of `positions_major` are contiguous [width]; tiles are kept dimension-major in blocks of 16 positions
// (keys of GQA).
struct LayerStateShape {
    uint32_t latent = 0;        // MLA: kv_rank + rope dims
    uint32_t index_key = 0;     // DSA owner layers
    uint32_t key_tile = 0;      // GQA: kv_heads * head_dims, dimension-major in 16s
    uint32_t value = 0;         // GQA: kv_heads * value_dims
    [[nodiscard]] uint32_t total() const { return latent + index_key + key_tile + value; }
};

struct StateShape {
    std::vector<LayerStateShape> layers;
    uint32_t hidden = 0;        // width of the last hidden row kept with the state
    uint64_t fingerprint = 0;   // of the model; a serialized state of another one is refused
    [[nodiscard]] uint64_t bytes_per_position() const;
    [[nodiscard]] uint64_t bytes_for(uint32_t positions) const;   // whole blocks
};

class SequenceState {
public:
    SequenceState(std::shared_ptr<const StateShape> shape, uint32_t capacity);

    [[nodiscard]] uint32_t length() const { return length_; }
    [[nodiscard]] uint32_t pending() const { return pending_; }
    [[nodiscard]] uint32_t capacity() const { return capacity_; }
    [[nodiscard]] const StateShape& shape() const { return *shape_; }

    // Errors: out_of_budget when the rows do not fit the context, with need, limit and the option that raises it.
    [[nodiscard]] Status append(uint32_t rows);
    void accept(uint32_t rows);                 // rows <= pending()
    void truncate(uint32_t length);             // length <= length(); pending rows are dropped
    [[nodiscard]] SequenceState fork(uint32_t prefix) const;   // prefix <= length()
    // A snapshot is a fork of everything; restoring is assigning it back.
    [[nodiscard]] SequenceState snapshot() const { return fork(length_); }

    // Row pointers. `position` < length() + pending().
    [[nodiscard]] float* latent(uint32_t layer, uint32_t position);
    [[nodiscard]] const float* latent(uint32_t layer, uint32_t position) const;
    [[nodiscard]] float* index_key(uint32_t layer, uint32_t position);
    [[nodiscard]] const float* index_key(uint32_t layer, uint32_t position) const;
    // The tile of 16 positions that holds `position`: [key_tile dims][16].
    [[nodiscard]] float* key_tile(uint32_t layer, uint32_t position);
    [[nodiscard]] const float* key_tile(uint32_t layer, uint32_t position) const;
    [[nodiscard]] float* value(uint32_t layer, uint32_t position);
    [[nodiscard]] const float* value(uint32_t layer, uint32_t position) const;

    // Hidden row (after the final norm) of the last accepted position; MTP continues from it.
    [[nodiscard]] std::span<const float> last_hidden() const { return last_hidden_; }
    void set_last_hidden(std::span<const float> hidden);

    // Accepted rows with a header (version, fingerprint, shape) and a checksum. deserialize errors: corrupt (damaged), invalid_input (another
    // model or version); nothing is half restored.
    [[nodiscard]] std::string serialize() const;
    [[nodiscard]] static Result<SequenceState> deserialize(std::shared_ptr<const StateShape> shape,
                                                           uint32_t capacity, std::string_view bytes);

private:
    struct Block;
    [[nodiscard]] float* row(uint32_t layer, uint32_t position, uint64_t part, uint32_t width, uint32_t step);

    std::shared_ptr<const StateShape> shape_;
    std::vector<uint64_t> layer_offsets_;       // in floats, within a block
    std::vector<std::shared_ptr<Block>> blocks_;
    uint32_t capacity_ = 0, length_ = 0, pending_ = 0;
    std::vector<float> last_hidden_;
};

}  // namespace colibri

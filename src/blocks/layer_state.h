// How a block sees one layer's rows of a sequence state: blocks of 64 positions, each holding the
// layer's parts one after the other.
#pragma once

#include <cstdint>

namespace colibri {

inline constexpr uint32_t kStateBlockPositions = 64;
inline constexpr uint32_t kKeyTilePositions = 16;

// Elements a layer keeps per position. `key_tile` rows are stored dimension-major in tiles of 16
// positions, the others position by position.
struct LayerStateShape {
    uint32_t latent = 0;     // MLA: kv_rank + rope dims
    uint32_t index_key = 0;  // DSA owner layers
    uint32_t key_tile = 0;   // GQA: kv_heads * head_dims
    uint32_t value = 0;      // GQA: kv_heads * value_dims
    [[nodiscard]] constexpr uint32_t total() const { return latent + index_key + key_tile + value; }
};

// Valid until the state is appended to, truncated or destroyed.
struct LayerState {
    float* const* blocks = nullptr;  // [ceil(positions / 64)]
    uint64_t offset = 0;             // of this layer within a block, in elements
    LayerStateShape shape;

    [[nodiscard]] float* latent(uint32_t position) const { return row(position, 0, shape.latent); }
    [[nodiscard]] float* index_key(uint32_t position) const {
        return row(position, shape.latent, shape.index_key);
    }
    // The tile that holds `position`: [key_tile dims][16 positions].
    [[nodiscard]] float* key_tile(uint32_t position) const {
        return part(position, shape.latent + shape.index_key) +
               uint64_t(position % kStateBlockPositions / kKeyTilePositions) * kKeyTilePositions *
                   shape.key_tile;
    }
    [[nodiscard]] float* value(uint32_t position) const {
        return row(position, shape.latent + shape.index_key + shape.key_tile, shape.value);
    }

private:
    [[nodiscard]] float* part(uint32_t position, uint32_t elements_before) const {
        return blocks[position / kStateBlockPositions] + offset +
               uint64_t(elements_before) * kStateBlockPositions;
    }
    [[nodiscard]] float* row(uint32_t position, uint32_t elements_before, uint32_t width) const {
        return part(position, elements_before) + uint64_t(position % kStateBlockPositions) * width;
    }
};

}  // namespace colibri

// The weights of a loaded model, bound to the roles that blocks ask for. Views into memory that
// LoadedModel owns.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "model/spec.h"
#include "tensor/weight_matrix.h"

namespace colibri {

// One matrix per attention head, laid out at a fixed stride: the halves of kv_b_proj.
struct HeadMatrices {
    TileShape shape;  // of one head
    const std::byte* data = nullptr;
    uint64_t head_stride_bytes = 0;
    // Set when the scales lie on the reduction axis (W_UK of a scaled kv_b): see
    // Kernels::fp8_column_scaled.
    const float* column_scales = nullptr;  // [head][block][column]
    uint64_t head_stride_scales = 0;

    [[nodiscard]] MatrixView head(uint32_t index) const {
        return {.shape = shape, .data = data + index * head_stride_bytes};
    }
};

struct IndexerWeights {
    MatrixView query;                      // wq_b: [heads * head_dims, q_rank]
    MatrixView key;                        // wk: [head_dims, dim]
    MatrixView gate;                       // weights_proj: [heads, dim]
    const float* key_norm = nullptr;       // [head_dims]
    const float* key_norm_bias = nullptr;  // [head_dims]
};

struct LatentWeights {
    std::optional<MatrixView> query_a;    // [q_rank, dim]; absent without query LoRA
    const float* query_a_norm = nullptr;  // [q_rank]
    MatrixView query_b;                   // [heads * (nope + rope), q_rank or dim]
    MatrixView kv_a;                      // [kv_rank + rope, dim]
    const float* kv_a_norm = nullptr;     // [kv_rank]
    HeadMatrices key_up;                  // per head W_UK transposed: [kv_rank, nope]
    HeadMatrices value_up;                // per head W_UV: [value_dims, kv_rank]
    MatrixView output;                    // [dim, heads * value_dims]
    std::optional<IndexerWeights> indexer;
};

struct GroupedQueryWeights {
    MatrixView query, key, value, output;
    const float* query_norm = nullptr;  // [heads * head_dims] for full-width norms
    const float* key_norm = nullptr;
};

struct FeedForwardWeights {
    MatrixView gate, up, down;  // [hidden, dim], [hidden, dim], [dim, hidden]
};

// Where the three matrices of a landed expert lie in its slot.
struct ExpertLayout {
    std::array<TileShape, 3> shapes;  // gate, up, down
    std::array<uint64_t, 3> offsets{};
    uint64_t slot_bytes = 0;

    [[nodiscard]] MatrixView matrix(const std::byte* slot, uint32_t part) const {
        return {.shape = shapes[part], .data = slot + offsets[part]};
    }
    [[nodiscard]] FeedForwardWeights bind(const std::byte* slot) const {
        return {.gate = matrix(slot, 0), .up = matrix(slot, 1), .down = matrix(slot, 2)};
    }
};

struct MoeWeights {
    MatrixView router;                      // [experts, dim], float path always
    const float* selection_bias = nullptr;  // [experts]
    std::optional<FeedForwardWeights> shared;
    ExpertLayout expert;  // routed experts come from the store in this layout
};

using BodyWeights =
    std::variant<LatentWeights, GroupedQueryWeights, FeedForwardWeights, MoeWeights>;

struct SublayerWeights {
    const float* norm = nullptr;  // [dim]
    BodyWeights body;
};

struct LayerWeights {
    std::vector<SublayerWeights> sublayers;
};

struct DraftWeights {
    const float* embedding_norm = nullptr;  // enorm [dim]
    const float* hidden_norm = nullptr;     // hnorm [dim]
    MatrixView projection;                  // eh_proj [dim, 2 dim]
    LayerWeights layer;
    const float* head_norm = nullptr;  // shared_head.norm [dim]
};

struct ModelWeights {
    MatrixView embedding;               // [vocab, dim]; rows are gathered
    MatrixView head;                    // [vocab, dim]; the embedding when tied
    const float* final_norm = nullptr;  // [dim]
    std::vector<LayerWeights> layers;
    std::optional<DraftWeights> draft;
};

}  // namespace colibri

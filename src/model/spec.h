// What a model is, as plain data. A family function turns a config.json into a ModelSpec; the
// runtime walks it and visits blocks; no code outside families/ knows a family's name. Shapes are
// in elements; matrices map `in` to `out` as y = W x.
//
// A layer is a list of sublayers, each {mix-in, norm, body, mix-out}; plain models add the body's
// output to the residual stream. Bodies, routers, experts and mixes are closed variants: a new kind
// is a struct here, a block file, a test, and the compiler lists every visitor that must learn it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace colibri {

// ---- norms
// ---------------------------------------------------------------------------------------------

enum class NormKind : uint8_t { rms, rms_plus_one, layer };

struct Norm {
    NormKind kind = NormKind::rms;
    float eps = 1e-5F;
};

// ---- positions
// -----------------------------------------------------------------------------------------

enum class RopePairing : uint8_t { adjacent, half_split };

// YaRN by parts; factor 1 means no scaling.
struct RopeScaling {
    float factor = 1.0F;
    float original_context = 0;
    float beta_fast = 32, beta_slow = 1;
    float attention_factor = 1.0F;  // amplitude on cos and sin
    bool truncate = true;           // floor/ceil of the correction range
};

struct Rope {
    uint32_t dims = 0;  // rotated elements; 0: no positions
    double theta = 10000.0;
    RopePairing pairing = RopePairing::adjacent;
    std::optional<RopeScaling> scaling;
    bool rotated = true;  // false: the dims exist and are never rotated (Kimi K3's MLA)
};

// ---- attention
// -----------------------------------------------------------------------------------------

// Scores of query position p are multiplied by 1 + alpha * ln(max(1, (p + 1) / floor)) (Inkling's
// global layers).
struct LengthScaling {
    float floor = 0, alpha = 0;
};

// Query heads in groups share a key/value head. q, k, v, o projections; state: keys and values per
// KV head.
struct GroupedQueryAttention {
    enum class QkNorm : uint8_t { none, full_width, per_head };
    uint32_t heads = 0, kv_heads = 0, head_dims = 0, value_dims = 0;
    Rope rope;
    QkNorm qk_norm = QkNorm::none;
    Norm qk_norm_kind;
    std::optional<float> clip_qkv;      // clamp after the norms, before RoPE (OLMoE)
    uint32_t window = 0;                // positions attended to, 0: all
    bool sinks = false;                 // one learned logit per head in the denominator (gpt-oss)
    bool bias = false;                  // q, k, v, o biases
    uint32_t relative_bias_dims = 0;    // learned relative bias (Inkling), 0: none
    uint32_t relative_bias_extent = 0;  // distances that have a bias
    uint32_t kv_convolution = 0;        // short convolutions of keys and values (Inkling), 0: none
    std::optional<LengthScaling> length_scaling;
    float score_factor = 0;  // multiplies q.k
};

// Scores past keys and keeps the `top_keys` best (DSA). Owned by a layer, or shared: then the layer
// uses the selection that the nearest earlier owner made for the same query row.
struct KeyIndexer {
    bool owned = true;
    uint32_t block = 1;  // positions that are selected together (MiniMax M3)
    uint32_t heads = 0, head_dims = 0, top_keys = 0;
    Rope rope;  // on the first rope.dims elements of each head
    Norm key_norm{.kind = NormKind::layer, .eps = 1e-6F};
};

// MLA: keys and values are one latent per position plus a shared rotary key (specs
// glm_moe_dsa 3.3-3.6).
struct LatentAttention {
    uint32_t heads = 0;
    uint32_t q_rank = 0;  // 0: no query LoRA
    uint32_t kv_rank = 0, nope_dims = 0, value_dims = 0;
    Rope rope;       // on the last rope.dims elements of each query head; may be 0 wide (NoPE)
    Norm lora_norm;  // q_a_layernorm, kv_a_layernorm
    float score_factor = 0;
    bool output_gate = false;  // sigmoid gate on the output (Kimi K3)
    std::optional<KeyIndexer> indexer;
};

// One latent as key and value, a window plus compressed rows (DeepSeek-V4).
struct CompressedAttention {
    uint32_t heads = 0, latent_dims = 0, window = 0, compression = 0;
    uint32_t q_rank = 0, output_groups = 0, output_rank = 0;
    bool sinks = false;
    Rope rope;
    Rope compressed_rope;  // positions of compressed rows
    std::optional<KeyIndexer> indexer;
};

// Gated delta rule with short convolutions (Kimi K3's KDA).
struct LinearAttention {
    uint32_t heads = 0, key_dims = 0, value_dims = 0, convolution = 4;
    uint32_t decay_rank = 0;      // width between the two decay projections
    float decay_lower_bound = 0;  // of the log decay
    bool full_rank_gate = false;  // the output gate is one full matrix
};

// ---- feed-forward
// --------------------------------------------------------------------------------------

struct SwiGlu {};  // down(silu(gate x) * up x)
struct ClampedSwiGlu {
    float limit = 0, alpha = 1;
    bool up_plus_one = false;
};
struct SiTu {
    float beta = 0, linear_beta = 0;
};
using Activation = std::variant<SwiGlu, ClampedSwiGlu, SiTu>;

struct Expert {
    uint32_t input = 0, hidden = 0;  // input -> hidden -> input
    Activation activation = SwiGlu{};
    bool bias = false;
};

struct DenseFeedForward {
    Expert expert;
    bool learned_scale = false;  // one learned factor on the output (Inkling)
};

enum class RouterScore : uint8_t { softmax, sigmoid, sqrt_softplus, softmax_of_picked };

struct Router {
    RouterScore score = RouterScore::softmax;
    uint32_t experts = 0, top_k = 0;
    uint32_t groups = 1, groups_kept = 1;  // group score: sum of its two best
    bool selection_bias = false;           // added for choosing, never for weighting
    bool logit_bias = false;               // added to the logits (gpt-oss)
    bool renormalize = false;              // weights / (sum + epsilon)
    float epsilon = 0;
    float scale = 1.0F;
    bool counts_shared = false;  // shared experts take part in the normalization (Inkling)
    bool learned_scale = false;  // one learned factor on the weights (Inkling)
};
// Expert ids from a table indexed by token id (DeepSeek-V4's first layers).
struct HashRouter {
    uint32_t experts = 0, top_k = 0;
    RouterScore score = RouterScore::sqrt_softplus;
    bool renormalize = false;
    float epsilon = 0;
    float scale = 1.0F;
};

struct MoeFeedForward {
    std::variant<Router, HashRouter> router;
    Expert expert;
    std::optional<Expert> shared;  // always-on; n shared experts are one of n times the width
    uint32_t latent = 0;           // experts work in this width between two shared projections (K3)
    std::optional<Norm> latent_norm;  // of the latent sum
};

// ---- layers
// --------------------------------------------------------------------------------------------

using Body = std::variant<GroupedQueryAttention, LatentAttention, CompressedAttention,
                          LinearAttention, DenseFeedForward, MoeFeedForward>;

struct AddMix {};            // x = x + body(norm(x))
struct HyperConnectionMix {  // DeepSeek-V4
    uint32_t streams = 0, sinkhorn_rounds = 0;
    float eps = 0;
};
struct AttentionResidualMix {
    uint32_t block_layers = 0;
};  // Kimi K3
using Mix = std::variant<AddMix, HyperConnectionMix, AttentionResidualMix>;

struct Sublayer {
    std::string norm_name;  // tensor name within the layer, e.g. "input_layernorm"
    Norm norm;
    Body body;
    uint32_t convolution = 0;  // short convolution of the body's output (Inkling), 0: none
    Mix mix = AddMix{};
};

struct Layer {
    uint32_t index = 0;  // as in tensor names
    std::vector<Sublayer> sublayers;
};

// Multi-token prediction: a layer fed with [norm(embedding) ; norm(hidden)] through eh_proj
// (glm_moe_dsa section 4).
struct DraftHead {
    Layer layer;
    Norm norm;                          // enorm, hnorm and the head's own norm
    bool share_index_in_round = false;  // later draft steps reuse the first one's selection (4.4)
};

struct ModelSpec {
    std::string family;  // "glm_moe_dsa"
    uint32_t dim = 0;
    uint32_t vocab = 0;  // rows of the embedding
    uint32_t context_max = 0;
    bool tied_head = false;  // lm_head is the embedding
    std::vector<Layer> layers;
    std::optional<Norm> embedding_norm;  // of the embedded token (Inkling)
    Norm final_norm;
    float logit_divisor = 1.0F;  // logits are divided by it (Inkling's width multiplier)
    uint32_t vocab_used =
        0;  // ids from here on are padding rows; 0: all are used, or the tokenizer knows
    std::optional<DraftHead> draft;
    std::vector<int32_t> eos_ids;
    std::optional<int32_t> bos_id, pad_id;
};

// The architecture on one page, for `coli info --spec`.
[[nodiscard]] std::string describe(const ModelSpec& spec);

}  // namespace colibri

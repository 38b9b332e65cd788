// Which tensors a spec asks of a checkpoint, with their shapes; what other tensors may be; how many
// parameters that makes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/spec.h"
#include "model/tensor_names.h"

namespace colibri {

// What a checkpoint may lack (ARCHITECTURE.md): `required` tensors must be there, each other group
// is there as a whole or not at all.
enum class TensorGroup : uint8_t { required, indexer, draft, draft_indexer };

struct TensorNeed {
    TensorRole role = TensorRole::embedding;
    TensorGroup group = TensorGroup::required;
    uint32_t layer = 0;  // as in the name; 0 for the model's own
    std::string name;
    uint32_t rows = 0;
    uint32_t columns = 0;  // 0: a vector of `rows`
};

// Everything but routed experts, in forward order. Scale companions of quantized tensors are the
// loader's matter.
[[nodiscard]] std::vector<TensorNeed> tensor_needs(const ModelSpec& spec);

// What a tensor is that no need names.
enum class ExtraTensor : uint8_t {
    unknown,
    shared_layer_indexer,  // old exports: an indexer in a layer that uses an earlier layer's
                           // selection
    draft_copy,            // the draft layer's copy of embedding or head
    tied_head,             // a head beside a config that says it is the embedding
    rotary_table,          // recomputed, never read
    later_draft_layer,     // of a second, third... draft layer
};
[[nodiscard]] ExtraTensor classify_extra(const ModelSpec& spec, std::string_view name);

// Element counts; selection biases are not counted (they steer, they carry no weight).
struct ParameterCounts {
    uint64_t main = 0;  // without the draft layer
    uint64_t draft = 0;
    uint64_t routed_main = 0;  // routed experts of the main layers
    uint64_t routed_draft = 0;
    uint64_t active = 0;               // per token, main layers, embedding table included
    uint64_t embedding = 0;            // the embedding table
    uint64_t routed_experts_main = 0;  // number of experts, main layers
    [[nodiscard]] uint64_t total() const { return main + draft; }
};
[[nodiscard]] ParameterCounts count_parameters(const ModelSpec& spec);

}  // namespace colibri

#include "model/tensor_needs.h"

#include <charconv>
#include <optional>
#include <utility>

#include "base/check.h"

namespace colibri {

namespace {

bool of_the_model(TensorRole role) {
    return role == TensorRole::embedding || role == TensorRole::final_norm ||
           role == TensorRole::head;
}

constexpr std::string_view kLayerPrefix = "model.layers.";

// "model.layers.12.self_attn.x" is {12, "self_attn.x"}.
std::optional<std::pair<uint32_t, std::string_view>> split_layer(std::string_view name) {
    if (!name.starts_with(kLayerPrefix)) return std::nullopt;
    name.remove_prefix(kLayerPrefix.size());
    uint32_t layer = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
    if (error != std::errc{} || end == name.data() + name.size() || *end != '.')
        return std::nullopt;
    return std::pair{layer, name.substr(size_t(end - name.data()) + 1)};
}

const KeyIndexer* indexer_of(const Layer& layer) {
    for (const Sublayer& sublayer : layer.sublayers)
        if (const auto* latent = std::get_if<LatentAttention>(&sublayer.body);
            latent != nullptr && latent->indexer)
            return &*latent->indexer;
    return nullptr;
}

// Collects the needs of one layer, body by body.
class NeedWalker {
public:
    NeedWalker(const ModelSpec& spec, std::vector<TensorNeed>& needs)
        : spec_(spec), names_(spec), needs_(needs) {}

    void model() {
        add(TensorRole::embedding, spec_.vocab, spec_.dim);
        for (const Layer& one : spec_.layers) layer(one);
        add(TensorRole::final_norm, spec_.dim, 0);
        if (!spec_.tied_head) add(TensorRole::head, spec_.vocab, spec_.dim);
        if (!spec_.draft) return;
        group_ = TensorGroup::draft;
        layer_ = spec_.draft->layer.index;
        add(TensorRole::draft_embedding_norm, spec_.dim, 0);
        add(TensorRole::draft_hidden_norm, spec_.dim, 0);
        add(TensorRole::draft_projection, spec_.dim, 2 * spec_.dim);
        layer(spec_.draft->layer);
        add(TensorRole::draft_head_norm, spec_.dim, 0);
    }

    void operator()(const GroupedQueryAttention& a) {
        // Sinks and biases have no names in the families of this build.
        CHECK(!a.sinks && !a.bias && a.relative_bias_dims == 0);
        using QkNorm = GroupedQueryAttention::QkNorm;
        add(TensorRole::query, a.heads * a.head_dims, spec_.dim);
        add(TensorRole::key, a.kv_heads * a.head_dims, spec_.dim);
        add(TensorRole::value, a.kv_heads * a.value_dims, spec_.dim);
        if (a.qk_norm != QkNorm::none) {
            const bool full = a.qk_norm == QkNorm::full_width;
            add(TensorRole::query_norm, full ? a.heads * a.head_dims : a.head_dims, 0);
            add(TensorRole::key_norm, full ? a.kv_heads * a.head_dims : a.head_dims, 0);
        }
        add(TensorRole::output, spec_.dim, a.heads * a.value_dims);
    }
    void operator()(const LatentAttention& a) {
        CHECK(!a.output_gate);
        const uint32_t query_rows = a.heads * (a.nope_dims + a.rope.dims);
        if (a.q_rank != 0) {
            add(TensorRole::query_a, a.q_rank, spec_.dim);
            add(TensorRole::query_a_norm, a.q_rank, 0);
            add(TensorRole::query_b, query_rows, a.q_rank);
        } else {
            add(TensorRole::query, query_rows, spec_.dim);
        }
        add(TensorRole::kv_a, a.kv_rank + a.rope.dims, spec_.dim);
        add(TensorRole::kv_a_norm, a.kv_rank, 0);
        add(TensorRole::kv_b, a.heads * (a.nope_dims + a.value_dims), a.kv_rank);
        add(TensorRole::output, spec_.dim, a.heads * a.value_dims);
        if (a.indexer && a.indexer->owned)
            indexer(*a.indexer, a.q_rank != 0 ? a.q_rank : spec_.dim);
    }
    void operator()(const DenseFeedForward& f) {
        expert(f.expert, TensorRole::gate, TensorRole::up, TensorRole::down);
    }
    void operator()(const MoeFeedForward& f) {
        const auto* router = std::get_if<Router>(&f.router);
        CHECK(router != nullptr && f.latent == 0 && !router->logit_bias && !router->counts_shared);
        add(TensorRole::router, router->experts, spec_.dim);
        if (router->selection_bias) add(TensorRole::router_bias, router->experts, 0);
        if (f.shared)
            expert(*f.shared, TensorRole::shared_gate, TensorRole::shared_up,
                   TensorRole::shared_down);
    }
    // No family of this build has these bodies; their names come with the family.
    void operator()(const CompressedAttention&) { CHECK(false); }
    void operator()(const LinearAttention&) { CHECK(false); }

private:
    void add(TensorRole role, uint32_t rows, uint32_t columns) {
        needs_.push_back({.role = role,
                          .group = group_,
                          .layer = of_the_model(role) ? 0 : layer_,
                          .name = names_.of(role, layer_),
                          .rows = rows,
                          .columns = columns});
    }
    void expert(const Expert& e, TensorRole gate, TensorRole up, TensorRole down) {
        CHECK(!e.bias);
        add(gate, e.hidden, e.input);
        add(up, e.hidden, e.input);
        add(down, e.input, e.hidden);
    }
    void indexer(const KeyIndexer& i, uint32_t query_columns) {
        const TensorGroup outer =
            std::exchange(group_, group_ == TensorGroup::draft ? TensorGroup::draft_indexer
                                                               : TensorGroup::indexer);
        add(TensorRole::index_query, i.heads * i.head_dims, query_columns);
        add(TensorRole::index_key, i.head_dims, spec_.dim);
        add(TensorRole::index_key_norm, i.head_dims, 0);
        add(TensorRole::index_key_norm_bias, i.head_dims, 0);
        add(TensorRole::index_gate, i.heads, spec_.dim);
        group_ = outer;
    }
    void layer(const Layer& one) {
        layer_ = one.index;
        CHECK(one.sublayers.size() <= 2);
        for (size_t i = 0; i < one.sublayers.size(); ++i) {
            add(i == 0 ? TensorRole::first_norm : TensorRole::second_norm, spec_.dim, 0);
            std::visit(*this, one.sublayers[i].body);
        }
    }

    const ModelSpec& spec_;
    TensorNames names_;
    std::vector<TensorNeed>& needs_;
    TensorGroup group_ = TensorGroup::required;
    uint32_t layer_ = 0;
};

}  // namespace

ExtraTensor classify_extra(const ModelSpec& spec, std::string_view name) {
    if (name.find("rotary_emb.inv_freq") != std::string_view::npos)
        return ExtraTensor::rotary_table;
    if (spec.tied_head && name.starts_with("lm_head.")) return ExtraTensor::tied_head;
    const auto parts = split_layer(name);
    if (!parts) return ExtraTensor::unknown;
    const auto& [layer, rest] = *parts;
    if (layer < spec.layers.size()) {
        const KeyIndexer* indexer = indexer_of(spec.layers[layer]);
        const bool shared = indexer != nullptr && !indexer->owned;
        return shared && rest.starts_with("self_attn.indexer.") ? ExtraTensor::shared_layer_indexer
                                                                : ExtraTensor::unknown;
    }
    if (!spec.draft) return ExtraTensor::unknown;
    if (layer > spec.draft->layer.index) return ExtraTensor::later_draft_layer;
    const bool copy = rest.starts_with("embed_tokens.") || rest.starts_with("shared_head.head.");
    return layer == spec.draft->layer.index && copy ? ExtraTensor::draft_copy
                                                    : ExtraTensor::unknown;
}

std::vector<TensorNeed> tensor_needs(const ModelSpec& spec) {
    std::vector<TensorNeed> needs;
    NeedWalker(spec, needs).model();
    return needs;
}

ParameterCounts count_parameters(const ModelSpec& spec) {
    ParameterCounts counts;
    for (const TensorNeed& need : tensor_needs(spec)) {
        if (need.role == TensorRole::router_bias) continue;
        const uint64_t elements = uint64_t(need.rows) * (need.columns == 0 ? 1 : need.columns);
        const bool main = need.group == TensorGroup::required || need.group == TensorGroup::indexer;
        (main ? counts.main : counts.draft) += elements;
        if (need.role == TensorRole::embedding) counts.embedding = elements;
    }
    counts.active = counts.main;
    const auto add_routed = [&](const Layer& layer, bool main) {
        for (const Sublayer& sublayer : layer.sublayers) {
            const auto* moe = std::get_if<MoeFeedForward>(&sublayer.body);
            if (moe == nullptr) continue;
            const uint64_t one = 3 * uint64_t(moe->expert.input) * moe->expert.hidden;
            const auto [experts, top_k] = std::visit(
                [](const auto& router) {
                    return std::pair{uint64_t(router.experts), uint64_t(router.top_k)};
                },
                moe->router);
            (main ? counts.routed_main : counts.routed_draft) += one * experts;
            if (main) counts.routed_experts_main += experts;
            if (main) counts.active += one * top_k;
        }
    };
    for (const Layer& layer : spec.layers) add_routed(layer, true);
    if (spec.draft) add_routed(spec.draft->layer, false);
    counts.main += counts.routed_main;
    counts.draft += counts.routed_draft;
    return counts;
}

}  // namespace colibri

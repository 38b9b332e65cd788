#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/spec.h"
#include "model/tensor_needs.h"

namespace colibri {

namespace {

std::string text_of(const Rope& rope) {
    if (rope.dims == 0) return "no positions";
    std::string text = fmt::format(
        "{} rotary elements in {}, theta {:g}", rope.dims,
        rope.pairing == RopePairing::adjacent ? "adjacent pairs" : "half-split pairs", rope.theta);
    if (rope.scaling) text += fmt::format(", scaled by {:g}", rope.scaling->factor);
    return text;
}

std::string text_of(const Norm& norm) {
    const char* kind = "";
    switch (norm.kind) {
        case NormKind::rms: kind = "rms"; break;
        case NormKind::rms_plus_one: kind = "rms (1 + w)"; break;
        case NormKind::layer: kind = "layer norm"; break;
    }
    return fmt::format("{}, eps {:g}", kind, norm.eps);
}

std::string text_of(const Activation& activation) {
    struct Visitor {
        std::string operator()(const SwiGlu&) const { return "SwiGLU"; }
        std::string operator()(const ClampedSwiGlu& a) const {
            return fmt::format("SwiGLU clamped at {:g}", a.limit);
        }
        std::string operator()(const SiTu& a) const {
            return fmt::format("SiTU, beta {:g}", a.beta);
        }
    };
    return std::visit(Visitor{}, activation);
}

std::string text_of(const Expert& expert) {
    return fmt::format("{} -> {} -> {}, {}{}", expert.input, expert.hidden, expert.input,
                       text_of(expert.activation), expert.bias ? ", biases" : "");
}

std::string_view text_of(RouterScore score) {
    switch (score) {
        case RouterScore::softmax: return "softmax";
        case RouterScore::sigmoid: return "sigmoid";
        case RouterScore::sqrt_softplus: return "square root of softplus";
        case RouterScore::softmax_of_picked: return "softmax of the picked";
    }
    return "";
}

std::string text_of(const Router& router) {
    std::string text =
        fmt::format("{} of {} experts by {}", router.top_k, router.experts, text_of(router.score));
    if (router.selection_bias) text += " + selection bias";
    if (router.groups > 1)
        text += fmt::format(", within {} of {} groups", router.groups_kept, router.groups);
    text += router.renormalize ? ", weights sum to 1" : ", weights as scored";
    if (router.scale != 1.0F) text += fmt::format(", x {:g}", router.scale);
    return text;
}

std::string text_of(const HashRouter& router) {
    return fmt::format("{} of {} experts by a table of token ids", router.top_k, router.experts);
}

// Several lines, one per aspect.
struct BodyText {
    std::vector<std::string> operator()(const GroupedQueryAttention& a) const {
        const char* norm = "no QK norm";
        switch (a.qk_norm) {
            case GroupedQueryAttention::QkNorm::none: break;
            case GroupedQueryAttention::QkNorm::full_width:
                norm = "QK norm over the full width";
                break;
            case GroupedQueryAttention::QkNorm::per_head: norm = "QK norm per head"; break;
        }
        std::vector<std::string> lines{
            fmt::format("attention: {} query heads, {} key/value heads, {} elements each, {}",
                        a.heads, a.kv_heads, a.head_dims, norm),
            fmt::format("  {}; scores x {:g}", text_of(a.rope), a.score_factor)};
        if (a.clip_qkv) lines.push_back(fmt::format("  q, k, v clipped at {:g}", *a.clip_qkv));
        if (a.window != 0) lines.push_back(fmt::format("  window of {} positions", a.window));
        lines.push_back(fmt::format("  state: {} values a position",
                                    a.kv_heads * (a.head_dims + a.value_dims)));
        return lines;
    }
    std::vector<std::string> operator()(const LatentAttention& a) const {
        std::vector<std::string> lines{
            fmt::format("latent attention (MLA): {} heads, keys {} + {} rotary, values {}", a.heads,
                        a.nope_dims, a.rope.dims, a.value_dims),
            fmt::format("  query rank {}, key/value rank {}, {} between", a.q_rank, a.kv_rank,
                        text_of(a.lora_norm)),
            fmt::format("  {}; scores x {:g}", text_of(a.rope), a.score_factor)};
        if (a.indexer)
            lines.push_back(
                fmt::format("  key indexer: {} heads of {}, keeps the best {} positions",
                            a.indexer->heads, a.indexer->head_dims, a.indexer->top_keys));
        lines.push_back(fmt::format(
            "  state: {} values a position{}", a.kv_rank + a.rope.dims,
            a.indexer ? fmt::format(", + {} where the indexer is owned", a.indexer->head_dims)
                      : ""));
        return lines;
    }
    std::vector<std::string> operator()(const CompressedAttention& a) const {
        return {fmt::format(
            "compressed attention: {} heads on a latent of {}, window {}, {} positions to a row",
            a.heads, a.latent_dims, a.window, a.compression)};
    }
    std::vector<std::string> operator()(const LinearAttention& a) const {
        return {fmt::format("linear attention: {} heads, keys {}, values {}, convolution {}",
                            a.heads, a.key_dims, a.value_dims, a.convolution)};
    }
    std::vector<std::string> operator()(const DenseFeedForward& f) const {
        return {"dense feed-forward: " + text_of(f.expert)};
    }
    std::vector<std::string> operator()(const MoeFeedForward& f) const {
        std::vector<std::string> lines{
            "experts: " + text_of(f.expert),
            "  " + std::visit([](const auto& router) { return text_of(router); }, f.router)};
        if (f.shared) lines.push_back("  always on: " + text_of(*f.shared));
        return lines;
    }
};

// "0-2, 6, 10"
std::string ranges(const std::vector<uint32_t>& numbers) {
    std::vector<std::string> parts;
    for (size_t i = 0; i < numbers.size();) {
        size_t end = i + 1;
        while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
        parts.push_back(end - i == 1 ? fmt::to_string(numbers[i])
                                     : fmt::format("{}-{}", numbers[i], numbers[end - 1]));
        i = end;
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

void add_rows(std::string& page, const std::string& title, const std::vector<std::string>& lines) {
    for (size_t i = 0; i < lines.size(); ++i)
        page += fmt::format("{:<14}{}\n", i == 0 ? title : "", lines[i]);
}

std::vector<std::string> lines_of(const Sublayer& sublayer) {
    std::vector<std::string> lines = std::visit(BodyText{}, sublayer.body);
    if (sublayer.convolution != 0)
        lines.push_back(fmt::format("  then a short convolution of {}", sublayer.convolution));
    return lines;
}

// The layers in runs of equal text, first all first sublayers, then all second ones.
void add_layers(std::string& page, const std::vector<Layer>& layers) {
    for (size_t place = 0; place < 2; ++place) {
        std::vector<std::pair<std::vector<std::string>, std::vector<uint32_t>>> kinds;
        for (const Layer& layer : layers) {
            if (place >= layer.sublayers.size()) continue;
            std::vector<std::string> lines = lines_of(layer.sublayers[place]);
            size_t kind = 0;
            while (kind < kinds.size() && kinds[kind].first != lines) ++kind;
            if (kind == kinds.size()) kinds.emplace_back(std::move(lines), std::vector<uint32_t>{});
            kinds[kind].second.push_back(layer.index);
        }
        for (const auto& [lines, indices] : kinds) {
            std::vector<std::string> rows = lines;
            rows.insert(rows.begin(), "layers " + ranges(indices));
            add_rows(page, place == 0 ? "Mixing" : "Feed-forward", rows);
        }
    }
}

std::vector<uint32_t> indexer_owners(const ModelSpec& spec) {
    std::vector<uint32_t> owners;
    for (const Layer& layer : spec.layers)
        for (const Sublayer& sublayer : layer.sublayers)
            if (const auto* latent = std::get_if<LatentAttention>(&sublayer.body);
                latent != nullptr && latent->indexer && latent->indexer->owned)
                owners.push_back(layer.index);
    return owners;
}

std::string billions(uint64_t count) {
    return count >= 1'000'000'000 ? fmt::format("{:.2f} B", double(count) / 1e9)
           : count >= 1'000'000   ? fmt::format("{:.2f} M", double(count) / 1e6)
                                  : fmt::format("{}", count);
}

}  // namespace

std::string describe(const ModelSpec& spec) {
    std::string page;
    const ParameterCounts counts = count_parameters(spec);
    add_rows(page, "Family", {spec.family});
    add_rows(page, "Size",
             {fmt::format("{} layers, width {}, vocabulary {}, context up to {}",
                          spec.layers.size(), spec.dim, spec.vocab, spec.context_max)});
    add_rows(page, "Parameters",
             {fmt::format("{} ({}), of which {} in {} routed experts", billions(counts.main),
                          counts.main, billions(counts.routed_main), counts.routed_experts_main),
              fmt::format("{} active per token", billions(counts.active))});
    if (spec.draft)
        add_rows(page, "", {fmt::format("+ {} in the draft layer", billions(counts.draft))});
    add_rows(page, "Norms", {text_of(spec.final_norm)});
    add_layers(page, spec.layers);
    if (const std::vector<uint32_t> owners = indexer_owners(spec); !owners.empty())
        add_rows(page, "Indexers",
                 {fmt::format("owned by {} layers: {}", owners.size(), ranges(owners)),
                  "the other layers use the selection of the nearest owner before them"});
    add_rows(page, "Head", {spec.tied_head ? "the embedding" : "a matrix of its own"});
    if (spec.draft)
        add_rows(page, "Draft",
                 {fmt::format("layer {} drafts from the embedded token and the hidden state{}",
                              spec.draft->layer.index,
                              spec.draft->share_index_in_round
                                  ? "; its selection is shared within a round"
                                  : "")});
    add_rows(page, "Tokens",
             {fmt::format(
                 "end {}{}{}",
                 spec.eos_ids.empty() ? "none" : fmt::format("{}", fmt::join(spec.eos_ids, ", ")),
                 spec.bos_id ? fmt::format(", begin {}", *spec.bos_id) : "",
                 spec.pad_id ? fmt::format(", padding {}", *spec.pad_id) : "")});
    return page;
}

}  // namespace colibri

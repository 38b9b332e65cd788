#include "load/bind.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "model/tensor_needs.h"

namespace colibri {

namespace {

class Binder {
public:
    Binder(const ModelSpec& spec, const Checkpoint& checkpoint, const BindOptions& options,
           Notices& notices)
        : spec_(spec),
          checkpoint_(checkpoint),
          options_(options),
          notices_(notices),
          names_(spec) {}

    Result<BoundModel> run();

private:
    std::byte* take(uint64_t size_bytes) {
        const uint64_t begin = used_;
        used_ += round_up(size_bytes, uint64_t(64));
        return options_.arena + begin;
    }
    void claim(const MatrixSource& source);
    [[nodiscard]] tl::unexpected<Error> missing(const std::string& name,
                                                std::string_view why) const {
        return fail(ErrorKind::not_found,
                    fmt::format("{}: tensor {} is missing ({}){}", checkpoint_.directory(), name,
                                why, checkpoint_.gaps()));
    }

    Result<const float*> vector(TensorRole role, uint32_t layer, uint32_t count);
    Result<MatrixView> matrix(TensorRole role, uint32_t layer, uint32_t rows, uint32_t columns,
                              bool padded = false);
    Result<FeedForwardWeights> feed_forward(uint32_t layer, const Expert& expert, bool shared);
    Status kv_halves(const LatentAttention& attention, uint32_t layer, LatentWeights& out);
    Status stored_kv_halves(const LatentAttention& attention, const std::string& name,
                            LatentWeights& out);
    std::byte* take_stored(MatrixSource source);
    Status stored_experts(const MoeFeedForward& moe, uint32_t layer, ExpertLayer& bound);
    Status foreign_experts(const MoeFeedForward& moe, uint32_t layer, ExpertLayer& bound);
    Result<std::optional<IndexerWeights>> indexer(const LatentAttention& attention, uint32_t layer);
    Result<LatentWeights> latent(const LatentAttention& attention, uint32_t layer);
    Result<GroupedQueryWeights> grouped_query(const GroupedQueryAttention& attention,
                                              uint32_t layer);
    Result<MoeWeights> moe(const MoeFeedForward& moe, uint32_t layer, uint32_t store_layer);
    Result<std::array<MatrixSource, 3>> expert_sources(const MoeFeedForward& moe, uint32_t layer,
                                                       uint32_t expert);
    Status expert_layer(const MoeFeedForward& moe, uint32_t layer, uint32_t store_layer,
                        MoeWeights& out);
    Result<LayerWeights> layer(const Layer& layer, uint32_t store_layer);
    Status draft();
    void report_unclaimed();

    const ModelSpec& spec_;
    const Checkpoint& checkpoint_;
    const BindOptions& options_;
    Notices& notices_;
    TensorNames names_;
    BoundModel out_;
    uint64_t used_ = 0;
    bool in_draft_ = false;
    std::optional<std::pair<uint32_t, bool>> first_indexer_;  // a main layer that owns one; present
    std::unordered_set<std::string_view> claimed_;
};

void Binder::claim(const MatrixSource& source) {
    claimed_.insert(source.data->name);
    if (source.scales != nullptr) claimed_.insert(source.scales->name);
}

std::byte* Binder::take_stored(MatrixSource source) {
    claimed_.insert(source.data->name);
    std::byte* at = take(source.data->size_bytes);
    out_.jobs.push_back({.kind = FillJob::Kind::stored, .source = std::move(source), .out = at});
    return at;
}

Result<const float*> Binder::vector(TensorRole role, uint32_t layer, uint32_t count) {
    const std::string name = names_.of(role, layer);
    if (checkpoint_.container() != nullptr) {
        TRY(MatrixSource source, find_stored(checkpoint_, name, TensorLayout::vector, count, 1));
        return reinterpret_cast<const float*>(take_stored(std::move(source)));
    }
    const TensorInfo* tensor = checkpoint_.find(name);
    if (tensor == nullptr)
        return fail(ErrorKind::not_found,
                    fmt::format("{}: tensor {} is missing (expected [{}]){}",
                                checkpoint_.directory(), name, count, checkpoint_.gaps()));
    MatrixSource source;
    source.name = name;
    source.data = tensor;
    source.shape = {.format = {.kind = WeightKind::f32}, .rows = count, .columns = 1};
    switch (tensor->dtype) {
        case DType::f32: source.coding = Coding::f32; break;
        case DType::bf16: source.coding = Coding::bf16; break;
        case DType::f16: source.coding = Coding::f16; break;
        case DType::f8_e4m3:
        case DType::f8_e8m0:
        case DType::u8:
        case DType::i8:
        case DType::i32:
        case DType::i64:
            return fail(ErrorKind::corrupt,
                        fmt::format("{}: dtype {}, expected F32, BF16 or F16",
                                    checkpoint_.where(*tensor), to_string(tensor->dtype)));
    }
    if (tensor->shape != std::vector<uint64_t>{count})
        return fail(ErrorKind::corrupt,
                    fmt::format("{}: {} elements, expected [{}]", checkpoint_.where(*tensor),
                                tensor->size_bytes / size_bytes(tensor->dtype), count));
    source.row_bytes = size_bytes(tensor->dtype);
    claimed_.insert(tensor->name);
    std::byte* at = take(uint64_t(count) * sizeof(float));
    out_.jobs.push_back({.kind = FillJob::Kind::vector,
                         .role = role,
                         .draft = in_draft_,
                         .source = std::move(source),
                         .out = at});
    return reinterpret_cast<const float*>(at);
}

Result<MatrixView> Binder::matrix(TensorRole role, uint32_t layer, uint32_t rows, uint32_t columns,
                                  bool padded) {
    auto found = find_matrix(checkpoint_, names_.of(role, layer), rows, columns, padded);
    if (!found && found.error().kind == ErrorKind::not_found)
        found.error().message += checkpoint_.gaps();
    TRY(MatrixSource source, std::move(found));
    if (source.stored) {
        const TileShape shape = source.shape;
        return MatrixView{.shape = shape, .data = take_stored(std::move(source))};
    }
    claim(source);
    std::byte* at = take(source.shape.total_bytes());
    const MatrixView view{.shape = source.shape, .data = at};
    out_.jobs.push_back({.kind = FillJob::Kind::matrix,
                         .role = role,
                         .draft = in_draft_,
                         .source = std::move(source),
                         .out = at});
    return view;
}

Result<FeedForwardWeights> Binder::feed_forward(uint32_t layer, const Expert& expert, bool shared) {
    FeedForwardWeights weights;
    TRY(weights.gate, matrix(shared ? TensorRole::shared_gate : TensorRole::gate, layer,
                             expert.hidden, expert.input));
    TRY(weights.up, matrix(shared ? TensorRole::shared_up : TensorRole::up, layer, expert.hidden,
                           expert.input));
    TRY(weights.down, matrix(shared ? TensorRole::shared_down : TensorRole::down, layer,
                             expert.input, expert.hidden));
    return weights;
}

// The three tensors that a container has for kv_b_proj, laid out as below.
Status Binder::stored_kv_halves(const LatentAttention& attention, const std::string& name,
                                LatentWeights& out) {
    const uint32_t rank = attention.kv_rank;
    TRY(MatrixSource key, find_stored(checkpoint_, name + ".key_up", TensorLayout::key_up, rank,
                                      attention.nope_dims, attention.heads));
    const WeightFormat format = key.shape.format;
    TRY(MatrixSource value, find_stored(checkpoint_, name + ".value_up", TensorLayout::value_up,
                                        attention.value_dims, rank, attention.heads));
    if (value.shape.format != format)
        return fail(
            ErrorKind::corrupt,
            fmt::format("{}: {}, but the other half of {} is {}", checkpoint_.where(*value.data),
                        to_string(value.shape.format), name, to_string(format)));
    out.key_up.shape = {
        .format = key_up_format(format), .rows = rank, .columns = attention.nope_dims};
    out.key_up.head_stride_bytes = key_up_stride_bytes(format, rank, attention.nope_dims);
    out.key_up.data = take_stored(std::move(key));
    if (out.key_up.shape.format.group != 0) {
        TRY(MatrixSource scales,
            find_stored(checkpoint_, name + ".key_up_scales", TensorLayout::key_up_scales, rank,
                        attention.nope_dims, attention.heads));
        out.key_up.head_stride_scales =
            uint64_t(out.key_up.shape.blocks()) * out.key_up.shape.columns;
        out.key_up.column_scales = reinterpret_cast<const float*>(take_stored(std::move(scales)));
    }
    out.value_up.shape = value.shape;
    out.value_up.head_stride_bytes = value_up_stride_bytes(value.shape);
    out.value_up.data = take_stored(std::move(value));
    return {};
}

// kv_b_proj holds, per head, nope rows of W_UK and then value rows of W_UV.
Status Binder::kv_halves(const LatentAttention& attention, uint32_t layer, LatentWeights& out) {
    const uint32_t head_rows = attention.nope_dims + attention.value_dims;
    const std::string name = names_.of(TensorRole::kv_b, layer);
    if (checkpoint_.container() != nullptr) return stored_kv_halves(attention, name, out);
    TRY(const MatrixSource source,
        find_matrix(checkpoint_, name, attention.heads * head_rows, attention.kv_rank));
    claim(source);
    const bool scaled = source.scales != nullptr;
    // Integer codes of the transposed half are kept one byte each: its scales lie on the reduction
    // axis anyway.
    const WeightFormat format = source.shape.format;
    const TileShape key_shape{
        .format = key_up_format(format), .rows = attention.kv_rank, .columns = attention.nope_dims};
    out.key_up = {
        .shape = key_shape,
        .head_stride_bytes = key_up_stride_bytes(format, key_shape.rows, key_shape.columns)};
    std::byte* at = take(out.key_up.head_stride_bytes * attention.heads);
    out.key_up.data = at;
    FillJob key{.kind = FillJob::Kind::key_up,
                .role = TensorRole::kv_b,
                .draft = in_draft_,
                .source = source,
                .out = at,
                .heads = attention.heads,
                .head_rows = head_rows,
                .first_row = 0,
                .rows_used = attention.nope_dims,
                .head_shape = key_shape,
                .head_stride_bytes = out.key_up.head_stride_bytes};
    if (scaled) {
        out.key_up.head_stride_scales = uint64_t(key_shape.blocks()) * key_shape.columns;
        key.column_scales = reinterpret_cast<float*>(
            take(out.key_up.head_stride_scales * attention.heads * sizeof(float)));
        out.key_up.column_scales = key.column_scales;
    }
    out_.jobs.push_back(std::move(key));

    const TileShape value_shape{
        .format = format, .rows = attention.value_dims, .columns = attention.kv_rank};
    out.value_up = {.shape = value_shape, .head_stride_bytes = value_up_stride_bytes(value_shape)};
    at = take(out.value_up.head_stride_bytes * attention.heads);
    out.value_up.data = at;
    out_.jobs.push_back({.kind = FillJob::Kind::value_up,
                         .role = TensorRole::kv_b,
                         .draft = in_draft_,
                         .source = source,
                         .out = at,
                         .heads = attention.heads,
                         .head_rows = head_rows,
                         .first_row = attention.nope_dims,
                         .rows_used = attention.value_dims,
                         .head_shape = value_shape,
                         .head_stride_bytes = out.value_up.head_stride_bytes});
    return {};
}

Result<std::optional<IndexerWeights>> Binder::indexer(const LatentAttention& attention,
                                                      uint32_t layer) {
    if (!attention.indexer || !attention.indexer->owned) return std::nullopt;
    const KeyIndexer& spec = *attention.indexer;
    const bool is_draft = layer >= spec_.layers.size();
    // There as a whole or not at all, in one layer and over the main layers.
    bool present = false;
    for (const TensorRole role :
         {TensorRole::index_query, TensorRole::index_key, TensorRole::index_gate,
          TensorRole::index_key_norm, TensorRole::index_key_norm_bias})
        present = present || checkpoint_.find(names_.of(role, layer)) != nullptr;
    if (!is_draft) {
        if (!first_indexer_) first_indexer_ = {layer, present};
        if (first_indexer_->second != present)
            return missing(
                names_.of(TensorRole::index_query, present ? first_indexer_->first : layer),
                "other layers have their indexer");
        out_.indexers_present = present;
    }
    // Old containers lack it: the draft layer then attends to everything; main layers are exact up
    // to top_keys positions.
    if (!present) return std::nullopt;
    IndexerWeights weights;
    const uint32_t query_columns = attention.q_rank != 0 ? attention.q_rank : spec_.dim;
    TRY(weights.query,
        matrix(TensorRole::index_query, layer, spec.heads * spec.head_dims, query_columns));
    TRY(weights.key, matrix(TensorRole::index_key, layer, spec.head_dims, spec_.dim));
    TRY(weights.gate, matrix(TensorRole::index_gate, layer, spec.heads, spec_.dim));
    TRY(weights.key_norm, vector(TensorRole::index_key_norm, layer, spec.head_dims));
    TRY(weights.key_norm_bias, vector(TensorRole::index_key_norm_bias, layer, spec.head_dims));
    return weights;
}

Result<LatentWeights> Binder::latent(const LatentAttention& attention, uint32_t layer) {
    LatentWeights weights;
    const uint32_t query_rows = attention.heads * (attention.nope_dims + attention.rope.dims);
    if (attention.q_rank != 0) {
        TRY(weights.query_a, matrix(TensorRole::query_a, layer, attention.q_rank, spec_.dim));
        TRY(weights.query_a_norm, vector(TensorRole::query_a_norm, layer, attention.q_rank));
        TRY(weights.query_b, matrix(TensorRole::query_b, layer, query_rows, attention.q_rank));
    } else {
        TRY(weights.query_b, matrix(TensorRole::query, layer, query_rows, spec_.dim));
    }
    TRY(weights.kv_a,
        matrix(TensorRole::kv_a, layer, attention.kv_rank + attention.rope.dims, spec_.dim));
    TRY(weights.kv_a_norm, vector(TensorRole::kv_a_norm, layer, attention.kv_rank));
    TRY_STATUS(kv_halves(attention, layer, weights));
    TRY(weights.output,
        matrix(TensorRole::output, layer, spec_.dim, attention.heads * attention.value_dims));
    TRY(weights.indexer, indexer(attention, layer));
    return weights;
}

Result<GroupedQueryWeights> Binder::grouped_query(const GroupedQueryAttention& attention,
                                                  uint32_t layer) {
    GroupedQueryWeights weights;
    const uint32_t keys = attention.kv_heads * attention.head_dims;
    TRY(weights.query,
        matrix(TensorRole::query, layer, attention.heads * attention.head_dims, spec_.dim));
    TRY(weights.key, matrix(TensorRole::key, layer, keys, spec_.dim));
    TRY(weights.value,
        matrix(TensorRole::value, layer, attention.kv_heads * attention.value_dims, spec_.dim));
    TRY(weights.output,
        matrix(TensorRole::output, layer, spec_.dim, attention.heads * attention.value_dims));
    if (attention.qk_norm != GroupedQueryAttention::QkNorm::none) {
        const bool full = attention.qk_norm == GroupedQueryAttention::QkNorm::full_width;
        TRY(weights.query_norm,
            vector(TensorRole::query_norm, layer,
                   full ? attention.heads * attention.head_dims : attention.head_dims));
        TRY(weights.key_norm,
            vector(TensorRole::key_norm, layer, full ? keys : attention.head_dims));
    }
    return weights;
}

Result<std::array<MatrixSource, 3>> Binder::expert_sources(const MoeFeedForward& moe,
                                                           uint32_t layer, uint32_t expert) {
    const uint32_t hidden = moe.expert.hidden;
    const uint32_t dim = moe.expert.input;
    const uint32_t experts = std::get<Router>(moe.router).experts;
    std::array<MatrixSource, 3> parts;
    const std::string fused = names_.fused_gate_up(layer);
    const std::string merged = names_.merged_expert(layer, expert);
    const std::string merged_scales = names_.merged_expert_scales(layer, expert);
    // One tensor of a layout is enough to know it: then the other is what is missing.
    const auto either = [&](const std::string& a, const std::string& b) {
        return checkpoint_.find(a) != nullptr || checkpoint_.find(b) != nullptr;
    };
    if (either(fused, names_.fused_down(layer))) {
        TRY(parts[0],
            find_fused_matrix(checkpoint_, fused, experts, expert, 2 * hidden, 0, hidden, dim));
        TRY(parts[1], find_fused_matrix(checkpoint_, fused, experts, expert, 2 * hidden, hidden,
                                        hidden, dim));
        TRY(parts[2], find_fused_matrix(checkpoint_, names_.fused_down(layer), experts, expert, dim,
                                        0, dim, hidden));
    } else if (either(merged, merged_scales)) {
        for (uint32_t part = 0; part < 3; ++part) {
            TRY(parts[part],
                find_merged_matrix(checkpoint_, merged, merged_scales, part, hidden, dim));
        }
    } else {
        for (uint32_t part = 0; part < 3; ++part) {
            auto found = find_matrix(checkpoint_, names_.expert(layer, expert, part),
                                     part == 2 ? dim : hidden, part == 2 ? hidden : dim);
            if (!found && found.error().kind == ErrorKind::not_found)
                found.error().message += checkpoint_.gaps();
            TRY(parts[part], std::move(found));
        }
    }
    for (const MatrixSource& part : parts) claim(part);
    return parts;
}

Status Binder::stored_experts(const MoeFeedForward& moe, uint32_t layer, ExpertLayer& bound) {
    const ContainerExperts* stored = checkpoint_.container()->experts_of(layer);
    if (stored == nullptr)
        return missing(expert_tensor_name(layer, 0), "the layer has no experts here");
    const uint32_t hidden = moe.expert.hidden;
    const uint32_t dim = moe.expert.input;
    for (uint32_t part = 0; part < 3; ++part) {
        const TileShape& shape = stored->parts[part];
        const uint32_t rows = part == 2 ? dim : hidden;
        const uint32_t columns = part == 2 ? hidden : dim;
        if (stored->count != bound.experts || shape.rows != rows || shape.columns != columns)
            return fail(ErrorKind::corrupt,
                        fmt::format("{}: layer {} has {} experts of [{}, {}], expected {} of "
                                    "[{}, {}] as config.json has it",
                                    checkpoint_.directory(), layer, stored->count, shape.rows,
                                    shape.columns, bound.experts, rows, columns));
    }
    bound.layout.shapes = stored->parts;
    for (uint32_t e = 0; e < bound.experts; ++e) {
        const std::string name = expert_tensor_name(layer, e);
        const TensorInfo* extent = checkpoint_.find(name);
        if (extent == nullptr) return missing(name, "other experts of the layer are there");
        claimed_.insert(extent->name);
        bound.extents.push_back(extent);
    }
    const ExtentLayout extent = extent_layout(stored->parts);
    bound.layout.offsets = extent.offsets;
    bound.layout.slot_bytes = extent.size_bytes;
    return {};
}

Status Binder::foreign_experts(const MoeFeedForward& moe, uint32_t layer, ExpertLayer& bound) {
    bound.sources.reserve(bound.experts);
    for (uint32_t e = 0; e < bound.experts; ++e) {
        TRY(auto parts, expert_sources(moe, layer, e));
        for (uint32_t part = 0; part < 3; ++part) {
            if (e == 0)
                bound.layout.shapes[part] = parts[part].shape;
            else if (parts[part].shape.format != bound.layout.shapes[part].format)
                return fail(ErrorKind::unsupported,
                            fmt::format("{}: {}, but expert 0 of layer {} has {}: the experts of a "
                                        "layer must share one format",
                                        checkpoint_.where(*parts[part].data),
                                        to_string(parts[part].shape.format), layer,
                                        to_string(bound.layout.shapes[part].format)));
        }
        bound.sources.push_back(std::move(parts));
    }
    const ExtentLayout extent = extent_layout(bound.layout.shapes);
    bound.layout.offsets = extent.offsets;
    // The slot has no need of the padding that ends an extent on disk.
    bound.layout.slot_bytes =
        extent.offsets[2] + round_up(bound.layout.shapes[2].total_bytes(), kDenseAlign);
    return {};
}

Status Binder::expert_layer(const MoeFeedForward& moe, uint32_t layer, uint32_t store_layer,
                            MoeWeights& out) {
    ExpertLayer bound{.layer = store_layer,
                      .experts = std::get<Router>(moe.router).experts,
                      .name_layer = layer,
                      .draft = in_draft_};
    if (checkpoint_.container() != nullptr) {
        TRY_STATUS(stored_experts(moe, layer, bound));
    } else {
        TRY_STATUS(foreign_experts(moe, layer, bound));
    }
    const uint64_t offset = bound.layout.slot_bytes;
    auto& classes = out_.slot_class_bytes;
    const auto at = std::find(classes.begin(), classes.end(), offset);
    bound.slot_class = uint32_t(at - classes.begin());
    if (at == classes.end()) classes.push_back(offset);
    if (classes.size() > 4)
        return fail(ErrorKind::unsupported,
                    fmt::format("layer {}: a fifth size of experts ({} bytes); at most four sizes "
                                "are supported in one model",
                                layer, offset));
    out.expert = bound.layout;
    out_.expert_layers.push_back(std::move(bound));
    return {};
}

Result<MoeWeights> Binder::moe(const MoeFeedForward& moe, uint32_t layer, uint32_t store_layer) {
    MoeWeights weights;
    const auto& router = std::get<Router>(moe.router);
    TRY(weights.router, matrix(TensorRole::router, layer, router.experts, spec_.dim));
    if (router.selection_bias) {
        TRY(weights.selection_bias, vector(TensorRole::router_bias, layer, router.experts));
    }
    if (moe.shared) {
        TRY(weights.shared, feed_forward(layer, *moe.shared, true));
    }
    TRY_STATUS(expert_layer(moe, layer, store_layer, weights));
    return weights;
}

Result<LayerWeights> Binder::layer(const Layer& layer, uint32_t store_layer) {
    LayerWeights weights;
    for (uint32_t i = 0; i < layer.sublayers.size(); ++i) {
        const Sublayer& sublayer = layer.sublayers[i];
        SublayerWeights bound;
        TRY(bound.norm, vector(i == 0 ? TensorRole::first_norm : TensorRole::second_norm,
                               layer.index, spec_.dim));
        if (const auto* latent_spec = std::get_if<LatentAttention>(&sublayer.body)) {
            TRY(bound.body, latent(*latent_spec, layer.index));
        } else if (const auto* grouped = std::get_if<GroupedQueryAttention>(&sublayer.body)) {
            TRY(bound.body, grouped_query(*grouped, layer.index));
        } else if (const auto* dense = std::get_if<DenseFeedForward>(&sublayer.body)) {
            TRY(bound.body, feed_forward(layer.index, dense->expert, false));
        } else if (const auto* experts = std::get_if<MoeFeedForward>(&sublayer.body)) {
            TRY(bound.body, moe(*experts, layer.index, store_layer));
        } else {
            return fail(ErrorKind::unsupported,
                        fmt::format("layer {}: this build has no block for its attention kind yet",
                                    layer.index));
        }
        weights.sublayers.push_back(bound);
    }
    return weights;
}

Status Binder::draft() {
    const uint32_t index = spec_.draft->layer.index;
    out_.draft_present =
        checkpoint_.find(names_.of(TensorRole::draft_projection, index)) != nullptr;
    if (!out_.draft_present || !options_.draft_head) {
        const std::string prefix = fmt::format("model.layers.{}.", index);
        const std::string stored = fmt::format("layers.{}.experts.", index);
        for (const TensorInfo& tensor : checkpoint_.tensors())
            if (tensor.name.starts_with(prefix) || tensor.name.starts_with(stored))
                claimed_.insert(tensor.name);
        return {};
    }
    DraftWeights weights;
    in_draft_ = true;
    TRY(weights.embedding_norm, vector(TensorRole::draft_embedding_norm, index, spec_.dim));
    TRY(weights.hidden_norm, vector(TensorRole::draft_hidden_norm, index, spec_.dim));
    TRY(weights.projection, matrix(TensorRole::draft_projection, index, spec_.dim, 2 * spec_.dim));
    TRY(weights.layer, layer(spec_.draft->layer, uint32_t(spec_.layers.size())));
    TRY(weights.head_norm, vector(TensorRole::draft_head_norm, index, spec_.dim));
    for (const TensorRole alias : {TensorRole::draft_embedding_alias, TensorRole::draft_head_alias})
        if (const TensorInfo* tensor = checkpoint_.find(names_.of(alias, index))) {
            claimed_.insert(tensor->name);
            notices_.add(fmt::format("{} is taken to be a copy of the main one and not loaded",
                                     tensor->name));
        }
    out_.weights.draft = std::move(weights);
    return {};
}

void Binder::report_unclaimed() {
    std::vector<std::string_view> extra;
    uint64_t count = 0;
    for (const TensorInfo& tensor : checkpoint_.tensors()) {
        if (claimed_.contains(tensor.name) ||
            classify_extra(spec_, tensor.name) != ExtraTensor::unknown)
            continue;
        ++count;
        if (extra.size() < 3) extra.push_back(tensor.name);
    }
    if (count == 0) return;
    std::string list;
    for (const std::string_view name : extra)
        list += fmt::format("{}{}", list.empty() ? "" : ", ", name);
    notices_.add(fmt::format("{} tensor{} of {} {} not used by this model: {}{}", count,
                             count == 1 ? "" : "s", checkpoint_.directory(),
                             count == 1 ? "is" : "are", list, count > extra.size() ? ", ..." : ""));
}

Result<BoundModel> Binder::run() {
    TRY(out_.weights.embedding, matrix(TensorRole::embedding, 0, spec_.vocab, spec_.dim, true));
    if (spec_.tied_head) {
        out_.weights.head = out_.weights.embedding;
    } else {
        TRY(out_.weights.head, matrix(TensorRole::head, 0, spec_.vocab, spec_.dim, true));
    }
    TRY(out_.weights.final_norm, vector(TensorRole::final_norm, 0, spec_.dim));
    for (uint32_t i = 0; i < spec_.layers.size(); ++i) {
        TRY(auto weights, layer(spec_.layers[i], i));
        out_.weights.layers.push_back(std::move(weights));
    }
    if (spec_.draft) TRY_STATUS(draft());
    if (!out_.indexers_present && !options_.dense_attention)
        notices_.add(
            "the checkpoint has no indexer tensors: contexts are limited to the selection size; "
            "--dense-attention lifts the limit at a loss of exactness");
    report_unclaimed();
    out_.dense_bytes = used_;
    return std::move(out_);
}

}  // namespace

Result<BoundModel> bind_model(const ModelSpec& spec, const Checkpoint& checkpoint,
                              const BindOptions& options, Notices& notices) {
    return Binder(spec, checkpoint, options, notices).run();
}

}  // namespace colibri

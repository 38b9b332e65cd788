// The forward pass: slices of rows, layer by layer.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>

#include "base/clock.h"
#include "blocks/attention/grouped_query.h"
#include "blocks/attention/latent.h"
#include "blocks/experts/feed_forward.h"
#include "blocks/linear.h"
#include "runtime/model_impl.h"

namespace colibri {

namespace {

// Rows that are routed at a time to find what a scan will ask for: they cost scratch memory.
uint32_t guess_rows(uint32_t slice_rows) {
    return std::clamp(slice_rows / 16, kDecodeRowsMax, 64U);
}

template <class... Ts>
struct Overloaded : Ts... {
    using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

uint32_t selection_width(const ModelSpec& spec) {
    uint32_t width = 0;
    const auto look = [&](const Layer& layer) {
        for (const Sublayer& sublayer : layer.sublayers)
            if (const auto* latent = std::get_if<LatentAttention>(&sublayer.body))
                if (latent->indexer) width = std::max(width, latent->indexer->top_keys);
    };
    for (const Layer& layer : spec.layers) look(layer);
    if (spec.draft) look(spec.draft->layer);
    return width;
}

// The first layer with experts, if these rows will ask for nearly all of them, whatever they are:
// one in e^4 stays idle when each is asked for four times on average.
std::optional<uint32_t> first_layer_in_whole(const ModelSpec& spec, uint32_t rows) {
    for (uint32_t i = 0; i < spec.layers.size(); ++i)
        for (const Sublayer& sublayer : spec.layers[i].sublayers)
            if (const auto* moe = std::get_if<MoeFeedForward>(&sublayer.body)) {
                const auto& router = std::get<Router>(moe->router);
                if (uint64_t(rows) * router.top_k < 4 * uint64_t(router.experts))
                    return std::nullopt;
                return i;
            }
    return std::nullopt;
}

bool has_indexer(const LayerWeights& layer) {
    return std::any_of(layer.sublayers.begin(), layer.sublayers.end(),
                       [](const SublayerWeights& sublayer) {
                           const auto* latent = std::get_if<LatentWeights>(&sublayer.body);
                           return latent != nullptr && latent->indexer;
                       });
}

uint32_t routes_width(const ModelSpec& spec) {
    uint32_t width = 0;
    const auto look = [&](const Layer& layer) {
        for (const Sublayer& sublayer : layer.sublayers)
            if (const auto* moe = std::get_if<MoeFeedForward>(&sublayer.body))
                width = std::max(width, std::get<Router>(moe->router).top_k);
    };
    for (const Layer& layer : spec.layers) look(layer);
    if (spec.draft) look(spec.draft->layer);
    return width;
}

uint64_t body_scratch_bytes(const Body& body, uint32_t dim, bool sparse, uint32_t rows,
                            uint32_t context, uint32_t threads) {
    return std::visit(Overloaded{
                          [&](const GroupedQueryAttention& b) {
                              return grouped_query_scratch_bytes(b, dim, rows, context, threads);
                          },
                          [&](const LatentAttention& b) {
                              return latent_scratch_bytes(b, dim, rows, context, sparse, threads);
                          },
                          [&](const CompressedAttention&) { return uint64_t(0); },
                          [&](const LinearAttention&) { return uint64_t(0); },
                          [&](const DenseFeedForward& b) {
                              return feed_forward_scratch_bytes(dim, b.expert.hidden, rows);
                          },
                          [&](const MoeFeedForward& b) { return moe_scratch_bytes(b, dim, rows); },
                      },
                      body);
}

// Beside a body: what guessing the next layer's experts takes.
uint64_t guess_scratch_bytes(const ModelSpec& spec, uint32_t rows) {
    uint64_t most = 0;
    for (const Layer& layer : spec.layers)
        for (const Sublayer& sublayer : layer.sublayers)
            if (const auto* moe = std::get_if<MoeFeedForward>(&sublayer.body)) {
                const auto& router = std::get<Router>(moe->router);
                const uint64_t count = uint64_t(rows) * router.top_k;
                most = std::max(most, choose_experts_scratch_bytes(*moe, rows) +
                                          scratch_bytes_of<float>(uint64_t(rows) * spec.dim) +
                                          2 * scratch_bytes_of<uint32_t>(count) +
                                          scratch_bytes_of<float>(count) +
                                          scratch_bytes_of<uint8_t>(router.experts));
            }
    return most;
}

// Arrays of one slice, in scratch.
struct Slice {
    uint32_t rows = 0;
    uint32_t first_position = 0;
    float* x = nullptr;  // [rows][dim] residual stream
    float* h = nullptr;  // [rows][dim] normed input of the present sublayer
    float* y = nullptr;  // [rows][dim] its output
    SelectionSet selections;
    RoutedRows routes;
};

// One call of forward or draft_forward.
class Pass {
public:
    Pass(Model::Impl& model, const ForwardOptions& options)
        : model_(model),
          options_(options),
          scratch_(model.scratch.bytes()),
          compute_{.kernels = *model.kernels,
                   .pool = *model.pool,
                   .scratch = scratch_,
                   .float_activations = model.options.float_activations,
                   .observer = model.options.observer} {}

    Status main_slice(SequenceState& state, std::span<const int32_t> tokens, uint32_t done_rows,
                      uint32_t total_rows);
    Status draft_slice(SequenceState& draft, const float* hidden, std::span<const int32_t> tokens,
                       uint32_t done_rows, uint32_t total_rows);

private:
    Slice make_slice(uint32_t rows, uint32_t first_position, bool selects);
    void over_rows(uint32_t rows, FunctionRef<void(uint32_t)> work);
    void norm_rows(const float* x, const float* weight, const Norm& norm, uint32_t rows, float* y);
    Status run_layer(const Layer& layer, const LayerWeights& weights, const LayerRopes& ropes,
                     uint32_t store_layer, LayerState state, Slice& slice, Trace* trace);
    Status run_body(const Body& body, const BodyWeights& weights, const LayerRopes& ropes,
                    uint32_t store_layer, LayerState state, Slice& slice, Trace* trace);
    Status emit(const float* normed, uint32_t rows, uint32_t done_rows, bool contains_last);
    void guess_experts(uint32_t layer, const Slice& s);
    Status guess_surest(uint32_t layer, size_t i, const Slice& s);
    Status guess_union(uint32_t layer, size_t i, const Slice& s);
    Status route_ahead(uint32_t layer, size_t i, const Slice& s, uint32_t begin, uint32_t count,
                       RoutedRows routes);
    void trace_selection(Trace& trace, uint32_t layer, const Slice& slice) const;
    Status check_finite(const float* rows, uint32_t count) const;

    Model::Impl& model_;
    const ForwardOptions& options_;
    Scratch scratch_;
    Compute compute_;
};

// `selects`: the pass has layers with indexers, which will fill the rows' selections.
Slice Pass::make_slice(uint32_t rows, uint32_t first_position, bool selects) {
    Slice s{.rows = rows, .first_position = first_position};
    const uint64_t elements = uint64_t(rows) * model_.spec.dim;
    s.x = scratch_.take<float>(elements);
    s.h = scratch_.take<float>(elements);
    s.y = scratch_.take<float>(elements);
    const uint32_t width = selects ? selection_width(model_.spec) : 0;
    if (width > 0) {
        // A row never has more positions than the context.
        s.selections.stride = std::min(width, model_.plan.context);
        s.selections.positions = scratch_.take<uint32_t>(uint64_t(rows) * s.selections.stride);
        s.selections.counts = scratch_.take<uint32_t>(rows);
        std::fill_n(s.selections.counts, rows, SelectionSet::kEverything);
    }
    const uint64_t routes = uint64_t(rows) * routes_width(model_.spec);
    s.routes = {.ids = scratch_.take<uint32_t>(routes), .weights = scratch_.take<float>(routes)};
    return s;
}

void Pass::over_rows(uint32_t rows, FunctionRef<void(uint32_t)> work) {
    const auto part = [&](uint32_t begin, uint32_t end) {
        for (uint32_t r = begin; r < end; ++r) work(r);
    };
    if (rows < 8)
        part(0, rows);
    else
        compute_.pool.split(rows, 1, part);
}

void Pass::norm_rows(const float* x, const float* weight, const Norm& norm, uint32_t rows,
                     float* y) {
    const uint32_t dim = model_.spec.dim;
    over_rows(rows, [&](uint32_t r) {
        compute_.kernels.rms_norm(x + uint64_t(r) * dim, weight, dim, norm.eps,
                                  y + uint64_t(r) * dim);
    });
}

Status Pass::run_body(const Body& body, const BodyWeights& weights, const LayerRopes& ropes,
                      uint32_t store_layer, LayerState state, Slice& s, Trace* trace) {
    const uint32_t dim = model_.spec.dim;
    const FloatRows h{s.h, dim};
    const OutputRows y{s.y, dim};
    const auto unavailable = [](const auto&) -> Status {
        CHECK(false);
    };  // binding refuses such layers
    return std::visit(
        Overloaded{
            [&](const GroupedQueryAttention& b) -> Status {
                const GroupedQueryBlock block{b, std::get<GroupedQueryWeights>(weights), dim,
                                              ropes.main};
                return grouped_query_attention(compute_, block, h, s.rows, s.first_position, state,
                                               y);
            },
            [&](const LatentAttention& b) -> Status {
                const auto& own = std::get<LatentWeights>(weights);
                const LatentBlock block{b, own, dim, ropes.main, ropes.index};
                // An owner without its tensors (an old draft layer) attends to everything.
                const bool blind = b.indexer && b.indexer->owned && !own.indexer;
                TRY_STATUS(latent_attention(compute_, block, h, s.rows, s.first_position, state,
                                            blind ? SelectionSet{} : s.selections, y));
                if (trace != nullptr && own.indexer) trace_selection(*trace, store_layer, s);
                return {};
            },
            [&](const CompressedAttention& b) -> Status { return unavailable(b); },
            [&](const LinearAttention& b) -> Status { return unavailable(b); },
            [&](const DenseFeedForward&) -> Status {
                guess_experts(store_layer + 1, s);
                return feed_forward(compute_, std::get<FeedForwardWeights>(weights), h, s.rows, y);
            },
            [&](const MoeFeedForward& b) -> Status {
                const MoeBlock block{b, std::get<MoeWeights>(weights), store_layer, dim};
                const RoutedSlice routed{.layer = store_layer,
                                         .first_position = s.first_position,
                                         .rows = s.rows,
                                         .top_k = std::get<Router>(b.router).top_k,
                                         .ids = s.routes.ids,
                                         .weights = s.routes.weights};
                const auto force = [&](RoutedRows rows) {
                    if (options_.force_routes)
                        options_.force_routes(routed, rows.ids, rows.weights);
                };
                const auto guess = [&] { guess_experts(store_layer + 1, s); };
                TRY_STATUS(moe_forward(compute_, *model_.store, block, h, s.rows, s.routes,
                                       options_.cancel, {.routed = force, .reading = guess}, y));
                if (options_.on_routes) options_.on_routes(routed);
                if (trace == nullptr) return {};
                Trace::Routes& routes = trace->routes[store_layer];
                routes.top_k = std::get<Router>(b.router).top_k;
                const uint64_t count = uint64_t(s.rows) * routes.top_k;
                routes.ids.insert(routes.ids.end(), s.routes.ids, s.routes.ids + count);
                routes.weights.insert(routes.weights.end(), s.routes.weights,
                                      s.routes.weights + count);
                return {};
            },
        },
        body);
}

// The experts that a coming layer's router would choose for the rows as they are now. In the layer
// before, whose experts have not run yet, most of them are right; reading them hides behind that
// layer's work and the attention.
void Pass::guess_experts(uint32_t layer, const Slice& s) {
    const PrefetchControl& control = model_.prefetch;
    const bool decode = s.rows <= kDecodeRowsMax;
    // What many rows ask for together is nearly certain; only decode has to try whether it pays.
    const bool wanted = decode ? control.active() : control.mode() != PrefetchMode::off;
    if (!wanted || layer >= model_.spec.layers.size()) return;
    const auto& sublayers = model_.spec.layers[layer].sublayers;
    for (size_t i = 0; i < sublayers.size(); ++i) {
        if (!std::holds_alternative<MoeFeedForward>(sublayers[i].body)) continue;
        model_.guesses.clear();
        if (!(decode ? guess_surest(layer, i, s) : guess_union(layer, i, s))) return;
        model_.store->prefetch(model_.guesses, decode ? StreamKind::decode : StreamKind::scan);
    }
}

// Of rows [begin, begin + count) at sublayer i of a layer that is still to come.
Status Pass::route_ahead(uint32_t layer, size_t i, const Slice& s, uint32_t begin, uint32_t count,
                         RoutedRows routes) {
    const Sublayer& sublayer = model_.spec.layers[layer].sublayers[i];
    const SublayerWeights& weights = model_.weights.layers[layer].sublayers[i];
    const auto& moe = std::get<MoeFeedForward>(sublayer.body);
    const ScratchScope scope(scratch_);
    const uint32_t dim = model_.spec.dim;
    auto* h = scratch_.take<float>(uint64_t(count) * dim);
    norm_rows(s.x + uint64_t(begin) * dim, weights.norm, sublayer.norm, count, h);
    const MoeBlock block{moe, std::get<MoeWeights>(weights.body), layer, dim};
    // Values that are not finite are reported by the layer itself.
    TRY_STATUS(choose_experts(compute_, block, {h, dim}, count, routes));
    if (options_.force_routes)
        options_.force_routes({.layer = layer,
                               .first_position = s.first_position + begin,
                               .rows = count,
                               .top_k = std::get<Router>(moe.router).top_k,
                               .ids = routes.ids,
                               .weights = routes.weights,
                               .guess = true},
                              routes.ids, routes.weights);
    return {};
}

// For decode there is room for a few only: the surest first, which are those with the largest
// weights.
Status Pass::guess_surest(uint32_t layer, size_t i, const Slice& s) {
    const auto& moe = std::get<MoeFeedForward>(model_.spec.layers[layer].sublayers[i].body);
    const uint32_t count = s.rows * std::get<Router>(moe.router).top_k;
    const ScratchScope scope(scratch_);
    const RoutedRows routes{.ids = scratch_.take<uint32_t>(count),
                            .weights = scratch_.take<float>(count)};
    TRY_STATUS(route_ahead(layer, i, s, 0, s.rows, routes));
    auto* order = scratch_.take<uint32_t>(count);
    std::iota(order, order + count, 0U);
    std::sort(order, order + count, [&](uint32_t a, uint32_t b) {
        return routes.weights[a] != routes.weights[b] ? routes.weights[a] > routes.weights[b]
                                                      : a < b;
    });
    for (uint32_t g = 0; g < count; ++g) model_.guesses.push_back({layer, routes.ids[order[g]]});
    return {};
}

// A scan goes through everything that any row asks for, in ascending order.
Status Pass::guess_union(uint32_t layer, size_t i, const Slice& s) {
    const auto& moe = std::get<MoeFeedForward>(model_.spec.layers[layer].sublayers[i].body);
    const auto& router = std::get<Router>(moe.router);
    const ScratchScope scope(scratch_);
    const uint32_t rows_max = guess_rows(s.rows);
    const RoutedRows routes{.ids = scratch_.take<uint32_t>(rows_max * router.top_k),
                            .weights = scratch_.take<float>(rows_max * router.top_k)};
    auto* chosen = scratch_.take<uint8_t>(router.experts);
    std::fill_n(chosen, router.experts, uint8_t(0));
    for (uint32_t begin = 0; begin < s.rows; begin += rows_max) {
        const uint32_t rows = std::min(rows_max, s.rows - begin);
        TRY_STATUS(route_ahead(layer, i, s, begin, rows, routes));
        for (uint32_t g = 0; g < rows * router.top_k; ++g) chosen[routes.ids[g]] = 1;
    }
    for (uint32_t expert = 0; expert < router.experts; ++expert)
        if (chosen[expert] != 0) model_.guesses.push_back({layer, expert});
    return {};
}

void Pass::trace_selection(Trace& trace, uint32_t layer, const Slice& s) const {
    Trace::Selection& selection = trace.selections[layer];
    selection.width = std::min(selection_width(model_.spec), trace.total_rows);
    for (uint32_t r = 0; r < s.rows; ++r) {
        const bool everything = s.selections.counts[r] == SelectionSet::kEverything;
        const uint32_t count = everything ? s.first_position + r + 1 : s.selections.counts[r];
        for (uint32_t i = 0; i < selection.width; ++i)
            selection.positions.push_back(
                i >= count ? -1 : int32_t(everything ? i : s.selections.row(r)[i]));
    }
}

Status Pass::run_layer(const Layer& layer, const LayerWeights& weights, const LayerRopes& ropes,
                       uint32_t store_layer, LayerState state, Slice& s, Trace* trace) {
    const uint32_t dim = model_.spec.dim;
    for (size_t i = 0; i < layer.sublayers.size(); ++i) {
        const Sublayer& sublayer = layer.sublayers[i];
        norm_rows(s.x, weights.sublayers[i].norm, sublayer.norm, s.rows, s.h);
        Status status =
            run_body(sublayer.body, weights.sublayers[i].body, ropes, store_layer, state, s, trace);
        if (!status)
            return tl::unexpected(
                std::move(status.error()).within(fmt::format("layer {}", layer.index)));
        over_rows(s.rows, [&](uint32_t r) {
            compute_.kernels.add(s.y + uint64_t(r) * dim, dim, s.x + uint64_t(r) * dim);
        });
    }
    return {};
}

Status Pass::check_finite(const float* rows, uint32_t count) const {
    for (uint64_t i = 0; i < uint64_t(count) * model_.spec.dim; ++i)
        if (!std::isfinite(rows[i]))
            return fail(ErrorKind::invalid_input,
                        "a hidden value is not a finite number: the weights overflow in this model "
                        "or are damaged");
    return {};
}

// Hidden rows and logits to whoever asked.
Status Pass::emit(const float* normed, uint32_t rows, uint32_t done_rows, bool contains_last) {
    const uint32_t dim = model_.spec.dim;
    TRY_STATUS(check_finite(normed, rows));
    if (options_.on_hidden)
        for (uint32_t r = 0; r < rows; ++r)
            TRY_STATUS(options_.on_hidden(done_rows + r, {normed + uint64_t(r) * dim, dim}));
    if (options_.logits == LogitRows::none || !options_.on_logits) return {};
    const bool all = options_.logits == LogitRows::all;
    if (!all && !contains_last) return {};
    const uint32_t vocab = model_.spec.vocab;
    for (uint32_t begin = all ? 0 : rows - 1; begin < rows; begin += kLogitRows) {
        const ScratchScope scope(scratch_);
        const uint32_t count = std::min(kLogitRows, rows - begin);
        auto* logits = scratch_.take<float>(uint64_t(count) * vocab);
        ActivationRows x({normed + uint64_t(begin) * dim, dim}, count, dim);
        TRY_STATUS(multiply(compute_, model_.weights.head, x, {logits, vocab}));
        for (uint32_t r = 0; r < count; ++r)
            TRY_STATUS(
                options_.on_logits(done_rows + begin + r, {logits + uint64_t(r) * vocab, vocab}));
    }
    return {};
}

Status Pass::main_slice(SequenceState& state, std::span<const int32_t> tokens, uint32_t done_rows,
                        uint32_t total_rows) {
    const ModelSpec& spec = model_.spec;
    const auto rows = uint32_t(tokens.size());
    const ScratchScope scope(scratch_);
    Slice s = make_slice(rows, state.length(), model_.indexers_present);
    over_rows(rows, [&](uint32_t r) {
        gather_row(model_.weights.embedding, uint32_t(tokens[r]), s.x + uint64_t(r) * spec.dim);
    });
    const uint64_t elements = uint64_t(rows) * spec.dim;
    if (const auto first = first_layer_in_whole(spec, rows)) guess_experts(*first, s);
    for (uint32_t i = 0; i < spec.layers.size(); ++i) {
        if (is_cancelled(options_.cancel))
            return fail(ErrorKind::cancelled, "the request was cancelled");
        if (options_.between_layers) options_.between_layers();
        if (options_.trace != nullptr) {
            auto& hidden = options_.trace->hidden[i];
            hidden.insert(hidden.end(), s.x, s.x + elements);
        }
        TRY_STATUS(run_layer(spec.layers[i], model_.weights.layers[i], model_.ropes[i], i,
                             state.layer(i), s, options_.trace));
        if (options_.on_progress)
            options_.on_progress(
                done_rows + uint32_t(uint64_t(rows) * (i + 1) / spec.layers.size()), total_rows);
    }
    norm_rows(s.x, model_.weights.final_norm, spec.final_norm, rows, s.h);
    if (options_.trace != nullptr) {
        auto& hidden = options_.trace->hidden[spec.layers.size()];
        hidden.insert(hidden.end(), s.h, s.h + elements);
    }
    TRY_STATUS(emit(s.h, rows, done_rows, done_rows + rows == total_rows));
    state.accept(rows);
    state.set_last_hidden({s.h + elements - spec.dim, spec.dim});
    return {};
}

Status Pass::draft_slice(SequenceState& draft, const float* hidden, std::span<const int32_t> tokens,
                         uint32_t done_rows, uint32_t total_rows) {
    const ModelSpec& spec = model_.spec;
    const DraftWeights& weights = *model_.weights.draft;
    const auto rows = uint32_t(tokens.size());
    const uint32_t dim = spec.dim;
    const ScratchScope scope(scratch_);
    Slice s = make_slice(rows, draft.length(), has_indexer(weights.layer));
    {
        const ScratchScope inputs(scratch_);
        auto* joined =
            scratch_.take<float>(uint64_t(rows) * 2 * dim);  // [norm(embedding) ; norm(hidden)]
        over_rows(rows, [&](uint32_t r) {
            float* row = joined + uint64_t(r) * 2 * dim;
            gather_row(model_.weights.embedding, uint32_t(tokens[r]), row);
            compute_.kernels.rms_norm(row, weights.embedding_norm, dim, spec.draft->norm.eps, row);
            compute_.kernels.rms_norm(hidden + uint64_t(r) * dim, weights.hidden_norm, dim,
                                      spec.draft->norm.eps, row + dim);
        });
        ActivationRows x({joined, 2 * dim}, rows, 2 * dim);
        TRY_STATUS(multiply(compute_, weights.projection, x, {s.x, dim}));
    }
    const auto layer = uint32_t(spec.layers.size());
    TRY_STATUS(run_layer(spec.draft->layer, weights.layer, model_.ropes[layer], layer,
                         draft.layer(0), s, nullptr));
    norm_rows(s.x, weights.head_norm, spec.draft->norm, rows, s.h);
    TRY_STATUS(emit(s.h, rows, done_rows, done_rows + rows == total_rows));
    draft.accept(rows);
    return {};
}

Status check_tokens(const ModelSpec& spec, std::span<const int32_t> tokens) {
    if (tokens.empty())
        return fail(ErrorKind::invalid_input, "no tokens were given; at least one is needed");
    for (size_t i = 0; i < tokens.size(); ++i)
        if (tokens[i] < 0 || uint32_t(tokens[i]) >= spec.vocab)
            return fail(ErrorKind::invalid_input,
                        fmt::format("token {} (number {}) is outside the model's vocabulary of {}",
                                    tokens[i], i, spec.vocab));
    return {};
}

// The first token of an answer does not wait for the reads that warm the cache.
class WarmingHold {
public:
    WarmingHold(ExpertStore& store, bool held) : store_(store), held_(held) {
        if (held) store.hold_warming(true);
    }
    ~WarmingHold() {
        if (held_) store_.hold_warming(false);
    }
    WarmingHold(const WarmingHold&) = delete;
    WarmingHold& operator=(const WarmingHold&) = delete;

private:
    ExpertStore& store_;
    bool held_;
};

// Cuts `count` rows into slices; on error the state is what it was.
Status in_slices(SequenceState& state, uint32_t count, uint32_t slice_rows,
                 FunctionRef<Status(uint32_t begin, uint32_t rows)> run) {
    const uint32_t length = state.length();
    if (count > state.capacity() - length) return state.append(count);  // says what does not fit
    // Only a second slice can fail after the hidden row was replaced; decode steps copy nothing.
    std::vector<float> last_hidden;
    if (count > slice_rows)
        last_hidden.assign(state.last_hidden().begin(), state.last_hidden().end());
    for (uint32_t begin = 0; begin < count; begin += slice_rows) {
        const uint32_t rows = std::min(slice_rows, count - begin);
        Status status = state.append(rows);
        if (status) status = run(begin, rows);
        if (!status) {
            state.truncate(length);
            if (begin > 0) state.set_last_hidden(last_hidden);
            return status;
        }
    }
    return {};
}

}  // namespace

uint64_t pass_scratch_bytes(const ModelSpec& spec, bool indexers_present, bool draft, uint32_t rows,
                            uint32_t context, uint32_t threads) {
    const uint64_t n = rows;
    uint64_t bytes = 3 * scratch_bytes_of<float>(n * spec.dim) +
                     scratch_bytes_of<uint32_t>(n * std::min(selection_width(spec), context)) +
                     scratch_bytes_of<uint32_t>(n) +
                     2 * scratch_bytes_of<float>(n * routes_width(spec));
    uint64_t body = scratch_bytes_of<float>(uint64_t(kLogitRows) * spec.vocab) +
                    activation_scratch_bytes(kLogitRows, spec.dim);
    const auto look = [&](const Layer& layer, bool sparse) {
        for (const Sublayer& sublayer : layer.sublayers)
            body = std::max(
                body, body_scratch_bytes(sublayer.body, spec.dim, sparse, rows, context, threads));
    };
    for (const Layer& layer : spec.layers) look(layer, indexers_present);
    body += guess_scratch_bytes(spec, guess_rows(rows));
    if (draft) {
        look(spec.draft->layer, false);
        body = std::max(body, scratch_bytes_of<float>(n * 2 * spec.dim) +
                                  activation_scratch_bytes(n, 2 * spec.dim));
    }
    return bytes + body;
}

Status Model::forward(SequenceState& state, std::span<const int32_t> tokens,
                      const ForwardOptions& options) {
    TRY_STATUS(check_tokens(impl_->spec, tokens));
    if (options.trace != nullptr) {
        options.trace->hidden.resize(impl_->spec.layers.size() + 1);
        options.trace->routes.resize(impl_->spec.layers.size());
        options.trace->selections.resize(impl_->spec.layers.size());
    }
    const auto total = uint32_t(tokens.size());
    Pass pass(*impl_, options);
    const WarmingHold hold(*impl_->store, state.length() == 0 || total > kDecodeRowsMax);
    const uint64_t begin_us = now_us();
    TRY_STATUS(in_slices(state, total, impl_->plan.slice_rows, [&](uint32_t begin, uint32_t rows) {
        return pass.main_slice(state, tokens.subspan(begin, rows), begin, total);
    }));
    if (total == 1 && impl_->prefetch.learns())
        impl_->prefetch.step(now_us() - begin_us, impl_->store->counters());
    return {};
}

Status Model::draft_forward(SequenceState& draft, std::span<const float> hidden,
                            std::span<const int32_t> next_tokens, const ForwardOptions& options) {
    CHECK(impl_->draft_loaded);
    CHECK(hidden.size() == next_tokens.size() * impl_->spec.dim);
    TRY_STATUS(check_tokens(impl_->spec, next_tokens));
    const auto total = uint32_t(next_tokens.size());
    Pass pass(*impl_, options);
    return in_slices(draft, total, impl_->plan.slice_rows, [&](uint32_t begin, uint32_t rows) {
        return pass.draft_slice(draft, hidden.data() + uint64_t(begin) * impl_->spec.dim,
                                next_tokens.subspan(begin, rows), begin, total);
    });
}

}  // namespace colibri

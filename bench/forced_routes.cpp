#include "bench/forced_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/clock.h"
#include "convert/convert.h"
#include "format/route_trace.h"
#include "platform/file.h"
#include "tests/support/synthetic_model.h"

namespace colibri::bench {

namespace {

// As many layers and experts as the recording has; widths for experts of about this size.
synthetic::GlmShape shape_for(const Recording& recording, uint64_t expert_bytes) {
    synthetic::GlmShape shape;
    shape.dim = 1024;
    shape.vocab = 4096;
    shape.heads = 8;
    shape.q_rank = 256;
    shape.kv_rank = 128;
    shape.nope = 64;
    shape.rope = 32;
    shape.value = 64;
    shape.dense_hidden = 2048;
    shape.expert_hidden = uint32_t(std::max<uint64_t>(64, expert_bytes / 3 / 1024 / 64 * 64));
    shape.experts = recording.experts;
    shape.top_k = recording.top_k;
    shape.index_heads = 4;
    shape.index_dims = 64;
    shape.index_topk = 1024;
    shape.indexers = "F" + std::string(recording.layers, 'S');
    shape.draft = false;
    return shape;
}

}  // namespace

Result<Recording> read_recording(const std::string& path, uint32_t layers_max) {
    TRY(const std::string text, read_file(path, kTraceBytesMax));
    TRY(const RouteTrace trace, parse_route_trace(text, path));
    std::vector<uint32_t> layers;
    for (const RouteTrace::Step& step : trace.steps) layers.push_back(step.layer);
    std::sort(layers.begin(), layers.end());
    layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
    if (layers.size() > layers_max) layers.resize(layers_max);
    Recording recording{.tokens = {},
                        .layers = uint32_t(layers.size()),
                        .experts = trace.experts,
                        .top_k = trace.experts_used};
    int64_t position = -1;
    for (const RouteTrace::Step& step : trace.steps) {
        const auto layer = std::lower_bound(layers.begin(), layers.end(), step.layer);
        if (!step.decode || layer == layers.end() || *layer != step.layer) continue;
        if (int64_t(step.position) != position) recording.tokens.emplace_back(layers.size());
        position = step.position;
        std::vector<uint32_t>& ids = recording.tokens.back()[size_t(layer - layers.begin())];
        for (const RouteTrace::Choice& choice : trace.choices_of(step))
            ids.push_back(choice.expert);
        std::sort(ids.begin(), ids.end());
    }
    std::erase_if(recording.tokens, [&](const auto& token) {
        return std::any_of(token.begin(), token.end(),
                           [&](const auto& ids) { return ids.size() != recording.top_k; });
    });
    if (recording.tokens.size() < 2)
        return fail(ErrorKind::invalid_input,
                    fmt::format("--routes {}: {} whole decode tokens; 2 at least", path,
                                recording.tokens.size()));
    return recording;
}

Status make_routed_model(const std::string& directory, const Recording& recording,
                         uint64_t expert_bytes) {
    namespace fs = std::filesystem;
    std::error_code error;
    if (fs::exists(directory + "/config.json", error)) return {};
    const std::string source = directory + "-source";
    fs::create_directories(source, error);
    TRY_STATUS(synthetic::write_glm(source, shape_for(recording, expert_bytes),
                                    synthetic::Format::int8_row));
    ConvertOptions options{.source = source,
                           .destination = directory,
                           .writer = "colibri_bench",
                           .delete_source_shards = true};
    TRY_STATUS(options.recipe.set_experts("keep"));
    TRY_STATUS(options.recipe.set_dense("keep"));
    Notices notices;
    const auto done = convert(options, notices);
    fs::remove_all(source, error);
    if (!done) return tl::unexpected(done.error());
    return {};
}

Follower::Follower(Model& model, const Recording& recording, double recall)
    : model_(model),
      recording_(recording),
      first_layer_(uint32_t(model.spec().layers.size()) - recording.layers),
      recall_(recall) {
    options_.logits = LogitRows::none;
    options_.force_routes = [this](const RoutedSlice& routes, uint32_t* ids, float* weights) {
        const auto& token = recording_.tokens[at_ % recording_.tokens.size()];
        const std::vector<uint32_t>& chosen = token[routes.layer - first_layer_];
        for (uint32_t i = 0; i < routes.top_k; ++i) {
            const bool right = !routes.guess || guesses_right(weights, routes.top_k, i);
            ids[i] = right ? chosen[i] : expert_of_another_token(routes.layer - first_layer_);
        }
    };
}

bool Follower::guesses_right(const float* weights, uint32_t count, uint32_t at) {
    uint32_t rank = 0;
    for (uint32_t i = 0; i < count; ++i)
        rank += weights[i] > weights[at] || (weights[i] == weights[at] && i < at) ? 1 : 0;
    const auto precision = [&](uint32_t of_rank) {
        return kPrecisionByRank[size_t(of_rank) * kPrecisionByRank.size() / count];
    };
    double mean = 0;
    for (uint32_t i = 0; i < count; ++i) mean += precision(i) / count;
    // Towards 0 below the mean, towards 1 above it: the average is the recall either way.
    const double chance =
        recall_ <= mean ? precision(rank) * recall_ / mean
                        : precision(rank) + (1 - precision(rank)) * (recall_ - mean) / (1 - mean);
    return random_.uniform() < chance;
}

// A router's wrong guesses are experts that it likes, not any of the layer's.
uint32_t Follower::expert_of_another_token(uint32_t layer) {
    const auto& token = recording_.tokens[random_.below(recording_.tokens.size())];
    return token[layer][random_.below(recording_.top_k)];
}

Status Follower::step() {
    if (!state_ || at_ % recording_.tokens.size() == 0 || state_->length() == model_.plan().context)
        state_.emplace(model_.new_state());
    const int32_t token = 1;
    TRY_STATUS(model_.forward(*state_, {&token, 1}, options_));
    ++at_;
    return {};
}

Result<double> Follower::rate(double seconds) {
    const uint64_t begin = now_us();
    uint64_t steps = 0;
    do {
        TRY_STATUS(step());
        ++steps;
    } while (double(now_us() - begin) < seconds * 1e6);
    return double(steps) * 1e6 / double(now_us() - begin);
}

}  // namespace colibri::bench

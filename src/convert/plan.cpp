#include "convert/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "model/config.h"
#include "model/registry.h"
#include "platform/file.h"

namespace colibri {

namespace {

constexpr uint64_t kRowsUnitBytes = 8 << 20;
// FP8 blocks cover 128 rows: units begin where blocks of scales do.
constexpr uint32_t kUnitRows = 128;

// Names, sizes and headers of the files, and the config: enough to tell two sources apart without
// reading them.
Result<std::string> source_identity(const Checkpoint& checkpoint, const std::string& config) {
    std::string text = to_hex(sha256(config));
    for (const CheckpointFile& file : checkpoint.files()) {
        TRY(const SafetensorsHeader header, read_safetensors_header(*file.file));
        std::vector<std::byte> head(header.data_begin);
        TRY_STATUS(file.file->read_at(0, head));
        text += fmt::format("\n{} {} {}", file_name_of(file.path), file.size_bytes,
                            to_hex(xxh3_128(head)));
    }
    return to_hex(xxh3_128(std::string_view(text)));
}

uint64_t source_bytes(const MatrixSource& source) {
    return source.data_bytes() +
           (source.scales == nullptr ? 0 : source.scale_count() * size_bytes(source.scales->dtype));
}

class Planner {
public:
    Planner(const Recipe& recipe, ConvertPlan& plan) : recipe_(recipe), plan_(plan) {}

    Status run(BoundModel bound) {
        const bool draft = std::any_of(bound.jobs.begin(), bound.jobs.end(),
                                       [](const FillJob& job) { return job.draft; });
        TRY_STATUS(dense_file("dense.safetensors", bound.jobs, false));
        for (ExpertLayer& layer : bound.expert_layers)
            if (!layer.draft)
                expert_file(fmt::format("experts-{:05}.safetensors", layer.name_layer), layer);
        if (draft) TRY_STATUS(dense_file("draft-dense.safetensors", bound.jobs, true));
        for (ExpertLayer& layer : bound.expert_layers)
            if (layer.draft)
                expert_file(fmt::format("draft-experts-{:05}.safetensors", layer.name_layer),
                            layer);
        for (const ConvertUnit& unit : plan_.units) {
            plan_.in_bytes += unit.in_bytes;
            plan_.largest_unit_bytes =
                std::max(plan_.largest_unit_bytes, unit.in_bytes + unit.out_bytes);
        }
        return {};
    }

private:
    uint32_t add_file(std::string name, bool draft) {
        plan_.manifest.files.push_back({.name = std::move(name), .draft = draft});
        return uint32_t(plan_.manifest.files.size() - 1);
    }

    uint32_t add_tensor(const std::string& name, uint32_t file, TensorLayout layout,
                        const TileShape& shape, uint32_t heads = 1) {
        plan_.manifest.tensors.push_back({.name = name,
                                          .file = file,
                                          .layout = layout,
                                          .format = shape.format,
                                          .rows = shape.rows,
                                          .columns = shape.columns,
                                          .heads = heads});
        return uint32_t(plan_.manifest.tensors.size() - 1);
    }

    // Matrices first, vectors after them: what is aligned stays aligned without holes.
    Status dense_file(const std::string& name, std::vector<FillJob>& jobs, bool draft) {
        const uint32_t file = add_file(name, draft);
        for (FillJob& job : jobs) {
            if (job.draft != draft) continue;
            if (job.kind == FillJob::Kind::matrix) matrix(job, file);
            if (job.kind == FillJob::Kind::key_up) key_up(job, file);
            if (job.kind == FillJob::Kind::value_up) TRY_STATUS(value_up(job, file));
        }
        for (FillJob& job : jobs)
            if (job.draft == draft && job.kind == FillJob::Kind::vector) vector(job, file);
        return {};
    }

    TileShape target_of(const FillJob& job) const {
        TileShape shape = job.source.shape;
        shape.format = recipe_.dense_format(job.role, job.draft, shape.format);
        return shape;
    }

    void matrix(FillJob& job, uint32_t file) {
        const TileShape shape = target_of(job);
        const auto item = uint32_t(plan_.dense.size());
        const uint32_t tensor = add_tensor(job.source.name, file, TensorLayout::tile16, shape);
        const uint64_t row_bytes = job.source.row_bytes + shape.block_bytes() / kTileRows;
        const auto step = uint32_t(
            std::max(uint64_t(kUnitRows), kRowsUnitBytes / row_bytes / kUnitRows * kUnitRows));
        for (uint32_t row = 0; row < shape.rows; row += step) {
            const uint32_t rows = std::min(step, shape.rows - row);
            const bool last = row + rows == shape.rows;
            const uint32_t blocks = ceil_div(rows, kTileRows);
            plan_.units.push_back({.kind = ConvertUnit::Kind::rows,
                                   .file = file,
                                   .item = item,
                                   .begin = row / kTileRows,
                                   .end = row / kTileRows + blocks,
                                   .tensors = last ? 1U : 0U,
                                   .in_bytes = job.source.row_bytes * rows,
                                   .out_bytes = shape.block_bytes() * blocks});
        }
        plan_.dense.push_back(
            {.job = std::move(job), .value = {}, .shape = shape, .first_tensor = tensor});
    }

    void vector(FillJob& job, uint32_t file) {
        const TileShape shape = job.source.shape;
        const uint32_t tensor = add_tensor(job.source.name, file, TensorLayout::vector, shape);
        plan_.units.push_back({.kind = ConvertUnit::Kind::vector,
                               .file = file,
                               .item = uint32_t(plan_.dense.size()),
                               .tensors = 1,
                               .in_bytes = job.source.data_bytes(),
                               .out_bytes = plan_.manifest.tensors[tensor].size_bytes()});
        plan_.dense.push_back(
            {.job = std::move(job), .value = {}, .shape = shape, .first_tensor = tensor});
    }

    void key_up(FillJob& job, uint32_t file) {
        const TileShape shape = target_of(job);
        const TileShape head{
            .format = shape.format, .rows = job.head_shape.rows, .columns = job.head_shape.columns};
        const uint32_t tensor =
            add_tensor(job.source.name + ".key_up", file, TensorLayout::key_up, head, job.heads);
        if (key_up_format(shape.format).group != 0)
            add_tensor(job.source.name + ".key_up_scales", file, TensorLayout::key_up_scales, head,
                       job.heads);
        plan_.dense.push_back(
            {.job = std::move(job), .value = {}, .shape = shape, .first_tensor = tensor});
    }

    // Comes right after its key_up job.
    Status value_up(FillJob& job, uint32_t file) {
        DensePlan& item = plan_.dense.back();
        const TileShape head{.format = item.shape.format,
                             .rows = job.head_shape.rows,
                             .columns = job.head_shape.columns};
        add_tensor(job.source.name + ".value_up", file, TensorLayout::value_up, head, job.heads);
        uint64_t out_bytes = 0;
        for (size_t t = item.first_tensor; t < plan_.manifest.tensors.size(); ++t)
            out_bytes += plan_.manifest.tensors[t].size_bytes();
        plan_.units.push_back(
            {.kind = ConvertUnit::Kind::kv_b,
             .file = file,
             .item = uint32_t(plan_.dense.size() - 1),
             .tensors = uint32_t(plan_.manifest.tensors.size()) - item.first_tensor,
             .in_bytes = source_bytes(job.source),
             .out_bytes = out_bytes});
        item.value = std::move(job);
        return {};
    }

    void expert_file(std::string name, ExpertLayer& layer) {
        const uint32_t file = add_file(std::move(name), layer.draft);
        ContainerExperts target{
            .layer = layer.name_layer, .file = file, .count = layer.experts, .parts = {}};
        for (uint32_t part = 0; part < 3; ++part) {
            target.parts[part] = layer.layout.shapes[part];
            target.parts[part].format =
                recipe_.expert_format(layer.draft, part, layer.layout.shapes[part].format);
        }
        const uint64_t out_bytes = extent_layout(target.parts).size_bytes;
        for (uint32_t e = 0; e < layer.experts; ++e) {
            uint64_t in_bytes = 0;
            for (const MatrixSource& source : layer.sources[e]) in_bytes += source_bytes(source);
            plan_.units.push_back({.kind = ConvertUnit::Kind::experts,
                                   .file = file,
                                   .item = uint32_t(plan_.experts.size()),
                                   .begin = e,
                                   .end = e + 1,
                                   .tensors = 1,
                                   .in_bytes = in_bytes,
                                   .out_bytes = out_bytes});
        }
        plan_.experts.push_back({.source = std::move(layer),
                                 .target = target,
                                 .layer_entry = uint32_t(plan_.manifest.experts.size())});
        plan_.manifest.experts.push_back(target);
    }

    const Recipe& recipe_;
    ConvertPlan& plan_;
};

std::string class_of(const FillJob& job) {
    if (job.draft) return "MTP dense";
    switch (job.role) {
        case TensorRole::embedding: return "embedding";
        case TensorRole::head: return "head";
        case TensorRole::index_query:
        case TensorRole::index_key: return "indexer";
        case TensorRole::gate:
        case TensorRole::up:
        case TensorRole::down: return "dense feed-forward";
        case TensorRole::shared_gate:
        case TensorRole::shared_up:
        case TensorRole::shared_down: return "shared experts";
        case TensorRole::query:
        case TensorRole::query_a:
        case TensorRole::query_b:
        case TensorRole::key:
        case TensorRole::value:
        case TensorRole::kv_a:
        case TensorRole::kv_b:
        case TensorRole::output: return "attention";
        case TensorRole::router:
        case TensorRole::index_gate: return "routers, indexer gates";
        case TensorRole::final_norm:
        case TensorRole::first_norm:
        case TensorRole::second_norm:
        case TensorRole::query_a_norm:
        case TensorRole::kv_a_norm:
        case TensorRole::query_norm:
        case TensorRole::key_norm:
        case TensorRole::index_key_norm:
        case TensorRole::index_key_norm_bias:
        case TensorRole::router_bias:
        case TensorRole::draft_embedding_norm:
        case TensorRole::draft_hidden_norm:
        case TensorRole::draft_projection:
        case TensorRole::draft_head_norm:
        case TensorRole::draft_embedding_alias:
        case TensorRole::draft_head_alias: return "norms, biases";
    }
    return {};
}

std::string change(const TileShape& from, const TileShape& to) {
    if (from.format == to.format) return to_string(to.format);
    return fmt::format("{} -> {}", to_string(from.format), to_string(to.format));
}

}  // namespace

bool ConvertPlan::exact() const {
    for (const DensePlan& item : dense)
        if (item.shape.format != item.job.source.shape.format) return false;
    for (const ExpertPlan& layer : experts)
        for (uint32_t part = 0; part < 3; ++part)
            if (layer.target.parts[part].format != layer.source.layout.shapes[part].format)
                return false;
    return true;
}

Result<ConvertPlan> plan_conversion(const Checkpoint& checkpoint, const Recipe& recipe,
                                    const std::string& parameters, const std::string& source_name,
                                    Notices& notices) {
    if (checkpoint.container() != nullptr)
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}: a colibri container already; convert from the checkpoint that "
                                "it was made from ({})",
                                checkpoint.directory(), checkpoint.container()->manifest().source));
    const std::string config_path = checkpoint.directory() + "/config.json";
    TRY(const std::string text, read_file(config_path, kConfigBytesMax));
    TRY(const Config config, Config::parse(text, config_path));
    ConvertPlan plan;
    TRY(plan.spec, spec_from_config(config, notices));
    TRY(BoundModel bound,
        bind_model(plan.spec, checkpoint,
                   {.draft_head = true, .dense_attention = true, .arena = nullptr}, notices));
    TRY_STATUS(Planner(recipe, plan).run(std::move(bound)));
    TRY(plan.manifest.source_id, source_identity(checkpoint, text));
    plan.manifest.source = source_name;
    plan.manifest.parameters = parameters;
    plan.manifest.identity = to_hex(xxh3_128(fmt::format("container {}\n{}\n{}", kContainerVersion,
                                                         plan.manifest.source_id, parameters)));
    for (uint32_t file = 0; file < plan.manifest.files.size(); ++file) {
        uint64_t bytes = data_file_header(plan.manifest, file).size();
        for (const ContainerTensor& tensor : plan.manifest.tensors)
            if (tensor.file == file) bytes += tensor.size_bytes();
        for (const ContainerExperts& layer : plan.manifest.experts)
            if (layer.file == file) bytes += layer.count * extent_layout(layer.parts).size_bytes;
        plan.file_bytes.push_back(bytes);
        plan.out_bytes += bytes;
    }
    return plan;
}

std::vector<PlanLine> summarize(const ConvertPlan& plan) {
    std::vector<PlanLine> lines;
    std::vector<std::set<std::string>> formats;
    const auto line = [&](const std::string& what) {
        for (size_t i = 0; i < lines.size(); ++i)
            if (lines[i].what == what) return i;
        lines.push_back({.what = what, .formats = {}});
        formats.emplace_back();
        return lines.size() - 1;
    };
    for (const ConvertUnit& unit : plan.units) {
        const bool expert = unit.kind == ConvertUnit::Kind::experts;
        const size_t at = line(!expert ? class_of(plan.dense[unit.item].job)
                               : plan.experts[unit.item].source.draft ? "MTP experts"
                                                                      : "experts");
        lines[at].in_bytes += unit.in_bytes;
        lines[at].out_bytes += unit.out_bytes;
        if (!expert) {
            const DensePlan& item = plan.dense[unit.item];
            formats[at].insert(change(item.job.source.shape, item.shape));
            continue;
        }
        const ExpertPlan& item = plan.experts[unit.item];
        for (size_t part = 0; part < 3; ++part)
            formats[at].insert(change(item.source.layout.shapes[part], item.target.parts[part]));
    }
    for (size_t i = 0; i < lines.size(); ++i)
        for (const std::string& format : formats[i])
            lines[i].formats += fmt::format("{}{}", lines[i].formats.empty() ? "" : ", ", format);
    return lines;
}

}  // namespace colibri

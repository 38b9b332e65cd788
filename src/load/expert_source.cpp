#include "load/expert_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>

namespace colibri {

namespace {

uint64_t scale_bytes_of(const MatrixSource& source) {
    return source.scales == nullptr ? 0 : source.scale_count() * size_bytes(source.scales->dtype);
}

bool scales_are_resident(const MatrixSource& source) {
    return source.scales != nullptr &&
           (scale_bytes_of(source) < kResidentScaleBytes || source.scales->dtype != DType::f32);
}

// What landing needs of one layer.
struct LandingLayer {
    ExpertLayout layout;
    uint32_t experts = 0;
    // Every expert's three matrices: only names and files differ within a layer, so one set stands
    // for all.
    std::array<MatrixSource, 3> pattern;
    std::array<bool, 3> resident{};          // scales of part p
    std::array<uint64_t, 3> scale_offset{};  // into an expert's resident scales
    uint64_t scales_per_expert = 0;
    std::vector<float> scales;                              // [expert][scales_per_expert]
    std::vector<std::array<const TensorInfo*, 3>> tensors;  // by expert, for messages
    // Of a container: the extent is the slot; only its checksums are looked at.
    const ContainerExperts* stored = nullptr;
    std::span<const std::array<Digest128, 2>> digests;
};

// Landing tables by layer; kept alive by the landing function.
struct LandingTables {
    explicit LandingTables(Checkpoint owner) : checkpoint(std::move(owner)) {}

    Checkpoint checkpoint;
    std::map<uint32_t, LandingLayer> layers;

    Status land(ExpertId id, std::span<const std::span<const std::byte>> raw,
                std::span<std::byte> slot) const {
        const LandingLayer& layer = layers.at(id.layer);
        if (layer.stored != nullptr) return land_stored(layer, id, raw[0], slot);
        uint32_t extent = 3;
        for (uint32_t part = 0; part < 3; ++part) {
            const MatrixSource& source = layer.pattern[part];
            std::byte* out = slot.data() + layer.layout.offsets[part];
            const auto within = [&](Status status) -> Status {
                if (status) return status;
                const std::string where = checkpoint.where(*layer.tensors[id.index][part]);
                return tl::unexpected(std::move(status.error()).within(where));
            };
            TRY_STATUS(within(retile_data(source, raw[part], 0, source.shape.blocks(), out)));
            if (source.scales == nullptr) continue;
            if (layer.resident[part]) {
                const float* own = layer.scales.data() + id.index * layer.scales_per_expert +
                                   layer.scale_offset[part];
                TRY_STATUS(within(retile_all_scales(source, {own, source.scale_count()}, 0, out)));
            } else {
                std::vector<float> own(
                    source.scale_count());  // an extent may begin at any byte of the staging buffer
                std::memcpy(own.data(), raw[extent].data(), own.size() * sizeof(float));
                ++extent;
                TRY_STATUS(within(retile_all_scales(source, own, 0, out)));
            }
        }
        return {};
    }

    Status land_stored(const LandingLayer& layer, ExpertId id, std::span<const std::byte> raw,
                       std::span<std::byte> slot) const {
        Status status = check_expert(*layer.stored, layer.digests[id.index], raw);
        if (!status)
            return tl::unexpected(
                std::move(status.error()).within(checkpoint.where(*layer.tensors[id.index][0])));
        if (raw.data() != slot.data()) std::memcpy(slot.data(), raw.data(), raw.size());
        return {};
    }
};

Error in_expert(Error error, ExpertId id) {
    return std::move(error).within(fmt::format("expert {} of layer {}", id.index, id.layer));
}

// Of a container's experts.
class StoredCheck final : public ArrivalCheck {
public:
    explicit StoredCheck(std::shared_ptr<const LandingTables> tables)
        : tables_(std::move(tables)) {}
    void begin(ExpertId id) override {
        id_ = id;
        layer_ = &tables_->layers.at(id.layer);
        check_.begin(*layer_->stored, layer_->digests[id.index]);
    }
    void take(std::span<const std::byte> bytes) override { check_.take(bytes); }
    Status finish() override {
        Status status = check_.finish();
        if (status) return status;
        const std::string where = tables_->checkpoint.where(*layer_->tensors[id_.index][0]);
        return tl::unexpected(in_expert(std::move(status.error()).within(where), id_));
    }

private:
    const std::shared_ptr<const LandingTables> tables_;
    const LandingLayer* layer_ = nullptr;
    ExpertId id_;
    ExpertCheck check_;
};

// Small tensors that lie close together, read in few large requests.
class BatchedReads {
public:
    void add(const TensorInfo& tensor, uint64_t begin, uint64_t size_bytes_wanted, float* out) {
        wanted_.push_back({&tensor, tensor.offset + begin, size_bytes_wanted, out});
    }

    Status run(const Checkpoint& checkpoint) {
        std::sort(wanted_.begin(), wanted_.end(), [](const Wanted& a, const Wanted& b) {
            return std::pair(a.tensor->file, a.offset) < std::pair(b.tensor->file, b.offset);
        });
        constexpr uint64_t kGap = 64 * kKiB;
        constexpr uint64_t kWindow = kMiB;
        std::vector<std::byte> window;
        for (size_t i = 0; i < wanted_.size();) {
            const uint32_t file = wanted_[i].tensor->file;
            const uint64_t begin = wanted_[i].offset;
            uint64_t end = begin;
            size_t next = i;
            for (; next < wanted_.size(); ++next) {
                const Wanted& w = wanted_[next];
                const uint64_t new_end = std::max(end, w.offset + w.size_bytes);
                if (w.tensor->file != file || w.offset > end + kGap ||
                    (next > i && new_end - begin > kWindow))
                    break;
                end = new_end;
            }
            window.resize(end - begin);
            TRY_STATUS(checkpoint.files()[file].file->read_at(begin, window));
            for (; i < next; ++i)
                TRY_STATUS(
                    deliver(checkpoint, wanted_[i], window.data() + (wanted_[i].offset - begin)));
        }
        return {};
    }

private:
    struct Wanted {
        const TensorInfo* tensor;
        uint64_t offset;
        uint64_t size_bytes;
        float* out;
    };

    static Status deliver(const Checkpoint& checkpoint, const Wanted& wanted,
                          const std::byte* bytes) {
        const uint32_t element = size_bytes(wanted.tensor->dtype);
        for (uint64_t i = 0; i < wanted.size_bytes / element; ++i) {
            float& value = wanted.out[i];
            const std::byte* at = bytes + i * element;
            if (wanted.tensor->dtype == DType::f32) {
                std::memcpy(&value, at, sizeof value);
            } else if (wanted.tensor->dtype == DType::bf16) {
                uint16_t bits = 0;
                std::memcpy(&bits, at, sizeof bits);
                value = bf16_to_f32(bits);
            } else {
                value = f8_e8m0_to_f32(uint8_t(*at));
            }
            if (!std::isfinite(value))
                return fail(ErrorKind::corrupt, fmt::format("{}: scale {} is not a finite number",
                                                            checkpoint.where(*wanted.tensor), i));
        }
        return {};
    }

    std::vector<Wanted> wanted_;
};

}  // namespace

uint64_t expert_source_bytes(const std::vector<ExpertLayer>& layers) {
    uint64_t bytes = 0;
    for (const ExpertLayer& layer : layers) {
        if (!layer.extents.empty()) {
            bytes +=
                layer.experts * (sizeof(ExpertSource) + sizeof(Extent) + 3 * sizeof(TensorInfo*));
            continue;
        }
        uint64_t floats = 0;
        uint64_t extents = 3;
        for (const MatrixSource& source : layer.sources.front()) {
            if (source.scales == nullptr) continue;
            if (scales_are_resident(source))
                floats += source.scale_count();
            else
                ++extents;
        }
        bytes += layer.experts * (floats * sizeof(float) + sizeof(ExpertSource) +
                                  extents * sizeof(Extent) + 3 * sizeof(TensorInfo*));
    }
    return bytes;
}

namespace {

// One extent an expert, which a read may bring straight into the slot.
void add_stored(const Checkpoint& checkpoint, const ExpertLayer& layer, LandingLayer& landing,
                std::vector<ExpertSource>& sources) {
    const Container& container = *checkpoint.container();
    landing.stored = container.experts_of(layer.name_layer);
    landing.digests = container.expert_digests(layer.name_layer);
    for (uint32_t e = 0; e < layer.experts; ++e) {
        const TensorInfo* extent = layer.extents[e];
        landing.tensors.push_back({extent, extent, extent});
        sources.push_back({.id = {.layer = layer.layer, .index = e},
                           .extents = {{.file = extent->file,
                                        .offset = extent->offset,
                                        .size_bytes = extent->size_bytes}},
                           .slot_class = layer.slot_class,
                           .in_place = true});
    }
}

}  // namespace

Result<ExpertSources> make_expert_sources(const Checkpoint& checkpoint,
                                          std::vector<ExpertLayer> layers, bool sizes_only) {
    ExpertSources out;
    out.resident_bytes = expert_source_bytes(layers);
    auto tables = std::make_shared<LandingTables>(checkpoint);
    BatchedReads reads;
    for (ExpertLayer& layer : layers) {
        LandingLayer& landing = tables->layers[layer.layer];
        landing.layout = layer.layout;
        landing.experts = layer.experts;
        if (!layer.extents.empty()) {
            add_stored(checkpoint, layer, landing, out.sources);
            continue;
        }
        landing.pattern = layer.sources.front();
        for (uint32_t part = 0; part < 3; ++part) {
            landing.resident[part] = scales_are_resident(landing.pattern[part]);
            landing.scale_offset[part] = landing.scales_per_expert;
            if (landing.resident[part])
                landing.scales_per_expert += landing.pattern[part].scale_count();
        }
        landing.scales.resize(layer.experts * landing.scales_per_expert);
        for (uint32_t e = 0; e < layer.experts; ++e) {
            const auto& parts = layer.sources[e];
            landing.tensors.push_back({parts[0].data, parts[1].data, parts[2].data});
            ExpertSource source{.id = {.layer = layer.layer, .index = e},
                                .extents = {},
                                .slot_class = layer.slot_class};
            for (const MatrixSource& m : layer.sources[e])
                source.extents.push_back({.file = m.data->file,
                                          .offset = m.data->offset + m.data_begin,
                                          .size_bytes = m.data_bytes()});
            for (uint32_t part = 0; part < 3; ++part) {
                const MatrixSource& m = layer.sources[e][part];
                if (m.scales == nullptr) continue;
                const uint64_t element = size_bytes(m.scales->dtype);
                if (landing.resident[part])
                    reads.add(*m.scales, m.scales_begin * element, scale_bytes_of(m),
                              landing.scales.data() + e * landing.scales_per_expert +
                                  landing.scale_offset[part]);
                else
                    source.extents.push_back({.file = m.scales->file,
                                              .offset = m.scales->offset + m.scales_begin * element,
                                              .size_bytes = scale_bytes_of(m)});
            }
            out.sources.push_back(std::move(source));
        }
        std::vector<std::array<MatrixSource, 3>>().swap(layer.sources);
    }
    if (!sizes_only) TRY_STATUS(reads.run(checkpoint));
    out.landing = [tables](ExpertId id, std::span<const std::span<const std::byte>> raw,
                           std::span<std::byte> slot) {
        Status status = tables->land(id, raw, slot);
        if (status) return status;
        return Status(tl::unexpected(in_expert(std::move(status.error()), id)));
    };
    out.make_arrival_check = [tables] { return std::make_unique<StoredCheck>(tables); };
    return out;
}

}  // namespace colibri

#include "store/expert_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>

#include "base/units.h"
#include "platform/reader.h"

namespace colibri {

namespace {

constexpr size_t kClassesMax = 4;
// The lookup table is dense; real models number layers and experts without gaps.
constexpr uint32_t kLayersMax = 4096;
constexpr uint32_t kIndexMax = 65536;
constexpr uint64_t kSparseFactor = 64;
// The largest experts known have tens of MiB. With both limits no sum of sizes overflows.
constexpr uint64_t kSlotBytesMax = 8192 * kGiB;
constexpr uint64_t kExpertsMax = 1U << 19;

std::string name(ExpertId id) {
    return fmt::format("layer {} expert {}", id.layer, id.index);
}

Status check_extents(const StoreConfig& config, const ExpertSource& source) {
    if (source.extents.empty())
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}: found no extents, expected at least one", name(source.id)));
    for (const Extent& extent : source.extents) {
        if (extent.file >= config.files.size())
            return fail(ErrorKind::invalid_input,
                        fmt::format("{}: found file number {}, expected less than {}",
                                    name(source.id), extent.file, config.files.size()));
        const File& file = *config.files[extent.file];
        if (extent.offset > file.size_bytes() ||
            extent.size_bytes > file.size_bytes() - extent.offset)
            return fail(ErrorKind::corrupt,
                        fmt::format("{}: {}: {} bytes at offset {} are outside the file, which has "
                                    "{} bytes; copy it again",
                                    name(source.id), file.path(), extent.size_bytes, extent.offset,
                                    file.size_bytes()));
    }
    return {};
}

Status check_in_place(const StoreConfig& config, const ExpertSource& source) {
    const uint64_t stride =
        round_up(config.classes[source.slot_class].slot_bytes, kDirectBlockBytes);
    const Extent& extent = source.extents.front();
    if (source.extents.size() == 1 && extent.offset % kDirectBlockBytes == 0 &&
        extent.size_bytes <= stride)
        return {};
    return fail(ErrorKind::invalid_input,
                fmt::format("{}: cannot be read in place: found {} extents, the first one of {} "
                            "bytes at offset {}, expected one of at most {} bytes at a multiple "
                            "of {}",
                            name(source.id), source.extents.size(), extent.size_bytes,
                            extent.offset, stride, kDirectBlockBytes));
}

Status check_places(const StoreConfig& config) {
    const auto& [directories, of_file] = config.places;
    if (directories.size() > kPlacesMax)
        return fail(ErrorKind::invalid_input, fmt::format("found {} places of files, expected at "
                                                          "most {}; use fewer mirrors",
                                                          directories.size(), kPlacesMax));
    if (!of_file.empty() && of_file.size() != config.files.size())
        return fail(ErrorKind::invalid_input,
                    fmt::format("found places of {} files, expected none or {}", of_file.size(),
                                config.files.size()));
    for (const uint32_t place : of_file)
        if (place >= std::max<size_t>(1, directories.size()))
            return fail(ErrorKind::invalid_input,
                        fmt::format("found a file in place {}, expected less than {}", place,
                                    directories.size()));
    return {};
}

Status check_mirrors(const StoreConfig& config, const ExpertSource& source) {
    if (source.mirrors.size() >= kCopiesMax)
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}: found {} mirrors, expected at most {}", name(source.id),
                                source.mirrors.size(), kCopiesMax - 1));
    for (const std::vector<uint32_t>& mirror : source.mirrors) {
        if (mirror.size() != source.extents.size())
            return fail(ErrorKind::invalid_input,
                        fmt::format("{}: found a mirror of {} extents, expected {}",
                                    name(source.id), mirror.size(), source.extents.size()));
        ExpertSource copy{.id = source.id, .extents = source.extents};
        for (size_t i = 0; i < mirror.size(); ++i) copy.extents[i].file = mirror[i];
        TRY_STATUS(check_extents(config, copy));
    }
    return {};
}

Status check_source(const StoreConfig& config, const ExpertSource& source) {
    if (source.id.layer >= kLayersMax || source.id.index >= kIndexMax)
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}: at most {} layers of {} experts are supported",
                                name(source.id), kLayersMax, kIndexMax));
    if (source.slot_class >= config.classes.size())
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}: found slot class {}, expected less than {}", name(source.id),
                                source.slot_class, config.classes.size()));
    TRY_STATUS(check_extents(config, source));
    if (source.in_place) TRY_STATUS(check_in_place(config, source));
    return check_mirrors(config, source);
}

// The parts of an expert and the runs they are read in, appended; returns the bytes of staging.
uint64_t lay_out(const ExpertSource& source, std::vector<ExpertPart>& parts,
                 std::vector<ExpertRun>& runs) {
    const size_t begin = parts.size();
    const size_t run_begin = runs.size();
    for (uint32_t i = 0; i < source.extents.size(); ++i) {
        const Extent& extent = source.extents[i];
        parts.push_back({.file = extent.file,
                         .raw_index = i,
                         .offset = extent.offset,
                         .size_bytes = extent.size_bytes});
    }
    std::sort(parts.begin() + int64_t(begin), parts.end(),
              [](const ExpertPart& a, const ExpertPart& b) {
                  return std::tie(a.file, a.offset) < std::tie(b.file, b.offset);
              });
    uint64_t staging_bytes = 0;
    for (size_t i = begin; i < parts.size(); ++i) {
        ExpertPart& part = parts[i];
        const uint64_t end = part.offset + part.size_bytes;
        const bool joins =
            runs.size() > run_begin && runs.back().file == part.file &&
            part.offset <= runs.back().offset + runs.back().size_bytes + kMergeGapBytes &&
            end - runs.back().offset <= kRunBytesMax;
        if (!joins)
            runs.push_back({.file = part.file,
                            .offset = part.offset,
                            .size_bytes = 0,
                            .staging_offset = staging_bytes + part.offset % kDirectBlockBytes});
        ExpertRun& run = runs.back();
        run.size_bytes = std::max(run.size_bytes, end - run.offset);
        part.staging_offset = run.staging_offset + (part.offset - run.offset);
        staging_bytes = round_up(run.staging_offset + run.size_bytes, kDirectBlockBytes);
    }
    return staging_bytes;
}

std::vector<uint32_t> count_experts(const StoreConfig& config) {
    std::vector<uint32_t> experts(config.classes.size());
    for (const ExpertSource& source : config.experts)
        if (source.slot_class < experts.size()) ++experts[source.slot_class];
    return experts;
}

Status check_classes(const StoreConfig& config) {
    if (config.classes.size() > kClassesMax)
        return fail(ErrorKind::invalid_input,
                    fmt::format("found {} slot classes, expected at most {}", config.classes.size(),
                                kClassesMax));
    const std::vector<uint32_t> experts = count_experts(config);
    for (size_t i = 0; i < experts.size(); ++i) {
        const SlotClass& slot_class = config.classes[i];
        if (experts[i] == 0) continue;
        if (slot_class.slot_bytes == 0 || slot_class.slot_bytes > kSlotBytesMax)
            return fail(ErrorKind::invalid_input,
                        fmt::format("slot class {}: found slots of {} bytes, expected 1 to {}", i,
                                    slot_class.slot_bytes, kSlotBytesMax));
        const uint64_t slots = uint64_t(slot_class.slots) + slot_class.ring_slots;
        if (slots < 2 || (slot_class.ring_slots < 2 && slot_class.slots < experts[i]))
            return fail(
                ErrorKind::invalid_input,
                fmt::format("slot class {}: found {} slots and {} ring slots for {} experts, "
                            "expected at least 2 ring slots; raise the memory budget",
                            i, slot_class.slots, slot_class.ring_slots, experts[i]));
    }
    return {};
}

}  // namespace

Result<ExpertTable> ExpertTable::build(const StoreConfig& config) {
    if (config.experts.size() > kExpertsMax)
        return fail(ErrorKind::invalid_input, fmt::format("found {} experts, expected at most {}",
                                                          config.experts.size(), kExpertsMax));
    for (const ExpertSource& source : config.experts) TRY_STATUS(check_source(config, source));
    TRY_STATUS(check_classes(config));
    TRY_STATUS(check_places(config));

    std::vector<uint32_t> order(config.experts.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return config.experts[a].id < config.experts[b].id; });
    size_t part_count = 0;
    for (const ExpertSource& source : config.experts) part_count += source.extents.size();

    ExpertTable table;
    table.places_ = config.places.of_file;
    table.ids_.reserve(order.size());
    table.classes_.reserve(order.size());
    table.part_begin_.reserve(order.size() + 1);
    table.parts_.reserve(part_count);
    table.run_begin_.reserve(order.size() + 1);
    table.runs_.reserve(part_count);
    table.in_place_.reserve(order.size());
    table.mirror_begin_.reserve(order.size() + 1);
    for (const uint32_t place : order) {
        const ExpertSource& source = config.experts[place];
        if (!table.ids_.empty() && table.ids_.back() == source.id)
            return fail(ErrorKind::invalid_input, fmt::format("{}: listed twice", name(source.id)));
        table.ids_.push_back(source.id);
        table.classes_.push_back(uint8_t(source.slot_class));
        table.part_begin_.push_back(uint32_t(table.parts_.size()));
        table.run_begin_.push_back(uint32_t(table.runs_.size()));
        (void)lay_out(source, table.parts_, table.runs_);
        table.in_place_.push_back(source.in_place ? 1 : 0);
        TRY_STATUS(table.add_mirrors(config, source));
    }
    table.mirror_begin_.push_back(uint32_t(table.mirrors_.size()));
    table.part_begin_.push_back(uint32_t(table.parts_.size()));
    table.run_begin_.push_back(uint32_t(table.runs_.size()));
    TRY_STATUS(table.number(config));
    return table;
}

Status ExpertTable::add_mirrors(const StoreConfig& config, const ExpertSource& source) {
    mirror_begin_.push_back(uint32_t(mirrors_.size()));
    const std::span parts = std::span(parts_).subspan(part_begin_.back());
    const std::span runs = std::span(runs_).subspan(run_begin_.back());
    for (const std::vector<uint32_t>& mirror : source.mirrors) {
        for (const ExpertRun& run : runs) {
            // One read brings all parts of a run.
            uint32_t file = UINT32_MAX;
            for (const ExpertPart& part : parts) {
                if (part.file != run.file || part.offset < run.offset ||
                    part.offset - run.offset > run.size_bytes)
                    continue;
                const uint32_t own = mirror[part.raw_index];
                if (file != UINT32_MAX && file != own)
                    return fail(ErrorKind::invalid_input,
                                fmt::format("{}: a mirror keeps parts of {} in {} and {}; copies "
                                            "must be of whole files",
                                            name(source.id), config.files[run.file]->path(),
                                            config.files[file]->path(), config.files[own]->path()));
                file = own;
            }
            mirrors_.push_back(file);
        }
    }
    return {};
}

Status ExpertTable::number(const StoreConfig& config) {
    for (const ExpertId id : ids_) {
        if (id.layer >= layers_.size()) layers_.resize(id.layer + 1);
        layers_[id.layer].count = std::max(layers_[id.layer].count, id.index + 1);
    }
    uint64_t cells = 0;
    for (Layer& layer : layers_) {
        layer.begin = uint32_t(cells);
        cells += layer.count;
    }
    if (cells > kSparseFactor * ids_.size() + kIndexMax)
        return fail(ErrorKind::invalid_input,
                    fmt::format("{} experts are spread over {} numbers; expert indices must be "
                                "nearly gapless",
                                config.experts.size(), cells));
    numbers_.assign(cells, kNoExpert);
    for (uint32_t expert = 0; expert < ids_.size(); ++expert)
        numbers_[layers_[ids_[expert].layer].begin + ids_[expert].index] = expert;
    return {};
}

uint64_t ExpertTable::memory_bytes(const StoreConfig& config) {
    uint64_t parts = 0;
    uint64_t mirrored = 0;
    for (const ExpertSource& source : config.experts) {
        parts += source.extents.size();
        mirrored += source.extents.size() * source.mirrors.size();
    }
    constexpr uint64_t kExpertBytes = sizeof(ExpertId) + 2 * sizeof(uint8_t) + 4 * sizeof(uint32_t);
    return config.experts.size() * kExpertBytes + parts * (sizeof(ExpertPart) + sizeof(ExpertRun)) +
           mirrored * sizeof(uint32_t) + config.places.of_file.size() * sizeof(uint32_t);
}

std::vector<SlotClass> useful_classes(const StoreConfig& config) {
    const std::vector<uint32_t> experts = count_experts(config);
    std::vector<SlotClass> classes = config.classes;
    for (size_t i = 0; i < classes.size(); ++i) {
        classes[i].slots = std::min(classes[i].slots, experts[i]);
        classes[i].ring_slots = std::min(classes[i].ring_slots, std::max(2U, experts[i]));
        if (experts[i] == 0) classes[i].slots = classes[i].ring_slots = 0;
    }
    return classes;
}

uint64_t staging_buffer_bytes(const StoreConfig& config) {
    uint64_t largest = 0;
    std::vector<ExpertPart> parts;
    std::vector<ExpertRun> runs;
    for (const ExpertSource& source : config.experts) {
        if (source.in_place) continue;
        parts.clear();
        runs.clear();
        largest = std::max(largest, lay_out(source, parts, runs));
    }
    return round_up(largest, kDirectBlockBytes);
}

}  // namespace colibri

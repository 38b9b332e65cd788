// Where each expert's bytes are, checked once and flattened: experts get numbers, ascending in
// (layer, index).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "store/expert_store.h"

namespace colibri {

// One extent of an expert, and where it goes in the expert's staging buffer.
struct ExpertPart {
    uint32_t file = 0;
    uint32_t raw_index = 0;  // place in ExpertSource::extents
    uint64_t offset = 0;
    uint64_t size_bytes = 0;
    uint64_t staging_offset = 0;
};

// What one read brings: parts of an expert that lie close together, and the gaps between them. In
// the staging buffer as in the file, and at the same place in a block, so that whole blocks can be
// read straight to where they are wanted.
struct ExpertRun {
    uint32_t file = 0;
    uint64_t offset = 0;
    uint64_t size_bytes = 0;
    uint64_t staging_offset = 0;  // equals offset modulo kDirectBlockBytes
};

// Parts whose gap is at most this are read together, if the whole stays within kRunBytesMax.
inline constexpr uint64_t kMergeGapBytes = 64 * 1024;
inline constexpr uint64_t kRunBytesMax = 8 * 1024 * 1024;

inline constexpr uint32_t kNoExpert = UINT32_MAX;

class ExpertTable {
public:
    // Errors: invalid_input (duplicate or unreasonably sparse ids, unknown file or class, no
    // extents, an expert that cannot be read in place though it says so, mirrors or places that are
    // none), corrupt for an extent outside its file.
    [[nodiscard]] static Result<ExpertTable> build(const StoreConfig& config);

    [[nodiscard]] uint32_t size() const { return uint32_t(ids_.size()); }
    [[nodiscard]] const std::vector<ExpertId>& ids() const { return ids_; }
    [[nodiscard]] ExpertId id(uint32_t expert) const { return ids_[expert]; }
    [[nodiscard]] const std::vector<uint8_t>& classes() const { return classes_; }
    // kNoExpert for an id that is not in the table.
    [[nodiscard]] uint32_t find(ExpertId id) const {
        if (id.layer >= layers_.size() || id.index >= layers_[id.layer].count) return kNoExpert;
        return numbers_[layers_[id.layer].begin + id.index];
    }
    // In the order in which they lie in the files.
    [[nodiscard]] std::span<const ExpertPart> parts(uint32_t expert) const {
        return std::span(parts_).subspan(part_begin_[expert],
                                         part_begin_[expert + 1] - part_begin_[expert]);
    }
    [[nodiscard]] bool in_place(uint32_t expert) const { return in_place_[expert] != 0; }
    // How often its bytes exist: once, and in each of its mirrors.
    [[nodiscard]] uint32_t copies(uint32_t expert) const {
        const auto runs_of_it = uint32_t(runs(expert).size());
        return 1 + (mirror_begin_[expert + 1] - mirror_begin_[expert]) / runs_of_it;
    }
    // The file that holds a run's bytes in copy `copy`; 0 is the first one.
    [[nodiscard]] uint32_t file_of(uint32_t expert, uint32_t run, uint32_t copy) const {
        if (copy == 0) return runs(expert)[run].file;
        return mirrors_[mirror_begin_[expert] + (copy - 1) * runs(expert).size() + run];
    }
    // Where that file is: index into StorePlaces::directories.
    [[nodiscard]] uint32_t place_of(uint32_t expert, uint32_t run, uint32_t copy) const {
        return places_.empty() ? 0 : places_[file_of(expert, run, copy)];
    }
    // In the same order.
    [[nodiscard]] std::span<const ExpertRun> runs(uint32_t expert) const {
        return std::span(runs_).subspan(run_begin_[expert],
                                        run_begin_[expert + 1] - run_begin_[expert]);
    }

    // What the table of this config keeps in memory.
    [[nodiscard]] static uint64_t memory_bytes(const StoreConfig& config);

private:
    struct Layer {
        uint32_t begin = 0;  // in numbers_
        uint32_t count = 0;
    };

    Status number(const StoreConfig& config);
    Status add_mirrors(const StoreConfig& config, const ExpertSource& source);

    std::vector<ExpertId> ids_;
    std::vector<uint8_t> classes_;
    std::vector<uint32_t> part_begin_;
    std::vector<ExpertPart> parts_;
    std::vector<uint32_t> run_begin_;
    std::vector<ExpertRun> runs_;
    std::vector<uint8_t> in_place_;
    std::vector<uint32_t> mirror_begin_;
    std::vector<uint32_t> mirrors_;  // file numbers: by expert, mirror, run
    std::vector<uint32_t> places_;   // by file
    std::vector<Layer> layers_;
    std::vector<uint32_t> numbers_;
};

// The classes without slots that could never be filled: at most one for each expert of the class.
[[nodiscard]] std::vector<SlotClass> useful_classes(const StoreConfig& config);

// A staging buffer holds the extents of any one expert that is not read in place; 0 when there is
// none.
[[nodiscard]] uint64_t staging_buffer_bytes(const StoreConfig& config);

}  // namespace colibri

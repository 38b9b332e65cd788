// One unit of a conversion: bytes of the source in, bytes of the container out.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "base/error.h"
#include "convert/plan.h"
#include "convert/quantize.h"
#include "format/checkpoint.h"

namespace colibri {

struct Produced {
    std::vector<std::byte> bytes;
    // Of rows: the scales of these blocks, which lie behind all data of the matrix.
    std::vector<std::byte> scales;
    std::array<Digest128, 2> parts;  // of an expert
};

// Mean squares of the inputs of a matrix, by column; empty: unknown. part: 0 gate, 1 up, 2 down.
struct Importance {
    std::function<std::span<const float>(uint32_t layer, uint32_t expert, uint32_t part)> expert;
    std::function<std::span<const float>(TensorRole role, const std::string& name)> dense;
};

// Thread-safe. Errors name file and tensor: io, corrupt (values that are not finite).
class Producer {
public:
    // All must outlive it.
    Producer(const Checkpoint& checkpoint, const ConvertPlan& plan, ScaleSearch search,
             const Importance& importance)
        : checkpoint_(checkpoint), plan_(plan), search_(search), importance_(importance) {}

    [[nodiscard]] Result<Produced> run(const ConvertUnit& unit) const;

private:
    [[nodiscard]] Result<Produced> rows(const ConvertUnit& unit) const;
    [[nodiscard]] Result<Produced> vector(const ConvertUnit& unit) const;
    [[nodiscard]] Result<Produced> kv_b(const ConvertUnit& unit) const;
    [[nodiscard]] Result<Produced> experts(const ConvertUnit& unit) const;

    // Reads the matrix and lays it out at `out` (shape.total_bytes(), zeroed) in the format of
    // `shape`.
    [[nodiscard]] Status matrix(const MatrixSource& source, const TileShape& shape,
                                std::span<const float> importance, std::byte* out) const;

    const Checkpoint& checkpoint_;
    const ConvertPlan& plan_;
    ScaleSearch search_;
    const Importance& importance_;
};

// Calls `range(file, offset, size)` for every range of the source that the unit reads.
void for_each_range(const ConvertPlan& plan, const ConvertUnit& unit,
                    const std::function<void(uint32_t, uint64_t, uint64_t)>& range);

}  // namespace colibri

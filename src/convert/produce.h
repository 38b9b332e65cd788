// One unit of a conversion: bytes of the source in, bytes of the container out.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "base/error.h"
#include "convert/calibration.h"
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

// Thread-safe. Errors name file and tensor: io, corrupt (values that are not finite).
class Producer {
public:
    // All must outlive it. `calibration` may be null.
    Producer(const Checkpoint& checkpoint, const ConvertPlan& plan, ScaleSearch search,
             const Calibration* calibration)
        : checkpoint_(checkpoint), plan_(plan), search_(search), calibration_(calibration) {}

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
    const Calibration* calibration_;
};

// Calls `range(file, offset, size)` for every range of the source that the unit reads.
void for_each_range(const ConvertPlan& plan, const ConvertUnit& unit,
                    const std::function<void(uint32_t, uint64_t, uint64_t)>& range);

}  // namespace colibri

// A conversion laid out before the first byte is read: which tensors go where in which format, and
// the units of work that make them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/notices.h"
#include "convert/recipe.h"
#include "format/checkpoint.h"
#include "format/container_manifest.h"
#include "load/bind.h"
#include "model/spec.h"

namespace colibri {

// A piece of one file's data, made by one worker from bytes that no other unit needs.
struct ConvertUnit {
    enum class Kind : uint8_t {
        rows,     // row blocks [begin, end) of a matrix
        vector,   // a norm or bias
        kv_b,     // key_up, key_up_scales and value_up
        experts,  // expert `begin` of a layer
    };
    Kind kind = Kind::rows;
    uint32_t file = 0;
    uint32_t item = 0;  // into ConvertPlan::dense, or ::experts for experts
    uint32_t begin = 0, end = 0;
    uint32_t tensors = 0;  // that end with this unit
    uint64_t in_bytes = 0, out_bytes = 0;
};

struct DensePlan {
    FillJob job;      // matrix or vector; of kv_b the key_up job
    FillJob value;    // of kv_b
    TileShape shape;  // to be written; of the whole matrix
    uint32_t first_tensor = 0;
};

struct ExpertPlan {
    ExpertLayer source;
    ContainerExperts target;
    uint32_t layer_entry = 0;  // into manifest.experts
};

struct ConvertPlan {
    ModelSpec spec;
    ContainerManifest manifest;  // without digests of data and without side files
    std::vector<DensePlan> dense;
    std::vector<ExpertPlan> experts;
    std::vector<ConvertUnit> units;  // in the order in which files hold their results
    std::vector<uint64_t> file_bytes;
    uint64_t in_bytes = 0, out_bytes = 0;
    uint64_t largest_unit_bytes = 0;  // in and out

    [[nodiscard]] bool exact() const;  // nothing is quantized anew
};

// Reads headers only. `parameters` goes into the manifest and the identity. Errors: as Checkpoint
// and bind_model; invalid_input when the source is a container already or a format does not fit a
// tensor.
[[nodiscard]] Result<ConvertPlan> plan_conversion(const Checkpoint& checkpoint,
                                                  const Recipe& recipe,
                                                  const std::string& parameters,
                                                  const std::string& source_name, Notices& notices);

// "experts int4-g64, dense int8-g64+bf16, ..." with bytes, a line each.
struct PlanLine {
    std::string what;     // class of tensors
    std::string formats;  // "fp8-g128 -> int4-g64"
    uint64_t in_bytes = 0, out_bytes = 0;
};
[[nodiscard]] std::vector<PlanLine> summarize(const ConvertPlan& plan);

}  // namespace colibri

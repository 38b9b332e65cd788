// Binds a checkpoint to a spec: which tensor plays which role, in which stored form, and where it
// will lie in memory.
//
// Binding reads no tensor data. It is done twice with the same code: once to learn sizes for the
// plan, once with the arena's address to get the final views.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/notices.h"
#include "format/checkpoint.h"
#include "load/matrix_source.h"
#include "load/weights.h"
#include "model/spec.h"
#include "model/tensor_names.h"
#include "store/expert_store.h"

namespace colibri {

// One piece of the arena to fill at load.
struct FillJob {
    enum class Kind : uint8_t {
        matrix,    // the whole matrix, tile16
        vector,    // rows of f32: norms and biases (source.shape.rows elements)
        key_up,    // per head: the first `rows_used` rows of each head, transposed
        value_up,  // per head: the other rows
        stored,    // of a container: the tensor's bytes as they are
    };
    Kind kind = Kind::matrix;
    TensorRole role = TensorRole::embedding;
    bool draft = false;  // of the draft layer
    MatrixSource source;
    std::byte* out = nullptr;
    // key_up, value_up: source has heads * head_rows rows.
    uint32_t heads = 0, head_rows = 0, first_row = 0, rows_used = 0;
    TileShape head_shape;
    uint64_t head_stride_bytes = 0;
    float* column_scales = nullptr;  // key_up of scaled formats
};

// The routed experts of one layer.
struct ExpertLayer {
    uint32_t layer = 0;  // as in ExpertId
    uint32_t experts = 0;
    uint32_t slot_class = 0;
    ExpertLayout layout;
    // [expert][gate, up, down]; empty for a container
    std::vector<std::array<MatrixSource, 3>> sources;
    // Of a container, by expert: the extent that becomes the slot.
    std::vector<const TensorInfo*> extents;
    uint32_t name_layer = 0;  // as in tensor names
    bool draft = false;
};

struct BoundModel {
    ModelWeights weights;
    std::vector<FillJob> jobs;
    std::vector<ExpertLayer> expert_layers;
    std::vector<uint64_t> slot_class_bytes;  // at most 4
    uint64_t dense_bytes = 0;                // of the arena
    bool indexers_present = true;            // false: a checkpoint without indexer tensors
    bool draft_present = false;
};

struct BindOptions {
    bool draft_head = false;
    bool dense_attention = false;  // accept a missing indexer beyond index_topk positions
    std::byte* arena = nullptr;    // null: sizes only
};

// Errors name the first tensor that is missing or unfit. Tensors that no role claims are reported
// once.
[[nodiscard]] Result<BoundModel> bind_model(const ModelSpec& spec, const Checkpoint& checkpoint,
                                            const BindOptions& options, Notices& notices);

class ThreadPool;

// Reads and re-tiles everything that stays resident, through a staging buffer of `staging_bytes`
// (at least one row block of the widest matrix). `progress(done, total)` counts bytes read.
class ThreadPool;
[[nodiscard]] Status fill_dense(const Checkpoint& checkpoint, const std::vector<FillJob>& jobs,
                                ThreadPool& pool,
                                const std::function<void(uint64_t, uint64_t)>& progress);
inline constexpr uint64_t kFillStagingBytes = 1 << 20;

// Lays out head `head` of a key_up or value_up job. `rows`: that head's job.rows_used rows as they
// are stored; `scales`: all of the source's. Errors: corrupt at a value that is not finite.
[[nodiscard]] Status lay_out_key_up(const FillJob& job, uint32_t head,
                                    std::span<const std::byte> rows, std::span<const float> scales);
[[nodiscard]] Status lay_out_value_up(const FillJob& job, uint32_t head,
                                      std::span<const std::byte> rows,
                                      std::span<const float> scales);

}  // namespace colibri

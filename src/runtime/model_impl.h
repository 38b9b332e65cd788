// What a Model holds; shared by the files that open it and run it.
#pragma once

#include <memory>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "blocks/compute.h"
#include "blocks/experts/moe.h"
#include "format/checkpoint.h"
#include "kernels/rope_table.h"
#include "load/bind.h"
#include "platform/file.h"
#include "runtime/model.h"
#include "runtime/prefetch_control.h"
#include "runtime/usage_file.h"

namespace colibri {

// Rows of logits computed together when all rows are asked for.
inline constexpr uint32_t kLogitRows = 8;

struct LayerRopes {
    RopeTable main;
    RopeTable index;
};

struct Model::Impl {
    ModelOptions options;
    ModelSpec spec;
    std::unique_ptr<Checkpoint> checkpoint;
    MemoryPlan plan;
    const Kernels* kernels = nullptr;
    std::unique_ptr<ThreadPool> pool;
    uint32_t threads_max = 0;  // that scratch has room for
    AlignedBuffer arena;       // dense weights
    ModelWeights weights;      // views into it
    bool indexers_present = true;
    bool draft_loaded = false;
    std::vector<std::shared_ptr<const File>> files;  // of the checkpoint and its mirrors
    std::unique_ptr<ExpertStore> store;
    UsageFile usage;
    PrefetchControl prefetch{PrefetchMode::off};
    std::vector<ExpertId> guesses;  // kept for its memory
    AlignedBuffer scratch;
    std::shared_ptr<const StateShape> state_shape, draft_shape;
    std::vector<LayerRopes> ropes;  // [layers], the draft layer after the last one
    std::string formats;
};

// Scratch that a pass over `rows` rows needs, all sublayers and the head considered.
[[nodiscard]] uint64_t pass_scratch_bytes(const ModelSpec& spec, bool indexers_present, bool draft,
                                          uint32_t rows, uint32_t context, uint32_t threads);

}  // namespace colibri

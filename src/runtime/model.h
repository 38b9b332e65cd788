// A loaded model and its forward pass.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "base/function_ref.h"
#include "base/notices.h"
#include "blocks/observer.h"
#include "kernels/kernels.h"
#include "load/mirrors.h"
#include "load/plan.h"
#include "model/spec.h"
#include "platform/reader.h"
#include "runtime/prefetch_control.h"
#include "runtime/sequence_state.h"
#include "runtime/tunables.h"
#include "runtime/usage_file.h"
#include "store/expert_store.h"
#include "store/usage.h"

namespace colibri {

struct ModelOptions {
    std::string directory;
    uint64_t ram_budget_bytes = 0;     // 0: automatic
    uint64_t extra_bytes = 0;          // planned for others: tokenizer, sampler
    uint32_t context = 0;              // 0: min(4096, maximum)
    bool float_activations = false;    // --activations f32
    const Kernels* kernels = nullptr;  // null: best_kernels()
    uint32_t threads = 0;              // 0: usable_cores()
    uint32_t prefill_slice = 0;
    bool draft_head = false;
    bool dense_attention = false;
    PolicyKind policy = PolicyKind::frequency;  // of the expert cache
    ReaderKind reader = ReaderKind::automatic;  // of experts
    // Bounds of its reads, see reader_options(); 0: its defaults.
    uint64_t in_flight_bytes = 0, chunk_bytes = 0;
    ReadHook read_hook = {};                     // on reads of experts, for tests
    std::vector<std::string> split_directories;  // that hold some of the directory's files
    std::vector<MirrorOptions> mirrors;          // copies of the files
    PrefetchMode prefetch = PrefetchMode::automatic;
    // Where the usage history is (docs/cache.md); "": none is read or written. What cannot be
    // written there goes into a subdirectory of the second one, if given.
    std::string state_directory, fallback_state_directory;
    bool warm = false;  // fill the cache in the background with what the history knows
    // Sees the inputs of every matrix but routers, indexer gates and the halves of kv_b. Outlives
    // the model.
    InputObserver* observer = nullptr;
    std::function<void(std::string_view step, uint64_t done_bytes, uint64_t total_bytes)> progress;
};

// What a pass leaves behind for comparison with reference outputs. Rows are appended slice by
// slice; layer indices as in the spec.
struct Trace {
    struct Routes {
        std::vector<int32_t> ids;
        std::vector<float> weights;
        uint32_t top_k = 0;
    };
    struct Selection {
        std::vector<int32_t> positions;
        uint32_t width = 0;
    };  // [rows, width], ascending, -1 = none
    std::vector<std::vector<float>>
        hidden;                  // [layers + 1][rows * dim]; the last one is after the final norm
    std::vector<Routes> routes;  // [layers]; top_k 0 for dense layers
    std::vector<Selection> selections;  // [layers]; width 0 where no indexer is owned. Width =
                                        // min(index_topk, total_rows)
    uint32_t total_rows = 0;            // set by the caller: rows of the whole prompt
};

// The experts that a slice's rows go to in one layer. ids and weights are [rows][top_k], ids
// ascending in a row; they die with the call.
struct RoutedSlice {
    uint32_t layer = 0;  // as in ExpertId
    uint32_t first_position = 0;
    uint32_t rows = 0, top_k = 0;
    const uint32_t* ids = nullptr;
    const float* weights = nullptr;
    bool guess = false;  // what the layer will probably use, before its turn
};

enum class LogitRows : uint8_t { none, last, all };

struct ForwardOptions {
    LogitRows logits = LogitRows::last;
    // Called with the row's index within `tokens` and its [vocab] logits, rows ascending. The span
    // dies with the call.
    std::function<Status(uint32_t row, std::span<const float> logits)> on_logits;
    // Called likewise with [dim] hidden rows after the final norm, every row, when set.
    std::function<Status(uint32_t row, std::span<const float> hidden)> on_hidden;
    std::function<void(uint32_t done_rows, uint32_t total_rows)> on_progress;
    // Called before each layer, when no expert is on loan and no stream is open.
    std::function<void()> between_layers;
    // For measurements: overwrites what the router has chosen (ids ascending and unique in a row)
    // or guessed (any ids).
    std::function<void(const RoutedSlice& routes, uint32_t* ids, float* weights)> force_routes;
    // Called after a layer's experts have run.
    std::function<void(const RoutedSlice& routes)> on_routes;
    Trace* trace = nullptr;
    const CancelToken* cancel = nullptr;
};

// The expert cache as it is now. Slots of all sizes together.
struct CacheSize {
    uint64_t slots = 0, planned_slots = 0;
    uint64_t bytes = 0, planned_bytes = 0;  // of these slots
    uint64_t total_bytes = 0;               // the memory plan with so many slots
    uint64_t smallest_total_bytes = 0;      // with as few as there can be
    [[nodiscard]] bool is_smallest() const { return total_bytes == smallest_total_bytes; }
};

class Model {
public:
    // Opens, plans, refuses or loads. Errors name file and tensor, or the smallest budget that
    // works.
    [[nodiscard]] static Result<std::unique_ptr<Model>> open(const ModelOptions& options,
                                                             Notices& notices);
    // The plan alone, without loading weights.
    [[nodiscard]] static Result<MemoryPlan> plan_only(const ModelOptions& options,
                                                      Notices& notices);
    // Where the usage history of this model is, without loading weights.
    [[nodiscard]] static Result<UsagePlace> usage_place(const ModelOptions& options,
                                                        Notices& notices);
    // Identity of the model's files, for state files, from their headers alone. Directories as in
    // ModelOptions.
    [[nodiscard]] static Result<uint64_t> fingerprint(
        const std::string& directory, const std::vector<std::string>& split_directories);
    ~Model();

    // Goes on with these. Waits for reads under way; the cache stays as it is. Errors:
    // invalid_input for more threads than the model was opened with, or bounds out of range;
    // unsupported for a reader that cannot be had. Nothing has changed then.
    [[nodiscard]] Status retune(const Tunables& tunables);

    [[nodiscard]] const ModelSpec& spec() const;
    [[nodiscard]] const MemoryPlan& plan() const;
    [[nodiscard]] const Kernels& kernels() const;
    [[nodiscard]] uint32_t threads() const;
    [[nodiscard]] bool has_draft_head() const;  // asked for and present
    [[nodiscard]] std::string formats()
        const;  // "fp8-g128 experts, fp8-g128 dense, bf16 embedding"
    [[nodiscard]] StoreCounters store_counters() const;
    [[nodiscard]] ExpertStore& store();

    [[nodiscard]] CacheSize cache_size() const;
    // Makes the cache as large as a memory budget allows: as planned at most, and no smaller than
    // what any layer needs to run. Not during forward(), but from its between_layers. Slots that
    // are being read into go a little later. No answer changes.
    void resize_cache(uint64_t budget_bytes);
    void halve_cache();
    void restore_cache();

    [[nodiscard]] bool prefetching() const;  // at present
    [[nodiscard]] const UsageHistory& usage() const;
    // Adds what was used since the last call, over `steps` tokens, to the history, and writes it.
    // Nothing without a state directory. Errors: io; everything goes on without.
    [[nodiscard]] Status save_usage(uint64_t steps);

    // Whether the files are still those that were opened; a few system calls for each. A file that
    // was replaced or removed is a notice, its old bytes are still there. Errors: corrupt for one
    // that was truncated or written to: experts in memory may be of either version.
    [[nodiscard]] Status check_files(Notices& notices) const;

    [[nodiscard]] SequenceState new_state() const;        // main layers
    [[nodiscard]] SequenceState new_draft_state() const;  // the draft layer's own rows

    // Runs `tokens` after the state's accepted rows, in slices of the plan's rows, layer by layer;
    // accepts them. On error the state is as before. Errors: invalid_input (a token id outside the
    // vocabulary), out_of_budget (context), io, corrupt, cancelled, and non-finite activations. A
    // row's outputs do not depend on how tokens are cut into calls or slices.
    [[nodiscard]] Status forward(SequenceState& state, std::span<const int32_t> tokens,
                                 const ForwardOptions& options);

    // Draft layer: for each i the row (hidden[i], next_tokens[i]) at position draft.length() + i.
    // hidden: [rows, dim], after the final norm. Appends and accepts the rows; on_logits and
    // on_hidden (post head norm, for recursion) as in forward.
    [[nodiscard]] Status draft_forward(SequenceState& draft, std::span<const float> hidden,
                                       std::span<const int32_t> next_tokens,
                                       const ForwardOptions& options);

    struct Impl;  // model_impl.h, for this folder

private:
    explicit Model(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace colibri

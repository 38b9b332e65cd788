// The public interface of colibri: an Engine opens a model, a Session holds one conversation's
// state. No tensors here.
//
// Threads: an Engine and its sessions belong to one thread at a time (cancellation excepted:
// CancelToken may be raised from anywhere, also from a signal handler). Several engines can live in
// one process. A Session must not outlive its Engine.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "base/notices.h"

namespace colibri {

struct CacheSize;      // runtime/model.h
class Model;           // runtime/model.h, for tools that look inside
class Tokenizer;       // text/tokenizer.h
struct ChatMessage;    // text/chat.h
struct MemoryPlan;     // load/plan.h
struct ModelSpec;      // model/spec.h
struct StorageReport;  // store/storage_health.h

enum class CachePolicy : uint8_t {
    frequency,  // experts that are used often and lately stay, every layer has its share
    lru,        // the one that was used longest ago leaves
};

enum class Prefetch : uint8_t {
    automatic,  // as long as it pays
    on,
    off,
};

enum class Activations : uint8_t {
    automatic,  // integer path for weights in integer formats, float path for the rest
    f32,        // float path everywhere: the reference for correctness
};

// A directory on another drive with byte-identical copies of all or some of the model's files.
// Experts are spread over the copies, and read from another one when a drive fails. Never written.
struct MirrorDirectory {
    std::string directory;
    double bytes_per_s = 0;  // its share of the reads goes by this; 0: measured at open
};

struct LoadProgress {
    std::string_view step;  // "reading dense weights"
    uint64_t done_bytes = 0, total_bytes = 0;
};

struct EngineOptions {
    std::string model_directory;
    uint64_t ram_budget_bytes = 0;  // 0: what the machine has free, minus a reserve
    uint32_t context = 0;           // positions; 0: min(4096, the model's maximum)
    Activations activations = Activations::automatic;
    std::string isa;     // "" = the widest; otherwise a name of kernels.h
    std::string reader;  // "" or "auto"; otherwise uring, pread or buffered
    // Bounds of its reads: bytes under way, and of one call; 0: its defaults.
    uint64_t in_flight_bytes = 0, chunk_bytes = 0;
    // Further directories that hold some of the model's safetensors files, each file in one of all.
    std::vector<std::string> split_directories;
    std::vector<MirrorDirectory> mirrors;
    uint32_t threads = 0;                         // 0: physical cores this process may use
    CachePolicy policy = CachePolicy::frequency;  // decides speed, never the answer
    uint32_t prefill_slice = 0;    // rows that go through a layer together; 0: the planner decides
    bool draft_head = false;       // load the MTP layer when the checkpoint has one
    bool dense_attention = false;  // lossy: ignore a missing indexer beyond index_topk positions
    Prefetch prefetch = Prefetch::automatic;  // read what the next layer will probably need
    // Where the usage history is; "" = none is kept. What cannot be written there goes into a
    // subdirectory of the second one.
    std::string state_directory, fallback_state_directory;
    bool warm = false;  // fill the cache in the background with what earlier runs used most
    bool tokenizer_required = true;  // false: token ids only (coli eval)
    std::function<void(const LoadProgress&)>
        progress;  // called from the opening thread, may be empty
};

struct SamplingOptions {
    float temperature = 1.0F;  // 0 = greedy
    float top_p = 0.95F;       // 1 = off
    uint32_t top_k = 0;        // 0 = off
    float min_p = 0.0F;        // 0 = off
    uint64_t seed = 0;
};

enum class FinishReason : uint8_t {
    stop,     // an end-of-turn token
    length,   // max_tokens
    context,  // the context is full
    cancelled,
    stop_string,  // one of GenerateOptions::stop_strings
    loop,         // GenerateOptions::loop_guard
};

// What somebody asks of an engine that is at work. May be called from any thread, also from a
// signal handler.
class MemoryRequests {
public:
    // Half of the expert cache is to be given up, and half of the rest with the next call.
    void halve() { pending_.fetch_add(1); }
    // It is to be as large as planned again.
    void restore() { pending_.store(kRestore); }

    struct Taken {
        bool restore = false;  // comes before the halvings
        uint32_t halvings = 0;
    };
    // What was asked since the last call.
    [[nodiscard]] Taken take() {
        const uint32_t pending = pending_.exchange(0);
        return {.restore = pending >= kRestore, .halvings = pending % kRestore};
    }

private:
    static constexpr uint32_t kRestore = 1U << 16;
    std::atomic<uint32_t> pending_{0};
};

struct GenerateOptions {
    SamplingOptions sampling;
    uint32_t max_tokens = 0;  // 0: up to the context
    // Each ends the answer before it; not looked for in reasoning. At most 64, each 1 to 4096
    // bytes of UTF-8.
    std::vector<std::string> stop_strings;
    // Tokens that the answer may go in circles (decode/loop_guard.h); 0: for ever.
    uint32_t loop_guard = 0;
    const CancelToken* cancel = nullptr;
    // Looked at before each layer; what is done about it is a notice.
    MemoryRequests* memory = nullptr;
    // Prompt rows read so far; called between layers and slices of a long prefill.
    std::function<void(uint32_t done_rows, uint32_t total_rows)> on_prefill;
    // A line for the user as soon as it comes up, between layers: Engine::take_notices() does not
    // have it then.
    std::function<void(const std::string& line)> on_notice;
    // Whole characters only. `reasoning`: between the model's thinking tags. Tags themselves and
    // control tokens are not shown.
    std::function<void(std::string_view text, bool reasoning)> on_text;
};

struct GenerationStats {
    uint32_t prompt_tokens = 0;  // of the whole prompt
    uint32_t reused_tokens = 0;  // of it, already in the state
    uint32_t generated_tokens = 0;
    uint32_t reasoning_tokens = 0;  // of the generated
    uint64_t prefill_us = 0, decode_us = 0, first_token_us = 0;
    uint64_t expert_hits = 0, expert_misses = 0, read_bytes = 0, wait_us = 0;
    // Experts read before their layer asked for them; of these asked for, and read in vain.
    uint64_t prefetches = 0, useful_prefetches = 0, wasted_prefetches = 0;
    uint64_t useful_prefetch_bytes = 0, wasted_prefetch_bytes = 0;
};

struct Generation {
    std::string text, reasoning;
    std::vector<int32_t> tokens;  // as sampled, the end token included
    FinishReason finish = FinishReason::stop;
    GenerationStats stats;
};

// A rendered conversation, ready for Session::generate.
struct Prompt {
    std::vector<int32_t> tokens;
    bool begins_in_reasoning = false;  // the prompt ends inside an open thinking block
    bool reasoning_closed =
        false;  // it ends with a closed thinking block: the model was told not to think
    bool has_thinking_tags = false;  // false: everything the model says is answer
};

struct RenderOptions {
    std::optional<bool> think;     // enable_thinking; absent: the template's own default
    std::string reasoning_effort;  // "" = not passed
};

class Engine;

class Session {
public:
    Session(Session&&) noexcept;
    Session& operator=(Session&&) noexcept;
    ~Session();

    // Continues from the longest common prefix of `prompt` and what the state holds, then samples.
    // The state afterwards holds prompt and answer. Errors: invalid_input (empty prompt, a stop
    // string that is none), out_of_budget (prompt longer than the context: need, limit, option to
    // raise), io/corrupt from the store, corrupt for a file of the model that was cut or written to
    // since it was opened; the session stays usable after an error. Cancellation is not an error:
    // finish = cancelled.
    [[nodiscard]] Result<Generation> generate(const Prompt& prompt, const GenerateOptions& options);
    void reset();
    [[nodiscard]] uint32_t length() const;  // positions in the state
    [[nodiscard]] uint32_t context() const;

    struct Impl;  // in src/engine

private:
    friend class Engine;
    explicit Session(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

class Engine {
public:
    // Plans memory, refuses a budget that is too small (naming the smallest that works), loads.
    // Lasting remarks go to `notices`.
    [[nodiscard]] static Result<std::unique_ptr<Engine>> open(const EngineOptions& options,
                                                              Notices& notices);
    // The plan that open() would make, without loading weights. Errors as open().
    [[nodiscard]] static Result<MemoryPlan> plan_only(const EngineOptions& options,
                                                      Notices& notices);
    ~Engine();

    [[nodiscard]] Result<Session> new_session();

    // The model's chat template applied; text of messages is never recognized as control tokens.
    // Without a template the texts are joined by newlines.
    [[nodiscard]] Result<Prompt> render(std::span<const ChatMessage> messages,
                                        const RenderOptions& options) const;
    // Raw text, no template; control tokens recognized only when asked.
    [[nodiscard]] Result<Prompt> raw_prompt(std::string_view text, bool special_tokens) const;
    [[nodiscard]] bool has_chat_template() const;

    [[nodiscard]] const ModelSpec& spec() const;
    [[nodiscard]] const MemoryPlan& plan() const;
    [[nodiscard]] const Tokenizer* tokenizer()
        const;  // null when none was required and none is there
    [[nodiscard]] Model& model();
    // Whether the drives with the model's files answer. Changes come as notices.
    [[nodiscard]] StorageReport storage() const;
    // The expert cache as it is now, and made smaller or larger within what was planned: to what a
    // memory budget (of everything, as ram_budget_bytes) allows, or by half, or back. The memory of
    // slots that go is given back to the system; no answer changes. A budget below the smallest
    // that works gives the smallest, with a notice.
    [[nodiscard]] CacheSize cache_size() const;
    void shrink_memory(uint64_t budget_bytes);
    void halve_cache();
    void restore_cache();
    // What has come up since the last call and is worth a line to the user.
    [[nodiscard]] std::vector<std::string> take_notices();
    // Sampling that generation_config.json recommends, over SamplingOptions' defaults.
    [[nodiscard]] SamplingOptions recommended_sampling() const;
    // "glm_moe_dsa, 8 layers, ..., avx512, 2 threads, activations auto (fp8: float path)": the
    // start-up line.
    [[nodiscard]] std::string start_line() const;

    struct Impl;  // in src/engine

private:
    explicit Engine(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace colibri

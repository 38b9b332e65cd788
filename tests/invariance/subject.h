// A model under the invariance suite: how it is opened in different ways, what a run of it
// produces, and the count of what was compared.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/model.h"

namespace colibri::invariance {

struct Subject {
    std::string name;
    std::string directory;
    bool float_activations = false;
    std::vector<int32_t> prompt;
    std::vector<int32_t> other;  // a prompt of somebody else
};

// Budgets from the smallest that works (0) to everything resident (kBudgets - 1).
inline constexpr uint32_t kBudgets = 4;
inline constexpr uint32_t kDecodeSteps = 16;
inline constexpr uint32_t kDrafts = 3;

struct Setting {
    const Kernels* kernels = nullptr;
    uint32_t threads = 1;
    uint32_t slice = 1;  // 0: the whole prompt
    uint32_t budget = kBudgets - 1;
    PolicyKind policy = PolicyKind::frequency;
    PrefetchMode prefetch = PrefetchMode::off;
    std::string state_directory = {};  // with a usage history, and a warm start from it
    std::vector<MirrorOptions> mirrors = {};
    ReadHook read_hook = {};  // faults on the reads of experts
    [[nodiscard]] std::string text() const;
};

// Bits that must never change: logits of each prompt row, of each greedy step, of the draft layer
// forced along the prompt and of its own drafts.
struct Outcome {
    std::vector<float> prompt, decode, forced, drafts;
    std::vector<int32_t> tokens, drafted;
};

// Kernel tables of this machine, the reference first.
[[nodiscard]] std::vector<const Kernels*> machine_kernels();

[[nodiscard]] std::unique_ptr<Model> open(const Subject& subject, const Setting& setting);

// A sequence that is fed and read in any order; failures are test failures.
class Feed {
public:
    explicit Feed(Model& model) : model_(&model), state(model.new_state()) {}
    // Appends the logits of every row to `logits` and the hidden rows to `hidden`.
    void tokens(std::span<const int32_t> tokens);
    // One token in, the greedy next one out.
    int32_t step(int32_t token);
    [[nodiscard]] std::span<const float> last_logits() const;
    void forget_outputs();

private:
    Model* model_;

public:
    SequenceState state;
    std::vector<float> logits, hidden;
    std::function<void()> between_layers;
};

// Greedy continuation of a feed whose last logits are those of the prompt.
void decode(Feed& feed, Outcome& outcome);
// The whole programme on a fresh state. `between_layers` is called before each main layer.
[[nodiscard]] Outcome run(Model& model, const Subject& subject,
                          const std::function<void()>& between_layers = {});

class Tally {
public:
    explicit Tally(std::string name) : name_(std::move(name)) {}
    ~Tally();
    Tally(const Tally&) = delete;
    Tally& operator=(const Tally&) = delete;
    // Bitwise, row by row; the first difference is a test failure that names `what`.
    void compare(std::span<const float> got, std::span<const float> want, uint32_t row_floats,
                 const std::string& what);
    void compare(const Outcome& got, const Outcome& want, uint32_t vocab, const std::string& what);

private:
    std::string name_;
    uint64_t runs_ = 0, rows_ = 0, differences_ = 0;
};

}  // namespace colibri::invariance

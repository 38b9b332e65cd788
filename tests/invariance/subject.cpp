#include "tests/invariance/subject.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "kernels/selection.h"

namespace colibri::invariance {

namespace {

constexpr uint32_t kContext = 640;

ModelOptions options_of(const Subject& subject, const Setting& setting) {
    return {.directory = subject.directory,
            .context = kContext,
            .float_activations = subject.float_activations,
            .kernels = setting.kernels,
            .threads = setting.threads,
            .prefill_slice = setting.slice != 0 ? setting.slice : uint32_t(subject.prompt.size()),
            .draft_head = true,
            .policy = setting.policy,
            .read_hook = setting.read_hook,
            .mirrors = setting.mirrors,
            .prefetch = setting.prefetch,
            .state_directory = setting.state_directory,
            .warm = !setting.state_directory.empty()};
}

void expect_ok(const Status& status) {
    ASSERT_TRUE(status) << status.error().message;
}

// Logits of all rows of the draft layer fed with `hidden` and `next`; the last hidden row replaces
// `hidden_out`.
void draft_rows(Model& model, SequenceState& draft, std::span<const float> hidden,
                std::span<const int32_t> next, std::vector<float>& logits,
                std::vector<float>& hidden_out) {
    ForwardOptions options{.logits = LogitRows::all};
    options.on_logits = [&](uint32_t, std::span<const float> l) -> Status {
        logits.insert(logits.end(), l.begin(), l.end());
        return {};
    };
    options.on_hidden = [&](uint32_t, std::span<const float> h) -> Status {
        hidden_out.assign(h.begin(), h.end());
        return {};
    };
    expect_ok(model.draft_forward(draft, hidden, next, options));
}

// The draft layer along the prompt, then on its own.
void drafts(Model& model, const Subject& subject, const std::vector<float>& hidden,
            Outcome& outcome) {
    const uint32_t dim = model.spec().dim;
    const size_t rows = subject.prompt.size();
    SequenceState draft = model.new_draft_state();
    std::vector<float> next;
    draft_rows(model, draft, {hidden.data(), (rows - 1) * dim},
               std::span(subject.prompt).subspan(1), outcome.forced, next);
    std::vector<float> h(hidden.begin() + std::ptrdiff_t((rows - 1) * dim),
                         hidden.begin() + std::ptrdiff_t(rows * dim));
    int32_t token = outcome.tokens.front();
    for (uint32_t i = 0; i < kDrafts; ++i) {
        draft_rows(model, draft, h, {&token, 1}, outcome.drafts, next);
        token = int32_t(argmax(std::span(outcome.drafts).last(model.spec().vocab)));
        outcome.drafted.push_back(token);
        h = next;
    }
}

}  // namespace

std::string Setting::text() const {
    return fmt::format(
        "{}, {} threads, slice {}, budget {} of {}, {}, prefetch {}{}", to_string(kernels->isa),
        threads, slice == 0 ? std::string("all") : fmt::to_string(slice), budget, kBudgets - 1,
        to_string(policy), prefetch != PrefetchMode::off ? "on" : "off",
        state_directory.empty() ? "" : ", warm");
}

std::vector<const Kernels*> machine_kernels() {
    std::vector<const Kernels*> tables;
    for (const Isa isa : available_isas()) tables.push_back(kernels_for(isa));
    return tables;
}

std::unique_ptr<Model> open(const Subject& subject, const Setting& setting) {
    ModelOptions options = options_of(subject, setting);
    Notices notices;
    options.ram_budget_bytes = uint64_t(64) << 30;
    const auto plan = Model::plan_only(options, notices);
    EXPECT_TRUE(plan) << (plan ? "" : plan.error().message);
    if (!plan) return nullptr;
    const uint64_t more = plan->everything_bytes - plan->smallest_budget_bytes;
    options.ram_budget_bytes = plan->smallest_budget_bytes + more * setting.budget / (kBudgets - 1);
    auto model = Model::open(options, notices);
    EXPECT_TRUE(model) << (model ? "" : model.error().message);
    if (!model) return nullptr;
    if (setting.budget == kBudgets - 1) {
        EXPECT_EQ((*model)->plan().expert_slots, (*model)->plan().expert_count);
    }
    return *std::move(model);
}

void Feed::tokens(std::span<const int32_t> tokens) {
    ForwardOptions options{.logits = LogitRows::all};
    options.between_layers = between_layers;
    options.on_logits = [&](uint32_t, std::span<const float> l) -> Status {
        logits.insert(logits.end(), l.begin(), l.end());
        return {};
    };
    options.on_hidden = [&](uint32_t, std::span<const float> h) -> Status {
        hidden.insert(hidden.end(), h.begin(), h.end());
        return {};
    };
    expect_ok(model_->forward(state, tokens, options));
}

int32_t Feed::step(int32_t token) {
    tokens({&token, 1});
    return int32_t(argmax(last_logits()));
}

std::span<const float> Feed::last_logits() const {
    return std::span(logits).last(model_->spec().vocab);
}

void Feed::forget_outputs() {
    logits.clear();
    hidden.clear();
}

void decode(Feed& feed, Outcome& outcome) {
    const size_t before = feed.logits.size();
    outcome.tokens = {int32_t(argmax(feed.last_logits()))};
    for (uint32_t i = 0; i < kDecodeSteps; ++i)
        outcome.tokens.push_back(feed.step(outcome.tokens.back()));
    outcome.decode.assign(feed.logits.begin() + std::ptrdiff_t(before), feed.logits.end());
}

Outcome run(Model& model, const Subject& subject, const std::function<void()>& between_layers) {
    Outcome outcome;
    Feed feed(model);
    feed.between_layers = between_layers;
    feed.tokens(subject.prompt);
    outcome.prompt = feed.logits;
    decode(feed, outcome);
    if (model.has_draft_head()) drafts(model, subject, feed.hidden, outcome);
    return outcome;
}

Tally::~Tally() {
    fmt::print("{:<34} {:>4} runs, {:>6} rows of logits compared bit for bit, {} differences\n",
               name_, runs_, rows_, differences_);
}

void Tally::compare(std::span<const float> got, std::span<const float> want, uint32_t row_floats,
                    const std::string& what) {
    ++runs_;
    ASSERT_EQ(got.size(), want.size()) << name_ << ": " << what;
    ASSERT_GT(want.size(), 0U) << name_ << ": " << what;
    ASSERT_EQ(want.size() % row_floats, 0U);
    const uint64_t before = differences_;
    for (size_t begin = 0; begin < want.size(); begin += row_floats) {
        ++rows_;
        if (std::memcmp(got.data() + begin, want.data() + begin, row_floats * sizeof(float)) == 0)
            continue;
        if (++differences_ > before + 1) continue;
        size_t at = begin;
        // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): bits, not values
        while (std::memcmp(&got[at], &want[at], sizeof(float)) == 0) ++at;
        ADD_FAILURE() << name_ << ": " << what << ": row " << begin / row_floats << ", logit "
                      << at - begin << ": " << got[at] << ", expected " << want[at];
    }
}

void Tally::compare(const Outcome& got, const Outcome& want, uint32_t vocab,
                    const std::string& what) {
    compare(got.prompt, want.prompt, vocab, what + ": prompt");
    compare(got.decode, want.decode, vocab, what + ": decode");
    EXPECT_EQ(got.tokens, want.tokens) << name_ << ": " << what;
    runs_ -= 1;
    if (want.forced.empty()) return;
    compare(got.forced, want.forced, vocab, what + ": draft layer along the prompt");
    compare(got.drafts, want.drafts, vocab, what + ": drafts");
    EXPECT_EQ(got.drafted, want.drafted) << name_ << ": " << what;
    runs_ -= 2;
}

}  // namespace colibri::invariance

// Placement, batching, threads and instruction sets never change a bit of the answer.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/rng.h"
#include "kernels/selection.h"
#include "platform/test_tree.h"
#include "tests/invariance/subject.h"
#include "tests/support/synthetic_model.h"

namespace colibri::invariance {
namespace {

using synthetic::Format;

// The kinds of models: the bundled one, and one random model for each stored form and arithmetic.
struct Kind {
    std::string name;
    Format format = Format::f32;
    bool olmoe = false;
    bool float_activations = false;
    size_t number = 0;
};

void PrintTo(const Kind& kind, std::ostream* out) {
    *out << kind.name;
}

// Rows of nano's prompt that the plain kernels compute in the default run.
constexpr uint32_t kPlainRows = 40;

std::vector<Kind> kinds() {
    std::vector<Kind> all{{.name = "nano"}};
    for (const Format format :
         {Format::int8_row, Format::int4_g64, Format::int4_row, Format::int2_row}) {
        all.push_back({.name = "glm_" + std::string(to_string(format)), .format = format});
        all.push_back({.name = "glm_" + std::string(to_string(format)) + "_float",
                       .format = format,
                       .float_activations = true});
    }
    for (const Format format : {Format::bf16, Format::f32, Format::fp8})
        all.push_back({.name = "glm_" + std::string(to_string(format)), .format = format});
    all.push_back({.name = "olmoe_bf16", .format = Format::bf16, .olmoe = true});
    all.push_back({.name = "olmoe_int8", .format = Format::int8_row, .olmoe = true});
    all.push_back({.name = "olmoe_int8_float",
                   .format = Format::int8_row,
                   .olmoe = true,
                   .float_activations = true});
    for (Kind& kind : all) {
        std::replace(kind.name.begin(), kind.name.end(), '-', '_');
        kind.number = size_t(&kind - all.data());
    }
    return all;
}

// Widths of several quantization groups with ragged ends, more heads than a SIMD vector has lanes,
// few selected keys, groups of experts.
synthetic::GlmShape glm_shape() {
    return {.dim = 288,
            .vocab = 200,
            .heads = 18,
            .q_rank = 128,
            .kv_rank = 128,
            .nope = 16,
            .rope = 8,
            .value = 16,
            .dense_hidden = 256,
            .expert_hidden = 128,
            .dense_layers = 1,
            .experts = 24,
            .top_k = 4,
            .shared = 1,
            .groups = 4,
            .groups_kept = 3,
            .index_heads = 4,
            .index_dims = 16,
            .index_topk = 24,
            .indexers = "FSF",
            .context = 1024,
            .seed = 11};
}

std::vector<int32_t> random_tokens(uint64_t seed, uint32_t count, uint32_t vocab) {
    Rng rng(seed);
    std::vector<int32_t> tokens(count);
    for (int32_t& token : tokens) token = int32_t(rng.below(vocab));
    return tokens;
}

// A directory with the model and the prompts; nano's is long enough for its selection of 256 keys
// to leave some out.
class Bench {
public:
    explicit Bench(const Kind& kind) {
        subject.name = kind.name;
        subject.float_activations = kind.float_activations;
        if (kind.name == "nano") {
            subject.directory = fmt::format("{}/models/nano", COLIBRI_SOURCE_DIR);
            const auto oracle =
                nlohmann::json::parse(std::ifstream(subject.directory + "/oracle.json"));
            for (const auto& row : oracle["cases"]) {
                const auto prompt = row["prompt"].get<std::vector<int32_t>>();
                if (prompt.size() > subject.prompt.size()) subject.prompt = prompt;
            }
            EXPECT_GT(subject.prompt.size(), 310U);
            subject.other.assign(subject.prompt.begin() + 200, subject.prompt.begin() + 290);
            subject.prompt.resize(290);
            return;
        }
        subject.directory = tree_.root();
        Status written;
        if (kind.olmoe)
            written = synthetic::write_olmoe(
                tree_.root(), {.merged_int8 = kind.format == Format::int8_row, .seed = 5});
        else
            written = synthetic::write_glm(tree_.root(), glm_shape(), kind.format);
        EXPECT_TRUE(written) << (written ? "" : written.error().message);
        subject.prompt = random_tokens(21, 72, 200);
        subject.other = random_tokens(22, 50, 200);
    }

    Subject subject;

private:
    TestTree tree_;
};

Setting baseline_setting() {
    return {.kernels = machine_kernels().front()};
}

// Half of all pairs of (budget, slice), each budget and slice twice; threads and instruction sets
// spread over them. The two halves take turns from model to model.
std::vector<Setting> covering_settings(size_t half) {
    std::vector<const Kernels*> tables = machine_kernels();
    if (tables.size() > 1) tables.erase(tables.begin());
    constexpr std::array<uint32_t, 4> kSlices{1, 7, 64, 0};
    std::vector<Setting> settings;
    for (uint32_t budget = 0; budget < kBudgets; ++budget)
        for (uint32_t s = 0; s < kSlices.size(); ++s)
            if ((budget + s + half) % 2 == 0)
                settings.push_back(
                    {.kernels = tables[(budget + s / 2) % tables.size()],
                     .threads = 1 + (budget + 2 * s) % 3,
                     .slice = kSlices[s],
                     .budget = budget,
                     .policy = (budget + s / 2) % 2 == 0 ? PolicyKind::frequency : PolicyKind::lru,
                     .prefetch = s % 2 == budget / 2 % 2 ? PrefetchMode::on : PrefetchMode::off});
    return settings;
}

class Invariance : public testing::TestWithParam<Kind> {};

// Goal: cache budget, slice length, threads, instruction set and a restart leave every logit as it
// is. Method: plain kernels, one thread, everything resident, one row at a time; then a covering
// set of settings, each with a model opened anew. For nano, where plain kernels take their time,
// the first rows only; the plainest fast ones for the rest.
TEST_P(Invariance, OfPlacement) {
    const Bench bench(GetParam());
    const bool nano = GetParam().name == "nano";
    Setting setting = baseline_setting();
    const auto plain = open(bench.subject, setting);
    ASSERT_NE(plain, nullptr);
    const uint32_t vocab = plain->spec().vocab;
    Tally tally(GetParam().name + " placement");
    Outcome want;
    if (nano) {
        setting.kernels = machine_kernels()[machine_kernels().size() > 1 ? 1 : 0];
        const auto fast = open(bench.subject, setting);
        ASSERT_NE(fast, nullptr);
        want = run(*fast, bench.subject);
        Feed feed(*plain);
        feed.tokens(std::span(bench.subject.prompt).first(kPlainRows));
        tally.compare(feed.logits, std::span(want.prompt).first(size_t(kPlainRows) * vocab), vocab,
                      "plain kernels");
    } else {
        want = run(*plain, bench.subject);
    }
    for (const Setting& other : covering_settings(GetParam().number)) {
        const auto model = open(bench.subject, other);
        ASSERT_NE(model, nullptr);
        tally.compare(run(*model, bench.subject), want, vocab, other.text());
    }
}

// Goal: which expert stays, what is guessed, and what earlier runs remember never change a bit.
// Method: both policies with guessing on and off and by itself, with few slots; then twice with a
// usage history: one that learns it, one that starts warm from it.
TEST_P(Invariance, OfPoliciesAndGuesses) {
    const Bench bench(GetParam());
    const TestTree state;
    Setting setting{.kernels = machine_kernels().back(), .threads = 2, .slice = 64};
    const auto plain = open(bench.subject, setting);
    ASSERT_NE(plain, nullptr);
    const uint32_t vocab = plain->spec().vocab;
    const Outcome want = run(*plain, bench.subject);
    Tally tally(GetParam().name + " policies and guesses");
    uint64_t guesses = 0;
    const auto check = [&](const Setting& other) {
        const auto model = open(bench.subject, other);
        ASSERT_NE(model, nullptr);
        tally.compare(run(*model, bench.subject), want, vocab, other.text());
        guesses += model->store_counters().guesses;
        const Status saved = model->save_usage(64);
        ASSERT_TRUE(saved) << saved.error().message;
    };
    setting.budget = 1;
    for (const PolicyKind policy : {PolicyKind::frequency, PolicyKind::lru})
        for (const PrefetchMode prefetch :
             {PrefetchMode::on, PrefetchMode::off, PrefetchMode::automatic}) {
            setting.policy = policy;
            setting.prefetch = prefetch;
            check(setting);
        }
    EXPECT_GT(guesses, 0U);
    setting.state_directory = state.root();
    check(setting);
    check(setting);
    EXPECT_TRUE(std::filesystem::exists(state.path("usage")));
}

// Goal: nothing that coli tune may choose changes a bit (field case: a tuner that broke
// offloading). Method: one open model with few slots; every reader, several bounds of its reads,
// threads and prefetch modes set while it is open, with the cache as it is and emptied.
TEST_P(Invariance, OfTuning) {
    const Bench bench(GetParam());
    const Setting setting{
        .kernels = machine_kernels().back(), .threads = 4, .slice = 64, .budget = 1};
    const auto model = open(bench.subject, setting);
    ASSERT_NE(model, nullptr);
    const uint32_t vocab = model->spec().vocab;
    const Outcome want = run(*model, bench.subject);
    Tally tally(GetParam().name + " tuning");
    uint32_t number = 0;
    for (const ReaderKind reader : {ReaderKind::automatic, ReaderKind::pread, ReaderKind::buffered})
        for (const uint64_t in_flight : {kInFlightBytesMin, 48 * kMiB}) {
            const Tunables tunables{.threads = 1 + number % 4,
                                    .reader = reader,
                                    .in_flight_bytes = in_flight,
                                    .chunk_bytes = number % 2 == 0 ? kChunkBytesMin : 0,
                                    .prefetch = number % 3 == 0   ? PrefetchMode::on
                                                : number % 3 == 1 ? PrefetchMode::off
                                                                  : PrefetchMode::automatic};
            const Status tuned = model->retune(tunables);
            ASSERT_TRUE(tuned) << tuned.error().message;
            EXPECT_EQ(model->threads(), tunables.threads);
            if (number % 2 == 1) model->store().forget();
            tally.compare(run(*model, bench.subject), want, vocab,
                          "setting " + std::to_string(number++));
        }
    EXPECT_FALSE(model->retune({.threads = 5})) << "scratch is for four";
    EXPECT_FALSE(model->retune({.chunk_bytes = kChunkBytesMin - 1}));
    EXPECT_FALSE(model->retune({.in_flight_bytes = kInFlightBytesMax + 1}));
    tally.compare(run(*model, bench.subject), want, vocab, "after refusals");
}

// One model with few slots and the fastest kernels, and what the same model computes in the
// plainest way.
class History : public testing::TestWithParam<Kind> {
protected:
    void SetUp() override {
        bench_ = std::make_unique<Bench>(GetParam());
        setting_ = {.kernels = machine_kernels().back(),
                    .threads = 2,
                    .slice = 64,
                    .budget = 0,
                    .prefetch = PrefetchMode::on};
        model_ = open(bench_->subject, setting_);
        ASSERT_NE(model_, nullptr);
        vocab_ = model_->spec().vocab;
        want_ = run(*model_, bench_->subject);
        tally_ = std::make_unique<Tally>(GetParam().name + " history");
    }

    std::span<const int32_t> prompt(size_t begin, size_t end) const {
        return std::span(bench_->subject.prompt).subspan(begin, end - begin);
    }
    [[nodiscard]] size_t rows() const { return bench_->subject.prompt.size(); }
    // The rest of the prompt from row `begin` on, and the greedy steps, compared with a run without
    // history.
    void finish(Feed& feed, size_t begin, const std::string& what) {
        feed.forget_outputs();
        feed.tokens(prompt(begin, rows()));
        tally_->compare(feed.logits, std::span(want_.prompt).subspan(begin * vocab_), vocab_,
                        what + ": prompt");
        Outcome got;
        decode(feed, got);
        tally_->compare(got.decode, want_.decode, vocab_, what + ": decode");
    }

    std::unique_ptr<Bench> bench_;
    Setting setting_;
    std::unique_ptr<Model> model_;
    uint32_t vocab_ = 0;
    Outcome want_;
    std::unique_ptr<Tally> tally_;
};

// Goal: a warm cache, other requests before and between, token-by-token feeding, snapshots, forks,
// truncation, saved state and verified drafts give the bits of a cold run. Method: each on the same
// model, compared with its first run.
TEST_P(History, LeavesNoTrace) {
    tally_->compare(run(*model_, bench_->subject), want_, vocab_, "warm cache");
    const size_t half = rows() / 2 + 3;
    {
        Feed feed(*model_);
        for (size_t i = 0; i < rows(); ++i) feed.tokens(prompt(i, i + 1));
        tally_->compare(feed.logits, want_.prompt, vocab_, "token by token");
    }
    Feed feed(*model_);
    feed.tokens(prompt(0, half));
    const SequenceState snapshot = feed.state.snapshot();
    finish(feed, half, "continued in a second call");
    feed.state.truncate(uint32_t(half));
    finish(feed, half, "truncated and run again");
    // A branch with other tokens, which shares blocks with the snapshot.
    Feed branch(*model_);
    branch.state = snapshot;
    branch.tokens(bench_->subject.other);
    feed.state = snapshot;
    finish(feed, half, "restored after a branch");
    feed.state = branch.state.fork(uint32_t(half));
    finish(feed, half, "forked from the branch's prefix");

    const std::string saved = snapshot.serialize();
    model_.reset();
    model_ =
        open(bench_->subject, {.kernels = setting_.kernels, .threads = 3, .slice = 7, .budget = 2});
    ASSERT_NE(model_, nullptr);
    Feed later(*model_);
    const auto shape = std::make_shared<const StateShape>(later.state.shape());
    auto loaded = SequenceState::deserialize(shape, later.state.capacity(), saved);
    ASSERT_TRUE(loaded) << loaded.error().message;
    later.state = *std::move(loaded);
    finish(later, half, "saved, restarted, loaded");
}

// Goal: two requests whose steps alternate do not see each other.
// Method: both prompts in uneven pieces by turns, then their greedy steps by turns; each compared
// with running alone.
TEST_P(History, OfOthersIsInvisible) {
    const Subject& subject = bench_->subject;
    Feed alone(*model_);
    alone.tokens(subject.other);
    Outcome other;
    const std::vector<float> other_prompt = alone.logits;
    decode(alone, other);

    Feed a(*model_), b(*model_);
    size_t done_a = 0, done_b = 0;
    for (size_t i = 1; done_a < rows() || done_b < subject.other.size(); ++i) {
        const size_t to_a = std::min(rows(), done_a + 5 * i),
                     to_b = std::min(subject.other.size(), done_b + 3 * i);
        if (to_a > done_a) a.tokens(prompt(done_a, to_a));
        if (to_b > done_b) b.tokens(std::span(subject.other).subspan(done_b, to_b - done_b));
        done_a = to_a;
        done_b = to_b;
    }
    tally_->compare(a.logits, want_.prompt, vocab_, "interleaved: first prompt");
    tally_->compare(b.logits, other_prompt, vocab_, "interleaved: second prompt");
    a.forget_outputs();
    b.forget_outputs();
    for (uint32_t i = 0; i < kDecodeSteps; ++i) {
        (void)a.step(want_.tokens[i]);
        (void)b.step(other.tokens[i]);
    }
    tally_->compare(a.logits, want_.decode, vocab_, "interleaved: first answer");
    tally_->compare(b.logits, other.decode, vocab_, "interleaved: second answer");
}

// Goal: a token that was drafted and verified in a batch gets the bits that a single step gives it,
// whatever the other rows are. Method: batches of the right token followed by right and wrong
// guesses, truncated to the right ones.
TEST_P(History, OfDraftsIsInvisible) {
    Feed feed(*model_);
    feed.tokens(bench_->subject.prompt);
    feed.forget_outputs();
    Rng rng(3);
    uint32_t step = 0;
    for (uint32_t rows = 2; step < kDecodeSteps; rows = rows % 9 + 2) {
        const uint32_t right = std::min(1 + uint32_t(rng.below(rows)), kDecodeSteps - step);
        std::vector<int32_t> batch(want_.tokens.begin() + step,
                                   want_.tokens.begin() + step + right);
        while (batch.size() < rows) batch.push_back(int32_t(rng.below(vocab_)));
        const uint32_t length = feed.state.length();
        feed.tokens(batch);
        tally_->compare(
            std::span(feed.logits).first(size_t(right) * vocab_),
            std::span(want_.decode).subspan(size_t(step) * vocab_, size_t(right) * vocab_), vocab_,
            fmt::format("batch of {} with {} right", rows, right));
        feed.state.truncate(length + right);
        feed.forget_outputs();
        step += right;
    }
}

std::string name_of(const testing::TestParamInfo<Kind>& info) {
    return info.param.name;
}

// One kind for each way in which rows meet: float and integer paths, both attentions.
std::vector<Kind> few_kinds(bool few) {
    std::vector<Kind> chosen;
    for (const Kind& kind : kinds()) {
        const bool in = kind.name == "nano" || kind.name == "glm_int8_row" ||
                        kind.name == "glm_int4_g64" || kind.name == "glm_bf16" ||
                        kind.name == "olmoe_int8";
        if (in == few) chosen.push_back(kind);
    }
    return chosen;
}

INSTANTIATE_TEST_SUITE_P(Models, Invariance, testing::ValuesIn(kinds()), name_of);
INSTANTIATE_TEST_SUITE_P(Models, History, testing::ValuesIn(few_kinds(true)), name_of);
INSTANTIATE_TEST_SUITE_P(RestSlow, History, testing::ValuesIn(few_kinds(false)), name_of);

class ProductSlow : public testing::TestWithParam<Kind> {};

// Goal: as Invariance.OfPlacement, without gaps.
// Method: the full product of instruction sets, threads, slices and budgets.
TEST_P(ProductSlow, OfPlacement) {
    const Bench bench(GetParam());
    const auto plain = open(bench.subject, baseline_setting());
    ASSERT_NE(plain, nullptr);
    const Outcome want = run(*plain, bench.subject);
    Tally tally(GetParam().name + " product");
    for (const Kernels* kernels : machine_kernels())
        for (uint32_t threads = 1; threads <= 3; ++threads)
            for (const uint32_t slice : {1U, 7U, 64U, 0U})
                for (uint32_t budget = 0; budget < kBudgets; ++budget) {
                    const Setting setting{
                        .kernels = kernels, .threads = threads, .slice = slice, .budget = budget};
                    const auto model = open(bench.subject, setting);
                    ASSERT_NE(model, nullptr);
                    tally.compare(run(*model, bench.subject), want, model->spec().vocab,
                                  setting.text());
                }
}

INSTANTIATE_TEST_SUITE_P(Models, ProductSlow, testing::ValuesIn(kinds()), name_of);

}  // namespace
}  // namespace colibri::invariance

// Every model fixture against its reference outputs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/selection.h"
#include "runtime/model.h"
#include "tests/golden/fixture.h"

namespace colibri::golden {
namespace {

// What the comparison of one fixture found. Tolerances: tests/golden/README.md.
struct Findings {
    double worst_logit = 0;   // max |difference| / max |logit| over a prompt's logits
    double worst_hidden = 0;  // likewise
    double worst_weight = 0;  // absolute, router weights
    int argmax = 0, greedy = 0, routes = 0, selections = 0, drafts = 0;
    int rows = 0, steps = 0;
};

double relative(const std::vector<float>& got, const float* want, size_t count) {
    double worst = 0;
    double largest = 0;
    for (size_t i = 0; i < count; ++i) {
        worst = std::max(worst, std::fabs(double(got[i]) - double(want[i])));
        largest = std::max(largest, std::fabs(double(want[i])));
    }
    return worst / largest;
}

class Comparison {
public:
    Comparison(Model& model, const Fixture& fixture) : model_(model), fixture_(fixture) {}

    Findings run() {
        for (size_t i = 0; i < fixture_.cases.size(); ++i) one_case(i);
        return found_;
    }

private:
    void one_case(size_t index);
    void compare_trace(const std::string& prefix, const Trace& trace);
    void greedy(const Case& c, SequenceState& state, int32_t first);
    void drafts(const std::string& prefix, const Case& c, const std::vector<float>& hidden);

    Model& model_;
    const Fixture& fixture_;
    Findings found_;
};

void Comparison::one_case(size_t index) {
    const Case& c = fixture_.cases[index];
    const std::string prefix = fmt::format("p{}.", index);
    SequenceState state = model_.new_state();
    std::vector<float> logits, hidden;
    std::vector<int32_t> argmaxes;
    Trace trace{.total_rows = uint32_t(c.prompt.size())};
    ForwardOptions options{.logits = LogitRows::all};
    options.trace = &trace;
    options.on_logits = [&](uint32_t row, std::span<const float> l) -> Status {
        if (row >= c.first_logit_row) logits.insert(logits.end(), l.begin(), l.end());
        argmaxes.push_back(int32_t(argmax(l)));
        return {};
    };
    options.on_hidden = [&](uint32_t, std::span<const float> h) -> Status {
        hidden.insert(hidden.end(), h.begin(), h.end());
        return {};
    };
    const Status status = model_.forward(state, c.prompt, options);
    ASSERT_TRUE(status) << status.error().message;
    const Array& want = fixture_.arrays.at(prefix + "logits");
    ASSERT_EQ(logits.size(), want.floats.size());
    found_.worst_logit =
        std::max(found_.worst_logit, relative(logits, want.floats.data(), logits.size()));
    const size_t recorded = c.argmax.size();
    const size_t skip = argmaxes.size() - recorded;
    for (size_t i = 0; i < recorded; ++i) found_.argmax += argmaxes[skip + i] != c.argmax[i];
    found_.rows += int(recorded);
    compare_trace(prefix, trace);
    if (!c.greedy.empty()) greedy(c, state, argmaxes.back());
    if (c.bonus >= 0 && model_.has_draft_head()) drafts(prefix, c, hidden);
}

void Comparison::compare_trace(const std::string& prefix, const Trace& trace) {
    for (size_t l = 0; l < trace.hidden.size(); ++l) {
        const auto hidden = fixture_.arrays.find(fmt::format("{}hidden.{}", prefix, l));
        if (hidden != fixture_.arrays.end()) {
            ASSERT_EQ(trace.hidden[l].size(), hidden->second.floats.size());
            found_.worst_hidden = std::max(
                found_.worst_hidden,
                relative(trace.hidden[l], hidden->second.floats.data(), trace.hidden[l].size()));
        }
        const auto ids = fixture_.arrays.find(fmt::format("{}router.{}.ids", prefix, l));
        if (ids != fixture_.arrays.end()) {
            ASSERT_EQ(trace.routes[l].ids.size(), ids->second.ints.size());
            for (size_t i = 0; i < ids->second.ints.size(); ++i)
                found_.routes += trace.routes[l].ids[i] != ids->second.ints[i];
            const auto& weights =
                fixture_.arrays.at(fmt::format("{}router.{}.weights", prefix, l)).floats;
            for (size_t i = 0; i < weights.size(); ++i)
                found_.worst_weight =
                    std::max(found_.worst_weight,
                             double(std::fabs(weights[i] - trace.routes[l].weights[i])));
        }
        const auto index = fixture_.arrays.find(fmt::format("{}index.{}", prefix, l));
        if (index != fixture_.arrays.end()) {
            ASSERT_EQ(trace.selections[l].positions.size(), index->second.ints.size())
                << "layer " << l;
            for (size_t i = 0; i < index->second.ints.size(); ++i)
                found_.selections += trace.selections[l].positions[i] != index->second.ints[i];
        }
    }
}

// Greedy continuation, ignoring end tokens; decisions closer than the fixture's own noise end the
// comparison.
void Comparison::greedy(const Case& c, SequenceState& state, int32_t first) {
    if (!fixture_.exact_greedy) return;
    int32_t token = first;
    for (size_t step = 0; step < c.greedy.size(); ++step) {
        if (c.smallest_gap != 0 && c.smallest_gap < 1e-3) break;
        found_.greedy += token != c.greedy[step];
        ++found_.steps;
        if (token != c.greedy[step] || step + 1 == c.greedy.size()) return;
        ForwardOptions options;
        options.on_logits = [&](uint32_t, std::span<const float> l) -> Status {
            token = int32_t(argmax(l));
            return {};
        };
        const int32_t input = token;
        const Status status = model_.forward(state, {&input, 1}, options);
        ASSERT_TRUE(status) << status.error().message;
    }
}

void Comparison::drafts(const std::string& prefix, const Case& c,
                        const std::vector<float>& hidden) {
    const uint32_t dim = model_.spec().dim;
    const size_t rows = c.prompt.size();
    SequenceState draft = model_.new_draft_state();
    std::vector<float> logits;
    std::vector<float> next_hidden;
    ForwardOptions options{.logits = LogitRows::all};
    options.on_logits = [&](uint32_t, std::span<const float> l) -> Status {
        logits.insert(logits.end(), l.begin(), l.end());
        return {};
    };
    options.on_hidden = [&](uint32_t, std::span<const float> h) -> Status {
        next_hidden.assign(h.begin(), h.end());
        return {};
    };
    if (rows > 1) {
        const std::span<const int32_t> next = std::span(c.prompt).subspan(1);
        ASSERT_TRUE(model_.draft_forward(draft, {hidden.data(), (rows - 1) * dim}, next, options));
        const auto forced = fixture_.arrays.find(prefix + "mtp.forced.logits");
        if (forced != fixture_.arrays.end()) {
            const std::vector<float>& want = forced->second.floats;
            const size_t skip = logits.size() - want.size();
            const std::vector<float> tail(logits.begin() + std::ptrdiff_t(skip), logits.end());
            found_.worst_logit =
                std::max(found_.worst_logit, relative(tail, want.data(), want.size()));
        }
    }
    std::vector<float> h(hidden.end() - dim, hidden.end());
    int32_t token = c.bonus;
    std::vector<float> all;
    for (size_t step = 0; step < c.drafts.size(); ++step) {
        logits.clear();
        ASSERT_TRUE(model_.draft_forward(draft, h, {&token, 1}, options));
        token = int32_t(argmax(logits));
        found_.drafts += token != c.drafts[step];
        all.insert(all.end(), logits.begin(), logits.end());
        h = next_hidden;
    }
    const auto want = fixture_.arrays.find(prefix + "mtp.draft.logits");
    if (want != fixture_.arrays.end())
        found_.worst_logit =
            std::max(found_.worst_logit, relative(all, want->second.floats.data(), all.size()));
}

Findings compare(const std::string& model_directory, const std::string& fixture_directory,
                 uint32_t slice, const Kernels* kernels) {
    auto fixture = load_fixture(fixture_directory);
    EXPECT_TRUE(fixture) << (fixture ? "" : fixture.error().message);
    if (!fixture) return {};
    Notices notices;
    auto model = Model::open({.directory = model_directory,
                              .ram_budget_bytes = uint64_t(2) << 30,
                              .context = 1024,
                              .float_activations = true,
                              .kernels = kernels,
                              .threads = 2,
                              .prefill_slice = slice,
                              .draft_head = true},
                             notices);
    EXPECT_TRUE(model) << (model ? "" : model.error().message);
    if (!model) return {};
    return Comparison(**model, *fixture).run();
}

void expect_exact(const std::string& name, const Findings& f) {
    fmt::print(
        "{:<18} logits {:.1e}  hidden {:.1e}  argmax {}/{}  greedy {}/{}  routes {}  selections {} "
        " drafts {}\n",
        name, f.worst_logit, f.worst_hidden, f.argmax, f.rows, f.greedy, f.steps, f.routes,
        f.selections, f.drafts);
    EXPECT_LE(f.worst_logit, 1e-4);
    EXPECT_LE(f.worst_hidden, 1e-4);
    EXPECT_LE(f.worst_weight, 1e-5);
    EXPECT_EQ(f.argmax, 0);
    EXPECT_EQ(f.greedy, 0);
    EXPECT_EQ(f.routes, 0);
    EXPECT_EQ(f.selections, 0);
    EXPECT_EQ(f.drafts, 0);
    EXPECT_GT(f.rows, 0);
}

class Fixtures : public testing::TestWithParam<const char*> {};

// Goal: logits, hidden states, routing, selections, greedy tokens and drafts of every family and
// stored format are right. Method: the fixtures of an independent implementation, float
// activations, prompts in one slice.
TEST_P(Fixtures, MatchTheReference) {
    const std::string directory = fmt::format("{}/tests/golden/{}", COLIBRI_SOURCE_DIR, GetParam());
    expect_exact(GetParam(), compare(directory, directory, 64, nullptr));
}

// Goal: the plain kernels are right by themselves, and small slices as well.
// Method: as above with the reference table and slices of three rows.
TEST_P(Fixtures, MatchTheReferenceWithPlainKernels) {
    const std::string directory = fmt::format("{}/tests/golden/{}", COLIBRI_SOURCE_DIR, GetParam());
    expect_exact(GetParam(), compare(directory, directory, 3, kernels_for(Isa::reference)));
}

INSTANTIATE_TEST_SUITE_P(All, Fixtures,
                         testing::Values("glm_short", "glm_sparse", "glm_odd", "glm_mtp", "glm_fp8",
                                         "glm_out_int4row", "glm_out_int4g64", "glm_out_int2row",
                                         "olmoe", "olmoe_clip", "olmoe_out_int8"),
                         [](const auto& fixture) { return std::string(fixture.param); });

// Goal: the bundled trained model, with sparse selection biting on a prompt of 597 tokens.
// Method: its own reference outputs.
TEST(Nano, MatchesTheReference) {
    const std::string directory = fmt::format("{}/models/nano", COLIBRI_SOURCE_DIR);
    expect_exact("nano", compare(directory, directory, 0, nullptr));
}

}  // namespace
}  // namespace colibri::golden

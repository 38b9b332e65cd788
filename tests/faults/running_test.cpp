// Faults that only show once a model runs, or that must leave a running model as it was: files that
// shrink under the engine, damaged experts on their way in, cancelled and impossible requests,
// features that a checkpoint lacks.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <memory>
#include <set>
#include <thread>

#include "format/test_safetensors.h"
#include "platform/test_tree.h"
#include "runtime/model.h"
#include "tests/support/synthetic_model.h"

namespace colibri {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint64_t kPlenty = uint64_t(8) << 30;

std::string fixture(const std::string& name) {
    return std::string(COLIBRI_SOURCE_DIR "/tests/golden/") + name;
}

// A copy of a fixture whose shards may lose and gain tensors.
class Copy {
public:
    explicit Copy(const std::string& name) {
        copy_model(fixture(name), directory());
        fs::remove(directory() + "/model.safetensors.index.json");
    }
    [[nodiscard]] std::string directory() const { return tree_.path("model"); }
    // Calls change(file) for every shard and writes it again.
    template <class Change>
    void edit(const Change& change) const {
        for (const std::string& path : shards()) {
            TestSafetensors file = TestSafetensors::load(path);
            change(file);
            test_write(path, file.bytes());
        }
    }
    [[nodiscard]] std::vector<std::string> shards() const {
        std::vector<std::string> paths;
        for (const auto& entry : fs::directory_iterator(directory()))
            if (entry.path().extension() == ".safetensors") paths.push_back(entry.path().string());
        return paths;
    }
    [[nodiscard]] std::string shard_of(const std::string& tensor) const {
        for (const std::string& path : shards())
            if (TestSafetensors::load(path).has(tensor)) return path;
        return "";
    }

private:
    TestTree tree_;
};

ModelOptions options_for(const std::string& directory, uint64_t budget_bytes = kPlenty) {
    return {.directory = directory,
            .ram_budget_bytes = budget_bytes,
            .context = 64,
            .threads = 2,
            .draft_head = true};
}

std::unique_ptr<Model> open(const ModelOptions& options) {
    Notices notices;
    auto model = Model::open(options, notices);
    EXPECT_TRUE(model) << (model ? "" : model.error().message);
    return model ? *std::move(model) : nullptr;
}

// A model with the fewest cache slots: nearly every expert is read again and again.
std::unique_ptr<Model> open_smallest(ModelOptions options) {
    Notices notices;
    const auto plan = Model::plan_only(options, notices);
    EXPECT_TRUE(plan) << (plan ? "" : plan.error().message);
    options.ram_budget_bytes = plan->smallest_budget_bytes;
    return open(options);
}

std::vector<int32_t> some_tokens(uint32_t count, uint64_t seed = 9, uint32_t vocab = 160) {
    Rng rng(seed);
    std::vector<int32_t> tokens(count);
    for (int32_t& token : tokens) token = int32_t(rng.below(vocab));
    return tokens;
}

// Logits of all rows.
Result<std::vector<float>> logits_of(Model& model, SequenceState& state,
                                     std::span<const int32_t> tokens) {
    std::vector<float> logits;
    ForwardOptions options{.logits = LogitRows::all};
    options.on_logits = [&](uint32_t, std::span<const float> row) -> Status {
        logits.insert(logits.end(), row.begin(), row.end());
        return {};
    };
    TRY_STATUS(model.forward(state, tokens, options));
    return logits;
}

Result<std::vector<float>> logits_of(Model& model, std::span<const int32_t> tokens) {
    SequenceState state = model.new_state();
    return logits_of(model, state, tokens);
}

class EveryTensor : public testing::TestWithParam<const char*> {};

// Goal: no tensor of any layout is optional but for whole features, and the message names the one
// that is missing. Method: every tensor of the fixture, experts and scales included, removed in
// turn.
TEST_P(EveryTensor, IsMissed) {
    const Copy model(GetParam());
    uint32_t missed = 0;
    std::vector<std::string> accepted;
    for (const std::string& path : model.shards()) {
        const TestSafetensors whole = TestSafetensors::load(path);
        for (const TestTensor& tensor : whole.tensors) {
            TestSafetensors file = whole;
            file.erase(tensor.name);
            test_write(path, file.bytes());
            Notices notices;
            const auto plan = Model::plan_only(options_for(model.directory()), notices);
            if (plan) {
                accepted.push_back(tensor.name);
                continue;
            }
            ++missed;
            EXPECT_THAT(plan.error().message, HasSubstr(tensor.name));
        }
        test_write(path, whole.bytes());
    }
    EXPECT_GT(missed, 50U);
    // Without its projection the draft layer counts as absent.
    for (const std::string& name : accepted) EXPECT_THAT(name, HasSubstr("eh_proj"));
}

INSTANTIATE_TEST_SUITE_P(Fixtures, EveryTensor,
                         testing::Values("glm_mtp", "glm_fp8", "glm_out_int4g64", "glm_out_int2row",
                                         "olmoe", "olmoe_out_int8"),
                         [](const auto& one) { return std::string(one.param); });

// Goal: two formats that fit the same bytes are told apart by the stamp, or not at all.
// Method: rows of 2 columns, where int4 and int2 rows are one byte each; without a stamp, with
// each, with a foreign one.
TEST(Ambiguity, IsDecidedByTheStampOrRefused) {
    const TestTree tree;
    synthetic::GlmShape shape;
    shape.expert_hidden = 2;
    shape.indexers = "FF";
    shape.draft = false;
    ASSERT_TRUE(synthetic::write_glm(tree.root(), shape, synthetic::Format::int4_row));
    const std::string path = tree.path("out-00000.safetensors");
    const TestSafetensors original = TestSafetensors::load(path);
    for (const std::string stamp : {"", "int4-row", "int2-row", "fp8-e4m3-b128"}) {
        TestSafetensors file = original;
        nlohmann::json formats;
        for (const TestTensor& tensor : file.tensors)
            if (tensor.name.ends_with("down_proj.weight")) formats[tensor.name] = stamp;
        if (!stamp.empty()) file.metadata.emplace_back("colibri.fmt", formats.dump());
        test_write(path, file.bytes());
        Notices notices;
        const auto model = Model::open(options_for(tree.root()), notices);
        if (stamp.ends_with("-row")) {
            ASSERT_TRUE(model) << stamp << ": " << model.error().message;
            EXPECT_TRUE(logits_of(**model, some_tokens(10)));
        } else {
            ASSERT_FALSE(model) << stamp;
            EXPECT_EQ(model.error().kind, ErrorKind::corrupt);
            EXPECT_THAT(model.error().message,
                        AllOf(HasSubstr("out-00000.safetensors"), HasSubstr("down_proj.weight")));
            if (stamp.empty()) {
                EXPECT_THAT(
                    model.error().message,
                    AllOf(HasSubstr("int4-row"), HasSubstr("int2-row"), HasSubstr("colibri.fmt")));
            }
        }
    }
}

// Goal: a shard that shrinks between opening and reading ends the load with the file, never with
// zeros. Method: cut at the first progress call, to nothing, to half, and by one byte.
TEST(ShrinkingFiles, EndTheLoad) {
    for (const double share : {0.0, 0.5, 1.0}) {
        const Copy copy("glm_short");
        const std::string path = copy.directory() + "/model.safetensors";
        const uint64_t size = fs::file_size(path);
        ModelOptions options = options_for(copy.directory());
        bool cut = false;
        options.progress = [&](std::string_view, uint64_t, uint64_t) {
            if (cut) return;
            cut = true;
            fs::resize_file(path, share == 1.0 ? size - 1 : uint64_t(double(size) * share));
        };
        Notices notices;
        const auto model = Model::open(options, notices);
        EXPECT_TRUE(cut);
        if (model) {  // what was cut may belong to experts: then the request ends
            const auto logits = logits_of(**model, some_tokens(60));
            EXPECT_EQ(share, 1.0);
            if (!logits) {
                EXPECT_THAT(logits.error().message, HasSubstr("model.safetensors"));
            }
            continue;
        }
        EXPECT_EQ(model.error().kind, ErrorKind::corrupt);
        EXPECT_THAT(model.error().message, HasSubstr("model.safetensors"));
    }
}

// Goal: an expert that cannot be read fails the request and nothing else: the state is as before,
// and once the file is whole again the same request gives the same bits. Method: the fewest slots,
// the file cut under the running engine and restored in place; prefill and decode.
TEST(ShrinkingFiles, FailTheRequestAndNotTheEngine) {
    const Copy copy("glm_short");
    const std::string path = copy.directory() + "/model.safetensors";
    const std::string bytes = test_read(path);
    const auto model = open_smallest(options_for(copy.directory()));
    ASSERT_NE(model, nullptr);
    const std::vector<int32_t> first = some_tokens(20, 1), more = some_tokens(20, 2);
    SequenceState state = model->new_state();
    ASSERT_TRUE(logits_of(*model, state, first));
    SequenceState control = state.snapshot();
    const auto expected = logits_of(*model, control, more);
    ASSERT_TRUE(expected);

    for (const size_t rows : {more.size(), size_t(1)}) {
        fs::resize_file(path, 4096);
        const auto failed = logits_of(*model, state, std::span(more).first(rows));
        ASSERT_FALSE(failed);
        EXPECT_TRUE(failed.error().kind == ErrorKind::corrupt ||
                    failed.error().kind == ErrorKind::io);
        EXPECT_THAT(failed.error().message,
                    AllOf(HasSubstr("model.safetensors"), HasSubstr("expert"), HasSubstr("layer")));
        EXPECT_EQ(state.length(), first.size());
        EXPECT_EQ(state.pending(), 0U);
        EXPECT_FALSE(state.last_hidden().empty());
        std::ofstream(path, std::ios::binary | std::ios::in)
            .write(bytes.data(), std::streamsize(bytes.size()));
        SequenceState again = state.snapshot();
        const auto restored = logits_of(*model, again, more);
        ASSERT_TRUE(restored) << restored.error().message;
        EXPECT_EQ(*restored, *expected);
    }
}

// One expert that the tokens are routed to, found by a trace.
std::pair<uint32_t, int32_t> routed_expert(const std::string& directory,
                                           std::span<const int32_t> tokens) {
    const auto model = open(options_for(directory));
    Trace trace{.total_rows = uint32_t(tokens.size())};
    ForwardOptions options;
    options.trace = &trace;
    SequenceState state = model->new_state();
    EXPECT_TRUE(model->forward(state, tokens, options));
    for (uint32_t layer = 0; layer < trace.routes.size(); ++layer)
        if (!trace.routes[layer].ids.empty()) return {layer, trace.routes[layer].ids.front()};
    return {0, -1};
}

// Goal: a damaged expert is found when it lands, is named exactly, and later requests that avoid it
// are right. Method: a NaN code in the one expert that the first row uses; codes restored in place
// afterwards.
TEST(DamagedExperts, AreNamedWhenTheyLand) {
    const Copy copy("glm_fp8");
    const std::vector<int32_t> tokens = some_tokens(12);
    const auto [layer, expert] = routed_expert(copy.directory(), tokens);
    ASSERT_GE(expert, 0);
    const std::string name =
        fmt::format("model.layers.{}.mlp.experts.{}.up_proj.weight", layer, expert);
    const std::string shard = copy.shard_of(name);
    ASSERT_FALSE(shard.empty());
    const std::string healthy = TestSafetensors::load(shard).at(name).data;
    const auto expected = logits_of(*open(options_for(copy.directory())), tokens);
    ASSERT_TRUE(expected);
    TestSafetensors file = TestSafetensors::load(shard);
    file.at(name).data[5] = '\x7F';
    const std::string broken = file.bytes();
    test_write(shard, broken);
    const auto model = open_smallest(options_for(copy.directory()));
    ASSERT_NE(model, nullptr);
    const auto failed = logits_of(*model, tokens);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().kind, ErrorKind::corrupt);
    EXPECT_THAT(failed.error().message,
                AllOf(HasSubstr(name), HasSubstr(fs::path(shard).filename().string()),
                      HasSubstr(fmt::format("expert {}", expert))));
    file.at(name).data = healthy;
    const std::string whole = file.bytes();
    ASSERT_EQ(whole.size(), broken.size());
    std::ofstream(shard, std::ios::binary | std::ios::in)
        .write(whole.data(), std::streamsize(whole.size()));
    const auto restored = logits_of(*model, tokens);
    ASSERT_TRUE(restored) << restored.error().message;
    EXPECT_EQ(*restored, *expected);
}

// Goal: scales that are streamed with their experts are checked as they land, small ones at load.
// Method: experts of 2048 x 512 in groups of 64, whose scales are too large to stay; NaN, then
// infinity, in the one expert that is used.
TEST(DamagedExperts, StreamedScalesAreChecked) {
    const TestTree tree;
    synthetic::GlmShape shape{.dim = 2048,
                              .vocab = 160,
                              .dense_hidden = 64,
                              .expert_hidden = 512,
                              .dense_layers = 0,
                              .experts = 2,
                              .top_k = 2,
                              .index_topk = 64,
                              .indexers = "F",
                              .draft = false};
    ASSERT_TRUE(synthetic::write_glm(tree.root(), shape, synthetic::Format::int4_g64));
    const std::string path = tree.path("out-00000.safetensors");
    ASSERT_TRUE(logits_of(*open(options_for(tree.root())), some_tokens(3)));
    for (const float value :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        TestSafetensors file = TestSafetensors::load(path);
        const std::string name = "model.layers.0.mlp.experts.1.down_proj.weight";
        file.at(name + ".qs").data.replace(400, 4, reinterpret_cast<const char*>(&value), 4);
        test_write(path, file.bytes());
        const auto model = open(options_for(tree.root()));
        ASSERT_NE(model, nullptr);
        const auto failed = logits_of(*model, some_tokens(3));
        ASSERT_FALSE(failed);
        EXPECT_EQ(failed.error().kind, ErrorKind::corrupt);
        EXPECT_THAT(failed.error().message,
                    AllOf(HasSubstr(name), HasSubstr("out-00000"), HasSubstr("expert 1")));
    }
}

// Goal: an embedding and a head that are padded with rows for other devices are the same model.
// Method: logits with 32 more rows of noise against those without, bit for bit.
TEST(Padding, RowsBeyondTheVocabularyChangeNothing) {
    const Copy plain("glm_mtp"), padded("glm_mtp");
    padded.edit([](TestSafetensors& file) {
        for (const char* name : {"model.embed_tokens.weight", "lm_head.weight"}) {
            if (!file.has(name)) continue;
            TestTensor& tensor = file.at(name);
            tensor.data += tensor.data.substr(0, 32 * tensor.data.size() / tensor.shape[0]);
            tensor.shape[0] += 32;
        }
    });
    const std::vector<int32_t> tokens = some_tokens(30);
    const auto want = logits_of(*open(options_for(plain.directory())), tokens);
    const auto got = logits_of(*open(options_for(padded.directory())), tokens);
    ASSERT_TRUE(want && got);
    EXPECT_EQ(*got, *want);
}

// Goal: a container without indexer is exact up to the selection size, longer contexts are refused
// with the way out, and
// --dense-attention lifts the limit.
// Method: logits of 12 positions with and without out-idx; contexts of 0, 12, 13 and 64.
TEST(MissingFeatures, IndexerLimitsTheContext) {
    const Copy whole("glm_out_int4row"), without("glm_out_int4row");
    fs::remove(without.directory() + "/out-idx-00000.safetensors");
    ModelOptions options = options_for(without.directory());
    options.context = 0;
    Notices notices;
    const auto chosen = Model::plan_only(options, notices);
    ASSERT_TRUE(chosen) << chosen.error().message;
    EXPECT_EQ(chosen->context, 12U);
    EXPECT_THAT(fmt::format("{}", fmt::join(notices.take(), "\n")),
                AllOf(HasSubstr("indexer"), HasSubstr("--dense-attention")));
    for (const uint32_t context : {13U, 64U}) {
        options.context = context;
        const auto refused = Model::open(options, notices);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
        EXPECT_THAT(refused.error().message,
                    AllOf(HasSubstr("--ctx 12"), HasSubstr("--dense-attention")));
    }
    options.context = 12;
    const std::vector<int32_t> tokens = some_tokens(12);
    const auto limited = open(options);
    const auto want = logits_of(*open(options_for(whole.directory())), tokens);
    const auto got = logits_of(*limited, tokens);
    ASSERT_TRUE(want && got);
    EXPECT_EQ(*got, *want);
    SequenceState state = limited->new_state();
    EXPECT_FALSE(logits_of(*limited, state, some_tokens(13)));
    options.context = 64;
    options.dense_attention = true;
    const auto dense = logits_of(*open(options), some_tokens(40));
    ASSERT_TRUE(dense) << dense.error().message;
    EXPECT_TRUE(std::equal(want->begin(), want->end(), logits_of(*open(options), tokens)->begin()));
}

// Goal: a draft layer that has an indexer in a checkpoint whose main layers have none works: it
// attends to all its rows. Method: main indexers removed from the MTP fixture; forced drafts over
// more rows than the selection keeps.
TEST(MissingFeatures, DraftIndexerWithoutMainOnes) {
    const Copy copy("glm_mtp");
    copy.edit([](TestSafetensors& file) {
        std::erase_if(file.tensors, [](const TestTensor& tensor) {
            return tensor.name.find("indexer") != std::string::npos &&
                   !tensor.name.starts_with("model.layers.5.");
        });
    });
    ModelOptions options = options_for(copy.directory());
    options.dense_attention = true;
    const auto model = open(options);
    ASSERT_NE(model, nullptr);
    ASSERT_TRUE(model->has_draft_head());
    const std::vector<int32_t> tokens = some_tokens(30);
    std::vector<float> hidden;
    ForwardOptions forward;
    forward.on_hidden = [&](uint32_t, std::span<const float> row) -> Status {
        hidden.insert(hidden.end(), row.begin(), row.end());
        return {};
    };
    SequenceState state = model->new_state(), draft = model->new_draft_state();
    ASSERT_TRUE(model->forward(state, tokens, forward));
    const Status status = model->draft_forward(draft, hidden, tokens, {});
    EXPECT_TRUE(status) << status.error().message;
    EXPECT_EQ(draft.length(), tokens.size());
}

// Goal: a checkpoint without draft layer runs, without drafts, and answers the same.
// Method: out-mtp removed; logits against the whole container.
TEST(MissingFeatures, DraftLayerIsOptional) {
    const Copy whole("glm_out_int4g64"), without("glm_out_int4g64");
    fs::remove(without.directory() + "/out-mtp-00000.safetensors");
    const auto model = open(options_for(without.directory()));
    ASSERT_NE(model, nullptr);
    EXPECT_FALSE(model->has_draft_head());
    const auto complete = open(options_for(whole.directory()));
    EXPECT_TRUE(complete->has_draft_head());
    const std::vector<int32_t> tokens = some_tokens(30);
    const auto want = logits_of(*complete, tokens);
    const auto got = logits_of(*model, tokens);
    ASSERT_TRUE(want && got);
    EXPECT_EQ(*got, *want);
}

// Goal: requests that cannot be answered are refused with the number that is wrong, and the state
// stays usable. Method: ids outside the vocabulary at several places, no tokens, one token more
// than the context, then a good request.
TEST(BadRequests, AreRefusedAndLeaveTheStateAlone) {
    const auto model = open(options_for(fixture("glm_short")));
    ASSERT_NE(model, nullptr);
    const uint32_t vocab = model->spec().vocab;
    SequenceState state = model->new_state();
    const std::vector<int32_t> first = some_tokens(10, 1), more = some_tokens(20, 2);
    ASSERT_TRUE(logits_of(*model, state, first));
    SequenceState control = state.snapshot();
    const auto expected = logits_of(*model, control, more);
    for (const int32_t wrong : {-1, int32_t(vocab), std::numeric_limits<int32_t>::max(),
                                std::numeric_limits<int32_t>::min()})
        for (const size_t place : {size_t(0), size_t(19)}) {
            std::vector<int32_t> tokens = more;
            tokens[place] = wrong;
            const auto refused = logits_of(*model, state, tokens);
            ASSERT_FALSE(refused);
            EXPECT_EQ(refused.error().kind, ErrorKind::invalid_input);
            EXPECT_THAT(refused.error().message,
                        AllOf(HasSubstr(fmt::to_string(wrong)), HasSubstr(fmt::to_string(place)),
                              HasSubstr(fmt::to_string(vocab))));
        }
    EXPECT_FALSE(logits_of(*model, state, {}));
    const auto too_long = logits_of(*model, state, some_tokens(55));
    ASSERT_FALSE(too_long);
    EXPECT_EQ(too_long.error().kind, ErrorKind::out_of_budget);
    EXPECT_THAT(too_long.error().message,
                AllOf(HasSubstr("10"), HasSubstr("55"), HasSubstr("64"), HasSubstr("--ctx")));
    EXPECT_EQ(state.length(), 10U);
    EXPECT_EQ(*logits_of(*model, state, more), *expected);
    EXPECT_TRUE(logits_of(*model, state, some_tokens(34)));  // to the last position
    EXPECT_EQ(state.length(), 64U);
    EXPECT_FALSE(logits_of(*model, state, some_tokens(1)));
}

// Goal: a budget that is too small is refused with the parts and a budget that works.
// Method: one byte less than the smallest; then what the message advises.
TEST(BadRequests, SmallBudgetsAreRefusedWithAnAdvice) {
    for (const char* name : {"glm_mtp", "glm_out_int4g64", "olmoe"}) {
        ModelOptions options = options_for(fixture(name));
        Notices notices;
        const uint64_t smallest = Model::plan_only(options, notices)->smallest_budget_bytes;
        options.ram_budget_bytes = smallest - 1;
        const auto refused = Model::open(options, notices);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().kind, ErrorKind::out_of_budget);
        const std::string& message = refused.error().message;
        EXPECT_THAT(message, AllOf(HasSubstr("smallest that works"), HasSubstr("dense weights"),
                                   HasSubstr("--ctx")));
        const size_t at = message.find("--ram ");
        ASSERT_NE(at, std::string::npos) << message;
        options.ram_budget_bytes = std::stoull(message.substr(at + 6)) << 20;
        const auto model = open(options);
        ASSERT_NE(model, nullptr);
        EXPECT_TRUE(logits_of(*model, some_tokens(40)));
        options.ram_budget_bytes = smallest;
        EXPECT_TRUE(logits_of(*open(options), some_tokens(64)));
    }
}

// Goal: a prefill that is cancelled from another thread ends within a layer, leaves the state as it
// was, and the next request is a cold run's. Method: nano with few slots and slices of 16 rows;
// cancelled at the start, at the first layer, in the middle; 500 rows on top of 10.
TEST(Cancellation, EndsPrefillAndLeavesNoTrace) {
    ModelOptions options{.directory = COLIBRI_SOURCE_DIR "/models/nano",
                         .ram_budget_bytes = kPlenty,
                         .context = 640,
                         .threads = 2,
                         .prefill_slice = 16};
    const auto model = open_smallest(options);
    ASSERT_NE(model, nullptr);
    const std::vector<int32_t> first = some_tokens(10, 1, 4000), prompt = some_tokens(500, 2, 4000);
    const std::vector<int32_t> next = some_tokens(20, 3, 4000);
    SequenceState state = model->new_state();
    ASSERT_TRUE(logits_of(*model, state, first));
    SequenceState control = state.snapshot();
    const auto expected = logits_of(*model, control, next);
    ASSERT_TRUE(expected);
    for (const uint32_t rows : {0U, 1U, 100U}) {
        CancelToken token;
        std::atomic<uint32_t> done{0}, calls{0};
        std::atomic<bool> finished{false};
        uint32_t calls_at_cancel = 0;
        std::thread canceller([&] {
            while (done.load() < rows && !finished.load()) std::this_thread::yield();
            calls_at_cancel = calls.load();
            token.cancel();
        });
        if (rows == 0) canceller.join();
        ForwardOptions forward;
        forward.cancel = &token;
        forward.on_progress = [&](uint32_t done_rows, uint32_t) {
            done.store(done_rows);
            ++calls;
        };
        const Status status = model->forward(state, prompt, forward);
        finished = true;
        if (canceller.joinable()) canceller.join();
        ASSERT_FALSE(status);
        EXPECT_EQ(status.error().kind, ErrorKind::cancelled) << status.error().message;
        EXPECT_LE(calls.load(), calls_at_cancel + 3) << "layers went on after the cancellation";
        EXPECT_EQ(state.length(), first.size());
        EXPECT_FALSE(state.last_hidden().empty());
        SequenceState again = state.snapshot();
        const auto got = logits_of(*model, again, next);
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_EQ(*got, *expected);
    }
}

}  // namespace
}  // namespace colibri

// A container that nothing was quantized for gives the bits of its source, in every format that the
// engine reads.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/rng.h"
#include "convert/convert.h"
#include "format/container.h"
#include "format/test_safetensors.h"
#include "platform/test_tree.h"
#include "tests/invariance/subject.h"
#include "tests/support/synthetic_model.h"

namespace colibri::invariance {
namespace {

using synthetic::Format;

ConvertOptions keep_options(const std::string& source, const std::string& destination) {
    ConvertOptions options{.source = source, .destination = destination, .writer = "test"};
    EXPECT_TRUE(options.recipe.set_experts("keep"));
    EXPECT_TRUE(options.recipe.set_dense("keep"));
    EXPECT_TRUE(options.recipe.set_draft("keep"));
    return options;
}

void convert_exactly(const std::string& source, const std::string& destination) {
    Notices notices;
    const ConvertOptions options = keep_options(source, destination);
    const auto estimate = estimate_conversion(options, notices);
    ASSERT_TRUE(estimate.has_value()) << estimate.error().message;
    EXPECT_TRUE(estimate->exact);
    const auto report = convert(options, notices);
    ASSERT_TRUE(report.has_value()) << report.error().message;
    const auto findings = verify_container(destination, true, {});
    ASSERT_TRUE(findings.has_value());
    for (const ContainerFinding& finding : *findings)
        ADD_FAILURE() << finding.file << ": " << finding.what;
}

void compare(const Subject& source, const std::string& container, Tally& tally) {
    Subject converted = source;
    converted.directory = container;
    const Setting plain{.kernels = machine_kernels().back(), .slice = 0};
    const auto expected_model = open(source, plain);
    ASSERT_NE(expected_model, nullptr);
    const Outcome expected = run(*expected_model, source);
    for (const uint32_t budget : {0U, kBudgets - 1}) {
        Setting setting = plain;
        setting.budget = budget;
        setting.threads = 2;
        setting.slice = budget == 0 ? 7 : 0;
        const auto model = open(converted, setting);
        ASSERT_NE(model, nullptr);
        tally.compare(run(*model, converted), expected, expected_model->spec().vocab,
                      setting.text());
    }
}

class ContainerInvariance : public testing::TestWithParam<std::string> {};

// Goal: conversion without quantization changes no bit of any answer, in any fixture's stored form,
// with the cache nearly empty and with everything resident.
// Method: each golden fixture converted, verified deeply, and run beside its source.
TEST_P(ContainerInvariance, FixturesGiveTheSameBits) {
    const TestTree tree;
    Subject subject{.name = GetParam(),
                    .directory = COLIBRI_SOURCE_DIR "/tests/golden/" + GetParam()};
    if (GetParam() == "nano") subject.directory = COLIBRI_SOURCE_DIR "/models/nano";
    const auto oracle = nlohmann::json::parse(std::ifstream(subject.directory + "/oracle.json"));
    subject.prompt = oracle["cases"][0]["prompt"].get<std::vector<int32_t>>();
    if (subject.prompt.size() > 64) subject.prompt.resize(64);
    convert_exactly(subject.directory, tree.path("container"));
    if (HasFatalFailure()) return;
    Tally tally(subject.name + " container");
    for (const bool float_activations : {false, true}) {
        if (GetParam() == "nano" && float_activations) continue;
        subject.float_activations = float_activations;
        compare(subject, tree.path("container"), tally);
    }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, ContainerInvariance,
                         testing::Values("nano", "glm_fp8", "glm_mtp", "glm_odd", "glm_short",
                                         "glm_sparse", "glm_out_int4g64", "glm_out_int4row",
                                         "glm_out_int2row", "olmoe", "olmoe_clip",
                                         "olmoe_out_int8"),
                         [](const auto& row) { return row.param; });

// Widths that are no multiples of anything.
const synthetic::GlmShape kOddShape{.dim = 200,
                                    .heads = 5,
                                    .q_rank = 72,
                                    .kv_rank = 88,
                                    .nope = 20,
                                    .value = 24,
                                    .dense_hidden = 136,
                                    .expert_hidden = 72,
                                    .experts = 8,
                                    .indexers = "FSF",
                                    .seed = 3};

class SyntheticContainer : public testing::TestWithParam<Format> {};

// Goal: the same for widths that are no multiples of anything, and for every stored form.
// Method: random models.
TEST_P(SyntheticContainer, GivesTheSameBits) {
    const TestTree tree;
    std::filesystem::create_directories(tree.path("source"));
    const Status written = synthetic::write_glm(tree.path("source"), kOddShape, GetParam());
    ASSERT_TRUE(written) << written.error().message;
    Rng rng(7);
    Subject subject{.name = "glm_" + std::string(to_string(GetParam())),
                    .directory = tree.path("source")};
    for (int i = 0; i < 40; ++i) subject.prompt.push_back(int32_t(rng.below(200)));
    convert_exactly(subject.directory, tree.path("container"));
    if (HasFatalFailure()) return;
    Tally tally(subject.name + " container");
    compare(subject, tree.path("container"), tally);
}

INSTANTIATE_TEST_SUITE_P(Formats, SyntheticContainer,
                         testing::Values(Format::f32, Format::bf16, Format::fp8, Format::int8_row,
                                         Format::int4_g64, Format::int4_row, Format::int2_row),
                         [](const auto& row) {
                             std::string name(to_string(row.param));
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

// Cosine of the angle between two outputs.
double alikeness(const std::vector<float>& a, const std::vector<float>& b) {
    double ab = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        ab += double(a[i]) * double(b[i]);
        aa += double(a[i]) * double(a[i]);
        bb += double(b[i]) * double(b[i]);
    }
    return ab / std::sqrt(aa * bb);
}

// Goal: every format that convert writes is laid out as it is multiplied, for every class of
// tensors and widths that are no multiples of anything. Method: a random bf16 model; as f32 or bf16
// the same bits, otherwise logits that point the same way as the source's, more so with more bits;
// wrong layouts give unrelated ones.
TEST(QuantizedContainer, AnswersLikeItsSource) {
    const TestTree tree;
    const Subject source{
        .name = "source",
        .directory = tree.path("source"),
        .prompt = {3, 141, 59, 26, 53, 58, 97, 93, 23, 84, 62, 64, 33, 83, 27, 95}};
    std::filesystem::create_directories(source.directory);
    ASSERT_TRUE(synthetic::write_glm(source.directory, kOddShape, Format::bf16));
    const Setting setting{.kernels = machine_kernels().back(), .slice = 0};
    const auto logits_of = [&](const std::string& directory) {
        Subject subject = source;
        subject.directory = directory;
        const auto model = open(subject, setting);
        if (model == nullptr) return std::vector<float>();
        Feed feed(*model);
        feed.tokens(subject.prompt);
        return feed.logits;
    };
    const std::vector<float> want = logits_of(source.directory);
    const struct {
        const char* format;
        double least;
    } cases[] = {{"f32", 1},         {"bf16", 1},       {"int8-g64", 0.99},
                 {"int8-row", 0.99}, {"fp8", 0.95},     {"int8-g16:f32", 0.99},
                 {"int4-g32", 0.8},  {"int4-g64", 0.8}, {"int4-row", 0.75},
                 {"int2-g16", 0.35}};
    for (const auto& one : cases) {
        ConvertOptions options{
            .source = source.directory, .destination = tree.path(one.format), .writer = "test"};
        ASSERT_TRUE(options.recipe.set_experts(one.format));
        ASSERT_TRUE(options.recipe.set_dense(one.format));
        ASSERT_TRUE(options.recipe.set_draft(one.format));
        Notices notices;
        const auto report = convert(options, notices);
        ASSERT_TRUE(report.has_value()) << report.error().message;
        const std::vector<float> got = logits_of(options.destination);
        ASSERT_EQ(got.size(), want.size()) << one.format;
        const double alike = alikeness(got, want);
        fmt::print("{:<12} cosine {:.4f}\n", one.format, alike);
        if (one.least == 1) {
            EXPECT_EQ(got, want) << one.format;
        } else {
            EXPECT_GT(alike, one.least) << one.format;
            EXPECT_LT(alike, 1) << one.format;
        }
    }
}

// Goal: a damaged expert or dense tensor of a container ends in an error that names it, never in an
// answer.
// Method: nano as a container; a bit flipped in each expert of a layer, then in a dense tensor.
TEST(ContainerDamage, FlippedBitsAreErrors) {
    const TestTree tree;
    const std::string directory = tree.path("container");
    convert_exactly(COLIBRI_SOURCE_DIR "/tests/golden/glm_fp8", directory);
    const auto flip = [&](const std::string& file, size_t offset) {
        std::string bytes = test_read(file);
        bytes[offset] ^= 1;
        test_write(file, bytes);
    };
    const ModelOptions options{.directory = directory, .ram_budget_bytes = uint64_t(1) << 30};
    const std::vector<int32_t> tokens{5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
    Notices notices;
    {
        auto model = Model::open(options, notices);
        ASSERT_TRUE(model.has_value()) << model.error().message;
        SequenceState state = (*model)->new_state();
        ASSERT_TRUE((*model)->forward(state, tokens, {}));
    }
    std::string experts;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("experts-") && (experts.empty() || entry.path().string() < experts))
            experts = entry.path().string();
    }
    ASSERT_FALSE(experts.empty());
    const std::string whole = test_read(experts);
    std::string damaged = whole;
    for (size_t at = 4096 + 100; at < damaged.size(); at += 4096) damaged[at] ^= 1;
    test_write(experts, damaged);
    {
        auto model = Model::open(options, notices);
        ASSERT_TRUE(model.has_value()) << model.error().message;
        SequenceState state = (*model)->new_state();
        const Status status = (*model)->forward(state, tokens, {});
        ASSERT_FALSE(status);
        EXPECT_EQ(status.error().kind, ErrorKind::corrupt);
        EXPECT_THAT(status.error().message, testing::HasSubstr("checksum"));
        EXPECT_THAT(status.error().message, testing::HasSubstr("layers."));
    }
    test_write(experts, whole);
    flip(directory + "/dense.safetensors",
         std::filesystem::file_size(directory + "/dense.safetensors") / 2);
    const auto model = Model::open(options, notices);
    ASSERT_FALSE(model.has_value());
    EXPECT_THAT(model.error().message, testing::HasSubstr("dense.safetensors, tensor "));
}

}  // namespace
}  // namespace colibri::invariance

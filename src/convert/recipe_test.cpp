#include "convert/recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace colibri {
namespace {

using testing::HasSubstr;

constexpr WeightFormat kFp8{.kind = WeightKind::fp8, .group = 128};
constexpr WeightFormat kBf16{.kind = WeightKind::bf16};
constexpr WeightFormat kInt4Row{.kind = WeightKind::int4};

std::string expert(const Recipe& recipe, uint32_t part, WeightFormat source, bool draft = false) {
    return to_string(recipe.expert_format(draft, part, source));
}
std::string dense(const Recipe& recipe, TensorRole role, WeightFormat source, bool draft = false) {
    return to_string(recipe.dense_format(role, draft, source));
}

// Goal: the documented defaults.
// Method: what each class gets from a float, and from an integer source.
TEST(Recipe, Defaults) {
    const Recipe recipe;
    EXPECT_EQ(expert(recipe, 0, kFp8), "int4-g64");
    EXPECT_EQ(expert(recipe, 2, kInt4Row), "int4-row");
    EXPECT_EQ(expert(recipe, 0, kFp8, true), "int8-g64");
    EXPECT_EQ(dense(recipe, TensorRole::query_a, kFp8), "int8-g64");
    EXPECT_EQ(dense(recipe, TensorRole::output, kInt4Row), "int4-row");
    EXPECT_EQ(dense(recipe, TensorRole::embedding, kBf16), "bf16");
    EXPECT_EQ(dense(recipe, TensorRole::head, kBf16), "int8-g64");
    EXPECT_EQ(dense(recipe, TensorRole::draft_projection, kBf16, true), "int8-g64");
    EXPECT_EQ(dense(recipe, TensorRole::query_a, kBf16, true), "int8-g64");
    for (const TensorRole exact : {TensorRole::router, TensorRole::index_gate})
        EXPECT_EQ(dense(recipe, exact, kBf16), "bf16");
}

// Goal: choices apply to their class and projection, routers stay exact whatever is asked.
// Method: every setter, with exceptions.
TEST(Recipe, Choices) {
    Recipe recipe;
    ASSERT_TRUE(recipe.set_experts("int4-g32"));
    ASSERT_TRUE(recipe.set_dense("int8-row"));
    ASSERT_TRUE(recipe.set_draft("keep"));
    ASSERT_TRUE(
        recipe.set_overrides("experts.down=int8,attention=bf16,attention.kv_b=keep,"
                             "head=f32"));
    EXPECT_EQ(expert(recipe, 0, kInt4Row), "int4-g32");
    EXPECT_EQ(expert(recipe, 2, kFp8), "int8-g64");
    EXPECT_EQ(expert(recipe, 2, kFp8, true), "fp8-g128");
    EXPECT_EQ(dense(recipe, TensorRole::query_b, kFp8), "bf16");
    EXPECT_EQ(dense(recipe, TensorRole::kv_b, kFp8), "fp8-g128");
    EXPECT_EQ(dense(recipe, TensorRole::shared_up, kFp8), "int8-row");
    EXPECT_EQ(dense(recipe, TensorRole::head, kBf16), "f32");
    EXPECT_EQ(dense(recipe, TensorRole::router, kBf16), "bf16");
    Recipe same = recipe;
    EXPECT_EQ(same.canonical(), recipe.canonical());
    ASSERT_TRUE(same.set_overrides("shared.up=f32"));
    EXPECT_NE(same.canonical(), recipe.canonical());
}

// Goal: what is not known is refused with what is.
// Method: misspelt formats, classes, projections and entries.
TEST(Recipe, Refusals) {
    Recipe recipe;
    for (const char* format : {"int3", "q4_k", "int4-g12", "fp8-g64", "INT8", ""}) {
        const Status status = recipe.set_experts(format);
        ASSERT_FALSE(status) << format;
        EXPECT_THAT(status.error().message, HasSubstr("int4-g64"));
    }
    for (const char* entry :
         {"experts.middle=int8", "router=int8", "norms=f32", "experts.=int8", "head.query=int8"}) {
        const Status status = recipe.set_overrides(entry);
        ASSERT_FALSE(status) << entry;
        EXPECT_THAT(status.error().message, HasSubstr("attention"));
    }
    EXPECT_FALSE(recipe.set_overrides("experts"));
    EXPECT_FALSE(recipe.set_overrides("experts=int8,,"));
}

}  // namespace
}  // namespace colibri

#include "convert/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "format/test_safetensors.h"
#include "platform/test_tree.h"

namespace colibri {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::IsEmpty;

Calibration example() {
    Calibration c{.dense = {{"a.weight", {1, 4, 0}}}, .experts = {}, .rows = 17};
    c.experts[3] = {.input = {2, 6}, .down = {1, 3, 0, 0, 5, 5}, .rows = {8, 0, 1000}};
    return c;
}

// Goal: what was measured reads back, as a file that other programs can read.
// Method: written, parsed by a JSON tree, read again.
TEST(Calibration, RoundTrip) {
    const TestTree tree;
    const std::string path = tree.path("moments");
    ASSERT_TRUE(write_calibration(example(), path));
    TestSafetensors file = TestSafetensors::load(path);
    EXPECT_EQ(file.at("experts.3.down").shape, (std::vector<uint64_t>{3, 2}));
    const auto back = read_calibration(path);
    ASSERT_TRUE(back.has_value()) << back.error().message;
    EXPECT_EQ(back->rows, 17U);
    EXPECT_EQ(back->dense, example().dense);
    EXPECT_EQ(back->experts.at(3).down, example().experts.at(3).down);
}

// Goal: importance is the measurement, drawn to the expert's mean where few rows were seen, never
// zero; nothing for what was not seen at all.
// Method: worked by hand: 8 rows count as much as the mean; a floor of a thousandth.
TEST(Calibration, ImportanceOfColumns) {
    const Calibration c = example();
    EXPECT_THAT(c.matrix("a.weight"), ElementsAre(1, 4, FloatNear(5.0F / 3 * 1e-3F, 1e-7F)));
    EXPECT_THAT(c.matrix("b.weight"), IsEmpty());
    EXPECT_THAT(c.expert(3, 0, 1), ElementsAre(2, 6));
    EXPECT_THAT(c.expert(3, 0, 2), ElementsAre(1.5F, 2.5F));
    EXPECT_THAT(c.expert(3, 1, 2), IsEmpty());
    EXPECT_THAT(c.expert(3, 2, 2), ElementsAre(5, 5));
    EXPECT_THAT(c.expert(4, 0, 0), IsEmpty());
}

// Goal: what is no calibration, or a damaged one, is refused by name.
// Method: one change at a time.
TEST(Calibration, Refusals) {
    const TestTree tree;
    const std::string path = tree.path("moments");
    ASSERT_TRUE(write_calibration(example(), path));
    const TestSafetensors good = TestSafetensors::load(path);
    const auto refused = [&](const std::function<void(TestSafetensors&)>& change) {
        TestSafetensors bad = good;
        change(bad);
        test_write(path, bad.bytes());
        const auto read = read_calibration(path);
        return read ? std::string("accepted") : read.error().message;
    };
    EXPECT_THAT(refused([](auto& f) { f.metadata.clear(); }), HasSubstr("not a calibration"));
    EXPECT_THAT(refused([](auto& f) { f.at("a.weight").data[3] = char(0x80 | 0x40); }),
                HasSubstr("a.weight"));
    EXPECT_THAT(refused([](auto& f) { f.at("a.weight").dtype = "I32"; }), HasSubstr("I32"));
    EXPECT_THAT(refused([](auto& f) { f.at("experts.3.down").name = "experts.3.sideways"; }),
                HasSubstr("experts.3"));
    EXPECT_THAT(refused([](auto& f) { f.erase("experts.3.rows"); }), HasSubstr("layer 3"));
    EXPECT_EQ(refused([](auto&) {}), "accepted");
}

}  // namespace
}  // namespace colibri

#include "format/npy.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace colibri {
namespace {

namespace fs = std::filesystem;

class NpyTest : public testing::Test {
protected:
    void SetUp() override {
        directory_ = fs::path(testing::TempDir()) /
                     (std::string("colibri_npy_") +
                      testing::UnitTest::GetInstance()->current_test_info()->name());
        fs::create_directories(directory_);
    }
    void TearDown() override { fs::remove_all(directory_); }
    [[nodiscard]] std::string path() const { return (directory_ / "a.npy").string(); }
    [[nodiscard]] std::string bytes() const {
        std::ifstream file(path(), std::ios::binary);
        std::stringstream text;
        text << file.rdbuf();
        return text.str();
    }
    [[nodiscard]] size_t files() const {
        return size_t(std::distance(fs::directory_iterator(directory_), {}));
    }
    fs::path directory_;
};

// Goal: files are what NumPy writes.
// Method: a 2x3 float array, byte for byte as numpy.save wrote it once (version 1.24).
TEST_F(NpyTest, WritesWhatNumpyWrites) {
    auto writer = NpyWriter::open(path(), DType::f32, {2, 3}).value();
    const std::array<float, 6> values{0, 1, 2, 3, 4, -5};
    ASSERT_TRUE(writer.append(std::as_bytes(std::span(values).first(2))));
    ASSERT_TRUE(writer.append(std::as_bytes(std::span(values).subspan(2))));
    ASSERT_TRUE(writer.close());
    std::string expected("\x93NUMPY\x01\x00v\x00", 10);
    expected += "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
    expected += std::string(128 - 1 - expected.size(), ' ') + "\n";
    expected += std::string(reinterpret_cast<const char*>(values.data()), sizeof values);
    EXPECT_EQ(bytes(), expected);
}

// Goal: other shapes and types have the right header.
// Method: one dimension, none left empty, integers.
TEST_F(NpyTest, WritesOtherShapes) {
    auto writer = NpyWriter::open(path(), DType::i32, {4}).value();
    const std::array<int32_t, 4> values{1, 2, 3, 4};
    ASSERT_TRUE(writer.append(std::as_bytes(std::span(values))));
    ASSERT_TRUE(writer.close());
    EXPECT_NE(bytes().find("'descr': '<i4', 'fortran_order': False, 'shape': (4,), }"),
              std::string::npos);
    auto empty = NpyWriter::open(path(), DType::f32, {0, 7}).value();
    ASSERT_TRUE(empty.close());
    EXPECT_EQ(bytes().size(), 128U);
    EXPECT_FALSE(NpyWriter::open(path(), DType::bf16, {1}));
    EXPECT_FALSE(NpyWriter::open(path(), DType::f32, {1ULL << 40, 1ULL << 40}));
}

// Goal: nobody meets half a file.
// Method: too many and too few elements; a writer that is dropped; a directory that is not there.
TEST_F(NpyTest, AppearsOnlyWhenComplete) {
    const std::array<float, 3> values{1, 2, 3};
    {
        auto writer = NpyWriter::open(path(), DType::f32, {2}).value();
        EXPECT_FALSE(writer.append(std::as_bytes(std::span(values))));
        EXPECT_FALSE(writer.close());
        EXPECT_FALSE(fs::exists(path()));
    }
    EXPECT_EQ(files(), 0U);
    EXPECT_FALSE(NpyWriter::open((directory_ / "no" / "a.npy").string(), DType::f32, {2}));
}

}  // namespace
}  // namespace colibri

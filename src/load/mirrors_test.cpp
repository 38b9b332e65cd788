#include "load/mirrors.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>

#include "format/test_safetensors.h"
#include "platform/test_tree.h"

namespace colibri {
namespace {

namespace fs = std::filesystem;

// A model of two files and room for copies.
class MirrorsTest : public ::testing::Test {
protected:
    MirrorsTest() {
        for (const char* name : {"model-00001-of-00002", "model-00002-of-00002"}) {
            TestSafetensors file;
            file.tensors = {
                {std::string(name) + ".weight", "U8", {1 << 20}, std::string(1 << 20, name[10])}};
            write("model/" + std::string(name) + ".safetensors", file.bytes());
        }
        checkpoint_ = Checkpoint::open(tree_.path("model"), notices_).value();
    }

    void write(const std::string& name, const std::string& bytes) {
        fs::create_directories(fs::path(tree_.path(name)).parent_path());
        std::ofstream(tree_.path(name), std::ios::binary) << bytes;
    }
    void copy(const std::string& file, const std::string& directory) {
        fs::create_directories(tree_.path(directory));
        fs::copy(tree_.path("model/" + file), tree_.path(directory));
    }
    [[nodiscard]] Result<Mirrors> open(const std::vector<std::string>& directories) {
        std::vector<MirrorOptions> options;
        for (const std::string& directory : directories)
            options.push_back({.directory = tree_.path(directory)});
        return open_mirrors(*checkpoint_, options, notices_);
    }
    [[nodiscard]] std::string remarks() {
        std::string all;
        for (const std::string& notice : notices_.take()) all += notice + "\n";
        return all;
    }

    TestTree tree_;
    Notices notices_;
    std::optional<Checkpoint> checkpoint_;
};

const std::string kFirst = "model-00001-of-00002.safetensors";
const std::string kSecond = "model-00002-of-00002.safetensors";

// Goal: whole and partial copies are accepted, numbered after the model's own files.
// Method: one mirror with both files, one with the second.
TEST_F(MirrorsTest, AcceptsWholeAndPartialCopies) {
    copy(kFirst, "a");
    copy(kSecond, "a");
    copy(kSecond, "b");
    const auto mirrors = open({"a", "b"});
    ASSERT_TRUE(mirrors) << mirrors.error().message;
    EXPECT_EQ(mirrors->copies[0].file_of, (std::vector<uint32_t>{2, 3}));
    EXPECT_EQ(mirrors->copies[1].file_of, (std::vector<uint32_t>{Mirrors::kNoFile, 4}));
    EXPECT_EQ(mirrors->files.size(), 3U);
    EXPECT_EQ(remarks(), "");
}

// Goal: a file that is no copy is named and left alone, the others are used.
// Method: a file cut short, one with another header, one with other data of the same size.
TEST_F(MirrorsTest, LeavesOutWhatIsNoCopy) {
    const auto damage = [&](const std::string& directory, uint64_t at, char byte) {
        copy(kFirst, directory);
        copy(kSecond, directory);
        std::fstream file(tree_.path(directory + "/" + kFirst),
                          std::ios::binary | std::ios::in | std::ios::out);
        file.seekp(std::streamoff(at));
        for (int i = 0; i < 100'000; ++i) file.put(byte);
    };
    damage("data", 500'000, '!');
    copy(kFirst, "short");
    copy(kSecond, "short");
    fs::resize_file(tree_.path("short/" + kFirst), 1000);
    TestSafetensors other;
    other.tensors = {{"model-00001-of-00002.weighs", "U8", {1 << 20}, std::string(1 << 20, '0')}};
    copy(kSecond, "header");
    write("header/" + kFirst, other.bytes());
    for (const char* directory : {"data", "short", "header"}) {
        const auto mirrors = open({directory});
        ASSERT_TRUE(mirrors) << mirrors.error().message;
        EXPECT_EQ(mirrors->copies[0].file_of[0], Mirrors::kNoFile) << directory;
        EXPECT_EQ(mirrors->copies[0].file_of[1], 2U) << directory;
        const std::string text = remarks();
        EXPECT_NE(text.find(directory + ("/" + kFirst) + " is not used"), std::string::npos)
            << text;
    }
}

// Goal: a mirror that can be of no use is refused by name.
// Method: a directory that is not there, an empty one, and the model's own.
TEST_F(MirrorsTest, RefusesUselessDirectories) {
    fs::create_directories(tree_.path("empty"));
    for (const char* directory : {"nowhere", "empty", "model"}) {
        const auto mirrors = open({directory});
        ASSERT_FALSE(mirrors) << directory;
        EXPECT_EQ(mirrors.error().kind, ErrorKind::invalid_input);
        EXPECT_NE(mirrors.error().message.find(tree_.path(directory)), std::string::npos);
    }
}

// Goal: experts are shared out in proportion to the speeds, always alike, and each keeps all its
// copies. Method: 10,000 experts over an original of speed 1 and mirrors of 2 and 1.
TEST_F(MirrorsTest, SharesByDriveSpeed) {
    Mirrors mirrors;
    mirrors.copies = {{.directory = "a", .file_of = {1}}, {.directory = "b", .file_of = {2}}};
    std::vector<ExpertSource> experts;
    for (uint32_t i = 0; i < 10'000; ++i)
        experts.push_back({.id = {.layer = i / 100, .index = i % 100},
                           .extents = {{.file = 0, .offset = i * 4096U, .size_bytes = 4096}}});
    auto again = experts;
    spread_over_mirrors(mirrors, {1, 2, 1}, experts);
    spread_over_mirrors(mirrors, {1, 2, 1}, again);
    std::array<int, 3> first{};
    for (size_t i = 0; i < experts.size(); ++i) {
        ++first[experts[i].extents[0].file];
        EXPECT_EQ(experts[i].extents[0].file, again[i].extents[0].file);
        std::set<uint32_t> all{experts[i].extents[0].file};
        for (const auto& mirror : experts[i].mirrors) all.insert(mirror.at(0));
        EXPECT_EQ(all, (std::set<uint32_t>{0, 1, 2}));
    }
    EXPECT_NEAR(first[0], 2500, 150);
    EXPECT_NEAR(first[1], 5000, 150);
    EXPECT_NEAR(first[2], 2500, 150);
}

// Goal: an expert is read from a mirror only if that holds all its parts.
// Method: experts over two files, a fast mirror with one of them.
TEST_F(MirrorsTest, NeedsEveryPart) {
    Mirrors mirrors;
    mirrors.copies = {{.directory = "a", .file_of = {2, Mirrors::kNoFile}}};
    std::vector<ExpertSource> experts;
    for (uint32_t i = 0; i < 100; ++i)
        experts.push_back({.id = {.layer = 0, .index = i}, .extents = {{.file = 0}, {.file = 1}}});
    spread_over_mirrors(mirrors, {1, 100}, experts);
    for (const ExpertSource& source : experts) {
        EXPECT_EQ(source.extents[0].file, 0U);
        EXPECT_TRUE(source.mirrors.empty());
    }
}

}  // namespace
}  // namespace colibri

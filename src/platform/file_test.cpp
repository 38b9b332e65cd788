#include "platform/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "platform/read_loop.h"
#include "platform/test_tree.h"

namespace colibri {
namespace {

using ::testing::HasSubstr;

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(File, ReadsAnyRangeOfARegularFile) {
    // Goal: positioned reads return exactly the bytes of the range, including empty and whole
    // ranges. Method: a file of ten known bytes; ranges at the begin, middle, end, and of length 0
    // at the end.
    const TestTree tree;
    tree.write("digits", "0123456789");
    const auto file = File::open(tree.path("digits"));
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ((*file)->size_bytes(), 10U);
    for (const auto& [offset, expected] : std::vector<std::pair<uint64_t, std::string>>{
             {0, "0123456789"}, {3, "345"}, {9, "9"}, {10, ""}}) {
        std::string out(expected.size(), '?');
        ASSERT_TRUE((*file)->read_at(offset, std::as_writable_bytes(std::span(out))));
        EXPECT_EQ(out, expected);
    }
}

TEST(File, ARangePastTheEndIsCorruptAndNamesSizes) {
    // Goal: a range that leaves the file is refused before any read, also when offset + size would
    // wrap. Method: one byte too many, an offset past the end, and an offset near 2^64.
    const TestTree tree;
    tree.write("digits", "0123456789");
    const auto file = *File::open(tree.path("digits"));
    std::array<std::byte, 4> out{};
    for (const uint64_t offset : {uint64_t(7), uint64_t(11), ~uint64_t(0) - 1}) {
        const Status status = file->read_at(offset, out);
        ASSERT_FALSE(status);
        EXPECT_EQ(status.error().kind, ErrorKind::corrupt);
        EXPECT_THAT(status.error().message, HasSubstr("the file has 10 bytes"));
        EXPECT_THAT(status.error().message, HasSubstr(tree.path("digits")));
    }
}

TEST(File, AFileCutWhileOpenIsCorrupt) {
    // Goal: a file that shrinks after it was opened ends in an error, never in zeros.
    // Method: open 10 bytes, truncate to 4, read 10.
    const TestTree tree;
    tree.write("digits", "0123456789");
    const auto file = *File::open(tree.path("digits"));
    ASSERT_EQ(::truncate(tree.path("digits").c_str(), 4), 0);
    std::array<std::byte, 10> out{};
    const Status status = file->read_at(0, out);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().kind, ErrorKind::corrupt);
    EXPECT_THAT(status.error().message, HasSubstr("ended at offset 4"));
}

TEST(File, OpenTellsAbsentFromUnusable) {
    // Goal: absent paths, directories, dangling links and pipes each get their own error and
    // nothing blocks. Method: open one of each.
    const TestTree tree;
    tree.write("folder/x", "");
    std::filesystem::create_symlink("nowhere", tree.path("dangling"));
    ASSERT_EQ(::mkfifo(tree.path("pipe").c_str(), 0600), 0);
    EXPECT_EQ(File::open(tree.path("absent")).error().kind, ErrorKind::not_found);
    EXPECT_EQ(File::open(tree.path("folder/x/y")).error().kind, ErrorKind::not_found);
    EXPECT_EQ(File::open(tree.path("dangling")).error().kind, ErrorKind::not_found);
    EXPECT_EQ(File::open(tree.path("folder")).error().kind, ErrorKind::invalid_input);
    EXPECT_THAT(File::open(tree.path("folder")).error().message, HasSubstr("found a directory"));
    EXPECT_EQ(File::open(tree.path("pipe")).error().kind, ErrorKind::invalid_input);
}

TEST(ReadFile, RefusesByteOverTheLimitBeforeReading) {
    // Goal: whole-file reads are bounded by the caller, and the message names both sizes.
    // Method: a sparse file of 300 MB against a limit of 1 MiB, and a file of exactly the limit.
    const TestTree tree;
    tree.write("big", "x");
    ASSERT_EQ(::truncate(tree.path("big").c_str(), 300'000'000), 0);
    const auto refused = read_file(tree.path("big"), 1 << 20);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::invalid_input);
    EXPECT_THAT(refused.error().message, HasSubstr("300000000"));
    EXPECT_THAT(refused.error().message, HasSubstr("1048576"));
    tree.write("fits", "abcd");
    EXPECT_EQ(*read_file(tree.path("fits"), 4), "abcd");
}

TEST(WriteFileAtomic, ReplacesWholeAndLeavesNothingBehind) {
    // Goal: the new content is complete, the old one gone, and no temporary file remains.
    // Method: write twice with different lengths, list the directory.
    const TestTree tree;
    const std::string path = tree.path("state");
    ASSERT_TRUE(write_file_atomic(path, bytes_of("a longer first version")));
    ASSERT_TRUE(write_file_atomic(path, bytes_of("second")));
    EXPECT_EQ(*read_file(path, 100), "second");
    size_t entries = 0;
    for (const auto& entry : std::filesystem::directory_iterator(tree.root()))
        entries += entry.path().filename() == "state" ? 1 : 100;
    EXPECT_EQ(entries, 1U);
}

TEST(WriteFileAtomic, AFailureKeepsTheTargetAndCleansUp) {
    // Goal: when the rename fails the target stays as it was and the temporary file is removed.
    // Method: the target is a non-empty directory; then a parent that does not exist.
    const TestTree tree;
    tree.write("state/inside", "kept");
    const Status status = write_file_atomic(tree.path("state"), bytes_of("x"));
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().kind, ErrorKind::io);
    EXPECT_EQ(*read_file(tree.path("state/inside"), 100), "kept");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(tree.root()), {}), 1);
    EXPECT_EQ(write_file_atomic(tree.path("no/such/file"), {}).error().kind, ErrorKind::not_found);
}

// Answers of a scripted read call: a count of bytes, or a negative errno.
ReadOutcome run_script(std::vector<int> script, std::string_view content, std::string& out) {
    size_t call = 0;
    return read_fully(
        [&](std::byte* into, size_t size_bytes, uint64_t offset) -> ssize_t {
            const int answer = call < script.size() ? script[call] : int(size_bytes);
            ++call;
            if (answer < 0) {
                errno = -answer;
                return -1;
            }
            const size_t count = std::min({size_t(answer), size_bytes, content.size() - offset});
            std::memcpy(into, content.data() + offset, count);
            return ssize_t(count);
        },
        0, std::as_writable_bytes(std::span(out)));
}

TEST(ReadFully, ContinuesShortReadsAndRetries) {
    // Goal: short reads are continued at the right offset; EINTR, EAGAIN and one EIO are retried.
    // Method: scripted answers around a known text.
    std::string out(10, '?');
    const ReadOutcome outcome =
        run_script({3, -EINTR, 1, -EAGAIN, -EIO, 2, -EINTR}, "0123456789", out);
    EXPECT_EQ(outcome.error, 0);
    EXPECT_EQ(outcome.read_bytes, 10U);
    EXPECT_EQ(out, "0123456789");
}

TEST(ReadFully, ReportsTheSecondEioAndTheEnd) {
    // Goal: a persistent EIO is reported with how far it came; an early end is no error of the
    // device. Method: scripted EIO twice, and a text shorter than the buffer.
    std::string out(10, '?');
    const ReadOutcome broken = run_script({4, -EIO, -EIO}, "0123456789", out);
    EXPECT_EQ(broken.error, EIO);
    EXPECT_EQ(broken.read_bytes, 4U);
    const ReadOutcome ended = run_script({}, "01234", out);
    EXPECT_EQ(ended.error, 0);
    EXPECT_EQ(ended.read_bytes, 5U);
}

}  // namespace
// Goal: what somebody does to an open file is seen, and told apart.
// Method: each change to a fresh file; what is open keeps the old bytes unless it was written to.
TEST(File, SeesWhatBecameOfIt) {
    const TestTree tree;
    namespace fs = std::filesystem;
    const auto fresh = [&] {
        tree.write("file", "some bytes");
        // The clock of file times may tick only every few milliseconds.
        fs::last_write_time(tree.path("file"),
                            fs::file_time_type::clock::now() - std::chrono::hours(1));
        return File::open(tree.path("file")).value();
    };
    auto file = fresh();
    EXPECT_EQ(file->change(), FileChange::none);
    EXPECT_TRUE(file->check_unchanged());
    fs::resize_file(tree.path("file"), 3);
    EXPECT_EQ(file->change(), FileChange::truncated);
    const Status cut = file->check_unchanged();
    ASSERT_FALSE(cut);
    EXPECT_EQ(cut.error().kind, ErrorKind::corrupt);
    EXPECT_NE(cut.error().message.find(tree.path("file") + ": "), std::string::npos);
    EXPECT_NE(cut.error().message.find("found 3 bytes, expected 10"), std::string::npos);

    file = fresh();
    std::ofstream(tree.path("file"), std::ios::in | std::ios::out) << "SOME";
    EXPECT_EQ(file->change(), FileChange::rewritten);
    EXPECT_FALSE(file->check_unchanged());

    file = fresh();
    tree.write("other", "more bytes");
    fs::rename(tree.path("other"), tree.path("file"));
    EXPECT_EQ(file->change(), FileChange::replaced);
    EXPECT_TRUE(file->check_unchanged());
    std::string bytes(10, ' ');
    ASSERT_TRUE(file->read_at(0, std::as_writable_bytes(std::span(bytes))));
    EXPECT_EQ(bytes, "some bytes");

    file = fresh();
    fs::remove(tree.path("file"));
    EXPECT_EQ(file->change(), FileChange::missing);
    EXPECT_TRUE(file->check_unchanged());
}

}  // namespace colibri

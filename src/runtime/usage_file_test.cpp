#include "runtime/usage_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "platform/test_tree.h"

namespace colibri {

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string read_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

UsagePlace place_in(const TestTree& tree, uint64_t fingerprint = 7) {
    return {.directory = tree.path("state"),
            .fallback_directory = "",
            .model_directory = tree.path("model"),
            .fingerprint = fingerprint,
            .layers = 4,
            .experts = 8,
            .top_k = 2};
}

const std::vector<ExpertUse> kUses{{{1, 2}, 3}};

}  // namespace

// Goal: what one run saves the next one knows, in a directory made for it, without leftovers.
// Method: two objects in turn; the directory holds one file.
TEST(UsageFile, RemembersOverRuns) {
    const TestTree tree;
    Notices notices;
    UsageFile first(place_in(tree), notices);
    EXPECT_TRUE(first.history().entries.empty());
    ASSERT_TRUE(first.save(kUses, 5));
    ASSERT_TRUE(first.save(kUses, 5));
    const UsageFile second(place_in(tree), notices);
    EXPECT_THAT(notices.take(), IsEmpty());
    ASSERT_EQ(second.history().entries.size(), 1U);
    EXPECT_NEAR(second.history().entries[0].uses, 6, 0.01);
    EXPECT_NEAR(second.history().steps, 10, 0.01);
    const std::filesystem::directory_iterator files(tree.path("state"));
    EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

// Goal: a history of another model or a damaged one is ignored with one line, and never replaced.
// Method: a good file under another fingerprint; garbage; both before and after a save.
TEST(UsageFile, LeavesForeignFilesAlone) {
    const TestTree tree;
    Notices notices;
    UsageFile own(place_in(tree), notices);
    ASSERT_TRUE(own.save(kUses, 5));
    for (const std::string& content : {read_text(tree.path("state/usage")), std::string("junk")}) {
        tree.write("state/usage", content);
        UsageFile other(place_in(tree, 8), notices);
        EXPECT_THAT(notices.take(), ElementsAre(HasSubstr("ignored and left alone")));
        EXPECT_TRUE(other.history().entries.empty());
        EXPECT_TRUE(other.save(kUses, 5));
        EXPECT_EQ(read_text(tree.path("state/usage")), content);
    }
}

// Goal: a place that cannot be written is said once; the history goes on in memory. With a second
// place, nothing is said and the next run finds it there.
// Method: a directory whose parent is a file.
TEST(UsageFile, CannotBeWritten) {
    const TestTree tree;
    tree.write("file", "x");
    Notices notices;
    UsagePlace place = place_in(tree);
    place.directory = tree.path("file/state");
    UsageFile lost(place, notices);
    const Status first = lost.save(kUses, 5);
    ASSERT_FALSE(first);
    EXPECT_THAT(first.error().message, HasSubstr("the usage history is not kept"));
    EXPECT_TRUE(lost.save(kUses, 5)) << "said once";
    EXPECT_NEAR(lost.history().entries[0].uses, 6, 0.01);

    place.fallback_directory = tree.path("other");
    UsageFile kept(place, notices);
    EXPECT_TRUE(kept.save(kUses, 5));
    const UsageFile again(place, notices);
    EXPECT_EQ(again.history().entries.size(), 1U);
    EXPECT_EQ(again.path(), tree.path("other/0000000000000007/usage"));
    EXPECT_THAT(notices.take(), IsEmpty());
}

// Goal: where there is no history yet, the original engine's is taken, if it fits.
// Method: its text beside the model, right and of another model; then our own file, which wins.
TEST(UsageFile, BeginsWithTheOriginalsHistory) {
    const TestTree tree;
    Notices notices;
    tree.write("model/.coli_usage", "-1 4 8\n0 3 10\n");
    UsageFile first(place_in(tree), notices);
    ASSERT_EQ(first.history().entries.size(), 1U);
    EXPECT_EQ(first.history().steps, 5);
    EXPECT_THAT(notices.take(), IsEmpty());
    ASSERT_TRUE(first.save(kUses, 5));
    EXPECT_EQ(UsageFile(place_in(tree), notices).history().entries.size(), 2U);
    tree.write("model/.coli_usage", "-1 5 8\n0 3 10\n");
    std::filesystem::remove(tree.path("state/usage"));
    EXPECT_TRUE(UsageFile(place_in(tree), notices).history().entries.empty());
    EXPECT_THAT(notices.take(), ElementsAre(HasSubstr(".coli_usage, line 1")));
}

}  // namespace colibri

// Copies of the model on other drives.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "platform/test_tree.h"
#include "tests/e2e/program.h"

namespace colibri::e2e {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

void copy_shards(const fs::path& to, size_t most) {
    fs::create_directories(to);
    for (const auto& entry : fs::directory_iterator(nano()))
        if (entry.path().extension() == ".safetensors" &&
            entry.path().filename() != "oracle.safetensors" && most-- > 0)
            fs::copy(entry.path(), to);
}

// Goal: mirrors change speed alone, whole or partial, one or two, with measured or given speeds.
// Method: greedy answers at a small budget against one without mirrors.
TEST(Mirror, AnswersTheSame) {
    const TestTree tree;
    copy_shards(tree.path("whole"), 99);
    copy_shards(tree.path("part"), 1);
    const Outcome reference = ask_greedily(nano(), {});
    ASSERT_EQ(reference.exit_code, 0) << reference.err;
    const std::string whole = tree.path("whole");
    const std::string part = tree.path("part");
    for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
             {"--mirror", whole},
             {"--mirror", part},
             {"--mirror", whole + "@3.5", "--mirror", part + "@0.5"}}) {
        const Outcome outcome = ask_greedily(nano(), more);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_EQ(outcome.out, reference.out) << more[1];
    }
}

// Goal: a mirror that cannot be used is said by name: refused when it is useless, left out in part
// when a file of it is no copy. Method: a directory that is not there; a shard cut short.
TEST(Mirror, SaysWhatIsNoCopy) {
    const TestTree tree;
    const Outcome missing = ask_greedily(nano(), {"--mirror", tree.path("nowhere")});
    EXPECT_EQ(missing.exit_code, 1);
    EXPECT_THAT(missing.err, HasSubstr(tree.path("nowhere")));
    copy_shards(tree.path("cut"), 99);
    fs::path shard;
    for (const auto& entry : fs::directory_iterator(tree.path("cut"))) shard = entry.path();
    fs::resize_file(shard, 12345);
    const Outcome cut = ask_greedily(nano(), {"--mirror", tree.path("cut")});
    EXPECT_EQ(cut.exit_code, 0) << cut.err;
    EXPECT_THAT(cut.err, HasSubstr(shard.string() + " is not used"));
    EXPECT_EQ(cut.out, ask_greedily(nano(), {}).out);
}

}  // namespace
}  // namespace colibri::e2e

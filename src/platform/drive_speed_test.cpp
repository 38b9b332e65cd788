#include "platform/drive_speed.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/units.h"
#include "platform/test_tree.h"

namespace colibri {

namespace {

struct Files {
    TestTree tree;
    std::vector<std::shared_ptr<const File>> list;

    explicit Files(std::vector<uint64_t> sizes) {
        for (size_t i = 0; i < sizes.size(); ++i) {
            const std::string name = "f" + std::to_string(i);
            tree.write(name, std::string(sizes[i], 'x'));
            list.push_back(File::open(tree.path(name)).value());
        }
    }
};

}  // namespace

// Goal: rates add up, whatever reads.
// Method: small files, raw and every reader, both patterns, into the same places and all over a
// piece of memory: bytes are reads times the block.
TEST(DriveSpeed, CountsWhatWasRead) {
    const Files files({kMiB, 3 * kMiB + 77});
    for (const bool sequential : {false, true}) {
        const ReadPattern pattern{.sequential = sequential,
                                  .block_bytes = 256 * kKiB,
                                  .memory_bytes = sequential ? 0 : 4 * kMiB,
                                  .depth = 3,
                                  .seconds = 0.05};
        std::vector<Result<ReadSpeed>> speeds;
        speeds.push_back(measure_raw(files.list, pattern));
        for (const ReaderKind kind :
             {ReaderKind::automatic, ReaderKind::pread, ReaderKind::buffered})
            speeds.push_back(measure_reader(files.list, pattern, {.kind = kind}));
        for (const auto& speed : speeds) {
            ASSERT_TRUE(speed) << speed.error().message;
            EXPECT_GT(speed->reads_per_second, 1);
            EXPECT_DOUBLE_EQ(speed->bytes_per_second, speed->reads_per_second * 256 * kKiB);
            EXPECT_LE(speed->latency_us_median, speed->latency_us_p99);
        }
    }
}

// Goal: what cannot be measured is said.
// Method: a block larger than every file; a raised token.
TEST(DriveSpeed, RefusesAndCancels) {
    const Files files({10000, 20000});
    const auto large = measure_raw(files.list, {.block_bytes = 24576, .seconds = 0.01});
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().kind, ErrorKind::invalid_input);
    EXPECT_NE(large.error().message.find("none of 2 files holds a block of 24576 bytes"),
              std::string::npos);
    CancelToken token;
    token.cancel();
    const ReadPattern pattern{.block_bytes = 4096, .seconds = 60, .cancel = &token};
    EXPECT_EQ(measure_raw(files.list, pattern).error().kind, ErrorKind::cancelled);
    EXPECT_EQ(measure_reader(files.list, pattern, {}).error().kind, ErrorKind::cancelled);
}

}  // namespace colibri

// A system that refuses threads (ulimit -u, a container's pids.max): an error, never an abort.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/thread_refusal.h"
#include "convert/convert.h"
#include "platform/drive_speed.h"
#include "platform/memory_speed.h"
#include "platform/test_tree.h"
#include "runtime/model.h"

namespace colibri {
namespace {

using testing::HasSubstr;

const std::string kNano = COLIBRI_SOURCE_DIR "/models/nano";

// Goal: loading says which thread was refused, and the same call works once threads start again.
// Method: nano with three compute threads (the team is refused) and with one (the store's threads
// are the first to be refused), each before and after the refusal ends.
TEST(RefusedThreads, LoadingNamesThem) {
    for (const uint32_t threads : {3U, 1U}) {
        ModelOptions options{.directory = kNano, .ram_budget_bytes = 40 << 20, .context = 64};
        options.threads = threads;
        Notices notices;
        {
            const ThreadRefusal refusal;
            const auto model = Model::open(options, notices);
            ASSERT_FALSE(model) << threads;
            EXPECT_EQ(model.error().kind, ErrorKind::out_of_budget);
            EXPECT_THAT(model.error().message, HasSubstr("thread 1 of"));
        }
        const auto model = Model::open(options, notices);
        EXPECT_TRUE(model) << model.error().message;
    }
}

// Goal: a conversion is refused and can be repeated. Method: nano to int8, twice.
TEST(RefusedThreads, ConversionsNameThemAndResume) {
    const TestTree tree;
    ConvertOptions options{.source = kNano, .destination = tree.path("out")};
    options.threads = 2;
    Notices notices;
    {
        const ThreadRefusal refusal;
        const auto report = convert(options, notices);
        ASSERT_FALSE(report);
        EXPECT_THAT(report.error().message, HasSubstr("refused conversion thread 1 of 2"));
    }
    const auto report = convert(options, notices);
    EXPECT_TRUE(report) << report.error().message;
}

// Goal: measuring a drive or the memory ends with an error. Method: one look at each.
TEST(RefusedThreads, MeasurementsNameThem) {
    TestTree tree;
    tree.write("file", std::string(1 << 20, 'x'));
    const auto file = File::open(tree.path("file"));
    ASSERT_TRUE(file);
    const std::vector<std::shared_ptr<const File>> files{*file};
    const ThreadRefusal refusal;
    const auto speed = measure_random_reads(files, 4096, 0.01, 1 << 20);
    ASSERT_FALSE(speed);
    EXPECT_THAT(speed.error().message, HasSubstr("refused measuring thread 1 of"));
    EXPECT_FALSE(measure_memory_speed(2));
}

}  // namespace
}  // namespace colibri

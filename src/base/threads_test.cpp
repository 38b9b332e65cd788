#include "base/threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "base/thread_refusal.h"

namespace colibri {
namespace {

using testing::HasSubstr;

// Goal: a thread that the system refuses is an error that says which one, and those before it run.
// Method: two threads, then a third of five under refusal; then all five once it has ended.
TEST(Threads, RefusalIsAnError) {
    std::atomic<int> runs{0};
    std::vector<std::jthread> threads;
    const auto body = [&] { ++runs; };
    ASSERT_TRUE(start_threads(threads, 2, "test thread", body));
    {
        const ThreadRefusal refusal;
        const Status refused = start_threads(threads, 5, "test thread", body);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().kind, ErrorKind::out_of_budget);
        EXPECT_THAT(refused.error().message, HasSubstr("refused test thread 3 of 5"));
    }
    EXPECT_EQ(threads.size(), 2U);
    EXPECT_TRUE(start_threads(threads, 5, "test thread", body));
    threads.clear();
    EXPECT_EQ(runs, 5);
}

}  // namespace
}  // namespace colibri

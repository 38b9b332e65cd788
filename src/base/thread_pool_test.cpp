#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

namespace colibri {
namespace {

// Goal: every member runs a region exactly once, and the call returns only when all have.
// Method: many short regions on teams of 1 to 5, with pauses in between so that members fall asleep
// too.
TEST(ThreadPool, RunsEveryMemberOnce) {
    for (uint32_t threads = 1; threads <= 5; ++threads) {
        const auto team = ThreadPool::create(threads);
        ASSERT_TRUE(team);
        ThreadPool& pool = **team;
        ASSERT_EQ(pool.thread_count(), threads);
        std::vector<uint64_t> runs(threads, 0);
        for (int region = 0; region < 60; ++region) {
            pool.run([&](uint32_t member, uint32_t members) {
                EXPECT_EQ(members, threads);
                ++runs[member];
            });
            if (region % 20 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        for (const uint64_t count : runs) EXPECT_EQ(count, 60U);
    }
}

// Goal: split covers [0, count) once, in contiguous parts that begin at multiples of the grain.
// Method: all counts up to 70 with several grains and teams; parts are collected and laid together.
TEST(ThreadPool, SplitCoversEverythingOnce) {
    for (const uint32_t threads : {1U, 2U, 3U, 4U}) {
        const auto team = ThreadPool::create(threads);
        ASSERT_TRUE(team);
        ThreadPool& pool = **team;
        for (const uint32_t grain : {1U, 4U, 16U}) {
            for (uint32_t count = 0; count <= 70; ++count) {
                std::mutex mutex;
                std::set<std::pair<uint32_t, uint32_t>> parts;
                pool.split(count, grain, [&](uint32_t begin, uint32_t end) {
                    const std::lock_guard lock(mutex);
                    parts.emplace(begin, end);
                });
                uint32_t next = 0;
                for (const auto& [begin, end] : parts) {
                    EXPECT_EQ(begin, next);
                    EXPECT_EQ(begin % grain, 0U);
                    EXPECT_LT(begin, end);
                    next = end;
                }
                EXPECT_EQ(next, count);
                EXPECT_LE(parts.size(), threads * ThreadPool::kPartsPerMember);
            }
        }
    }
}

// Goal: what one region wrote is visible to the next, whichever member reads it.
// Method: a running sum handed around between members.
TEST(ThreadPool, RegionsSeeEachOthersWrites) {
    const auto team = ThreadPool::create(3);
    ASSERT_TRUE(team);
    ThreadPool& pool = **team;
    std::vector<uint64_t> cells(3, 1);
    for (int region = 0; region < 200; ++region) {
        std::vector<uint64_t> sums(3);
        pool.run([&](uint32_t member, uint32_t) {
            sums[member] = std::accumulate(cells.begin(), cells.end(), uint64_t(0)) % 1000003;
        });
        pool.run(
            [&](uint32_t member, uint32_t) { cells[member] = sums[(member + 1) % 3] + member; });
        EXPECT_EQ(sums[0], sums[1]);
        EXPECT_EQ(sums[1], sums[2]);
    }
}

// Goal: a member without a core is not waited for unless it holds a part, and late members never
// run a part of a region that has ended. Method: 20,000 regions of changing part counts on three
// members per core, parts far shorter than the way of a waking thread; every part writes the number
// of its region into its own cells. A pool that waits for every member in every region needs many
// times the time allowed.
TEST(ThreadPool, LateMembersHoldNothingUp) {
    const uint32_t members = std::clamp(3 * std::thread::hardware_concurrency(), 3U, 48U);
    const auto team = ThreadPool::create(members);
    ASSERT_TRUE(team);
    ThreadPool& pool = **team;
    std::vector<uint32_t> cells(members * ThreadPool::kPartsPerMember);
    const auto start = std::chrono::steady_clock::now();
    for (uint32_t region = 1; region <= 20000; ++region) {
        const uint32_t count = 1 + region % uint32_t(cells.size());
        pool.split(count, 1, [&](uint32_t begin, uint32_t end) {
            for (uint32_t i = begin; i < end; ++i) {
                EXPECT_NE(cells[i], region);
                cells[i] = region;
            }
        });
        for (uint32_t i = 0; i < count; ++i) ASSERT_EQ(cells[i], region) << i;
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    EXPECT_LT(taken.count(), 4.0);
}

}  // namespace
}  // namespace colibri

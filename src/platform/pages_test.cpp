#include "platform/pages.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/aligned_buffer.h"
#include "base/units.h"
#include "platform/machine.h"

namespace colibri {

// Goal: pages that are given back leave the resident set and come back as zeros; their neighbors
// keep their bytes.
// Method: 32 MiB of ones, all but the first and the last 100 bytes given back, and used again.
TEST(Pages, LeaveAndComeBack) {
    const auto buffer = AlignedBuffer::allocate(32 * kMiB);
    ASSERT_TRUE(buffer);
    std::fill_n(buffer->data(), buffer->size_bytes(), std::byte{1});
    const uint64_t before = resident_bytes();
    const auto middle = buffer->bytes().subspan(100, buffer->size_bytes() - 200);
    release_pages(middle);
    EXPECT_LT(resident_bytes() + 30 * kMiB, before);
    EXPECT_EQ(buffer->data()[99], std::byte{1});
    EXPECT_EQ(buffer->data()[4095], std::byte{1}) << "a page is whole or not touched";
    EXPECT_EQ(buffer->data()[4096], std::byte{0});
    EXPECT_EQ(buffer->data()[buffer->size_bytes() - 1], std::byte{1});
    reclaim_pages(middle);
    std::fill_n(buffer->data(), buffer->size_bytes(), std::byte{2});
    EXPECT_GT(resident_bytes() + kMiB, before);
    release_pages({});
    release_pages(buffer->bytes().subspan(1, 5));
    EXPECT_EQ(buffer->data()[1], std::byte{2});
}

}  // namespace colibri

// The small parts of base in one place.
#include <gtest/gtest.h>

#include "base/aligned_buffer.h"
#include "base/cancel.h"
#include "base/error.h"
#include "base/function_ref.h"
#include "base/notices.h"
#include "base/rng.h"
#include "base/units.h"

namespace colibri {
namespace {

Result<int> half_of(int value) {
    if (value % 2 != 0) return fail(ErrorKind::invalid_input, "odd");
    return value / 2;
}

Result<int> quarter_of(int value) {
    TRY(const int half, half_of(value));
    TRY(const int quarter, half_of(half));
    return quarter;
}

Status check_even(int value) {
    TRY_STATUS(half_of(value));
    return {};
}

// Goal: TRY hands on values and errors, and errors gather context on their way.
// Method: a chain of two fallible steps that fails at the first, the second, nowhere.
TEST(Error, TravelsThroughTry) {
    EXPECT_EQ(*quarter_of(12), 3);
    EXPECT_FALSE(quarter_of(3));
    EXPECT_FALSE(quarter_of(6));
    EXPECT_TRUE(check_even(4));
    EXPECT_FALSE(check_even(5));
    Error error = quarter_of(3).error();
    EXPECT_EQ(std::move(error).within("expert 7").within("layer 2").message,
              "layer 2: expert 7: odd");
}

// Goal: every kind of error has a name of its own.
// Method: all kinds, pairwise different and never "unknown".
TEST(Error, KindsHaveNames) {
    std::vector<std::string_view> names;
    for (const ErrorKind kind :
         {ErrorKind::invalid_input, ErrorKind::not_found, ErrorKind::unsupported,
          ErrorKind::corrupt, ErrorKind::out_of_budget, ErrorKind::cancelled, ErrorKind::io}) {
        for (const std::string_view other : names) EXPECT_NE(to_string(kind), other);
        EXPECT_NE(to_string(kind), "unknown");
        names.push_back(to_string(kind));
    }
}

// Goal: what is large enough for huge pages begins at one, is whole, and ends where it says.
// Method: sizes around multiples of 2 MiB, several at a time; first and last bytes written and
// read; a size that no sum may overflow.
TEST(AlignedBuffer, LargeOnesBeginAtHugePages) {
    std::vector<AlignedBuffer> buffers;
    for (const uint64_t size : {2 * kMiB, 2 * kMiB + 1, 3 * kMiB - 4096, 4 * kMiB - 1, 9 * kMiB}) {
        auto buffer = AlignedBuffer::allocate(size);
        ASSERT_TRUE(buffer);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % (2 * kMiB), 0U);
        EXPECT_EQ(buffer->data()[size - 1], std::byte(0));
        buffer->data()[0] = buffer->data()[size - 1] = std::byte(buffers.size() + 1);
        buffers.push_back(*std::move(buffer));
    }
    for (size_t i = 0; i < buffers.size(); ++i) {
        EXPECT_EQ(buffers[i].data()[0], std::byte(i + 1));
        EXPECT_EQ(buffers[i].data()[buffers[i].size_bytes() - 1], std::byte(i + 1));
    }
    EXPECT_FALSE(AlignedBuffer::allocate(UINT64_MAX - 4096));
}

// Goal: buffers are zeroed, aligned to pages, and moving hands over the memory.
// Method: allocate, look, write, move; a size of zero; a size that no machine has.
TEST(AlignedBuffer, OwnsPages) {
    auto buffer = AlignedBuffer::allocate(10000);
    ASSERT_TRUE(buffer);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % 4096, 0U);
    for (const std::byte b : buffer->bytes()) ASSERT_EQ(b, std::byte{0});
    buffer->as<uint32_t>()[7] = 42;
    AlignedBuffer moved = std::move(*buffer);
    EXPECT_EQ(moved.as<uint32_t>()[7], 42U);
    EXPECT_EQ(moved.size_bytes(), 10000U);
    EXPECT_EQ(AlignedBuffer::allocate(0)->size_bytes(), 0U);
    const auto impossible = AlignedBuffer::allocate(uint64_t(1) << 60);
    ASSERT_FALSE(impossible);
    EXPECT_EQ(impossible.error().kind, ErrorKind::out_of_budget);
}

// Goal: a notice is shown once, however often it is added, in the order of arrival.
// Method: repeats before and after taking.
TEST(Notices, AreTakenOnce) {
    Notices notices;
    notices.add("a");
    notices.add("b");
    notices.add("a");
    EXPECT_EQ(notices.take(), (std::vector<std::string>{"a", "b"}));
    notices.add("b");
    EXPECT_TRUE(notices.take().empty());
}

// Goal: the generator is the published SplitMix64, so seeds mean the same everywhere.
// Method: its first outputs for seed 1234567, from the published test vector; the range of
// uniform().
TEST(Rng, IsSplitMix64) {
    Rng random(1234567);
    EXPECT_EQ(random.next(), 6457827717110365317ULL);
    EXPECT_EQ(random.next(), 3203168211198807973ULL);
    EXPECT_EQ(random.next(), 9817491932198370423ULL);
    for (int i = 0; i < 1000; ++i) {
        const double value = random.uniform();
        EXPECT_GE(value, 0.0);
        EXPECT_LT(value, 1.0);
        EXPECT_LT(random.below(7), 7U);
    }
}

// Goal: a function reference calls what it was bound to, by reference.
// Method: a lambda that counts.
TEST(FunctionRef, CallsThrough) {
    int calls = 0;
    const auto count = [&](int by) { return calls += by; };
    const FunctionRef<int(int)> ref = count;
    EXPECT_EQ(ref(2), 2);
    EXPECT_EQ(ref(3), 5);
    EXPECT_EQ(calls, 5);
}

// Goal: a raised token is seen, can be lowered, and null means never.
// Method: all three.
TEST(CancelToken, IsSeen) {
    CancelToken token;
    EXPECT_FALSE(is_cancelled(&token));
    token.cancel();
    EXPECT_TRUE(is_cancelled(&token));
    token.reset();
    EXPECT_FALSE(is_cancelled(&token));
    EXPECT_FALSE(is_cancelled(nullptr));
}

}  // namespace
}  // namespace colibri

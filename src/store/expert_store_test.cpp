#include "store/expert_store.h"

#include <gtest/gtest.h>

#include "store/store_fixture.h"

namespace colibri {

// Goal: a stream yields each expert once, with its own bytes, in the order of its kind.
// Method: all experts of a store with few slots, twice as decode and twice as scan.
TEST(ExpertStore, YieldsEveryExpertOnceWithItsBytes) {
    const StoreFixture fixture;
    const auto store = make_store(fixture.config());
    const std::vector<ExpertId> all = fixture.all();
    for (const StreamKind kind :
         {StreamKind::decode, StreamKind::scan, StreamKind::decode, StreamKind::scan}) {
        auto order = read_all(fixture, *store, all, kind);
        ASSERT_TRUE(order) << order.error().message;
        if (kind == StreamKind::decode) std::sort(order->begin(), order->end());
        EXPECT_EQ(*order, all);
    }
    EXPECT_EQ(store->counters().hits + store->counters().misses, 4 * all.size());
}

}  // namespace colibri

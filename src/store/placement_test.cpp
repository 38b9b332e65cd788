#include "store/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/rng.h"

namespace colibri {

namespace {

const PolicyFactory kLru = policy_factory(PolicyKind::lru);

PlacementShape shape_of(uint32_t experts, uint32_t slots, uint32_t ring_slots) {
    PlacementShape shape;
    for (uint32_t i = 0; i < experts; ++i) shape.ids.push_back({0, i});
    shape.classes.assign(experts, 0);
    shape.pools.push_back({.slots = slots, .ring_slots = ring_slots});
    return shape;
}

std::vector<uint32_t> take_assigned(Placement& placement) {
    std::vector<uint32_t> experts;
    for (const auto& assignment : placement.assignments()) experts.push_back(assignment.expert);
    placement.clear_assignments();
    return experts;
}

// A stream read to its end, each expert landed, taken and released before the next.
void use(Placement& placement, StreamKind kind, const std::vector<uint32_t>& set) {
    placement.open(kind, set);
    for (const uint32_t expert : set) {
        if (placement.may_land(expert)) placement.land(expert);
        if (!placement.is_landed(expert)) continue;
        placement.take(expert);
        placement.release(expert);
    }
    ASSERT_EQ(placement.undelivered(), 0U);
    placement.close();
    placement.clear_assignments();
}

bool resident(const Placement& placement, std::vector<uint32_t> experts) {
    return std::all_of(experts.begin(), experts.end(),
                       [&](uint32_t expert) { return placement.is_landed(expert); });
}

}  // namespace

// Goal: a decode step does not evict what it is about to use.
// Method: the oldest two residents are asked for together with two new experts; the victims must be
// others.
TEST(Placement, DecodeProtectsItsOwnHits) {
    Placement placement(shape_of(10, 4, 2), kLru);
    use(placement, StreamKind::decode, {0, 1, 2, 3});
    placement.open(StreamKind::decode, std::vector<uint32_t>{0, 1, 7, 8});
    EXPECT_EQ(take_assigned(placement), (std::vector<uint32_t>{7, 8}));
    EXPECT_TRUE(resident(placement, {0, 1}));
    EXPECT_EQ(placement.slot_of(2), kNoSlot);
    EXPECT_EQ(placement.slot_of(3), kNoSlot);
    EXPECT_EQ(placement.evictions(), 2U);
}

// Goal: what has just landed is not evicted before it was handed out, even under a union beyond all
// slots. Method: 2 cache and 2 ring slots, 6 experts; land everything assigned, then release one at
// a time.
TEST(Placement, DecodeMovesOnOnlyOverReleasedExperts) {
    Placement placement(shape_of(10, 2, 2), kLru);
    placement.open(StreamKind::decode, std::vector<uint32_t>{0, 1, 2, 3, 4, 5});
    EXPECT_EQ(take_assigned(placement), (std::vector<uint32_t>{0, 1, 2, 3}));
    for (uint32_t expert = 0; expert < 4; ++expert) EXPECT_TRUE(placement.land(expert));
    EXPECT_TRUE(take_assigned(placement).empty());
    placement.take(2);
    EXPECT_TRUE(take_assigned(placement).empty()) << "2 is held";
    placement.release(2);
    EXPECT_EQ(take_assigned(placement), std::vector<uint32_t>{4});
    EXPECT_EQ(placement.slot_of(2), kNoSlot);
    EXPECT_TRUE(resident(placement, {0, 1, 3}));
    placement.take(0);
    placement.release(0);
    EXPECT_EQ(take_assigned(placement), std::vector<uint32_t>{5});
    EXPECT_EQ(placement.slot_of(0), kNoSlot);
    EXPECT_TRUE(resident(placement, {1, 3}));
}

// Goal: a scan never evicts, but a free slot does not stay empty.
// Method: a half-full cache, then scans over everything; the old residents stay, two newcomers stay
// too.
TEST(Placement, ScanFillsFreeSlotsAndEvictsNothing) {
    Placement placement(shape_of(12, 4, 2), kLru);
    use(placement, StreamKind::decode, {8, 9});
    std::vector<uint32_t> everything;
    for (uint32_t expert = 0; expert < 12; ++expert) everything.push_back(expert);
    use(placement, StreamKind::scan, everything);
    EXPECT_TRUE(resident(placement, {6, 8, 9, 10}));
    EXPECT_EQ(placement.resident(), 4U);
    use(placement, StreamKind::scan, everything);
    EXPECT_TRUE(resident(placement, {6, 8, 9, 10}));
    EXPECT_EQ(placement.evictions(), 0U);
    EXPECT_EQ(placement.hits(), 2U + 4U);
}

// Goal: a scan leaves the order of eviction as decode made it.
// Method: the oldest resident is scanned; it must still be the next victim.
TEST(Placement, ScanLeavesRecencyAlone) {
    Placement placement(shape_of(8, 3, 2), kLru);
    for (const uint32_t expert : {5U, 1U, 3U}) use(placement, StreamKind::decode, {expert});
    placement.open(StreamKind::scan, std::vector<uint32_t>{1, 3});
    placement.close();
    use(placement, StreamKind::decode, {7});
    EXPECT_EQ(placement.slot_of(5), kNoSlot);
    EXPECT_TRUE(resident(placement, {1, 3, 7}));
}

// Goal: a lease outlives its stream, and its expert cannot be evicted meanwhile.
// Method: one lease kept over a close while other experts pass through the only other slots.
TEST(Placement, HeldExpertsStay) {
    Placement placement(shape_of(10, 2, 2), kLru);
    placement.open(StreamKind::decode, std::vector<uint32_t>{4});
    placement.land(4);
    placement.take(4);
    placement.close();
    placement.clear_assignments();
    for (uint32_t expert = 5; expert < 10; ++expert) use(placement, StreamKind::decode, {expert});
    EXPECT_TRUE(resident(placement, {4, 9}));
    placement.release(4);
    use(placement, StreamKind::decode, {0, 1});
    EXPECT_EQ(placement.slot_of(4), kNoSlot);
}

// Goal: the slot of a read in flight is nobody else's until the read ends.
// Method: a stream closed with reads on their way; the next stream gets only the slots that remain,
// then those that are freed by the landing of the old reads.
TEST(Placement, ReadingSlotsStayCharged) {
    Placement placement(shape_of(10, 1, 2), kLru);
    placement.open(StreamKind::scan, std::vector<uint32_t>{0, 1, 2, 3});
    EXPECT_EQ(take_assigned(placement), (std::vector<uint32_t>{0, 1, 2}));
    placement.land(0);
    placement.cancel(2);
    placement.close();
    placement.open(StreamKind::decode, std::vector<uint32_t>{6, 7, 8});
    EXPECT_EQ(take_assigned(placement), (std::vector<uint32_t>{6, 7})) << "slots of 0 and 2";
    EXPECT_FALSE(placement.land(1)) << "nobody waits for it";
    EXPECT_EQ(take_assigned(placement), std::vector<uint32_t>{8});
}

// Goal: after complete streams the order of eviction follows what was asked for, not the order of
// arrival. Method: the same sets with members taken and released in random orders; residents and
// evictions are equal.
TEST(Placement, ArrivalOrderLeavesNoTrace) {
    const auto run = [](PolicyKind policy, uint64_t order_seed) {
        Rng sets(11);
        Rng order(order_seed);
        Placement placement(shape_of(40, 12, 2), policy_factory(policy));
        placement.record_events(true);
        std::vector<StoreEvent> decisions;
        for (int step = 0; step < 200; ++step) {
            std::set<uint32_t> chosen;
            while (chosen.size() < 4) chosen.insert(uint32_t(sets.below(40)));
            std::vector<uint32_t> set(chosen.begin(), chosen.end());
            placement.open(StreamKind::decode, set);
            for (size_t i = set.size(); i > 1; --i) std::swap(set[i - 1], set[order.below(i)]);
            for (const uint32_t expert : set) {
                if (placement.may_land(expert)) placement.land(expert);
                placement.take(expert);
                placement.release(expert);
            }
            placement.close();
        }
        for (const StoreEvent& event : placement.take_events())
            if (event.kind >= StoreEvent::Kind::hit) decisions.push_back(event);
        return decisions;
    };
    for (const PolicyKind policy : {PolicyKind::lru, PolicyKind::frequency}) {
        const std::vector<StoreEvent> first = run(policy, 1);
        EXPECT_GT(first.size(), 400U);
        for (uint64_t seed = 2; seed < 10; ++seed) EXPECT_EQ(run(policy, seed), first);
    }
}

// Goal: the number of leases that may be out is right for both kinds and the smallest class.
// Method: shapes with results worked out by hand.
TEST(Placement, MaxHeldFollowsTheSmallestClass) {
    const auto max_held = [](PlacementShape shape) {
        const Placement placement(std::move(shape), kLru);
        return std::pair(placement.max_held(StreamKind::decode),
                         placement.max_held(StreamKind::scan));
    };
    EXPECT_EQ(max_held(shape_of(20, 0, 2)), std::pair(1U, 1U));
    EXPECT_EQ(max_held(shape_of(20, 5, 3)), std::pair(7U, 2U));
    EXPECT_EQ(max_held(shape_of(20, 20, 0)), std::pair(20U, 20U)) << "a slot for everyone";
    PlacementShape two = shape_of(20, 9, 2);
    for (uint32_t i = 10; i < 20; ++i) two.classes[i] = 1;
    two.pools.push_back({.slots = 3, .ring_slots = 4});
    EXPECT_EQ(max_held(two), std::pair(6U, 1U));
}

// Goal: guesses evict nothing, and a full cache still takes some.
// Method: a full cache with two ring slots: two guesses are taken, a third is not; every resident
// is still there, landed guesses or not.
TEST(Placement, GuessesEvictNothing) {
    Placement placement(shape_of(12, 4, 2), kLru);
    use(placement, StreamKind::decode, {0, 1, 2, 3});
    EXPECT_TRUE(placement.guess(6));
    EXPECT_TRUE(placement.guess(7));
    EXPECT_FALSE(placement.guess(8));
    EXPECT_EQ(take_assigned(placement), (std::vector<uint32_t>{6, 7}));
    EXPECT_FALSE(placement.land(6)) << "nobody waits for it";
    EXPECT_TRUE(resident(placement, {0, 1, 2, 3, 6}));
    EXPECT_FALSE(placement.guess(8));
    EXPECT_EQ(placement.evictions(), 0U);
    EXPECT_EQ(placement.guesses().taken, 2U);
}

// Goal: a guess that is asked for gets the place that a miss would have got; the others end with
// the next stream, and their slots take guesses again. Method: three guesses, one landed and asked
// for, one on its way and asked for, one landed in vain.
TEST(Placement, GuessesBecomeHits) {
    Placement placement(shape_of(12, 3, 3), kLru);
    use(placement, StreamKind::decode, {0});
    use(placement, StreamKind::decode, {1});
    use(placement, StreamKind::decode, {2});
    for (const uint32_t expert : {5U, 6U, 7U}) EXPECT_TRUE(placement.guess(expert));
    placement.clear_assignments();
    (void)placement.land(5);
    (void)placement.land(7);
    placement.open(StreamKind::decode, std::vector<uint32_t>{2, 5, 6});
    EXPECT_EQ(placement.hits(), 3U);
    EXPECT_EQ(placement.evictions(), 2U) << "0 and 1, the oldest";
    EXPECT_EQ(placement.slot_of(7), kNoSlot);
    EXPECT_TRUE(placement.land(6)) << "the stream waits for it";
    for (const uint32_t expert : {2U, 5U, 6U}) {
        placement.take(expert);
        placement.release(expert);
    }
    placement.close();
    EXPECT_TRUE(resident(placement, {2, 5, 6}));
    EXPECT_EQ(placement.guesses().useful, 2U);
    EXPECT_EQ(placement.guesses().wasted, 1U);
    for (const uint32_t expert : {8U, 9U, 10U}) EXPECT_TRUE(placement.guess(expert));
    EXPECT_FALSE(placement.guess(11));
    EXPECT_TRUE(resident(placement, {2, 5, 6}));
}

// Goal: wasted bytes are those of guesses that were read to the end, and never become less: what is
// shown is a difference.
// Method: two guesses on their way that nobody asks for; one is broken off, one comes all the same.
TEST(Placement, WastedBytesWereRead) {
    PlacementShape shape = shape_of(12, 2, 3);
    shape.expert_bytes.assign(12, 100);
    Placement placement(shape, kLru);
    use(placement, StreamKind::decode, {0, 1});
    for (const uint32_t expert : {5U, 6U}) EXPECT_TRUE(placement.guess(expert));
    placement.clear_assignments();
    placement.open(StreamKind::decode, std::vector<uint32_t>{0});
    EXPECT_EQ(placement.guesses().wasted_bytes, 0U) << "one of them may still be broken off";
    EXPECT_FALSE(placement.fail(5));
    EXPECT_EQ(placement.guesses().wasted_bytes, 0U);
    EXPECT_FALSE(placement.land(6));
    EXPECT_EQ(placement.guesses().wasted, 2U);
    EXPECT_EQ(placement.guesses().wasted_bytes, 100U);
}

// Goal: a scan takes guesses out of the ring in their turn, and drops those that would keep the
// experts before them from getting through it. Method: a full ring of three guesses, two landed; a
// scan asks for all of them and for one before: the last one has to go, and comes again.
TEST(Placement, ScansTakeGuessesInTurn) {
    Placement placement(shape_of(12, 2, 3), kLru);
    use(placement, StreamKind::decode, {0, 1});
    for (const uint32_t expert : {5U, 6U, 7U}) EXPECT_TRUE(placement.guess(expert));
    placement.clear_assignments();
    (void)placement.land(5);
    (void)placement.land(7);
    const std::vector<uint32_t> members{4, 5, 6, 7, 8};
    EXPECT_EQ(placement.kept_by_scan(members), (std::vector<uint32_t>{5, 6}));
    placement.open(StreamKind::scan, members);
    EXPECT_EQ(placement.hits(), 2U);
    EXPECT_EQ(take_assigned(placement), std::vector<uint32_t>{4});
    EXPECT_TRUE(placement.land(6)) << "the scan waits for it";
    for (const uint32_t expert : members) {
        if (placement.may_land(expert)) placement.land(expert);
        ASSERT_TRUE(placement.may_take(expert)) << expert;
        placement.take(expert);
        placement.release(expert);
    }
    placement.close();
    EXPECT_EQ(placement.guesses().useful, 2U);
    EXPECT_EQ(placement.guesses().wasted, 1U);
    EXPECT_EQ(placement.resident(), 2U) << "a scan keeps nothing";
    EXPECT_EQ(placement.evictions(), 0U);
}

// Goal: scans fill free cache slots all over the layers and within each, not with the first ones;
// decode steps do not care. Method: two layers of six, four slots, two in the ring.
TEST(Placement, ScansShareFreeSlotsAmongLayers) {
    PlacementShape shape = shape_of(12, 4, 2);
    for (uint32_t i = 6; i < 12; ++i) shape.ids[i] = {1, i - 6};
    Placement placement(shape, kLru);
    use(placement, StreamKind::scan, {0, 1, 2, 3, 4, 5});
    EXPECT_EQ(placement.resident(), 2U);
    use(placement, StreamKind::scan, {6, 7, 8, 9, 10, 11});
    EXPECT_TRUE(resident(placement, {0, 3, 6, 9}));
    use(placement, StreamKind::decode, {2, 3, 4, 5});
    EXPECT_TRUE(resident(placement, {2, 3, 4, 5}));
    use(placement, StreamKind::scan, {6, 7});
    EXPECT_EQ(placement.resident(), 4U);
    Placement fresh(shape, kLru);
    use(fresh, StreamKind::decode, {0, 1, 2, 3});
    EXPECT_EQ(fresh.resident(), 4U);
}

// Goal: a guess in the ring is none of the cache's business, not even one that the open decode
// stream had asked for and given back.
// Method: the second of two experts has only a ring slot; it is given back, guessed and landed
// before the stream ends, and asked for by the next one.
TEST(Placement, AGuessOfAMemberIsNotTouched) {
    Placement placement(shape_of(10, 1, 2), kLru);
    const std::vector<uint32_t> members{0, 1};
    placement.open(StreamKind::decode, members);
    for (const uint32_t expert : members) EXPECT_TRUE(placement.land(expert));
    placement.take(1);
    placement.release(1);
    ASSERT_TRUE(placement.guess(1));
    EXPECT_FALSE(placement.land(1));
    placement.take(0);
    placement.release(0);
    placement.close();
    use(placement, StreamKind::decode, {1});
    EXPECT_TRUE(resident(placement, {1}));
    EXPECT_EQ(placement.guesses().useful, 1U);
}

// Goal: where every expert has a slot, a scan keeps all, whatever was there before.
// Method: no ring; the last two experts are resident when a scan asks for everything.
TEST(Placement, ScansFillACacheForEverything) {
    Placement placement(shape_of(12, 12, 0), kLru);
    use(placement, StreamKind::decode, {10, 11});
    use(placement, StreamKind::scan, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
    EXPECT_EQ(placement.resident(), 12U);
}

// Goal: guesses for a scan leave a quarter of the ring to what nobody guessed.
// Method: a full cache and a ring of eight; six fit, and two more as guesses of a decode step.
TEST(Placement, GuessesForScansLeaveRoom) {
    Placement placement(shape_of(20, 2, 8), kLru);
    use(placement, StreamKind::decode, {0, 1});
    uint32_t expert = 2;
    for (; placement.has_room_ahead(expert); ++expert) EXPECT_TRUE(placement.guess(expert));
    EXPECT_EQ(expert, 8U);
    for (; placement.has_room_for_guess(expert); ++expert) EXPECT_TRUE(placement.guess(expert));
    EXPECT_EQ(expert, 10U);
    EXPECT_FALSE(placement.guess(expert));
}

// Goal: guesses, right or wrong, leave no trace in the cache: what is resident, what hits in it and
// what is evicted is as without.
// Method: the same random steps on two full caches, one of them with random guesses before each
// step; hits without the useful guesses, evictions and residents are equal after every step.
TEST(Placement, GuessesLeaveTheCacheAsItIs) {
    for (const PolicyKind policy : {PolicyKind::lru, PolicyKind::frequency}) {
        Rng rng(12);
        Placement plain(shape_of(40, 12, 4), policy_factory(policy));
        Placement guessing(shape_of(40, 12, 4), policy_factory(policy));
        std::vector<uint32_t> first;
        for (uint32_t expert = 0; expert < 12; ++expert) first.push_back(expert);
        use(plain, StreamKind::decode, first);
        use(guessing, StreamKind::decode, first);
        for (int step = 0; step < 500; ++step) {
            std::set<uint32_t> chosen;
            while (chosen.size() < 4) chosen.insert(uint32_t(rng.below(40)));
            const std::vector<uint32_t> set(chosen.begin(), chosen.end());
            for (int i = 0; i < 4; ++i) {
                const uint32_t expert =
                    rng.below(2) == 0 ? set[rng.below(4)] : uint32_t(rng.below(40));
                if (!guessing.may_warm(expert) || !guessing.guess(expert)) continue;
                if (rng.below(2) == 0) (void)guessing.land(expert);
            }
            guessing.clear_assignments();
            use(plain, StreamKind::decode, set);
            use(guessing, StreamKind::decode, set);
            for (uint32_t expert = 0; expert < 40; ++expert)
                if (guessing.may_land(expert)) (void)guessing.land(expert);
            ASSERT_EQ(guessing.hits() - guessing.guesses().useful, plain.hits());
            ASSERT_EQ(guessing.evictions(), plain.evictions());
            for (uint32_t expert = 0; expert < 40; ++expert) {
                const bool cached = guessing.slot_of(expert) != kNoSlot &&
                                    !guessing.in_ring(guessing.slot_of(expert));
                ASSERT_EQ(cached, plain.slot_of(expert) != kNoSlot) << step << " " << expert;
            }
        }
        EXPECT_GT(guessing.guesses().useful, 200U);
        EXPECT_GT(guessing.guesses().wasted, 200U);
    }
}

// Goal: a cache that shrinks gives up free slots first, then the policy's victims, and never more
// than it must.
// Method: five slots, three residents; down to four, two, then up to five and filled again.
TEST(Placement, ShrinkingTakesFreeSlotsThenVictims) {
    Placement placement(shape_of(10, 5, 2), kLru);
    use(placement, StreamKind::decode, {1, 2, 3});
    placement.resize(0, 4);
    EXPECT_EQ(placement.take_retired().size(), 1U);
    EXPECT_TRUE(resident(placement, {1, 2, 3}));
    EXPECT_EQ(placement.evictions(), 0U);
    placement.resize(0, 2);
    EXPECT_EQ(placement.take_retired().size(), 2U);
    EXPECT_EQ(placement.slot_of(1), kNoSlot) << "the oldest";
    EXPECT_TRUE(resident(placement, {2, 3}));
    EXPECT_EQ(placement.evictions(), 1U);
    use(placement, StreamKind::decode, {4, 5, 6, 7});
    EXPECT_EQ(placement.resident(), 2U);
    placement.resize(0, 5);
    EXPECT_TRUE(placement.take_retired().empty());
    use(placement, StreamKind::decode, {0, 1, 2, 3, 4});
    EXPECT_TRUE(resident(placement, {0, 1, 2, 3, 4}));
}

// Goal: a slot on loan or being read is not taken; it goes when it becomes free, and until then
// nobody else gets one.
// Method: two leases out and one read under way in a cache of three, shrunk to one; then grown by
// one before all have gone.
TEST(Placement, ShrinkingWaitsForSlotsInUse) {
    Placement placement(shape_of(10, 3, 2), kLru);
    placement.open(StreamKind::decode, std::vector<uint32_t>{0, 1});
    for (const uint32_t expert : {0U, 1U}) {
        placement.land(expert);
        placement.take(expert);
    }
    placement.close();
    ASSERT_TRUE(placement.warm(2));
    placement.resize(0, 1);
    EXPECT_TRUE(placement.take_retired().empty());
    EXPECT_EQ(placement.surplus_slots(0), 2U);
    placement.release(0);
    EXPECT_EQ(placement.take_retired().size(), 1U);
    EXPECT_EQ(placement.slot_of(0), kNoSlot);
    placement.resize(0, 2);
    EXPECT_EQ(placement.surplus_slots(0), 0U) << "the slots still in use are as many as wanted";
    EXPECT_FALSE(placement.land(2));
    placement.release(1);
    EXPECT_TRUE(placement.take_retired().empty());
    EXPECT_TRUE(resident(placement, {1, 2}));
    EXPECT_EQ(placement.free_cache_slots(), std::vector<uint32_t>{0});
}

// Goal: a stream keeps the slots it was opened with; the change comes when it ends.
// Method: resized twice within a stream that needs all slots.
TEST(Placement, AnOpenStreamIsNotResized) {
    Placement placement(shape_of(10, 4, 2), kLru);
    placement.open(StreamKind::decode, std::vector<uint32_t>{0, 1, 2, 3});
    placement.resize(0, 2);
    placement.resize(0, 1);
    EXPECT_EQ(placement.max_held(StreamKind::decode), 5U);
    for (uint32_t expert = 0; expert < 4; ++expert) {
        placement.land(expert);
        placement.take(expert);
        placement.release(expert);
    }
    EXPECT_EQ(placement.resident(), 4U);
    EXPECT_TRUE(placement.take_retired().empty());
    placement.close();
    EXPECT_EQ(placement.take_retired().size(), 3U);
    EXPECT_TRUE(resident(placement, {3}));
    EXPECT_EQ(placement.resident(), 1U);
    EXPECT_EQ(placement.max_held(StreamKind::decode), 2U);
}

}  // namespace colibri

#include "store/expert_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <source_location>
#include <string>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/units.h"
#include "platform/pages.h"
#include "store/expert_table.h"
#include "store/pipeline.h"
#include "store/placement.h"

namespace colibri {

namespace {

// Slots start on pages, so that later a direct read may go straight into one.
constexpr uint64_t kSlotAlign = 4096;

uint64_t slot_stride_bytes(const SlotClass& slot_class) {
    return round_up(slot_class.slot_bytes, kSlotAlign);
}

uint64_t slot_count(const SlotClass& slot_class) {
    return uint64_t(slot_class.slots) + slot_class.ring_slots;
}

std::string name(ExpertId id) {
    return fmt::format("layer {} expert {}", id.layer, id.index);
}

}  // namespace

// Everything here runs on the consumer's thread; pipeline_ has the others.
struct ExpertStore::Impl {
    Impl(ExpertTable experts, const StoreConfig& config)
        : table(std::move(experts)),
          classes(config.classes),
          placement(placement_shape(table, config.classes, config.priors),
                    policy_factory(config.policy)),
          memory_bytes(store_memory_bytes(config)),
          uses(table.size(), 0),
          warming(table.size(), 0) {}

    Status allocate(const StoreConfig& config);
    Status select(std::span<const ExpertId> set);
    void start_stream();
    void end_guesses();
    void guess_ahead();
    void forget_ahead() {
        ahead.clear();
        ahead_begin = 0;
    }
    void request_speculative(bool bulk);
    void end_stream();
    [[nodiscard]] Status empty_ring(const CancelToken* token);
    void take_completions();
    void settle();
    void process(std::vector<Pipeline::Completion>& list);
    void forward_assignments();
    void give_back_pages();
    [[nodiscard]] uint32_t least_slots(uint32_t slot_class) const;
    [[nodiscard]] uint32_t next_ready() const;
    [[nodiscard]] uint32_t count_ready() const;
    Error stuck();

    // Ring slots keep nothing for later.
    [[nodiscard]] Pipeline::Order order_for(uint32_t expert, uint32_t slot) {
        if (pageless[slot] != 0) reclaim_pages(pages_of(slot));
        pageless[slot] = 0;
        return {.expert = expert,
                .slot = slots[slot],
                .keep = !placement.in_ring(slot),
                .bulk = kind == StreamKind::scan};
    }

    [[nodiscard]] std::span<std::byte> pages_of(uint32_t slot) const {
        return {slots[slot].data(), round_up(uint64_t(slots[slot].size()), kSlotAlign)};
    }

    ExpertTable table;
    std::vector<SlotClass> classes;
    Placement placement;
    uint64_t memory_bytes;
    std::vector<AlignedBuffer> buffers;       // one for each class
    std::vector<std::span<std::byte>> slots;  // by slot number, slot_bytes of the class long
    std::vector<uint8_t> pageless;            // by slot number: its pages were given back

    // The open stream.
    StreamKind kind = StreamKind::decode;
    const CancelToken* cancel = nullptr;
    std::vector<uint32_t> members;  // ascending
    size_t cursor = 0;              // scan: next member to hand out
    std::vector<uint32_t> arrived;  // decode: experts to hand out, those before arrived_begin are
    size_t arrived_begin = 0;
    std::vector<uint32_t> ahead;  // guesses still to be read, those before ahead_begin are
    size_t ahead_begin = 0;
    StreamKind ahead_kind = StreamKind::decode;
    std::optional<Error> error;  // to be reported by next()

    std::vector<uint32_t> uses;    // of each expert, by decode streams
    std::vector<uint8_t> warming;  // of each expert: a read of warm() is under way
    uint32_t warming_count = 0;
    bool warming_held = false;

    uint64_t wait_us = 0;
    // Kept for their memory.
    std::vector<Pipeline::Order> orders;
    std::vector<Pipeline::Completion> completions;
    std::vector<uint32_t> dropped;

    std::unique_ptr<Pipeline> pipeline;  // last: its threads write into the slots
};

Status ExpertStore::Impl::allocate(const StoreConfig& config) {
    for (size_t i = 0; i < config.classes.size(); ++i) {
        const SlotClass& slot_class = config.classes[i];
        const uint64_t stride = slot_stride_bytes(slot_class);
        const uint64_t count = slot_count(slot_class);
        auto buffer = AlignedBuffer::allocate(count * stride);
        if (!buffer)
            return tl::unexpected(std::move(buffer).error().within(
                fmt::format("expert slots, class {}: {} slots of {}; lower the memory budget", i,
                            count, format_bytes(stride))));
        for (uint64_t slot = 0; slot < count; ++slot)
            slots.push_back(buffer->bytes().subspan(slot * stride, slot_class.slot_bytes));
        buffers.push_back(*std::move(buffer));
    }
    pageless.assign(slots.size(), 0);
    members.reserve(table.size());
    arrived.reserve(table.size());
    ahead.reserve(table.size());
    orders.reserve(table.size());
    TRY(pipeline, Pipeline::create(table, config));
    return {};
}

Status ExpertStore::Impl::select(std::span<const ExpertId> set) {
    members.clear();
    for (const ExpertId id : set) {
        const uint32_t expert = table.find(id);
        if (expert == kNoExpert) {
            members.clear();
            return fail(ErrorKind::invalid_input,
                        fmt::format("{} is not in the store, which has {} experts", name(id),
                                    table.size()));
        }
        members.push_back(expert);
    }
    if (!std::is_sorted(members.begin(), members.end())) std::sort(members.begin(), members.end());
    const auto twice = std::adjacent_find(members.begin(), members.end());
    if (twice == members.end()) return {};
    return fail(ErrorKind::invalid_input,
                fmt::format("{} was asked for twice in one stream", name(table.id(*twice))));
}

void ExpertStore::Impl::start_stream() {
    cursor = 0;
    arrived.clear();
    arrived_begin = 0;
    error.reset();
    if (kind == StreamKind::decode)
        for (const uint32_t expert : members) ++uses[expert];
    placement.open(kind, members);
    placement.clear_assignments();
    for (const uint32_t expert : members) {
        if (placement.is_landed(expert)) {
            if (kind == StreamKind::decode) arrived.push_back(expert);
        } else if (placement.slot_of(expert) != kNoSlot) {
            pipeline->promote(expert);
        }
    }
    if (placement.missed().empty()) return;
    orders.clear();
    for (const uint32_t expert : placement.missed()) {
        const uint32_t slot = placement.slot_of(expert);
        orders.push_back(slot == kNoSlot
                             ? Pipeline::Order{.expert = expert, .bulk = kind == StreamKind::scan}
                             : order_for(expert, slot));
    }
    pipeline->request(orders);
}

// Guesses that the stream about to start waits for are demand reads from now on; the others are
// dropped or broken off.
void ExpertStore::Impl::end_guesses() {
    forget_ahead();
    if (!placement.has_guesses()) return;
    const auto promote = [&](uint32_t expert) {
        if (placement.may_land(expert)) pipeline->promote(expert);
    };
    if (kind == StreamKind::decode) {
        for (const uint32_t expert : members) promote(expert);
    } else {
        for (const uint32_t expert : placement.kept_by_scan(members)) promote(expert);
    }
    dropped.clear();
    pipeline->cancel_speculative(dropped);
    for (const uint32_t expert : dropped) placement.cancel(expert);
}

// As many guesses as there are slots for now.
void ExpertStore::Impl::guess_ahead() {
    if (ahead_begin == ahead.size() || warming_count > 0) return;
    for (; ahead_begin < ahead.size(); ++ahead_begin) {
        const uint32_t expert = ahead[ahead_begin];
        if (!placement.may_warm(expert)) continue;
        if (ahead_kind == StreamKind::scan ? !placement.has_room_ahead(expert)
                                           : !placement.has_room_for_guess(expert))
            break;
        CHECK(placement.guess(expert));
    }
    request_speculative(ahead_kind == StreamKind::scan);
}

// The slots that warm() or guess() have just given out.
void ExpertStore::Impl::request_speculative(bool bulk) {
    orders.clear();
    for (const auto& [expert, slot] : placement.assignments()) {
        orders.push_back(order_for(expert, slot));
        orders.back().keep = orders.back().speculative = true;
        orders.back().bulk = bulk;
    }
    placement.clear_assignments();
    if (!orders.empty()) pipeline->request(orders);
}

void ExpertStore::Impl::end_stream() {
    if (!placement.is_open()) return;
    if (placement.undelivered() > 0) {
        std::vector<Pipeline::Completion> last;
        dropped.clear();
        pipeline->cancel(dropped, last);
        for (const uint32_t expert : dropped) placement.cancel(expert);
        placement.close();
        process(last);
    } else {
        placement.close();
    }
    give_back_pages();
    members.clear();
    cancel = nullptr;
}

// A ring slot with an expert that the scan does not take from there could block it, for it must go
// in order. What a cancelled stream and wrong guesses have left there are landings and reads in
// place that were under way.
Status ExpertStore::Impl::empty_ring(const CancelToken* token) {
    const auto kept = [&] {
        const std::vector<uint32_t> guesses = placement.kept_by_scan(members);
        return std::count_if(guesses.begin(), guesses.end(),
                             [&](uint32_t expert) { return placement.may_land(expert); });
    };
    while (placement.ring_reading() > kept()) {
        if (!pipeline->wait(token) && is_cancelled(token))
            return fail(ErrorKind::cancelled, "waiting for reads under way: cancelled");
        take_completions();
    }
    return {};
}

void ExpertStore::Impl::take_completions() {
    if (!pipeline->has_completions()) return;
    completions.clear();
    pipeline->drain(completions);
    process(completions);
}

void ExpertStore::Impl::process(std::vector<Pipeline::Completion>& list) {
    for (Pipeline::Completion& completion : list) {
        const uint32_t expert = completion.expert;
        if (warming_count > 0) warming_count -= std::exchange(warming[expert], uint8_t(0));
        if (completion.status) {
            if (placement.land(expert) && kind == StreamKind::decode) arrived.push_back(expert);
        } else if (completion.parked && placement.awaits(expert)) {
            // The failure is older than the stream that now wants the expert: it gets its own
            // attempt.
            pipeline->retry(expert);
        } else {
            if (completion.parked) pipeline->give_up(expert);
            if (!placement.fail(expert) || error) continue;
            error = std::move(completion.status).error().within(name(table.id(expert)));
        }
    }
    forward_assignments();
    if (!error) return;
    forget_ahead();
    end_stream();
}

void ExpertStore::Impl::forward_assignments() {
    for (const auto& [expert, slot] : placement.assignments())
        pipeline->assign(order_for(expert, slot));
    placement.clear_assignments();
    give_back_pages();
}

void ExpertStore::Impl::give_back_pages() {
    if (!placement.has_retired()) return;
    for (const uint32_t slot : placement.take_retired()) {
        release_pages(pages_of(slot));
        pageless[slot] = 1;
    }
}

// A class whose ring moves nothing on must keep a slot for each of its experts.
uint32_t ExpertStore::Impl::least_slots(uint32_t slot_class) const {
    const SlotClass& own = classes[slot_class];
    return own.ring_slots < 2 ? own.slots : std::min(own.slots, kCacheSlotsMin);
}

uint32_t ExpertStore::Impl::next_ready() const {
    if (kind == StreamKind::decode)
        return arrived_begin < arrived.size() ? arrived[arrived_begin] : kNoExpert;
    return cursor < members.size() && placement.is_landed(members[cursor]) ? members[cursor]
                                                                           : kNoExpert;
}

uint32_t ExpertStore::Impl::count_ready() const {
    if (kind == StreamKind::decode) return uint32_t(arrived.size() - arrived_begin);
    size_t end = cursor;
    while (end < members.size() && placement.is_landed(members[end])) ++end;
    return uint32_t(end - cursor);
}

Error ExpertStore::Impl::stuck() {
    return {ErrorKind::invalid_input,
            fmt::format("every slot that the next expert could use is held: {} leases are out, at "
                        "most {} may be while waiting; release some first",
                        placement.held(), placement.max_held(kind)),
            std::source_location::current()};
}

Result<std::unique_ptr<ExpertStore>> ExpertStore::create(StoreConfig config) {
    CHECK(config.landing != nullptr);
    TRY(auto table, ExpertTable::build(config));
    config.classes = useful_classes(config);
    auto impl = std::make_unique<Impl>(std::move(table), config);
    TRY_STATUS(impl->allocate(config));
    return std::unique_ptr<ExpertStore>(new ExpertStore(std::move(impl)));
}

ExpertStore::ExpertStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ExpertStore::~ExpertStore() {
    CHECK(impl_->placement.held() == 0);
}

Status ExpertStore::open_stream(std::span<const ExpertId> set, StreamKind kind,
                                const CancelToken* cancel) {
    impl_->end_stream();
    impl_->take_completions();
    TRY_STATUS(impl_->select(set));
    impl_->kind = kind;
    impl_->end_guesses();
    if (kind == StreamKind::scan) TRY_STATUS(impl_->empty_ring(cancel));
    impl_->cancel = cancel;
    impl_->start_stream();
    return {};
}

Result<ExpertLease> ExpertStore::next() {
    Impl& impl = *impl_;
    while (true) {
        if (impl.error) {
            Error error = *std::move(impl.error);
            impl.error.reset();
            return tl::unexpected(std::move(error));
        }
        if (!impl.placement.is_open()) return ExpertLease();
        if (is_cancelled(impl.cancel)) {
            impl.forget_ahead();
            impl.end_stream();
            return fail(ErrorKind::cancelled, "reading experts: cancelled");
        }
        if (const uint32_t expert = impl.next_ready(); expert != kNoExpert) {
            ++(impl.kind == StreamKind::decode ? impl.arrived_begin : impl.cursor);
            impl.placement.take(expert);
            ExpertLease lease;
            lease.store_ = this;
            lease.id_ = impl.table.id(expert);
            lease.slot_ = impl.placement.slot_of(expert);
            lease.data_ = impl.slots[lease.slot_].data();
            return lease;
        }
        if (impl.placement.undelivered() == 0) {
            impl.end_stream();
            return ExpertLease();
        }
        if (!impl.pipeline->has_completions()) {
            if (impl.placement.reading() == 0) {
                Error error = impl.stuck();
                impl.end_stream();
                return tl::unexpected(std::move(error));
            }
            const uint64_t begin_us = now_us();
            (void)impl.pipeline->wait(impl.cancel);
            impl.wait_us += now_us() - begin_us;
        }
        impl.take_completions();
    }
}

uint32_t ExpertStore::ready() const {
    impl_->take_completions();
    return impl_->placement.is_open() ? impl_->count_ready() : 0;
}

uint32_t ExpertStore::max_held() const {
    return impl_->placement.max_held(impl_->placement.is_open() ? impl_->kind : StreamKind::scan);
}

void ExpertStore::close_stream() {
    impl_->end_stream();
    impl_->error.reset();
    impl_->guess_ahead();
}

void ExpertStore::warm(std::span<const ExpertId> set) {
    Impl& impl = *impl_;
    impl.take_completions();
    impl.forward_assignments();
    std::vector<uint32_t> chosen;
    std::vector<uint32_t> room = impl.placement.free_cache_slots();
    for (const ExpertId id : set) {
        const uint32_t expert = impl.table.find(id);
        if (expert == kNoExpert || !impl.placement.may_warm(expert)) continue;
        uint32_t& left = room[impl.table.classes()[expert]];
        if (left == 0) continue;
        --left;
        chosen.push_back(expert);
    }
    const auto place = [&](uint32_t expert) {
        const ExpertPart& part = impl.table.parts(expert).front();
        return std::pair(part.file, part.offset);
    };
    std::sort(chosen.begin(), chosen.end(),
              [&](uint32_t a, uint32_t b) { return place(a) < place(b); });
    for (const uint32_t expert : chosen) {
        if (!impl.placement.warm(expert)) continue;
        impl.warming_count += impl.warming[expert] == 0 ? 1 : 0;
        impl.warming[expert] = 1;
    }
    impl.request_speculative(false);
}

void ExpertStore::hold_warming(bool held) {
    if (held && impl_->warming_count == 0) return;
    if (std::exchange(impl_->warming_held, held) != held) impl_->pipeline->hold_speculative(held);
}

void ExpertStore::prefetch(std::span<const ExpertId> set, StreamKind kind) {
    impl_->take_completions();
    if (impl_->warming_count > 0) return;
    impl_->forward_assignments();
    impl_->forget_ahead();
    impl_->ahead_kind = kind;
    for (const ExpertId id : set)
        if (const uint32_t expert = impl_->table.find(id); expert != kNoExpert)
            impl_->ahead.push_back(expert);
    impl_->guess_ahead();
    if (kind == StreamKind::decode) impl_->forget_ahead();
}

void ExpertStore::Impl::settle() {
    CHECK(placement.held() == 0);
    forget_ahead();
    end_stream();
    take_completions();
    while (placement.reading() > 0) {
        (void)pipeline->wait(nullptr);
        take_completions();
    }
    error.reset();
}

Status ExpertStore::use_reader(const ReaderOptions& options) {
    impl_->settle();
    return impl_->pipeline->use_reader(options);
}

void ExpertStore::forget() {
    impl_->settle();
    for (uint32_t expert = 0; expert < impl_->table.size(); ++expert)
        impl_->placement.cancel(expert);
    impl_->give_back_pages();
}

void ExpertStore::resize(std::span<const uint32_t> slots) {
    CHECK(slots.size() == impl_->classes.size());
    impl_->take_completions();
    for (uint32_t i = 0; i < slots.size(); ++i)
        impl_->placement.resize(
            i, std::clamp(slots[i], impl_->least_slots(i), impl_->classes[i].slots));
    impl_->give_back_pages();
}

std::vector<CacheClass> ExpertStore::cache() const {
    std::vector<CacheClass> list;
    for (uint32_t i = 0; i < impl_->classes.size(); ++i)
        list.push_back({.slot_bytes = slot_stride_bytes(impl_->classes[i]),
                        .slots = impl_->placement.wanted_slots(i),
                        .slots_max = impl_->classes[i].slots,
                        .slots_min = impl_->least_slots(i)});
    return list;
}

std::vector<ExpertUse> ExpertStore::take_uses() {
    std::vector<ExpertUse> list;
    for (uint32_t expert = 0; expert < impl_->uses.size(); ++expert)
        if (const uint32_t count = std::exchange(impl_->uses[expert], 0); count > 0)
            list.push_back({impl_->table.id(expert), count});
    return list;
}

StoreCounters ExpertStore::counters() const {
    const Pipeline::Counters read = impl_->pipeline->counters();
    return {.hits = impl_->placement.hits(),
            .misses = impl_->placement.misses(),
            .evictions = impl_->placement.evictions(),
            .read_bytes = read.read_bytes,
            .reads = read.reads,
            .wait_us = impl_->wait_us,
            .retries = read.retries,
            .corrupt_reads = read.corrupt_reads,
            .mirror_reads = read.mirror_reads,
            .resident = impl_->placement.resident(),
            .guesses = impl_->placement.guesses().taken,
            .useful_guesses = impl_->placement.guesses().useful,
            .wasted_guesses = impl_->placement.guesses().wasted,
            .useful_guess_bytes = impl_->placement.guesses().useful_bytes,
            .wasted_guess_bytes = impl_->placement.guesses().wasted_bytes};
}

StorageReport ExpertStore::storage() const {
    return impl_->pipeline->storage();
}

std::vector<StorageEvent> ExpertStore::take_storage_events() {
    return impl_->pipeline->take_storage_events();
}

uint64_t ExpertStore::memory_bytes() const {
    return impl_->memory_bytes;
}

uint64_t ExpertStore::expert_bytes(uint32_t layer) const {
    const auto& ids = impl_->table.ids();
    const auto first = std::lower_bound(ids.begin(), ids.end(), ExpertId{layer, 0});
    if (first == ids.end() || first->layer != layer) return 0;
    uint64_t bytes = 0;
    for (const ExpertPart& part : impl_->table.parts(uint32_t(first - ids.begin())))
        bytes += part.size_bytes;
    return bytes;
}

void ExpertStore::record_events(bool on) {
    impl_->placement.record_events(on);
}

std::vector<StoreEvent> ExpertStore::take_events() {
    return impl_->placement.take_events();
}

void ExpertStore::give_back(uint32_t slot) {
    impl_->placement.release(impl_->placement.expert_in(slot));
    impl_->forward_assignments();
    impl_->guess_ahead();
}

uint64_t store_memory_bytes(const StoreConfig& config) {
    uint64_t slots = 0;
    for (const SlotClass& slot_class : useful_classes(config))
        slots += slot_count(slot_class) * (slot_stride_bytes(slot_class) + sizeof(uint8_t));
    const uint64_t own = config.experts.size() * (2 * sizeof(uint32_t) + sizeof(uint8_t));
    return slots + own + ExpertTable::memory_bytes(config) + Placement::memory_bytes(config) +
           Pipeline::memory_bytes(config);
}

}  // namespace colibri

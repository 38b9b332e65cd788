#include "store/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace colibri {

namespace {

using Kind = StoreEvent::Kind;

std::string_view to_string(Kind kind) {
    switch (kind) {
        case Kind::open_decode: return "open_decode";
        case Kind::open_scan: return "open_scan";
        case Kind::ask: return "ask";
        case Kind::land: return "land";
        case Kind::fail: return "fail";
        case Kind::take: return "take";
        case Kind::release: return "release";
        case Kind::cancel: return "cancel";
        case Kind::close: return "close";
        case Kind::warm: return "warm";
        case Kind::guess: return "guess";
        case Kind::resize: return "resize";
        case Kind::hit: return "hit";
        case Kind::evict: return "evict";
        case Kind::issue: return "issue";
    }
    return "unknown";
}

// The number of an id, or nothing.
std::optional<uint32_t> number_of(const std::vector<ExpertId>& ids, ExpertId id) {
    const auto found = std::lower_bound(ids.begin(), ids.end(), id);
    if (found == ids.end() || *found != id) return std::nullopt;
    return uint32_t(found - ids.begin());
}

class Replayer {
public:
    Replayer(PlacementShape shape, const PolicyFactory& make_policy)
        : ids_(shape.ids), placement_(std::move(shape), make_policy) {
        placement_.record_events(true);
    }

    Result<ReplayResult> run(std::span<const StoreEvent> log) {
        for (size_t at = 0; at < log.size();) {
            const size_t used = apply(log.subspan(at));
            if (used == 0)
                return fail(ErrorKind::invalid_input,
                            fmt::format("event {} of the log, {} of layer {} expert {}, cannot "
                                        "happen here; the log is of another store, or its "
                                        "beginning is missing",
                                        at, to_string(log[at].kind), log[at].expert.layer,
                                        log[at].expert.index));
            at += used;
        }
        return ReplayResult{.hits = placement_.hits(),
                            .misses = placement_.misses(),
                            .evictions = placement_.evictions(),
                            .events = placement_.take_events(),
                            .misses_of = {}};
    }

private:
    // Applies the first event (an open with its asks); how many events that were, 0 when it is
    // impossible.
    size_t apply(std::span<const StoreEvent> rest) {
        const Kind kind = rest[0].kind;
        if (kind == Kind::open_decode || kind == Kind::open_scan) return apply_open(rest);
        if (kind == Kind::close) {
            if (!placement_.is_open()) return 0;
            placement_.close();
            return 1;
        }
        if (kind == Kind::resize) {
            const auto& [pool, slots] = rest[0].expert;
            if (!placement_.may_resize(pool, slots)) return 0;
            placement_.resize(pool, slots);
            return 1;
        }
        const auto expert = number_of(ids_, rest[0].expert);
        return expert && apply_one(kind, *expert) ? 1 : 0;
    }

    size_t apply_open(std::span<const StoreEvent> rest) {
        if (placement_.is_open()) return 0;
        std::vector<uint32_t> members;
        size_t used = 1;
        for (; used < rest.size() && rest[used].kind == Kind::ask; ++used) {
            const auto expert = number_of(ids_, rest[used].expert);
            if (!expert || (!members.empty() && *expert <= members.back())) return 0;
            members.push_back(*expert);
        }
        placement_.open(rest[0].kind == Kind::open_decode ? StreamKind::decode : StreamKind::scan,
                        members);
        return used;
    }

    bool apply_one(Kind kind, uint32_t expert) {
        switch (kind) {
            case Kind::land:
                if (!placement_.may_land(expert)) return false;
                (void)placement_.land(expert);
                return true;
            case Kind::fail:
                if (placement_.is_landed(expert)) return false;
                (void)placement_.fail(expert);
                return true;
            case Kind::take:
                if (!placement_.may_take(expert)) return false;
                placement_.take(expert);
                return true;
            case Kind::release:
                if (!placement_.may_release(expert)) return false;
                placement_.release(expert);
                return true;
            case Kind::cancel:
                // On its way, or resident and nobody's (a store that forgets).
                if (!placement_.may_land(expert) &&
                    (placement_.is_open() || placement_.held() > 0 ||
                     !placement_.is_landed(expert)))
                    return false;
                placement_.cancel(expert);
                return true;
            case Kind::warm:
                if (!placement_.may_warm(expert)) return false;
                (void)placement_.warm(expert);
                return true;
            case Kind::guess:
                if (!placement_.may_warm(expert)) return false;
                (void)placement_.guess(expert);
                return true;
            case Kind::hit:
            case Kind::evict:
            case Kind::issue: return true;  // the placement says so itself
            case Kind::open_decode:
            case Kind::open_scan:
            case Kind::ask:
            case Kind::close:
            case Kind::resize: return false;
        }
        return false;
    }

    const std::vector<ExpertId> ids_;
    Placement placement_;
};

}  // namespace

Result<ReplayResult> replay(std::span<const StoreEvent> log, PlacementShape shape,
                            const PolicyFactory& make_policy) {
    return Replayer(std::move(shape), make_policy).run(log);
}

Result<ReplayResult> replay_routes(std::span<const std::vector<ExpertId>> sets,
                                   PlacementShape shape, const PolicyFactory& make_policy) {
    const std::vector<ExpertId> ids = shape.ids;
    Placement placement(std::move(shape), make_policy);
    std::vector<uint32_t> members;
    std::vector<uint32_t> assigned;
    std::vector<uint64_t> misses_of(ids.size(), 0);
    for (const std::vector<ExpertId>& set : sets) {
        members.clear();
        for (const ExpertId id : set) {
            const auto expert = number_of(ids, id);
            if (!expert)
                return fail(ErrorKind::invalid_input,
                            fmt::format("layer {} expert {} is not in the shape, which has {} "
                                        "experts",
                                        id.layer, id.index, ids.size()));
            members.push_back(*expert);
        }
        std::sort(members.begin(), members.end());
        placement.open(StreamKind::decode, members);
        for (const uint32_t expert : placement.missed()) ++misses_of[expert];
        const auto use = [&](uint32_t expert) {
            placement.take(expert);
            placement.release(expert);
        };
        // Every release may give slots to experts that waited.
        for (const uint32_t expert : members)
            if (placement.is_landed(expert)) use(expert);
        while (placement.undelivered() > 0) {
            assigned.clear();
            for (const auto& [expert, slot] : placement.assignments()) assigned.push_back(expert);
            placement.clear_assignments();
            for (const uint32_t expert : assigned) {
                placement.land(expert);
                use(expert);
            }
        }
        placement.close();
    }
    return ReplayResult{.hits = placement.hits(),
                        .misses = placement.misses(),
                        .evictions = placement.evictions(),
                        .events = {},
                        .misses_of = std::move(misses_of)};
}

}  // namespace colibri

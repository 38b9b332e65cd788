#include "store/policies.h"

#include "store/frequency.h"
#include "store/lru.h"

namespace colibri {

std::string_view to_string(PolicyKind kind) {
    switch (kind) {
        case PolicyKind::frequency: return "frequency";
        case PolicyKind::lru: return "lru";
    }
    return "unknown";
}

std::optional<PolicyKind> policy_from_string(std::string_view name) {
    for (const PolicyKind kind : {PolicyKind::frequency, PolicyKind::lru})
        if (to_string(kind) == name) return kind;
    return std::nullopt;
}

PolicyFactory policy_factory(PolicyKind kind) {
    switch (kind) {
        case PolicyKind::frequency:
            return [](const PolicyShape& shape) -> std::unique_ptr<Policy> {
                return std::make_unique<FrequencyPolicy>(shape);
            };
        case PolicyKind::lru: break;
    }
    return [](const PolicyShape& shape) -> std::unique_ptr<Policy> {
        return std::make_unique<LruPolicy>(uint32_t(shape.layers.size()));
    };
}

uint64_t policy_memory_bytes(PolicyKind kind, uint64_t keys, uint64_t layers) {
    switch (kind) {
        case PolicyKind::frequency: return FrequencyPolicy::memory_bytes(keys, layers);
        case PolicyKind::lru: break;
    }
    return LruPolicy::memory_bytes(keys);
}

}  // namespace colibri

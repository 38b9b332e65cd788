// The cache policies that a store can be opened with, by name.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "store/policy.h"

namespace colibri {

enum class PolicyKind : uint8_t {
    frequency,  // FrequencyPolicy with a share for each layer
    lru,
};

[[nodiscard]] std::string_view to_string(PolicyKind kind);
[[nodiscard]] std::optional<PolicyKind> policy_from_string(std::string_view name);

using PolicyFactory = std::function<std::unique_ptr<Policy>(const PolicyShape& shape)>;
[[nodiscard]] PolicyFactory policy_factory(PolicyKind kind);

// What one policy of this kind keeps in memory.
[[nodiscard]] uint64_t policy_memory_bytes(PolicyKind kind, uint64_t keys, uint64_t layers);

}  // namespace colibri

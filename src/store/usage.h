// Usage history: how often decode steps have asked for each expert, over all runs. It seeds the
// cache policy and names the experts to begin with (--warm).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "store/expert_store.h"

namespace colibri {

// Uses and steps fade with the same half-life, so that uses / steps is the share of recent steps
// that asked for the expert.
struct UsageHistory {
    struct Entry {
        ExpertId id;
        double uses = 0;
    };
    double steps = 0;
    std::vector<Entry> entries;  // ascending id

    static constexpr double kHalfLifeSteps = 8192;

    // `steps` more tokens, with these uses (ascending id).
    void add(std::span<const ExpertUse> uses, uint64_t steps);
};

// The state file: header (version, fingerprint of the model), entries, checksum.
[[nodiscard]] std::string encode_usage(const UsageHistory& history, uint64_t fingerprint);
// `name` is the file's, for messages. Errors: unsupported (a later version), invalid_input (another
// model's), corrupt.
[[nodiscard]] Result<UsageHistory> decode_usage(std::string_view bytes, uint64_t fingerprint,
                                                std::string_view name);

// The original engine's `.coli_usage`: text, three integers a line; a negative first one marks a
// header row: `-1 layers experts`, `-2 version engine`. An empty text is an empty history. It does
// not say how many steps it is about: as many as its busiest layer has uses, divided by `top_k`.
// Errors: invalid_input naming the line (not three integers, a count beyond 2^31, layers or experts
// that this model does not have).
[[nodiscard]] Result<UsageHistory> parse_usage_text(std::string_view text, std::string_view name,
                                                    uint32_t layers, uint32_t experts,
                                                    uint32_t top_k);
// Uses are rounded; what rounds to zero is left out.
[[nodiscard]] std::string format_usage_text(const UsageHistory& history, uint32_t layers,
                                            uint32_t experts);

}  // namespace colibri

// When an answer ends: end-of-turn tokens, and strings that cut the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace colibri {

// The end-of-turn ids of a model.
class EndTokens {
public:
    EndTokens() = default;
    explicit EndTokens(std::vector<int32_t> ids);
    [[nodiscard]] bool contains(int32_t id) const;

private:
    std::vector<int32_t> ids_;  // ascending
};

inline constexpr size_t kStopStringsMax = 64;        // state is kept for each of them on every byte
inline constexpr size_t kStopStringBytesMax = 4096;  // as much text may be held back

// Looks for stop strings in text that arrives in pieces. What could still become a stop string is
// held back; what cannot is released at once. The stop string that is complete first wins, the
// longest among those that end together; the text before it is shown, itself not. The result does
// not depend on how the text was cut into pieces.
//
// With stop strings in UTF-8 and pieces of whole characters, released text consists of whole
// characters.
class StopMatcher {
public:
    StopMatcher() = default;
    // Errors: invalid_input for an empty string, a too long one, or too many.
    [[nodiscard]] static Result<StopMatcher> create(std::vector<std::string> stops);

    // Appends what may be shown now to `out`. True when a stop string is complete: the rest of
    // `piece` is dropped, and later calls add nothing.
    bool feed(std::string_view piece, std::string& out);
    // At the end of the text: appends what was held back. Nothing is left afterwards.
    void flush(std::string& out);
    [[nodiscard]] bool stopped() const { return stopped_; }

private:
    // Knuth-Morris-Pratt: fallback[n] is the longest proper border of the first n bytes.
    struct Pattern {
        std::string text;
        std::vector<uint32_t> fallback;
        uint32_t matched = 0;
    };
    static void advance(Pattern& pattern, char byte);

    std::vector<Pattern> patterns_;
    std::string held_;
    bool stopped_ = false;
};

}  // namespace colibri

// Cuts normalized text into the pieces inside which BPE merges.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/function_ref.h"
#include "text/regex.h"

namespace colibri {

// What happens to the stretches that a split's pattern matches ("delimiters").
enum class SplitBehavior : uint8_t {
    removed,
    isolated,  // a piece of their own
    merged_with_previous,
    merged_with_next,
    contiguous,  // neighbours of one kind stay together
};

struct SplitStep {
    Regex pattern;
    SplitBehavior behavior = SplitBehavior::isolated;
    bool invert = false;  // the stretches between matches are the delimiters
};

// ByteLevel's add_prefix_space: every piece that does not begin with a space gets one.
struct PrefixSpaceStep {};

// ByteLevel's spelling of bytes as characters, which only the steps after it see: pieces leave the
// pretokenizer as bytes again.
struct SpellBytesStep {};

// SentencePiece's visible space.
struct MetaspaceStep {
    enum class Prepend : uint8_t { never, first, always };
    std::string replacement;  // one character
    Prepend prepend = Prepend::always;
    bool split = true;
};

using PretokenizerStep = std::variant<SplitStep, PrefixSpaceStep, SpellBytesStep, MetaspaceStep>;

using PieceSink = FunctionRef<void(std::string_view)>;

class Pretokenizer {
public:
    static constexpr size_t kMaxSteps = 32;

    Pretokenizer() = default;
    // At most kMaxSteps steps.
    explicit Pretokenizer(std::vector<PretokenizerStep> steps);

    // Hands the non-empty pieces of `text` (valid UTF-8) to `sink`, in order; a view lives until
    // `sink` returns. `first`: the text begins where the whole input began.
    [[nodiscard]] Status split(std::string_view text, bool first, RegexScratch& scratch,
                               PieceSink sink) const;

private:
    struct Run;

    std::vector<PretokenizerStep> steps_;
    bool spelled_ = false;  // pieces arrive at the end in the byte alphabet
};

}  // namespace colibri

// What a tokenizer does to text before it cuts it: an ordered list of rewriting steps.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "text/regex.h"

namespace colibri {

// Canonical composition. Most text is already composed and is returned as it is.
struct NormalizeNfc {};
// Canonical decomposition.
struct NormalizeNfd {};
struct NormalizePrepend {
    std::string prefix;  // nothing is put before an empty text
};
struct NormalizeReplace {
    Regex pattern;
    std::string content;
};
struct NormalizeStrip {
    bool left;
    bool right;
};

using NormalizerStep =
    std::variant<NormalizeNfc, NormalizeNfd, NormalizePrepend, NormalizeReplace, NormalizeStrip>;

// Rewriting must not let a text grow above this.
inline constexpr size_t kMaxNormalizedBytes = size_t{1} << 28;

// `text` is valid UTF-8, and so is the result.
[[nodiscard]] Result<std::string> normalize(const std::vector<NormalizerStep>& steps,
                                            std::string text, RegexScratch& scratch);

}  // namespace colibri

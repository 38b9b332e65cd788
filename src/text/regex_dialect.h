// Rewrites a pattern written for Oniguruma (Ruby syntax) or Rust's regex crates into PCRE2's
// language with the same meaning. What differs between them and is handled here:
//   \s        PCRE2's includes U+180E; theirs is White_Space
//   \w, \d, \h, \v, \R, \b, [[:name:]], \p{...}   spelled out, because the sets differ
//   \p{Han}   a script, not script extensions (which PCRE2 >= 10.40 takes)
//   [A&&[^B]] and nested classes   PCRE2 10.42 has neither and would silently read something else
//   X{n,m}+   a repeated repetition in Ruby, possessive elsewhere; X{n}? likewise
//   ^ $ and (?m)   Ruby's anchors are per line and its `m` makes the dot match newlines
// Groups lose their captures. A repeated group at the very end of an alternative of the whole
// pattern becomes possessive (nothing follows that could ask it to give back), which keeps PCRE2's
// stack flat on long runs.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "text/regex.h"

namespace colibri {

// Errors: invalid_input for malformed patterns, unsupported for constructs without a known
// translation.
[[nodiscard]] Result<std::string> translate_regex(std::string_view pattern, RegexDialect dialect,
                                                  std::string_view where);

// A pattern that matches exactly `text`.
[[nodiscard]] std::string regex_literal(std::string_view text);

}  // namespace colibri

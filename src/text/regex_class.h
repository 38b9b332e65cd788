// Character classes while a pattern is being translated: what a class means, and how PCRE2 spells
// that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/regex.h"

namespace colibri {

// (items | nested...) & operands..., complemented if negated.
struct CharClass {
    bool negated = false;
    std::string items;       // what stands between PCRE2's brackets, without nesting or operators
    std::string complement;  // items of the complement, kept while `has_complement`
    bool has_complement = true;  // every item so far was a general category
    std::vector<CharClass> nested;
    std::vector<CharClass> operands;  // of &&; if any, `items` and `nested` are empty

    void add_character(uint32_t code_point);
    void add_range(uint32_t first, uint32_t last);
    void add_items(std::string_view more);
    void add_class(CharClass other);  // union; flattened where PCRE2 can express it
};

// The classes that have a name. `name` is a property (`L`, `Han`, `^Lu`), a POSIX class, or an
// escape letter.
[[nodiscard]] std::optional<CharClass> property_class(std::string_view name, RegexDialect dialect);
[[nodiscard]] std::optional<CharClass> posix_class(std::string_view name);
[[nodiscard]] CharClass space_class();
[[nodiscard]] CharClass digit_class();
[[nodiscard]] CharClass word_class(RegexDialect dialect);
[[nodiscard]] CharClass hex_digit_class();

// PCRE2 text of the class, `[...]` or `[^...]`. Intersections and negated parts that no single
// PCRE2 class can express are computed over all code points and listed as ranges.
[[nodiscard]] Result<std::string> pcre2_class(const CharClass& value, bool ignore_case,
                                              std::string_view where);

}  // namespace colibri

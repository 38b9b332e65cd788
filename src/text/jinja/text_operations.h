// String operations that keep the origin of every byte, shared by methods and filters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "text/jinja/value.h"

namespace colibri::jinja {

// Without `characters`: whitespace.
[[nodiscard]] Result<Value> strip(const TrackedText& text, const std::string* characters, bool left,
                                  bool right, Heap& heap);
// At most `limit` splits (negative: all), counted from the right if `from_right`. An empty
// separator fails.
[[nodiscard]] Result<Value> split_at(const TrackedText& text, std::string_view separator,
                                     int64_t limit, bool from_right, Heap& heap);
// At runs of whitespace, without empty parts.
[[nodiscard]] Result<Value> split_at_spaces(const TrackedText& text, int64_t limit, bool from_right,
                                            Heap& heap);
[[nodiscard]] Result<Value> split_lines(const TrackedText& text, bool keep_ends, Heap& heap);
// At most `limit` replacements from the left (negative: all); an empty `from` matches around every
// character.
[[nodiscard]] Result<Value> replace(const TrackedText& text, std::string_view from,
                                    const TrackedText& to, int64_t limit, Heap& heap);
// Without overlaps; an empty needle is found once more than there are characters.
[[nodiscard]] size_t count_occurrences(std::string_view text, std::string_view needle);

// Applies a function to each stretch of one origin.
using TextFunction = std::string (*)(std::string_view);
[[nodiscard]] Result<Value> map_ranges(const TrackedText& text, TextFunction function, Heap& heap);

// str.title: a letter after a non-letter is upper, other letters are lower.
[[nodiscard]] std::string title_method(std::string_view text);
// Jinja's title filter: words begin after whitespace and - ( { [ <.
[[nodiscard]] std::string title_filter(std::string_view text);

}  // namespace colibri::jinja

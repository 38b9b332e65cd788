#include "text/jinja/text_search.h"

#include <cstdint>
#include <vector>

namespace colibri::jinja {
namespace {

// std::string_view::find compares at every position where the first byte fits. Up to this size that
// is the fastest way and at worst this factor slower than linear; a long needle that repeats itself
// would take minutes.
constexpr size_t kPlainNeedleMax = 32;

// Knuth, Morris and Pratt: the first match of needle_at(0..size) in text_at(0..count), as an index
// into text_at.
template <class TextAt, class NeedleAt>
size_t find_linear(size_t count, TextAt text_at, size_t size, NeedleAt needle_at) {
    std::vector<size_t> border(
        size, 0);  // of needle[0..i]: the longest proper prefix that is also a suffix
    for (size_t i = 1, matched = 0; i < size; ++i) {
        while (matched > 0 && needle_at(i) != needle_at(matched)) matched = border[matched - 1];
        if (needle_at(i) == needle_at(matched)) ++matched;
        border[i] = matched;
    }
    for (size_t i = 0, matched = 0; i < count; ++i) {
        while (matched > 0 && text_at(i) != needle_at(matched)) matched = border[matched - 1];
        if (text_at(i) == needle_at(matched)) ++matched;
        if (matched == size) return i + 1 - size;
    }
    return std::string_view::npos;
}

}  // namespace

size_t find_text(std::string_view text, std::string_view needle, size_t from) {
    if (needle.size() <= kPlainNeedleMax) return text.find(needle, from);
    if (from > text.size() || needle.size() > text.size() - from) return std::string_view::npos;
    const size_t found = find_linear(
        text.size() - from, [&](size_t i) { return text[from + i]; }, needle.size(),
        [&](size_t i) { return needle[i]; });
    return found == std::string_view::npos ? found : from + found;
}

size_t rfind_text(std::string_view text, std::string_view needle, size_t end) {
    if (needle.size() > end) return std::string_view::npos;
    if (needle.size() <= kPlainNeedleMax) return text.rfind(needle, end - needle.size());
    const size_t last = needle.size() - 1;
    const size_t found = find_linear(
        end, [&](size_t i) { return text[end - 1 - i]; }, needle.size(),
        [&](size_t i) { return needle[last - i]; });
    return found == std::string_view::npos ? found : end - found - needle.size();
}

}  // namespace colibri::jinja

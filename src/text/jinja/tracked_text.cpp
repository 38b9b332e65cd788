#include "text/jinja/tracked_text.h"

#include <algorithm>
#include <utility>

namespace colibri::jinja {

TrackedText TrackedText::from_template(std::string bytes) {
    return derived(std::move(bytes), false);
}

TrackedText TrackedText::from_input(std::string bytes) {
    return derived(std::move(bytes), true);
}

TrackedText TrackedText::derived(std::string bytes, bool is_input) {
    TrackedText text;
    text.bytes_ = std::move(bytes);
    if (is_input) text.mark(0, text.bytes_.size());
    return text;
}

void TrackedText::mark(size_t begin, size_t end) {
    if (begin == end) return;
    if (!input_.empty() && input_.back().end == begin) {
        input_.back().end = end;
    } else {
        input_.push_back({.begin = begin, .end = end});
    }
}

void TrackedText::append(const TrackedText& other) {
    append(other, 0, other.size());
}

void TrackedText::append(const TrackedText& other, size_t begin, size_t end) {
    const size_t base = bytes_.size();
    bytes_.append(other.bytes_, begin, end - begin);
    auto range =
        std::lower_bound(other.input_.begin(), other.input_.end(), begin,
                         [](const ByteRange& r, size_t position) { return r.end <= position; });
    for (; range != other.input_.end() && range->begin < end; ++range) {
        mark(base + std::max(range->begin, begin) - begin,
             base + std::min(range->end, end) - begin);
    }
}

void TrackedText::append(std::string_view bytes, bool is_input) {
    const size_t base = bytes_.size();
    bytes_.append(bytes);
    if (is_input) mark(base, bytes_.size());
}

TrackedText TrackedText::slice(size_t begin, size_t end) const {
    TrackedText part;
    part.append(*this, begin, end);
    return part;
}

}  // namespace colibri::jinja

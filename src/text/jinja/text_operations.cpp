#include "text/jinja/text_operations.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "text/jinja/characters.h"
#include "text/jinja/text_search.h"

namespace colibri::jinja {
namespace {

using Parts = std::vector<ByteRange>;

size_t previous_character(std::string_view text, size_t end) {
    size_t start = end - 1;
    const size_t lowest = end >= 4 ? end - 4 : 0;
    while (start > lowest && (static_cast<unsigned char>(text[start]) & 0xC0U) == 0x80U) --start;
    return start + character_size(text, start) == end ? start : end - 1;
}

Result<Value> list_of(const TrackedText& text, const Parts& parts, Heap& heap) {
    std::vector<Value> items;
    items.reserve(parts.size());
    for (const ByteRange& part : parts) {
        TRY(Value item, heap.string(text.slice(part.begin, part.end)));
        items.push_back(std::move(item));
    }
    return heap.list(std::move(items));
}

std::vector<std::pair<ByteRange, bool>> stretches(const TrackedText& text) {
    std::vector<std::pair<ByteRange, bool>> result;
    size_t at = 0;
    for (const ByteRange& range : text.input_ranges()) {
        if (at < range.begin) result.push_back({{.begin = at, .end = range.begin}, false});
        result.emplace_back(range, true);
        at = range.end;
    }
    if (at < text.size()) result.push_back({{.begin = at, .end = text.size()}, false});
    return result;
}

}  // namespace

Result<Value> strip(const TrackedText& text, const std::string* characters, bool left, bool right,
                    Heap& heap) {
    const std::string& bytes = text.bytes();
    const auto strips = [&](size_t at) {
        if (characters == nullptr) return is_space(character_at(bytes, at));
        const auto character = std::string_view(bytes).substr(at, character_size(bytes, at));
        return characters->find(character) != std::string::npos;
    };
    size_t begin = 0;
    size_t end = bytes.size();
    TRY_STATUS(heap.spend_bytes(end));
    // Each character is looked up among those to strip.
    const size_t character_cost = 1 + (characters == nullptr ? 0 : characters->size() / 64);
    while (left && begin < end && strips(begin)) {
        TRY_STATUS(heap.spend(character_cost));
        begin += character_size(bytes, begin);
    }
    while (right && end > begin) {
        const size_t last = previous_character(bytes, end);
        if (!strips(last)) break;
        TRY_STATUS(heap.spend(character_cost));
        end = last;
    }
    return heap.string(text.slice(begin, end));
}

Result<Value> split_at(const TrackedText& text, std::string_view separator, int64_t limit,
                       bool from_right, Heap& heap) {
    if (separator.empty()) return fail(ErrorKind::invalid_input, "the separator is empty");
    const std::string& bytes = text.bytes();
    TRY_STATUS(heap.spend_bytes(bytes.size()));
    Parts parts;
    if (from_right) {
        size_t end = bytes.size();
        while (limit != 0 && end >= separator.size()) {
            const size_t found = rfind_text(bytes, separator, end);
            if (found == std::string::npos) break;
            parts.push_back({.begin = found + separator.size(), .end = end});
            end = found;
            --limit;
        }
        parts.push_back({.begin = 0, .end = end});
        std::reverse(parts.begin(), parts.end());
        return list_of(text, parts, heap);
    }
    size_t begin = 0;
    while (limit != 0) {
        const size_t found = find_text(bytes, separator, begin);
        if (found == std::string::npos) break;
        parts.push_back({.begin = begin, .end = found});
        begin = found + separator.size();
        --limit;
    }
    parts.push_back({.begin = begin, .end = bytes.size()});
    return list_of(text, parts, heap);
}

Result<Value> split_at_spaces(const TrackedText& text, int64_t limit, bool from_right, Heap& heap) {
    const std::string& bytes = text.bytes();
    TRY_STATUS(heap.spend_characters(bytes.size()));
    Parts words;
    for (size_t at = 0; at < bytes.size();) {
        const bool space = is_space(character_at(bytes, at));
        const size_t next = at + character_size(bytes, at);
        if (!space && !words.empty() && words.back().end == at) {
            words.back().end = next;
        } else if (!space) {
            words.push_back({.begin = at, .end = next});
        }
        at = next;
    }
    if (limit >= 0 && words.size() > static_cast<size_t>(limit)) {
        // Past the limit the rest stays one part and keeps its outer blanks, as in Python.
        const auto kept = static_cast<size_t>(limit);
        if (from_right) {
            const size_t merged = words.size() - kept;
            words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(merged) - 1);
            words.front().begin = 0;
        } else {
            words[kept].end = bytes.size();
            words.resize(kept + 1);
        }
    }
    return list_of(text, words, heap);
}

Result<Value> split_lines(const TrackedText& text, bool keep_ends, Heap& heap) {
    const std::string& bytes = text.bytes();
    TRY_STATUS(heap.spend_characters(bytes.size()));
    Parts lines;
    size_t begin = 0;
    for (size_t at = 0; at < bytes.size();) {
        const char32_t c = character_at(bytes, at);
        size_t next = at + character_size(bytes, at);
        const bool breaks = (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 ||
                            c == 0x2028 || c == 0x2029;
        if (breaks) {
            if (c == '\r' && next < bytes.size() && bytes[next] == '\n') ++next;
            lines.push_back({.begin = begin, .end = keep_ends ? next : at});
            begin = next;
        }
        at = next;
    }
    if (begin < bytes.size()) lines.push_back({.begin = begin, .end = bytes.size()});
    return list_of(text, lines, heap);
}

Result<Value> replace(const TrackedText& text, std::string_view from, const TrackedText& to,
                      int64_t limit, Heap& heap) {
    const std::string& bytes = text.bytes();
    TextBuilder out(heap);
    size_t begin = 0;
    if (from.empty()) {
        while (limit != 0) {
            TRY_STATUS(out.append(to));
            --limit;
            if (begin == bytes.size()) return out.finish();
            const size_t next = begin + character_size(bytes, begin);
            TRY_STATUS(out.append(text, begin, next));
            begin = next;
        }
    }
    while (limit != 0) {
        const size_t found = find_text(bytes, from, begin);
        if (found == std::string::npos) break;
        TRY_STATUS(out.append(text, begin, found));
        TRY_STATUS(out.append(to));
        begin = found + from.size();
        --limit;
    }
    TRY_STATUS(out.append(text, begin, bytes.size()));
    return out.finish();
}

size_t count_occurrences(std::string_view text, std::string_view needle) {
    if (needle.empty()) return character_count(text) + 1;
    size_t count = 0;
    for (size_t at = find_text(text, needle, 0); at != std::string_view::npos;
         at = find_text(text, needle, at + needle.size())) {
        ++count;
    }
    return count;
}

Result<Value> map_ranges(const TrackedText& text, TextFunction function, Heap& heap) {
    TRY_STATUS(heap.spend_characters(text.size()));
    TextBuilder out(heap);
    for (const auto& [range, is_input] : stretches(text)) {
        const auto part =
            std::string_view(text.bytes()).substr(range.begin, range.end - range.begin);
        TRY_STATUS(out.append(function(part), is_input));
    }
    return out.finish();
}

std::string title_method(std::string_view text) {
    std::string out;
    bool in_word = false;
    for (size_t at = 0; at < text.size(); at += character_size(text, at)) {
        const char32_t c = character_at(text, at);
        append_character(out, in_word ? to_lower(c) : to_upper(c));
        in_word = is_letter(c);
    }
    return out;
}

std::string title_filter(std::string_view text) {
    std::string out;
    bool in_word = false;
    for (size_t at = 0; at < text.size(); at += character_size(text, at)) {
        const char32_t c = character_at(text, at);
        const bool separates =
            is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
        append_character(out, in_word ? to_lower(c) : to_upper(c));
        in_word = !separates;
    }
    return out;
}

}  // namespace colibri::jinja

#include "text/unicode_normal_form.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "text/unicode_tables.h"
#include "text/utf8.h"

namespace colibri {
namespace {

// Every code point below is its own NFC, has class 0 and never joins the one before it.
constexpr uint32_t kFirstCombining = 0x300;

// Hangul syllables by arithmetic (Unicode standard, section 3.12).
constexpr uint32_t kSyllables = 0xAC00, kLeads = 0x1100, kVowels = 0x1161, kTrails = 0x11A7;
constexpr uint32_t kVowelCount = 21, kTrailCount = 28, kLeadCount = 19;
constexpr uint32_t kSyllableCount = kLeadCount * kVowelCount * kTrailCount;

struct Character {
    uint32_t code_point;
    uint8_t combining_class;
};

uint8_t combining_class(uint32_t code_point) {
    if (code_point < kFirstCombining) return 0;
    const auto ranges = unicode::combining_classes();
    const auto after = std::upper_bound(
        ranges.begin(), ranges.end(), code_point,
        [](uint32_t value, const unicode::CombiningRange& range) { return value < range.first; });
    if (after == ranges.begin()) return 0;
    const auto& range = *(after - 1);
    return code_point <= range.last ? range.combining_class : uint8_t{0};
}

void append_decomposed(std::vector<Character>& out, uint32_t code_point) {
    if (code_point >= kSyllables && code_point < kSyllables + kSyllableCount) {
        const uint32_t index = code_point - kSyllables;
        out.push_back({kLeads + index / (kVowelCount * kTrailCount), 0});
        out.push_back({kVowels + index % (kVowelCount * kTrailCount) / kTrailCount, 0});
        if (index % kTrailCount != 0) out.push_back({kTrails + index % kTrailCount, 0});
        return;
    }
    const auto entries = unicode::decompositions();
    const auto entry = std::lower_bound(
        entries.begin(), entries.end(), code_point,
        [](const unicode::Decomposition& a, uint32_t value) { return a.code_point < value; });
    if (entry == entries.end() || entry->code_point != code_point) {
        out.push_back({code_point, combining_class(code_point)});
        return;
    }
    for (const uint32_t part : unicode::decomposition_pool().subspan(entry->offset, entry->length))
        out.push_back({part, combining_class(part)});
}

std::optional<uint32_t> composed(uint32_t first, uint32_t second) {
    if (first >= kLeads && first < kLeads + kLeadCount && second >= kVowels &&
        second < kVowels + kVowelCount)
        return kSyllables + ((first - kLeads) * kVowelCount + (second - kVowels)) * kTrailCount;
    if (first >= kSyllables && first < kSyllables + kSyllableCount &&
        (first - kSyllables) % kTrailCount == 0 && second > kTrails &&
        second < kTrails + kTrailCount)
        return first + (second - kTrails);
    const auto pairs = unicode::compositions();
    const auto key = std::pair(first, second);
    const auto pair = std::lower_bound(pairs.begin(), pairs.end(), key,
                                       [](const unicode::Composition& a, const auto& value) {
                                           return std::pair(a.first, a.second) < value;
                                       });
    if (pair == pairs.end() || std::pair(pair->first, pair->second) != key) return std::nullopt;
    return pair->composed;
}

// Sorts marks by class; equal classes keep their order.
void order_marks(std::span<Character> marks) {
    if (marks.size() < 2) return;
    // Class, place, code point: 8, 35 and 21 bits.
    std::vector<uint64_t> keys;
    keys.reserve(marks.size());
    for (size_t i = 0; i < marks.size(); ++i)
        keys.push_back(uint64_t{marks[i].combining_class} << 56 | i << 21 | marks[i].code_point);
    std::sort(keys.begin(), keys.end());
    for (size_t i = 0; i < marks.size(); ++i)
        marks[i] = {static_cast<uint32_t>(keys[i] & 0x1FFFFF), static_cast<uint8_t>(keys[i] >> 56)};
}

std::vector<Character> decomposed_and_ordered(std::string_view text) {
    std::vector<Character> out;
    out.reserve(text.size());
    for (size_t position = 0; position < text.size();) {
        const Utf8Step step = utf8_step(text, position);
        append_decomposed(out, step.code_point);
        position += step.length;
    }
    const auto is_starter = [](const Character& c) { return c.combining_class == 0; };
    for (auto begin = out.begin(); begin != out.end();) {
        begin = std::find_if_not(begin, out.end(), is_starter);
        const auto end = std::find_if(begin, out.end(), is_starter);
        order_marks({begin, end});
        begin = end;
    }
    return out;
}

void compose(std::vector<Character>& text) {
    size_t kept = 0;
    std::optional<size_t> starter;
    int last_class = -1;  // of the characters kept since the starter; -1: none
    for (size_t i = 0; i < text.size(); ++i) {
        const Character current = text[i];
        const bool blocked = last_class >= static_cast<int>(current.combining_class);
        if (starter && !blocked) {
            if (const auto joined = composed(text[*starter].code_point, current.code_point)) {
                text[*starter].code_point = *joined;
                continue;
            }
        }
        if (current.combining_class == 0) {
            starter = kept;
            last_class = -1;
        } else {
            last_class = current.combining_class;
        }
        text[kept++] = current;
    }
    text.resize(kept);
}

std::string encoded(const std::vector<Character>& text) {
    std::string out;
    for (const Character& character : text) append_utf8(out, character.code_point);
    return out;
}

bool all_below(std::string_view text, uint32_t limit) {
    for (size_t position = 0; position < text.size();) {
        const Utf8Step step = utf8_step(text, position);
        if (step.code_point >= limit) return false;
        position += step.length;
    }
    return true;
}

}  // namespace

std::string to_nfc(std::string_view text) {
    if (all_below(text, kFirstCombining)) return std::string(text);
    auto characters = decomposed_and_ordered(text);
    compose(characters);
    return encoded(characters);
}

std::string to_nfd(std::string_view text) {
    if (all_below(text, 0xC0)) return std::string(text);
    return encoded(decomposed_and_ordered(text));
}

}  // namespace colibri

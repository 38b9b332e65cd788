#include "text/regex_class.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "text/unicode_additions.h"
#include "text/utf8.h"

namespace colibri {
namespace {

constexpr uint32_t kLastCodePoint = 0x10FFFF;
// The general categories that partition all code points, for complements.
constexpr std::array<std::string_view, 30> kCategories = {
    "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe",
    "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"};
constexpr std::string_view kSpaceItems =
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{"
    "205f}\\x{3000}";

// CJK ideographs of Unicode 15 and 15.1.
constexpr std::string_view kHanAdditions = "\\x{2b739}\\x{2ebf0}-\\x{2ee5d}\\x{31350}-\\x{323af}";

struct Alias {
    std::string_view name;
    std::string_view category;
};
constexpr std::array kLongNames = {Alias{"letter", "L"},
                                   Alias{"uppercaseletter", "Lu"},
                                   Alias{"lowercaseletter", "Ll"},
                                   Alias{"titlecaseletter", "Lt"},
                                   Alias{"modifierletter", "Lm"},
                                   Alias{"otherletter", "Lo"},
                                   Alias{"mark", "M"},
                                   Alias{"combiningmark", "M"},
                                   Alias{"nonspacingmark", "Mn"},
                                   Alias{"spacingmark", "Mc"},
                                   Alias{"enclosingmark", "Me"},
                                   Alias{"number", "N"},
                                   Alias{"decimalnumber", "Nd"},
                                   Alias{"letternumber", "Nl"},
                                   Alias{"othernumber", "No"},
                                   Alias{"punctuation", "P"},
                                   Alias{"punct", "P"},
                                   Alias{"connectorpunctuation", "Pc"},
                                   Alias{"dashpunctuation", "Pd"},
                                   Alias{"openpunctuation", "Ps"},
                                   Alias{"closepunctuation", "Pe"},
                                   Alias{"initialpunctuation", "Pi"},
                                   Alias{"finalpunctuation", "Pf"},
                                   Alias{"otherpunctuation", "Po"},
                                   Alias{"symbol", "S"},
                                   Alias{"mathsymbol", "Sm"},
                                   Alias{"currencysymbol", "Sc"},
                                   Alias{"modifiersymbol", "Sk"},
                                   Alias{"othersymbol", "So"},
                                   Alias{"separator", "Z"},
                                   Alias{"spaceseparator", "Zs"},
                                   Alias{"lineseparator", "Zl"},
                                   Alias{"paragraphseparator", "Zp"},
                                   Alias{"other", "C"},
                                   Alias{"control", "Cc"},
                                   Alias{"cntrl", "Cc"},
                                   Alias{"format", "Cf"},
                                   Alias{"surrogate", "Cs"},
                                   Alias{"privateuse", "Co"},
                                   Alias{"unassigned", "Cn"},
                                   Alias{"digit", "Nd"}};

std::string plain_name(std::string_view name) {
    std::string plain;
    for (const char c : name) {
        if (c == ' ' || c == '_' || c == '-') continue;
        plain.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
    }
    return plain;
}

std::string complement_of_category(std::string_view category) {
    std::string items;
    for (const std::string_view other : kCategories)
        if (!other.starts_with(category)) items += fmt::format("\\p{{{}}}", other);
    return items;
}

// Items of what Unicode 15 and 16 put into a category; the intersections by complement below go
// without.
std::string additions_to(std::string_view category) {
    std::string items;
    for (const unicode::Addition& added : unicode::additions())
        if (added.category.starts_with(category))
            items += fmt::format("\\x{{{:x}}}-\\x{{{:x}}}", added.first, added.last);
    return items;
}

CharClass category_class(std::string_view category) {
    CharClass result;
    result.items = fmt::format("\\p{{{}}}{}", category, additions_to(category));
    result.complement = complement_of_category(category);
    return result;
}

CharClass items_class(std::string_view items) {
    CharClass result;
    result.add_items(items);
    return result;
}

std::optional<std::string_view> find_category(std::string_view plain) {
    for (const std::string_view category : kCategories) {
        if (plain.size() == 2 && plain_name(category) == plain) return category;
        if (plain.size() == 1 && plain_name(category.substr(0, 1)) == plain)
            return category.substr(0, 1);
    }
    for (const Alias& alias : kLongNames)
        if (alias.name == plain) return alias.category;
    return std::nullopt;
}

using Range = std::pair<uint32_t, uint32_t>;
using Ranges = std::vector<Range>;

std::string all_code_points() {
    std::string all;
    all.reserve(4'400'000);
    for (uint32_t c = 0; c <= kLastCodePoint; ++c)
        if (c < 0xD800 || c > 0xDFFF) append_utf8(all, c);
    return all;
}

struct Evaluation {
    std::string text;  // all code points in order
    bool ignore_case;
    std::string_view where;
};

// A match of [items]+ in the text of all code points in order is a range of the class.
Result<Ranges> ranges_of_items(const std::string& items, const Evaluation& evaluation) {
    Ranges ranges;
    if (items.empty()) return ranges;
    const std::string pattern = fmt::format("{}[{}]+", evaluation.ignore_case ? "(?i)" : "", items);
    TRY(const Regex regex, Regex::compile_translated(pattern, evaluation.where));
    RegexScratch scratch;
    const std::string& text = evaluation.text;
    RegexMatch match{};
    for (size_t from = 0;;) {
        TRY(const bool found, regex.find(text, from, scratch, match));
        if (!found) break;
        size_t last = match.end - 1;
        while ((static_cast<uint8_t>(text[last]) & 0xC0) == 0x80) --last;
        ranges.emplace_back(utf8_step(text, match.begin).code_point,
                            utf8_step(text, last).code_point);
        from = match.end;
    }
    return ranges;
}

Ranges united(Ranges ranges) {
    std::sort(ranges.begin(), ranges.end());
    Ranges merged;
    for (const Range& range : ranges) {
        if (!merged.empty() && range.first <= merged.back().second + 1)
            merged.back().second = std::max(merged.back().second, range.second);
        else
            merged.push_back(range);
    }
    return merged;
}

Ranges complemented(const Ranges& ranges) {
    Ranges gaps;
    uint32_t next = 0;
    for (const Range& range : ranges) {
        if (range.first > next) gaps.emplace_back(next, range.first - 1);
        next = range.second + 1;
    }
    if (next <= kLastCodePoint) gaps.emplace_back(next, kLastCodePoint);
    return gaps;
}

Ranges intersected(const Ranges& a, const Ranges& b) {
    Ranges united_complements = complemented(a);
    const Ranges other = complemented(b);
    united_complements.insert(united_complements.end(), other.begin(), other.end());
    return complemented(united(std::move(united_complements)));
}

// Depth is bounded by the parser, which refuses deep nesting.
Result<Ranges> ranges_of(const CharClass& value, const Evaluation& evaluation) {
    Ranges result;
    if (!value.operands.empty()) {
        result = {{0, kLastCodePoint}};
        for (const CharClass& operand : value.operands) {
            TRY(const Ranges part, ranges_of(operand, evaluation));
            result = intersected(result, part);
        }
    } else {
        TRY(Ranges parts, ranges_of_items(value.items, evaluation));
        for (const CharClass& nested : value.nested) {
            TRY(const Ranges part, ranges_of(nested, evaluation));
            parts.insert(parts.end(), part.begin(), part.end());
        }
        result = united(std::move(parts));
    }
    return value.negated ? complemented(result) : result;
}

// Items of the complement of `value`, where PCRE2 can say it in one class.
std::optional<std::string> complement_items(const CharClass& value) {
    if (!value.operands.empty()) return std::nullopt;
    if (value.nested.empty()) {
        if (value.items.empty()) return std::nullopt;
        if (value.negated) return value.items;
        if (value.has_complement) return value.complement;
        return std::nullopt;
    }
    if (!value.negated && value.items.empty() && value.nested.size() == 1)
        return complement_items(value.nested.front());
    return std::nullopt;
}

// A & B & ... = not (not A | not B | ...), which needs no code point lists and matches fast.
std::optional<std::string> intersection_by_complement(const CharClass& value) {
    std::string items;
    for (const CharClass& operand : value.operands) {
        const auto part = complement_items(operand);
        if (!part) return std::nullopt;
        items += *part;
    }
    if (items.empty()) return std::nullopt;
    return fmt::format("[{}{}]", value.negated ? "" : "^", items);
}

}  // namespace

void CharClass::add_character(uint32_t code_point) {
    add_items(fmt::format("\\x{{{:x}}}", code_point));
}

void CharClass::add_range(uint32_t first, uint32_t last) {
    add_items(fmt::format("\\x{{{:x}}}-\\x{{{:x}}}", first, last));
}

void CharClass::add_items(std::string_view more) {
    items += more;
    has_complement = false;
}

void CharClass::add_class(CharClass other) {
    if (other.negated && other.has_complement && other.nested.empty() && other.operands.empty()) {
        std::swap(other.items, other.complement);
        other.negated = false;
    }
    if (other.operands.empty() && other.nested.empty() && !other.negated) {
        // The complement of a union is an intersection: known for one category or a union of them
        // only.
        const bool first = items.empty();
        if (other.has_complement && (first || has_complement)) {
            if (first) {
                complement = other.complement;
            } else {
                std::string both;
                for (const std::string_view category : kCategories) {
                    const std::string item = fmt::format("\\p{{{}}}", category);
                    if (complement.find(item) != std::string::npos &&
                        other.complement.find(item) != std::string::npos)
                        both += item;
                }
                complement = both;
            }
        } else {
            has_complement = false;
        }
        items += other.items;
        return;
    }
    has_complement = false;
    nested.push_back(std::move(other));
}

std::optional<CharClass> property_class(std::string_view name, RegexDialect dialect) {
    bool negated = false;
    if (name.starts_with('^')) {
        negated = true;
        name.remove_prefix(1);
    }
    CharClass result;
    for (const std::string_view prefix : {"Script=", "sc=", "General_Category=", "gc="})
        if (dialect == RegexDialect::rust && name.starts_with(prefix))
            name.remove_prefix(prefix.size());
    const std::string plain = plain_name(name);
    if (plain.empty() || plain.size() > 64) return std::nullopt;
    for (const char c : plain)
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))) return std::nullopt;
    if (const auto category = find_category(plain)) {
        result = category_class(*category);
    } else if (plain == "space" || plain == "whitespace" || plain == "wspace") {
        result = space_class();
    } else if (plain == "alpha" || plain == "alphabetic") {
        result = items_class("\\p{Alphabetic}");
    } else if (plain == "alnum") {
        result = items_class("\\p{Alphabetic}\\p{Nd}");
    } else if (plain == "upper" || plain == "uppercase") {
        result = items_class("\\p{Uppercase}");
    } else if (plain == "lower" || plain == "lowercase") {
        result = items_class("\\p{Lowercase}");
    } else if (plain == "word") {
        result = word_class(dialect);
    } else if (plain == "lc" || plain == "casedletter") {
        result = items_class("\\p{Lu}\\p{Ll}\\p{Lt}");
    } else if (plain == "any") {
        result = items_class("\\x{0}-\\x{10ffff}");
    } else if (plain == "ascii") {
        result = items_class("\\x{0}-\\x{7f}");
    } else if (plain.starts_with("emoji") || plain == "extendedpictographic" ||
               plain == "ideographic") {
        result = items_class(fmt::format("\\p{{{}}}", plain));
    } else {
        result = items_class(fmt::format("\\p{{sc:{}}}", plain));
        if (plain == "han" || plain == "hani") result.add_items(kHanAdditions);
    }
    result.negated = negated;
    return result;
}

std::optional<CharClass> posix_class(std::string_view name) {
    bool negated = false;
    if (name.starts_with('^')) {
        negated = true;
        name.remove_prefix(1);
    }
    std::optional<CharClass> result;
    if (name == "alpha" || name == "alnum" || name == "upper" || name == "lower" ||
        name == "space" || name == "digit" || name == "cntrl" || name == "word")
        result = property_class(name, RegexDialect::oniguruma);
    else if (name == "punct")
        result = items_class("\\p{P}\\p{S}");
    else if (name == "xdigit")
        result = hex_digit_class();
    else if (name == "blank")
        result = items_class("\\x{9}\\p{Zs}");
    if (result) result->negated = negated;
    return result;
}

CharClass space_class() {
    return items_class(kSpaceItems);
}

CharClass digit_class() {
    return category_class("Nd");
}

CharClass word_class(RegexDialect dialect) {
    CharClass result = items_class("\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}");
    for (const char* category : {"L", "M", "Nd"}) result.add_items(additions_to(category));
    // Oniguruma also counts the Latin-1 superscripts and fractions, Rust the two joiners.
    result.add_items(dialect == RegexDialect::oniguruma ? "\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}"
                                                        : "\\x{200c}\\x{200d}");
    return result;
}

CharClass hex_digit_class() {
    return items_class("0-9a-fA-F");
}

Result<std::string> pcre2_class(const CharClass& value, bool ignore_case, std::string_view where) {
    if (value.operands.empty() && value.nested.empty() && !value.items.empty())
        return fmt::format("[{}{}]", value.negated ? "^" : "", value.items);
    // PCRE2 widens categories when it ignores case, so complements are not exact there.
    if (!value.operands.empty() && !ignore_case)
        if (auto short_form = intersection_by_complement(value)) return *short_form;
    if (value.operands.empty() && value.items.empty() && value.nested.size() == 1) {
        CharClass inner = value.nested.front();
        inner.negated = inner.negated != value.negated;
        return pcre2_class(inner, ignore_case, where);
    }
    const Evaluation evaluation{all_code_points(), ignore_case, where};
    TRY(const Ranges ranges, ranges_of(value, evaluation));
    std::string listed;
    for (auto [first, last] : ranges) {
        // A range may span the surrogates but not begin or end there.
        if (first >= 0xD800 && first <= 0xDFFF) first = 0xE000;
        if (last >= 0xD800 && last <= 0xDFFF) last = 0xD7FF;
        if (first <= last) listed += fmt::format("\\x{{{:x}}}-\\x{{{:x}}}", first, last);
    }
    if (listed.empty()) return std::string("(?!)");
    return fmt::format("[{}]", listed);
}

}  // namespace colibri

#include "text/regex_dialect.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <optional>
#include <variant>

#include "text/regex_class.h"
#include "text/utf8.h"

namespace colibri {
namespace {

constexpr int kGroupDepthMax = 60;
constexpr uint32_t kMaxRepeat = 65'535;

std::string literal(uint32_t code_point) {
    const bool word = (code_point >= '0' && code_point <= '9') ||
                      (code_point >= 'A' && code_point <= 'Z') ||
                      (code_point >= 'a' && code_point <= 'z') || code_point == '_';
    if (word) return std::string(1, static_cast<char>(code_point));
    return fmt::format("\\x{{{:x}}}", code_point);
}

bool is_ascii_letter(uint32_t c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

struct Flags {
    bool ignore_case = false;
    bool dot_matches_newline = false;
};

// An escape is one character, a class, or PCRE2 text that consumes nothing.
using Escape = std::variant<uint32_t, CharClass, std::string>;

struct Quantifier {
    uint32_t least = 0;
    std::optional<uint32_t> most;
    bool braces = false;
};

class Translator {
public:
    Translator(std::string_view pattern, RegexDialect dialect, std::string_view where)
        : in_(pattern), dialect_(dialect), where_(where) {}

    Result<std::string> run() {
        TRY_STATUS(alternation(Flags{}));
        if (position_ < in_.size()) return malformed("a ')' without '('");
        return std::move(out_);
    }

private:
    bool at(std::string_view text) const { return in_.substr(position_).starts_with(text); }
    bool skip(std::string_view text) {
        if (!at(text)) return false;
        position_ += text.size();
        return true;
    }
    bool ended() const { return position_ >= in_.size(); }
    bool ruby() const { return dialect_ == RegexDialect::oniguruma; }

    tl::unexpected<Error> malformed(std::string_view what) const {
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}: malformed pattern: {} at byte {}", where_, what, position_));
    }
    tl::unexpected<Error> unsupported(std::string_view what) const {
        return fail(ErrorKind::unsupported,
                    fmt::format("{}: the pattern uses {} near byte {}, which is not supported",
                                where_, what, position_));
    }

    Result<uint32_t> next_character() {
        if (ended()) return malformed("unexpected end");
        const Utf8Step step = utf8_step(in_, position_);
        if (step.kind != Utf8Kind::character) return malformed("bytes that are not UTF-8");
        position_ += step.length;
        return step.code_point;
    }

    Status alternation(Flags flags) {
        if (++depth_ > kGroupDepthMax) return malformed("groups nested too deeply");
        const bool whole_pattern = depth_ == 1;
        const size_t begin = out_.size();
        while (!ended() && !at(")")) {
            if (skip("|")) {
                if (whole_pattern) make_tail_possessive();
                out_ += '|';
                tail_ = Tail::other;
                continue;
            }
            TRY_STATUS(term(flags, out_.size() == begin));
        }
        if (whole_pattern) make_tail_possessive();
        --depth_;
        return {};
    }

    void make_tail_possessive() {
        if (tail_ == Tail::greedy_group) out_ += '+';
        tail_ = Tail::other;
    }

    // `flags` changes for the rest of the group when the term is (?i).
    Status term(Flags& flags, bool first_of_group) {
        const size_t start = out_.size();
        tail_ = Tail::other;
        bool group = false;
        bool repeatable = true;
        if (skip("(")) {
            group = true;
            TRY(repeatable, open_group(flags, first_of_group));
        } else if (skip("[")) {
            TRY(const CharClass set, char_class(0));
            TRY(const std::string text, pcre2_class(set, flags.ignore_case, where_));
            out_ += text;
        } else if (skip("\\")) {
            TRY(const Escape escape, escaped(false));
            TRY_STATUS(emit(escape, flags));
        } else if (skip(".")) {
            out_ += flags.dot_matches_newline ? "\\p{Any}" : "[^\\n]";
        } else if (skip("^")) {
            out_ += ruby() ? "(?m:^)" : "\\A";
        } else if (skip("$")) {
            out_ += ruby() ? "(?m:$)" : "\\z";
        } else if (at("*") || at("+") || at("?")) {
            return malformed("a repetition of nothing");
        } else {
            TRY(const uint32_t character, next_character());
            out_ += literal(character);
        }
        tail_ = Tail::other;
        if (!repeatable) return {};
        return repetitions(start, group);
    }

    Status emit(const Escape& escape, const Flags& flags) {
        if (const auto* character = std::get_if<uint32_t>(&escape)) {
            out_ += literal(*character);
        } else if (const auto* set = std::get_if<CharClass>(&escape)) {
            TRY(const std::string text, pcre2_class(*set, flags.ignore_case, where_));
            out_ += text;
        } else if (const auto* verbatim = std::get_if<std::string>(&escape)) {
            out_ += *verbatim;
        }
        return {};
    }

    // After "(". False: an option setting, which cannot be repeated.
    Result<bool> open_group(Flags& flags, bool first_of_group) {
        Flags inner = flags;
        if (at("*")) return unsupported("a (*VERB)");
        if (!skip("?")) {
            out_ += "(?:";
        } else if (skip("#")) {
            const size_t close = in_.find(')', position_);
            if (close == std::string_view::npos) return malformed("an unclosed comment");
            position_ = close + 1;
            return false;
        } else if (skip(":")) {
            out_ += "(?:";
        } else if (skip(">")) {
            out_ += "(?>";
        } else if (skip("=")) {
            out_ += "(?=";
        } else if (skip("!")) {
            out_ += "(?!";
        } else if (skip("<=")) {
            out_ += "(?<=";
        } else if (skip("<!")) {
            out_ += "(?<!";
        } else if (at("<") || at("P<")) {
            const size_t close = in_.find('>', position_);
            if (close == std::string_view::npos) return malformed("an unclosed group name");
            position_ = close + 1;
            out_ += "(?:";
        } else {
            TRY(const bool scoped, options(inner));
            if (!scoped) {
                // Ruby's a(?i)b|c means a(?i:b|c); at the start of a group both readings agree.
                if (!first_of_group) return unsupported("an option setting inside a group");
                flags = inner;
                out_ += inner.ignore_case ? "(?i)" : "(?-i)";
                return false;
            }
            out_ += inner.ignore_case ? "(?i:" : "(?-i:";
        }
        TRY_STATUS(alternation(inner));
        if (!skip(")")) return malformed("an unclosed group");
        out_ += ')';
        return true;
    }

    // After "(?", at option letters. True: "(?i:" opens a group, false: "(?i)" holds for the rest
    // of this one.
    Result<bool> options(Flags& flags) {
        bool on = true;
        for (;;) {
            if (skip(":")) return true;
            if (skip(")")) return false;
            if (skip("-")) {
                on = false;
            } else if (skip("i")) {
                flags.ignore_case = on;
            } else if (skip(ruby() ? "m" : "s")) {
                flags.dot_matches_newline = on;
            } else {
                return unsupported(fmt::format("the group '(?{}'", in_.substr(position_, 3)));
            }
        }
    }

    Status repetitions(size_t start, bool group) {
        for (int count = 0;; ++count) {
            TRY(const auto quantifier, quantifier_here());
            if (!quantifier) return {};
            if (count > kGroupDepthMax) return malformed("too many repetitions of one thing");
            // A second repetition applies to the first one as a whole.
            if (count > 0) wrap(start);
            append(*quantifier);
            tail_ = Tail::other;
            const bool repeats = !quantifier->most || *quantifier->most > 1;
            // Ruby gives + and ? after {n,m} and ? after {n} another meaning: they repeat once
            // more.
            const bool exact = quantifier->braces && quantifier->most == quantifier->least;
            if (at("+") && !(ruby() && quantifier->braces)) {
                skip("+");
                out_ += '+';
            } else if (at("?") && !(ruby() && exact)) {
                skip("?");
                out_ += '?';
            } else if (group && count == 0 && repeats && depth_ == 1) {
                tail_ = Tail::greedy_group;
            }
        }
    }

    void wrap(size_t start) {
        out_ = fmt::format("{}(?:{})", std::string_view(out_).substr(0, start),
                           std::string_view(out_).substr(start));
    }

    void append(const Quantifier& quantifier) {
        if (!quantifier.braces) {
            out_ += quantifier.most ? '?' : quantifier.least == 0 ? '*' : '+';
        } else if (!quantifier.most) {
            out_ += fmt::format("{{{},}}", quantifier.least);
        } else {
            out_ += fmt::format("{{{},{}}}", quantifier.least, *quantifier.most);
        }
    }

    // A '{' that is not a repetition is an ordinary character.
    Result<std::optional<Quantifier>> quantifier_here() {
        if (skip("*")) return Quantifier{.least = 0};
        if (skip("+")) return Quantifier{.least = 1};
        if (skip("?")) return Quantifier{.least = 0, .most = 1};
        if (!at("{")) return std::nullopt;
        const size_t close = in_.find('}', position_);
        if (close == std::string_view::npos) return std::nullopt;
        const std::string_view body = in_.substr(position_ + 1, close - position_ - 1);
        const size_t comma = body.find(',');
        const std::string_view first = body.substr(0, comma);
        const std::string_view second =
            comma == std::string_view::npos ? first : body.substr(comma + 1);
        const auto number = [](std::string_view text) -> std::optional<uint32_t> {
            uint32_t value = 0;
            const auto [end, error] =
                std::from_chars(text.data(), text.data() + text.size(), value);
            if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
            return value;
        };
        Quantifier quantifier{.braces = true};
        const auto least = number(first);
        if (first.empty() ? !ruby() || second.empty() : !least) return std::nullopt;
        quantifier.least = least.value_or(0);
        if (!second.empty()) {
            quantifier.most = number(second);
            if (!quantifier.most) return std::nullopt;
        }
        position_ = close + 1;
        if (quantifier.least > kMaxRepeat || quantifier.most.value_or(0) > kMaxRepeat)
            return malformed(fmt::format("a repetition count above {}", kMaxRepeat));
        if (quantifier.most && *quantifier.most < quantifier.least)
            return malformed("a repetition with its bounds in the wrong order");
        return quantifier;
    }

    // After "[".
    Result<CharClass> char_class(int depth) {
        if (depth > kGroupDepthMax / 2) return malformed("classes nested too deeply");
        const bool negated = skip("^");
        std::vector<CharClass> operands;
        CharClass current;
        for (bool first = true;; first = false) {
            if (ended()) return malformed("an unclosed class");
            if (!first && skip("]")) break;
            if (skip("&&")) {
                operands.push_back(std::move(current));
                current = {};
            } else if (!ruby() && (at("--") || at("~~"))) {
                return unsupported("a class difference");
            } else if (skip("[:")) {
                const size_t close = in_.find(":]", position_);
                const auto set = close == std::string_view::npos
                                     ? std::nullopt
                                     : posix_class(in_.substr(position_, close - position_));
                if (!set) return unsupported("an unknown [:class:]");
                position_ = close + 2;
                current.add_class(*set);
            } else if (skip("[")) {
                TRY(CharClass nested, char_class(depth + 1));
                current.add_class(std::move(nested));
            } else {
                TRY_STATUS(class_item(current));
            }
        }
        if (operands.empty()) {
            current.negated = negated;
            return current;
        }
        operands.push_back(std::move(current));
        for (const CharClass& operand : operands)
            if (operand.items.empty() && operand.nested.empty())
                return malformed("an empty side of '&&'");
        CharClass result;
        result.negated = negated;
        result.operands = std::move(operands);
        return result;
    }

    Status class_item(CharClass& set) {
        TRY(Escape first, class_atom());
        if (auto* inner = std::get_if<CharClass>(&first)) {
            set.add_class(std::move(*inner));
            return {};
        }
        const uint32_t from = std::get<uint32_t>(first);
        const bool range = at("-") && !at("-]") && !at("-[") && position_ + 1 < in_.size();
        if (!range) {
            set.add_character(from);
            return {};
        }
        skip("-");
        TRY(const Escape last, class_atom());
        const auto* to = std::get_if<uint32_t>(&last);
        if (!to) return malformed("a range that ends in a class");
        if (*to < from) return malformed("a range in the wrong order");
        set.add_range(from, *to);
        return {};
    }

    // A character or a class.
    Result<Escape> class_atom() {
        if (skip("\\")) {
            TRY(Escape escape, escaped(true));
            if (std::holds_alternative<std::string>(escape))
                return unsupported("an escape inside a class");
            return escape;
        }
        TRY(const uint32_t character, next_character());
        return Escape{character};
    }

    // After a backslash.
    Result<Escape> escaped(bool in_class) {
        TRY(const uint32_t letter, next_character());
        if (letter >= '1' && letter <= '9') return unsupported("a back reference");
        if (letter == '0') return Escape{uint32_t{0}};
        if (!is_ascii_letter(letter)) return Escape{letter};
        switch (letter) {
            case 'n': return Escape{uint32_t{'\n'}};
            case 'r': return Escape{uint32_t{'\r'}};
            case 't': return Escape{uint32_t{'\t'}};
            case 'f': return Escape{uint32_t{'\f'}};
            case 'v': return Escape{uint32_t{'\v'}};
            case 'a': return Escape{uint32_t{'\a'}};
            case 'e': return Escape{uint32_t{0x1B}};
            case 'x': return hex_escape(2);
            case 'u': return hex_escape(4);
            case 'p':
            case 'P': return property(letter == 'P');
            case 's': return Escape{space_class()};
            case 'S': return complement(space_class());
            case 'd': return Escape{digit_class()};
            case 'D': return complement(digit_class());
            case 'w': return Escape{word_class(dialect_)};
            case 'W': return complement(word_class(dialect_));
            case 'h': return Escape{hex_digit_class()};
            case 'H': return complement(hex_digit_class());
            default: break;
        }
        if (letter == 'b' && in_class) return Escape{uint32_t{0x08}};
        if (in_class)
            return unsupported(fmt::format("'\\{}' in a class", static_cast<char>(letter)));
        return assertion(letter);
    }

    Result<Escape> assertion(uint32_t letter) {
        const std::string word = fmt::format("[{}]", word_class(dialect_).items);
        switch (letter) {
            case 'A': return Escape{std::string("\\A")};
            case 'z': return Escape{std::string("\\z")};
            case 'Z': return Escape{std::string("(?=\\n?\\z)")};
            case 'b': return Escape{fmt::format("(?:(?<={0})(?!{0})|(?<!{0})(?={0}))", word)};
            case 'B': return Escape{fmt::format("(?:(?<={0})(?={0})|(?<!{0})(?!{0}))", word)};
            case 'R': return Escape{std::string("(?>\\r\\n|[\\n-\\r\\x{85}\\x{2028}\\x{2029}])")};
            default:
                return unsupported(fmt::format("the escape '\\{}'", static_cast<char>(letter)));
        }
    }

    static Escape complement(CharClass set) {
        set.negated = !set.negated;
        return Escape{std::move(set)};
    }

    Result<Escape> property(bool negated) {
        std::string_view name;
        if (skip("{")) {
            const size_t close = in_.find('}', position_);
            if (close == std::string_view::npos) return malformed("an unclosed property name");
            name = in_.substr(position_, close - position_);
            position_ = close + 1;
        } else if (!ruby() && !ended()) {
            name = in_.substr(position_++, 1);
        } else {
            return unsupported("'\\p' without braces");
        }
        auto set = property_class(name, dialect_);
        if (!set) return unsupported(fmt::format("the property '{}'", name.substr(0, 40)));
        if (negated) set->negated = !set->negated;
        return Escape{*std::move(set)};
    }

    // \xH, \xHH, \x{H...}, \uHHHH, \u{H...}
    Result<Escape> hex_escape(size_t digits) {
        std::string_view text;
        if (skip("{")) {
            const size_t close = in_.find('}', position_);
            if (close == std::string_view::npos) return malformed("an unclosed code point");
            text = in_.substr(position_, close - position_);
            position_ = close + 1;
        } else {
            text = in_.substr(position_, digits);
            while (!text.empty() && !std::isxdigit(static_cast<unsigned char>(text.back())))
                text.remove_suffix(1);
            position_ += text.size();
        }
        uint32_t value = 0;
        const auto [end, error] =
            std::from_chars(text.data(), text.data() + text.size(), value, 16);
        if (text.empty() || error != std::errc{} || end != text.data() + text.size() ||
            value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
            return malformed("not a code point");
        return Escape{value};
    }

    enum class Tail : uint8_t { greedy_group, other };

    std::string_view in_;
    RegexDialect dialect_;
    std::string_view where_;
    size_t position_ = 0;
    int depth_ = 0;
    std::string out_;
    Tail tail_ = Tail::other;
};

}  // namespace

Result<std::string> translate_regex(std::string_view pattern, RegexDialect dialect,
                                    std::string_view where) {
    return Translator(pattern, dialect, where).run();
}

std::string regex_literal(std::string_view text) {
    std::string out;
    for (size_t position = 0; position < text.size();) {
        const Utf8Step step = utf8_step(text, position);
        out += literal(step.code_point);
        position += step.length;
    }
    return out;
}

}  // namespace colibri

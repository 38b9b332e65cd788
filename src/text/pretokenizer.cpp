#include "text/pretokenizer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "text/byte_level.h"
#include "text/utf8.h"

namespace colibri {
namespace {

struct Stretch {
    size_t begin;
    size_t end;
    bool delimiter;
};

// Matches in order as Hugging Face's iterator yields them: an empty match right behind the previous
// match is passed over, any other one is a place to cut.
class Matches {
public:
    Matches(const Regex& pattern, std::string_view text, RegexScratch& scratch)
        : pattern_(pattern), text_(text), scratch_(scratch) {}

    Result<bool> next(RegexMatch& match) {
        while (from_ <= text_.size()) {
            TRY(const bool found, pattern_.find(text_, from_, scratch_, match));
            if (!found) break;
            if (match.begin == match.end && any_ && match.end == last_end_) {
                from_ += from_ < text_.size() ? utf8_step(text_, from_).length : 1U;
                continue;
            }
            from_ = last_end_ = match.end;
            any_ = true;
            return true;
        }
        return false;
    }

private:
    const Regex& pattern_;
    std::string_view text_;
    RegexScratch& scratch_;
    size_t from_ = 0;
    size_t last_end_ = 0;
    bool any_ = false;
};

Result<std::vector<Stretch>> stretches(const SplitStep& step, std::string_view text,
                                       RegexScratch& scratch) {
    std::vector<Stretch> found;
    Matches matches(step.pattern, text, scratch);
    RegexMatch match{};
    size_t previous = 0;
    for (;;) {
        TRY(const bool more, matches.next(match));
        if (!more) break;
        if (previous != match.begin) found.push_back({previous, match.begin, step.invert});
        found.push_back({match.begin, match.end, !step.invert});
        previous = match.end;
    }
    if (previous != text.size()) found.push_back({previous, text.size(), step.invert});
    return found;
}

std::vector<Stretch> merged_with_previous(const std::vector<Stretch>& parts) {
    std::vector<Stretch> pieces;
    bool after_delimiter = false;
    for (const Stretch& part : parts) {
        if (part.delimiter && !after_delimiter && !pieces.empty())
            pieces.back().end = part.end;
        else
            pieces.push_back(part);
        after_delimiter = part.delimiter;
    }
    return pieces;
}

std::vector<Stretch> merged_with_next(const std::vector<Stretch>& parts) {
    std::vector<Stretch> pieces;
    bool before_delimiter = false;
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
        if (part->delimiter && !before_delimiter && !pieces.empty())
            pieces.back().begin = part->begin;
        else
            pieces.push_back(*part);
        before_delimiter = part->delimiter;
    }
    std::reverse(pieces.begin(), pieces.end());
    return pieces;
}

std::vector<Stretch> contiguous(const std::vector<Stretch>& parts) {
    std::vector<Stretch> pieces;
    for (const Stretch& part : parts) {
        if (!pieces.empty() && pieces.back().delimiter == part.delimiter)
            pieces.back().end = part.end;
        else
            pieces.push_back(part);
    }
    return pieces;
}

std::vector<Stretch> arranged(std::vector<Stretch> parts, SplitBehavior behavior) {
    switch (behavior) {
        case SplitBehavior::isolated: return parts;
        case SplitBehavior::removed:
            std::erase_if(parts, [](const Stretch& part) { return part.delimiter; });
            return parts;
        case SplitBehavior::merged_with_previous: return merged_with_previous(parts);
        case SplitBehavior::merged_with_next: return merged_with_next(parts);
        case SplitBehavior::contiguous: return contiguous(parts);
    }
    return parts;
}

std::string replaced_spaces(std::string_view text, std::string_view replacement) {
    std::string out;
    for (const char c : text) {
        if (c == ' ')
            out += replacement;
        else
            out += c;
    }
    return out;
}

}  // namespace

// One walk through the steps: every piece goes all the way down before the next one is cut.
struct Pretokenizer::Run {
    const Pretokenizer& owner;
    RegexScratch& scratch;
    PieceSink sink;

    Status from(size_t step, std::string_view piece, bool first) {
        if (piece.empty()) return {};
        if (step == owner.steps_.size()) {
            deliver(piece);
            return {};
        }
        return std::visit([&](const auto& kind) { return apply(kind, step + 1, piece, first); },
                          owner.steps_[step]);
    }

    void deliver(std::string_view piece) {
        std::string bytes;
        if (owner.spelled_ && append_byte_level_bytes(bytes, piece))
            sink(bytes);
        else
            sink(piece);
    }

    Status apply(const SplitStep& split, size_t next, std::string_view piece, bool first) {
        if (split.behavior == SplitBehavior::isolated) return isolate(split, next, piece, first);
        TRY(auto parts, stretches(split, piece, scratch));
        for (const Stretch& part : arranged(std::move(parts), split.behavior))
            TRY_STATUS(from(next, piece.substr(part.begin, part.end - part.begin),
                            first && part.begin == 0));
        return {};
    }

    // The usual case, without a list.
    Status isolate(const SplitStep& split, size_t next, std::string_view piece, bool first) {
        Matches matches(split.pattern, piece, scratch);
        RegexMatch match{};
        size_t previous = 0;
        for (;;) {
            TRY(const bool more, matches.next(match));
            if (!more) break;
            TRY_STATUS(
                from(next, piece.substr(previous, match.begin - previous), first && previous == 0));
            TRY_STATUS(from(next, piece.substr(match.begin, match.end - match.begin),
                            first && match.begin == 0));
            previous = match.end;
        }
        return from(next, piece.substr(previous), first && previous == 0);
    }

    Status apply(const PrefixSpaceStep&, size_t next, std::string_view piece, bool first) {
        if (piece.starts_with(' ')) return from(next, piece, first);
        return from(next, ' ' + std::string(piece), first);
    }

    Status apply(const SpellBytesStep&, size_t next, std::string_view piece, bool first) {
        std::string spelled;
        append_byte_level_spelling(spelled, piece);
        return from(next, spelled, first);
    }

    Status apply(const MetaspaceStep& step, size_t next, std::string_view piece, bool first) {
        std::string text = replaced_spaces(piece, step.replacement);
        const bool wanted = step.prepend == MetaspaceStep::Prepend::always ||
                            (step.prepend == MetaspaceStep::Prepend::first && first);
        if (wanted && !text.starts_with(step.replacement)) text.insert(0, step.replacement);
        if (!step.split) return from(next, text, first);
        const std::string_view view = text;
        size_t begin = 0;
        while (begin < view.size()) {
            // A piece begins at a replacement character and ends before the next one.
            size_t end =
                view.find(step.replacement, begin == 0 && !view.starts_with(step.replacement)
                                                ? 0
                                                : begin + step.replacement.size());
            end = std::min(end, view.size());
            TRY_STATUS(from(next, view.substr(begin, end - begin), first && begin == 0));
            begin = end;
        }
        return {};
    }
};

Pretokenizer::Pretokenizer(std::vector<PretokenizerStep> steps) : steps_(std::move(steps)) {
    CHECK(steps_.size() <= kMaxSteps);
    for (const PretokenizerStep& step : steps_)
        spelled_ = spelled_ || std::holds_alternative<SpellBytesStep>(step);
}

Status Pretokenizer::split(std::string_view text, bool first, RegexScratch& scratch,
                           PieceSink sink) const {
    return Run{*this, scratch, sink}.from(0, text, first);
}

}  // namespace colibri

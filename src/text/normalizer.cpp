#include "text/normalizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/unicode_normal_form.h"
#include "text/utf8.h"

namespace colibri {
namespace {

Result<std::string> replaced(const NormalizeReplace& step, std::string_view text,
                             RegexScratch& scratch) {
    std::string out;
    RegexMatch match{};
    size_t copied = 0;
    for (size_t from = 0; from <= text.size();) {
        TRY(const bool found, step.pattern.find(text, from, scratch, match));
        if (!found) break;
        out.append(text.substr(copied, match.begin - copied));
        out.append(step.content);
        if (out.size() > kMaxNormalizedBytes) break;
        copied = match.end;
        from = match.end;
        if (match.end == match.begin) {
            if (from == text.size()) break;
            from += utf8_step(text, from).length;
        }
    }
    out.append(text.substr(copied));
    return out;
}

std::string stripped(const NormalizeStrip& step, std::string_view text) {
    size_t begin = text.size();
    size_t end = 0;
    for (size_t position = 0; position < text.size();) {
        const Utf8Step character = utf8_step(text, position);
        if (!is_white_space(character.code_point)) {
            begin = std::min(begin, position);
            end = position + character.length;
        }
        position += character.length;
    }
    if (!step.left) begin = 0;
    if (!step.right) end = text.size();
    return begin < end ? std::string(text.substr(begin, end - begin)) : std::string();
}

struct Apply {
    std::string text;
    RegexScratch& scratch;

    Result<std::string> operator()(const NormalizeNfc&) const { return to_nfc(text); }
    Result<std::string> operator()(const NormalizeNfd&) const { return to_nfd(text); }
    Result<std::string> operator()(const NormalizePrepend& step) const {
        return text.empty() ? text : step.prefix + text;
    }
    Result<std::string> operator()(const NormalizeReplace& step) const {
        return replaced(step, text, scratch);
    }
    Result<std::string> operator()(const NormalizeStrip& step) const {
        return stripped(step, text);
    }
};

}  // namespace

Result<std::string> normalize(const std::vector<NormalizerStep>& steps, std::string text,
                              RegexScratch& scratch) {
    for (const NormalizerStep& step : steps) {
        TRY(text, std::visit(Apply{std::move(text), scratch}, step));
        if (text.size() > kMaxNormalizedBytes)
            return fail(
                ErrorKind::invalid_input,
                fmt::format("the tokenizer's normalizer makes the text longer than {} bytes",
                            kMaxNormalizedBytes));
    }
    return text;
}

}  // namespace colibri

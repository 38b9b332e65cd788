// A stream with pieces of tags in it, cut by the input's own bytes: the totals are those of the
// uncut stream, and every visible character of it that is no tag arrives.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "text/reasoning_splitter.h"

namespace {

using namespace colibri;

struct Totals {
    std::string reasoning;
    std::string answer;

    void apply(const ReasoningSplitter::Delta& delta) {
        if (delta.earlier_answer_was_reasoning) {
            reasoning += answer;
            answer.clear();
        }
        reasoning += delta.reasoning;
        answer += delta.answer;
    }
};

size_t count_visible(std::string_view text) {
    size_t count = 0;
    for (const char c : text) count += c == 'x' ? 1 : 0;
    return count;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    constexpr std::string_view kParts[] = {"<think>", "</think>", "x",   " ", "\n",
                                           "<",       "</thi",    "nk>", "é"};
    if (size < 2) return 0;
    const auto start = static_cast<ReasoningStart>(data[0] % 3);
    const ThinkTags tags{.open = "<think>", .close = "</think>"};
    std::string text;
    for (size_t i = 1; i < size; ++i) text += kParts[(data[i] & 15U) % 9];
    ReasoningSplitter whole(tags, start);
    ReasoningSplitter cut(tags, start);
    Totals expected;
    Totals found;
    expected.apply(whole.push(text));
    size_t at = 0;
    for (size_t i = 1; at < text.size(); i = i + 1 == size ? 1 : i + 1) {
        const size_t step = 1 + (data[i] >> 4U);
        found.apply(cut.push(std::string_view(text).substr(at, step)));
        at += step;
    }
    CHECK(whole.inside_reasoning() == cut.inside_reasoning());
    expected.apply(whole.finish());
    found.apply(cut.finish());
    CHECK(found.reasoning == expected.reasoning);
    CHECK(found.answer == expected.answer);
    CHECK(count_visible(expected.reasoning) + count_visible(expected.answer) ==
          count_visible(text));
    return 0;
}

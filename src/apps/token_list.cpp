#include "apps/token_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace colibri {

Result<std::vector<int32_t>> parse_token_list(std::string_view text) {
    constexpr std::string_view kSeparators = " ,\t\r\n";
    const auto bad = [](std::string_view word) {
        return fail(ErrorKind::invalid_input,
                    fmt::format("--tokens: '{}' is no token id; expected whole numbers from 0, "
                                "separated by spaces or commas",
                                word));
    };
    if (text.starts_with('[') && text.ends_with(']') && text.size() >= 2)
        text = text.substr(1, text.size() - 2);
    std::vector<int32_t> tokens;
    while (true) {
        const size_t begin = text.find_first_not_of(kSeparators);
        if (begin == std::string_view::npos) break;
        text.remove_prefix(begin);
        const std::string_view word = text.substr(0, text.find_first_of(kSeparators));
        int32_t id = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
        if (error != std::errc() || end != word.data() + word.size() || id < 0) return bad(word);
        tokens.push_back(id);
        text.remove_prefix(word.size());
    }
    if (tokens.empty())
        return fail(ErrorKind::invalid_input, "--tokens is needed: ids such as \"1 2 3\"");
    return tokens;
}

Status check_token_range(std::span<const int32_t> tokens, uint32_t vocab) {
    const auto outside = std::find_if(tokens.begin(), tokens.end(),
                                      [&](int32_t id) { return id < 0 || uint32_t(id) >= vocab; });
    if (outside == tokens.end()) return {};
    return fail(ErrorKind::invalid_input,
                fmt::format("--tokens: id {} (number {} of {}) is outside the vocabulary of {}",
                            *outside, outside - tokens.begin() + 1, tokens.size(), vocab));
}

}  // namespace colibri

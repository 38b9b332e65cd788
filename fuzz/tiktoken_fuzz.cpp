// Any bytes as a rank file, with its first line as the pattern: an error or a tokenizer that works.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "text/tokenizer.h"

namespace {

// A file without all single bytes is refused early; these lines let the fuzzer get further.
std::string single_bytes() {
    constexpr std::string_view kAlphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string lines;
    for (unsigned byte = 0; byte < 256; ++byte) {
        lines += kAlphabet[byte >> 2];
        lines += kAlphabet[(byte & 3) << 4];
        lines += "== " + std::to_string(byte) + "\n";
    }
    return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace colibri;
    static const std::string kSingleBytes = single_bytes();
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const size_t end = std::min(input.find('\n'), size);
    const std::string pattern(input.substr(0, end));
    const std::string_view rest = input.substr(std::min(end + 1, size));
    for (const std::string& file : {std::string(rest), kSingleBytes + std::string(rest)}) {
        const auto tokenizer = Tokenizer::from_ranks(
            file, pattern, {AddedToken{.content = "<|end|>", .id = 100'000}}, "fuzz.tiktoken");
        if (!tokenizer) continue;
        constexpr std::string_view kText = "Hello  w\xC3\xB6rld 123\n\xFF <|end|>!";
        const auto ids = tokenizer->encode(kText, SpecialTokens::recognized);
        // A pattern may make the regex engine give up; then there is no result.
        if (ids) CHECK(tokenizer->decode_bytes(*ids, true) == kText);
    }
    return 0;
}

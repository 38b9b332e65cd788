// Token ids to text, as they come.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "text/tokenizer.h"

namespace colibri {

// Holds back the beginning of a character until the rest arrives, so that every string it returns
// is valid UTF-8. All strings joined, with flush() at the end, equal Tokenizer::decode of all ids.
// One thread at a time.
class StreamDecoder {
public:
    explicit StreamDecoder(const Tokenizer& tokenizer, bool keep_special = false);

    // Text that became certain with this token; often the token's own, sometimes nothing.
    [[nodiscard]] std::string push(int32_t id);
    // The rest: an unfinished character becomes U+FFFD. Afterwards the decoder is as new.
    [[nodiscard]] std::string flush();

private:
    void take_bytes(std::string_view bytes, std::string& out);
    void end_fallback_run(std::string& out);
    void emit(std::string_view text, std::string& out);

    std::shared_ptr<const TokenizerParts> parts_;
    bool keep_special_;
    std::string pending_;         // bytes of an unfinished character, or a run of fallback bytes
    size_t spaces_to_strip_ = 0;  // at the beginning of the text
};

}  // namespace colibri

// Any bytes as a tokenizer.json: an error or a tokenizer that works.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace colibri;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const auto tokenizer = Tokenizer::from_json(bytes, "fuzz.json");
    if (!tokenizer) {
        CHECK(tokenizer.error().message.find("fuzz.json") != std::string::npos);
        return 0;
    }
    const auto ids =
        tokenizer->encode("Hello  w\xC3\xB6rld 123\n\xFF <|user|>", SpecialTokens::recognized);
    if (!ids) return 0;
    for (const int32_t id : *ids) CHECK(id >= 0 && id < tokenizer->size());
    const std::string text = tokenizer->decode(*ids, true);
    CHECK(valid_utf8_prefix(text) == text.size());
    return 0;
}

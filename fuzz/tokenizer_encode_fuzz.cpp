// Any bytes as text: the bytes of the tokens spell it again, with special tokens recognized or not.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "text/tokenizer.h"
#include "text/tokenizer_fixture.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace colibri;
    static const Tokenizer kTokenizer = [] {
        auto loaded = Tokenizer::from_json(fixture_tokenizer().dump(), "fixture.json");
        CHECK(loaded.has_value());
        return *std::move(loaded);
    }();
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto recognized = kTokenizer.encode(text, SpecialTokens::recognized);
    CHECK(recognized.has_value());
    CHECK(kTokenizer.decode_bytes(*recognized, true) == text);
    const auto plain = kTokenizer.encode(text, SpecialTokens::plain);
    CHECK(plain.has_value());
    CHECK(kTokenizer.decode_bytes(*plain, false) == text);
    for (const int32_t id : *plain) CHECK(!kTokenizer.is_special(id));
    return 0;
}

// Any byte tokens in any order: what the stream decoder returns is valid and joins to what decode
// returns.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "text/stream_decoder.h"
#include "text/tokenizer_fixture.h"
#include "text/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace colibri;
    static const Tokenizer kTokenizer = [] {
        auto loaded = Tokenizer::from_json(fixture_tokenizer().dump(), "fixture.json");
        CHECK(loaded.has_value());
        return *std::move(loaded);
    }();
    const std::vector<int32_t> ids(data, data + size);
    std::string bytes;
    std::string joined;
    StreamDecoder decoder(kTokenizer);
    for (const int32_t id : ids) {
        bytes += static_cast<char>(id);
        const std::string delta = decoder.push(id);
        CHECK(valid_utf8_prefix(delta) == delta.size());
        joined += delta;
    }
    joined += decoder.flush();
    std::string lossy;
    append_lossy_utf8(lossy, bytes);
    CHECK(joined == lossy);
    CHECK(joined == kTokenizer.decode(ids, false));
    return 0;
}

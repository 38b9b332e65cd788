// tune.json: any text ends in an error, or in a file that comes back the same when it is written
// and read again.
#include <cstdint>
#include <string>
#include <string_view>

#include "format/digest.h"
#include "format/tune_file.h"

using namespace colibri;

namespace {

// The digest cannot be guessed: put the right one in.
std::string with_digest(std::string text) {
    constexpr std::string_view kKey = "\"checksum\": \"";
    const size_t at = text.rfind(kKey);
    if (at == std::string::npos || at + kKey.size() + 32 > text.size()) return text;
    text.replace(at + kKey.size(), 32, std::string(32, '0'));
    const std::string digest = to_hex(xxh3_128(std::string_view(text)));
    text.replace(at + kKey.size(), 32, digest);
    return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
    const std::string text = with_digest(std::string(reinterpret_cast<const char*>(bytes), size));
    const auto file = parse_tune(text, "fuzz");
    if (!file) {
        if (file.error().message.empty()) __builtin_trap();
        return 0;
    }
    const std::string once = format_tune(*file);
    const auto again = parse_tune(once, "again");
    if (!again || !(*again == *file) || format_tune(*again) != once) __builtin_trap();
    return 0;
}

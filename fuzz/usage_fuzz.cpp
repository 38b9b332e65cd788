// Usage histories, both forms: any bytes end in an error, or in a history that comes back the same
// when it is written and read again.
#include <cstdint>
#include <string>
#include <string_view>

#include "store/usage.h"

using namespace colibri;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(bytes), size);
    if (const auto history = decode_usage(input, 7, "fuzz"))
        if (encode_usage(*history, 7) != input) __builtin_trap();
    const auto text = parse_usage_text(input, "fuzz", 4, 8, 2);
    if (!text) return 0;
    for (const UsageHistory::Entry& entry : text->entries)
        if (entry.id.layer >= 4 || entry.id.index >= 8) __builtin_trap();
    const std::string once = format_usage_text(*text, 4, 8);
    const auto again = parse_usage_text(once, "again", 4, 8, 2);
    if (!again || format_usage_text(*again, 4, 8) != once) __builtin_trap();
    return 0;
}

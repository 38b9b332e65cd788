// colibri.sums. The first two bytes say how many tensors and experts the manifest promises.
#include <cstdint>
#include <string>
#include <string_view>

#include "format/container_manifest.h"

using namespace colibri;

namespace {

void require(bool condition) {
    if (!condition) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
    if (size < 2) return 0;
    std::string table(reinterpret_cast<const char*>(bytes) + 2, size - 2);
    // Its checksum cannot be guessed: put the right one in where there is room for it.
    if (table.size() >= 16) {
        const Digest128 digest = xxh3_128(std::string_view(table).substr(0, table.size() - 16));
        for (size_t i = 0; i < 8; ++i) {
            table[table.size() - 16 + i] = char(uint8_t(digest.low >> (8 * i)));
            table[table.size() - 8 + i] = char(uint8_t(digest.high >> (8 * i)));
        }
    }
    const auto parsed = parse_checksum_table(table, bytes[0], bytes[1], "fuzz");
    require(parsed || !parsed.error().message.empty());
    if (!parsed) return 0;
    require(parsed->tensors.size() == bytes[0] && parsed->experts.size() == bytes[1]);
    // Reserved bytes apart, a table has one form.
    const std::string again = checksum_table_bytes(*parsed);
    require(again.size() == table.size());
    return 0;
}

// colibri.json: whatever parses is consistent enough for the code behind it, and writing it gives
// a text that parses to the same.
#include <cstdint>
#include <string>
#include <string_view>

#include "format/container_manifest.h"

using namespace colibri;

namespace {

void require(bool condition) {
    if (!condition) __builtin_trap();
}

// The digest cannot be guessed: put the right one in.
std::string with_digest(std::string text) {
    constexpr std::string_view kKey = "\"manifest_xxh3\": \"";
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
    const auto manifest = parse_manifest(text, "fuzz");
    require(manifest || !manifest.error().message.empty());
    if (!manifest) return 0;
    for (const ContainerTensor& tensor : manifest->tensors) {
        require(tensor.file < manifest->files.size());
        require(tensor.size_bytes() < uint64_t(1) << 56);
    }
    for (const ContainerExperts& layer : manifest->experts) {
        require(layer.file < manifest->files.size() && layer.count > 0);
        const ExtentLayout extent = extent_layout(layer.parts);
        require(extent.size_bytes % kExtentAlign == 0 && extent.size_bytes < uint64_t(1) << 56);
    }
    const std::string again = manifest_text(*manifest);
    const auto second = parse_manifest(again, "fuzz");
    require(second && manifest_text(*second) == again);
    return 0;
}

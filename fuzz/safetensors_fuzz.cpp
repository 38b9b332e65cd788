// Headers of safetensors files. The first 3 bytes are the size of the data that is claimed to
// follow, the rest is the header.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "format/safetensors.h"

using namespace colibri;

namespace {

void require(bool condition) {
    if (!condition) __builtin_trap();
}

// What every accepted header promises to the code behind it.
void check(const SafetensorsHeader& header, uint64_t data_begin, uint64_t file_size_bytes) {
    uint64_t end = data_begin;
    for (const SafetensorsEntry& tensor : header.tensors) {
        require(tensor.offset >= data_begin && tensor.size_bytes <= file_size_bytes);
        require(tensor.offset <= file_size_bytes - tensor.size_bytes);
        require(tensor.shape.size() <= kTensorRankMax);
        end = std::max(end, tensor.offset + tensor.size_bytes);
    }
    require(end == file_size_bytes);
    auto tensors = header.tensors;
    std::sort(tensors.begin(), tensors.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    for (size_t i = 1; i < tensors.size(); ++i) require(tensors[i - 1].name != tensors[i].name);
    std::erase_if(tensors, [](const auto& tensor) { return tensor.size_bytes == 0; });
    std::sort(tensors.begin(), tensors.end(),
              [](const auto& a, const auto& b) { return a.offset < b.offset; });
    for (size_t i = 1; i < tensors.size(); ++i)
        require(tensors[i - 1].offset + tensors[i - 1].size_bytes <= tensors[i].offset);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
    if (size < 3) return 0;
    const uint64_t data_bytes = bytes[0] | uint64_t(bytes[1]) << 8 | uint64_t(bytes[2]) << 16;
    const std::string_view text(reinterpret_cast<const char*>(bytes) + 3, size - 3);
    const uint64_t data_begin = 8 + text.size();
    const auto header = parse_safetensors_header(text, data_begin, data_begin + data_bytes, "fuzz");
    if (header) check(*header, data_begin, data_begin + data_bytes);
    require(header || !header.error().message.empty());
    return 0;
}

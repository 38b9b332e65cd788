// model.safetensors.index.json: any text ends in an index whose file names stay in the directory,
// or in an error.
#include <cstdint>
#include <string_view>

#include "format/shard_index.h"

using namespace colibri;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
    const auto index = parse_shard_index({reinterpret_cast<const char*>(bytes), size}, "fuzz");
    if (!index) return 0;
    for (const std::string& file : index->files)
        if (file.find('/') != std::string::npos || file.starts_with('.')) __builtin_trap();
    for (const auto& [tensor, file] : index->tensors)
        if (file >= index->files.size()) __builtin_trap();
    return 0;
}

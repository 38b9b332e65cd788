// The header of one safetensors file: an 8-byte little-endian length, then JSON {name: {dtype,
// shape, data_offsets}}, then data.
//
// Nothing in the header is trusted: the length is compared with the file before anything is
// allocated, nesting, ranks and counts are bounded, products may not wrap, every tensor's span must
// match its shape and lie inside the file, and no two spans may overlap. Rules where
// implementations differ: holes between tensors are accepted, the file must end where its last
// tensor ends (as the reference library demands), tensors may start at any byte, and zero-sized
// tensors are legal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "platform/file.h"
#include "tensor/dtype.h"

namespace colibri {

inline constexpr uint64_t kSafetensorsHeaderBytesMax = 100'000'000;  // as the reference library
inline constexpr size_t kTensorRankMax = 8;
inline constexpr size_t kTensorsPerFileMax = size_t(1) << 20;

struct SafetensorsEntry {
    std::string name;
    DType dtype = DType::f32;
    std::vector<uint64_t> shape;
    uint64_t offset = 0;  // absolute, in the file
    uint64_t size_bytes = 0;
};

struct SafetensorsHeader {
    std::vector<SafetensorsEntry> tensors;                      // in header order, names unique
    std::vector<std::pair<std::string, std::string>> metadata;  // __metadata__, keys unique
    uint64_t data_begin = 0;
};

// `json` is the header text, `data_begin` where the data starts in a file of `file_size_bytes`;
// `path` is for messages. Errors: corrupt (path, tensor, found and expected), unsupported for a
// dtype that this build does not know.
[[nodiscard]] Result<SafetensorsHeader> parse_safetensors_header(std::string_view json,
                                                                 uint64_t data_begin,
                                                                 uint64_t file_size_bytes,
                                                                 const std::string& path);

// Reads and parses the header of an open file. Errors as above, and io.
[[nodiscard]] Result<SafetensorsHeader> read_safetensors_header(const File& file);

}  // namespace colibri

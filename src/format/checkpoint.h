// A directory of safetensors files seen as one set of named tensors.
//
// Opening reads and checks every header (bounds on each length, offset, shape and count; overlaps, duplicate names, file
// sizes) and no tensor data. Memory: names and spans only. Immutable afterwards and safe to share between threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/notices.h"
#include "platform/file.h"
#include "tensor/dtype.h"

namespace colibri {

struct TensorInfo {
    std::string_view name;             // owned by the Checkpoint
    DType dtype = DType::f32;
    std::vector<uint64_t> shape;
    uint32_t file = 0;                 // index into Checkpoint::files()
    uint64_t offset = 0;               // absolute, in the file
    uint64_t size_bytes = 0;
};

struct CheckpointFile {
    std::string path;
    uint64_t size_bytes = 0;
    std::shared_ptr<const File> file;  // open for reading
};

class Checkpoint {
public:
    // `directory` holds config.json and either model.safetensors, shards with model.safetensors.index.json, or any *.safetensors
    // (out-*.safetensors of the existing engine included). Files that are not safetensors by content are refused by name; the index, when present, must agree.
    // Errors name the file, the tensor, what was found and expected.
    [[nodiscard]] static Result<Checkpoint> open(const std::string& directory, Notices& notices);

    [[nodiscard]] const std::string& directory() const;
    [[nodiscard]] std::span<const CheckpointFile> files() const;
    [[nodiscard]] const TensorInfo* find(std::string_view name) const;   // null when absent
    // All tensors, ordered by name.
    [[nodiscard]] std::span<const TensorInfo> tensors() const;
    // "file model-00002-of-00003.safetensors, tensor X" for messages.
    [[nodiscard]] std::string where(const TensorInfo& tensor) const;
    // Reads bytes [begin, begin + out.size()) of a tensor. Errors: io, corrupt (short file).
    [[nodiscard]] Status read(const TensorInfo& tensor, uint64_t begin, std::span<std::byte> out) const;
    [[nodiscard]] uint64_t data_bytes() const;

private:
    struct Impl;
    std::shared_ptr<const Impl> impl_;
};

}  // namespace colibri

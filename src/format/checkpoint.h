// A directory of safetensors files seen as one set of named tensors.
//
// Opening reads and checks every header (bounds on each length, offset, shape and count; overlaps,
// duplicate names, file sizes) and no tensor data. Memory: names and spans only. Immutable
// afterwards and safe to share between threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/notices.h"
#include "format/container.h"
#include "platform/file.h"
#include "tensor/dtype.h"

namespace colibri {

struct TensorInfo {
    std::string_view name;  // owned by the Checkpoint
    DType dtype = DType::f32;
    std::vector<uint64_t> shape;
    uint32_t file = 0;    // index into Checkpoint::files()
    uint64_t offset = 0;  // absolute, in the file
    uint64_t size_bytes = 0;
};

struct CheckpointFile {
    std::string path;
    uint64_t size_bytes = 0;
    std::shared_ptr<const File> file;                           // open for reading
    std::vector<std::pair<std::string, std::string>> metadata;  // its header's __metadata__
};

class Checkpoint {
public:
    // Which files make up the checkpoint: those that model.safetensors.index.json names; else
    // model.safetensors alone; else all of one numbered scheme (out-N, out-mtp-N, out-idx-N of the
    // existing engine, or model-N[-of-M]); else every *.safetensors. Two schemes side by side are
    // refused. Other *.safetensors entries (hidden files, folders, dangling links, strays) are not
    // read and named in a notice; beside an index sound ones are not worth a word. Shards missing
    // from -of-M or from the index are an error that lists them; the index must name exactly the
    // tensors that the shards hold; a name in two shards is refused. A directory with colibri.json
    // is a container: its manifest decides (format/container.h). Errors name the file, the
    // tensor, what was found and expected: not_found, invalid_input, corrupt, unsupported, io.
    //
    // The safetensors files may lie in several directories (on several drives), each file in one of
    // them: the further ones are searched as if their files lay in `directory`, which alone has the
    // index, the manifest and the side files. invalid_input for a file that two have and for a
    // further directory that has none.
    [[nodiscard]] static Result<Checkpoint> open(const std::string& directory, Notices& notices,
                                                 std::span<const std::string> further = {});

    [[nodiscard]] const std::string& directory() const;
    [[nodiscard]] std::span<const CheckpointFile> files() const;
    [[nodiscard]] const TensorInfo* find(std::string_view name) const;  // null when absent
    // All tensors, ordered by name.
    [[nodiscard]] std::span<const TensorInfo> tensors() const;
    // "file model-00002-of-00003.safetensors, tensor X" for messages.
    [[nodiscard]] std::string where(const TensorInfo& tensor) const;
    // Reads bytes [begin, begin + out.size()) of a tensor. Errors: io, corrupt (short file).
    [[nodiscard]] Status read(const TensorInfo& tensor, uint64_t begin,
                              std::span<std::byte> out) const;
    [[nodiscard]] uint64_t data_bytes() const;
    // For messages about tensors that are not there: "; the numbering lacks out-00003.safetensors",
    // or "" without gaps.
    [[nodiscard]] const std::string& gaps() const;
    // Null for foreign checkpoints. In a container every tensor is laid out as its manifest says,
    // whatever its dtype.
    [[nodiscard]] const Container* container() const;

private:
    struct Impl;
    std::shared_ptr<const Impl> impl_;
};

}  // namespace colibri

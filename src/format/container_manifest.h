// colibri.json: what a container holds, in which form, and how to tell that it is whole. The
// specification is docs/container.md.
//
// A manifest that was parsed is consistent in itself: every index in range, every format and layout
// known, every size computable without overflow.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "format/digest.h"
#include "tensor/weight_matrix.h"

namespace colibri {

inline constexpr uint32_t kContainerVersion = 1;
inline constexpr const char* kManifestFileName = "colibri.json";
inline constexpr const char* kChecksumFileName = "colibri.sums";
// Left by a conversion that has not finished.
inline constexpr const char* kJournalFileName = "convert.journal";
inline constexpr uint64_t kManifestBytesMax = 64 << 20;
inline constexpr uint64_t kExtentAlign = 4096;
inline constexpr uint64_t kDenseAlign = 64;

// How the bytes of a dense tensor lie.
enum class TensorLayout : uint8_t {
    tile16,         // data, then scales: TileShape
    vector,         // `rows` floats
    key_up,         // per head: W_UK transposed, [block of 16 rows][column][16 rows] codes
    key_up_scales,  // float [head][block of 16 rows][column]
    value_up,       // per head: a tile16 matrix at a fixed stride
};
[[nodiscard]] std::string_view to_string(TensorLayout layout);

struct ContainerTensor {
    std::string name;
    uint32_t file = 0;
    TensorLayout layout = TensorLayout::tile16;
    WeightFormat format;
    uint32_t rows = 0, columns = 1;  // of one head where there are heads
    uint32_t heads = 1;

    [[nodiscard]] TileShape shape() const {
        return {.format = format, .rows = rows, .columns = columns};
    }
    [[nodiscard]] uint64_t size_bytes() const;  // as stored, padding included
};

// Codes of the transposed half of kv_b: floats keep their kind, scaled formats become one byte a
// cell with a scale per column and block.
[[nodiscard]] WeightFormat key_up_format(WeightFormat stored);
// Of one head of a key_up tensor; of a value_up tensor.
[[nodiscard]] uint64_t key_up_stride_bytes(WeightFormat stored, uint32_t rows, uint32_t columns);
[[nodiscard]] uint64_t value_up_stride_bytes(const TileShape& head);

// One extent: gate, up and down, each at a multiple of 64, padded with zeros to kExtentAlign.
struct ExtentLayout {
    std::array<uint64_t, 3> offsets{};
    uint64_t size_bytes = 0;

    // The two parts that have checksums of their own: gate and up; down and the padding.
    [[nodiscard]] std::array<uint64_t, 2> part_bytes() const {
        return {offsets[2], size_bytes - offsets[2]};
    }
};
[[nodiscard]] ExtentLayout extent_layout(const std::array<TileShape, 3>& parts);

// The routed experts of one layer: tensors "layers.LAYER.experts.0" to `count` - 1.
struct ContainerExperts {
    uint32_t layer = 0;  // as in the source's tensor names
    uint32_t file = 0;
    uint32_t count = 0;
    std::array<TileShape, 3> parts;  // gate, up, down
};
[[nodiscard]] std::string expert_tensor_name(uint32_t layer, uint32_t expert);

struct ContainerFile {
    std::string name;
    uint64_t size_bytes = 0;
    Sha256 sha256{};
    Digest128 header;    // XXH3-128 of the 8 length bytes and the header text
    bool draft = false;  // holds the draft layer alone: the container is usable without it
};

struct ContainerSideFile {
    std::string name;
    uint64_t size_bytes = 0;
    Sha256 sha256{};
};

struct ContainerManifest {
    std::string writer;      // "colibri 0.1.0"
    std::string identity;    // 32 hexadecimal digits: of source and parameters
    std::string source;      // name of the source's directory, for people
    std::string source_id;   // 32 hexadecimal digits: of names, sizes and headers of its files
    std::string parameters;  // what convert was asked for, canonical text
    uint64_t checksum_bytes = 0;
    Digest128 checksum_digest;  // of the checksum file's bytes
    std::vector<ContainerFile> files;
    std::vector<ContainerSideFile> side_files;  // config.json among them
    std::vector<ContainerTensor> tensors;       // in the order in which files hold them
    std::vector<ContainerExperts> experts;      // likewise

    [[nodiscard]] uint64_t expert_count() const;
};

// `path` is for messages. Errors: corrupt (altered, malformed, inconsistent), unsupported (version,
// format or layout that this build does not know, naming it and what is supported).
[[nodiscard]] Result<ContainerManifest> parse_manifest(std::string_view text,
                                                       const std::string& path);
// The file's text, with its own digest.
[[nodiscard]] std::string manifest_text(const ContainerManifest& manifest);

// The checksum table.
struct ChecksumTable {
    std::string identity;                           // of the container
    std::vector<Digest128> tensors;                 // as ContainerManifest::tensors
    std::vector<std::array<Digest128, 2>> experts;  // of all layers in order: gate and up, down
};
[[nodiscard]] std::string checksum_table_bytes(const ChecksumTable& table);
// Errors: corrupt, with found and expected; unsupported for another version.
[[nodiscard]] Result<ChecksumTable> parse_checksum_table(std::string_view bytes,
                                                         uint64_t tensor_count,
                                                         uint64_t expert_count,
                                                         const std::string& path);

// The beginning of a data file, its data starting at a multiple of kExtentAlign.
[[nodiscard]] std::string data_file_header(const ContainerManifest& manifest, uint32_t file);

}  // namespace colibri

// A colibri container: a directory with colibri.json, the checksum table and data files
// (docs/container.md).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "base/notices.h"
#include "format/container_manifest.h"
#include "format/safetensors.h"
#include "platform/file.h"

namespace colibri {

// What the manifest and the checksum table say, with lookups. Immutable, safe to share.
class Container {
public:
    Container(ContainerManifest manifest, ChecksumTable table);

    [[nodiscard]] const ContainerManifest& manifest() const { return manifest_; }
    [[nodiscard]] const ChecksumTable& checksums() const { return table_; }
    // Index into manifest().tensors and checksums().tensors.
    [[nodiscard]] std::optional<uint32_t> find(std::string_view tensor) const;
    // Null when the layer has none here.
    [[nodiscard]] const ContainerExperts* experts_of(uint32_t layer) const;
    // By expert: gate and up, down.
    [[nodiscard]] std::span<const std::array<Digest128, 2>> expert_digests(uint32_t layer) const;

private:
    ContainerManifest manifest_;
    ChecksumTable table_;
    std::unordered_map<std::string_view, uint32_t> tensors_;
    std::unordered_map<uint32_t, std::pair<uint32_t, uint64_t>> layers_;  // entry, first expert
};

// One data file that is there, its header checked against the manifest.
struct ContainerDataFile {
    uint32_t index = 0;  // into manifest().files
    std::shared_ptr<const File> file;
    SafetensorsHeader header;
};

struct OpenContainer {
    std::shared_ptr<const Container> container;
    std::vector<ContainerDataFile> files;
};

// True when the directory says that it is a container, finished or not.
[[nodiscard]] bool is_container(const std::string& directory);

// Reads the manifest, the checksum table and every header; no tensor data. Finds whatever can be
// found without reading data: missing files, wrong sizes, files of another container or an older
// manifest, an altered manifest, table, header or config.json, tensors that are missing, twice,
// overlapping or outside their file. A missing draft file is a notice. Errors name the file:
// not_found, corrupt, unsupported, io; invalid_input for a conversion that has not finished.
//
// The data files may lie in `further` directories too, as Checkpoint::open has it.
[[nodiscard]] Result<OpenContainer> open_container(const std::string& directory, Notices& notices,
                                                   std::span<const std::string> further = {});

// Whether the bytes of one expert are those that were written, told as they come in.
class ExpertCheck {
public:
    // Starts over. `layer` must stay.
    void begin(const ContainerExperts& layer, const std::array<Digest128, 2>& expected);
    // The next bytes of the extent.
    void take(std::span<const std::byte> bytes);
    // After the last byte. Errors: corrupt.
    [[nodiscard]] Status finish();

private:
    ExtentLayout layout_;
    std::array<Digest128, 2> expected_, found_;
    Xxh3Stream stream_;
    uint64_t taken_ = 0;
};

// The same for the whole extent at once.
[[nodiscard]] Status check_expert(const ContainerExperts& layer,
                                  const std::array<Digest128, 2>& expected,
                                  std::span<const std::byte> bytes);

struct ContainerFinding {
    std::string file;  // within the directory; empty when the container as a whole is meant
    std::string what;  // found, expected, where
};

// All damage of a container. Shallow: what open_container finds (the first of it). Deep: every byte
// of every file against its checksums, and every side file; goes on after findings. `progress(done,
// total)` counts bytes. Errors: cancelled.
[[nodiscard]] Result<std::vector<ContainerFinding>> verify_container(
    const std::string& directory, bool deep,
    const std::function<void(uint64_t done, uint64_t total)>& progress,
    const CancelToken* cancel = nullptr, std::span<const std::string> further = {});

// SHA-256 of a file, read once. Errors as File.
[[nodiscard]] Result<Sha256> sha256_of_file(const std::string& path);

}  // namespace colibri

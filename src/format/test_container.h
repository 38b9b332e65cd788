// For tests: a small container written from hand-made bytes, whole or damaged on purpose.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "format/container.h"
#include "format/test_safetensors.h"

namespace colibri {

// Two layers of three experts and two dense tensors in three files, the last one of a draft layer.
// All bytes follow from their place.
struct TestContainer {
    std::string directory;
    ContainerManifest manifest;
    ChecksumTable table;
    std::vector<std::string> files;  // their bytes

    explicit TestContainer(std::string where) : directory(std::move(where)) {
        const auto matrix = [](WeightKind kind, uint32_t group, uint32_t rows, uint32_t columns) {
            return TileShape{
                .format = {.kind = kind, .group = group}, .rows = rows, .columns = columns};
        };
        manifest.writer = "test";
        manifest.identity = "000102030405060708090a0b0c0d0e0f";
        manifest.source = "somewhere";
        manifest.source_id = "f00102030405060708090a0b0c0d0e0f";
        manifest.parameters = "experts=int4-g64";
        for (const char* name :
             {"dense.safetensors", "experts-00001.safetensors", "draft.safetensors"})
            manifest.files.push_back({.name = name});
        manifest.files[2].draft = true;
        manifest.tensors = {
            {.name = "a.weight",
             .file = 0,
             .format = {.kind = WeightKind::int8, .group = 64},
             .rows = 20,
             .columns = 70},
            {.name = "a.norm", .file = 0, .layout = TensorLayout::vector, .rows = 70}};
        for (uint32_t layer = 1; layer <= 2; ++layer)
            manifest.experts.push_back({.layer = layer,
                                        .file = layer,
                                        .count = 3,
                                        .parts = {matrix(WeightKind::int4, 64, 48, 100),
                                                  matrix(WeightKind::int4, 64, 48, 100),
                                                  matrix(WeightKind::int8, 0, 100, 48)}});
        write();
    }

    // Derives sizes, digests and headers, then writes everything.
    void write() {
        table = {.identity = manifest.identity};
        files.clear();
        for (uint32_t i = 0; i < manifest.files.size(); ++i) {
            std::string bytes = data_file_header(manifest, i);
            manifest.files[i].header = xxh3_128(std::string_view(bytes));
            add_data(i, bytes);
            manifest.files[i].size_bytes = bytes.size();
            manifest.files[i].sha256 = sha256(bytes);
            test_write(directory + "/" + manifest.files[i].name, bytes);
            files.push_back(std::move(bytes));
        }
        const std::string config = "{}";
        test_write(directory + "/config.json", config);
        manifest.side_files = {
            {.name = "config.json", .size_bytes = config.size(), .sha256 = sha256(config)}};
        const std::string sums = checksum_table_bytes(table);
        manifest.checksum_bytes = sums.size();
        manifest.checksum_digest = xxh3_128(std::string_view(sums));
        test_write(directory + "/" + kChecksumFileName, sums);
        write_manifest();
    }
    void write_manifest() const {
        test_write(directory + "/" + kManifestFileName, manifest_text(manifest));
    }
    [[nodiscard]] std::string path(const std::string& name) const { return directory + "/" + name; }

private:
    static std::string pattern(size_t size, size_t seed) {
        std::string bytes(size, '\0');
        for (size_t i = 0; i < size; ++i) bytes[i] = char(uint8_t((i * 131 + seed * 17) >> 3));
        return bytes;
    }
    void add_data(uint32_t file, std::string& bytes) {
        for (const ContainerTensor& tensor : manifest.tensors) {
            if (tensor.file != file) continue;
            const std::string data = pattern(tensor.size_bytes(), bytes.size());
            table.tensors.push_back(xxh3_128(std::string_view(data)));
            bytes += data;
        }
        for (const ContainerExperts& layer : manifest.experts) {
            if (layer.file != file) continue;
            const ExtentLayout extent = extent_layout(layer.parts);
            for (uint32_t e = 0; e < layer.count; ++e) {
                const std::string data = pattern(extent.size_bytes, bytes.size() + e);
                const std::string_view view(data);
                table.experts.push_back({xxh3_128(view.substr(0, extent.offsets[2])),
                                         xxh3_128(view.substr(extent.offsets[2]))});
                bytes += data;
            }
        }
    }
};

}  // namespace colibri

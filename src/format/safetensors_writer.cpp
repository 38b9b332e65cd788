#include "format/safetensors_writer.h"

#include <nlohmann/json.hpp>

#include "base/units.h"
#include "platform/file.h"

namespace colibri {

void SafetensorsWriter::metadata(std::string_view key, std::string_view value) {
    metadata_.emplace_back(key, value);
}

void SafetensorsWriter::add(const std::string& name, std::vector<uint64_t> shape,
                            std::span<const float> values) {
    const auto bytes = std::as_bytes(values);
    tensors_.push_back({.name = name,
                        .shape = std::move(shape),
                        .begin = data_.size(),
                        .size_bytes = bytes.size()});
    data_.insert(data_.end(), bytes.begin(), bytes.end());
}

Status SafetensorsWriter::write(const std::string& path) const {
    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    for (const auto& [key, value] : metadata_) header["__metadata__"][key] = value;
    for (const Tensor& tensor : tensors_)
        header[tensor.name] = {{"dtype", "F32"},
                               {"shape", tensor.shape},
                               {"data_offsets", {tensor.begin, tensor.begin + tensor.size_bytes}}};
    std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    text.resize(round_up(text.size(), size_t(8)), ' ');
    std::vector<std::byte> bytes(8);
    for (size_t i = 0; i < 8; ++i) bytes[i] = std::byte(uint8_t(uint64_t(text.size()) >> (8 * i)));
    const auto head = std::as_bytes(std::span(text));
    bytes.insert(bytes.end(), head.begin(), head.end());
    bytes.insert(bytes.end(), data_.begin(), data_.end());
    return write_file_atomic(path, bytes);
}

}  // namespace colibri

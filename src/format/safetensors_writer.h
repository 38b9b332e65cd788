// Small safetensors files of floats, written as a whole.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace colibri {

// Keeps the values until write().
class SafetensorsWriter {
public:
    void metadata(std::string_view key, std::string_view value);
    // The product of `shape` is the number of values. Names must be unique.
    void add(const std::string& name, std::vector<uint64_t> shape, std::span<const float> values);
    // Replaces `path` atomically. Errors: io.
    [[nodiscard]] Status write(const std::string& path) const;

private:
    struct Tensor {
        std::string name;
        std::vector<uint64_t> shape;
        uint64_t begin = 0, size_bytes = 0;
    };
    std::vector<std::pair<std::string, std::string>> metadata_;
    std::vector<Tensor> tensors_;
    std::vector<std::byte> data_;
};

}  // namespace colibri

// For tests: safetensors files taken apart, altered and put together again, or written wrong on
// purpose. Reads with a JSON tree and shares no code with the parser under test.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colibri {

inline std::string test_read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw std::runtime_error("cannot read " + path);
    return {std::istreambuf_iterator<char>(in), {}};
}

inline void test_write(const std::string& path, std::string_view bytes) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), std::streamsize(bytes.size()));
    if (!out) throw std::runtime_error("cannot write " + path);
}

// Length prefix, header text as it is, data as it is.
inline std::string raw_safetensors(std::string_view header, std::string_view data = {}) {
    std::string bytes;
    for (int i = 0; i < 8; ++i) bytes += char((uint64_t(header.size()) >> (8 * i)) & 0xFF);
    bytes += header;
    bytes += data;
    return bytes;
}

struct TestTensor {
    std::string name, dtype;
    std::vector<uint64_t> shape;
    std::string data;
};

struct TestSafetensors {
    std::vector<TestTensor> tensors;  // in data order
    std::vector<std::pair<std::string, std::string>> metadata;

    static TestSafetensors load(const std::string& path) {
        const std::string bytes = test_read(path);
        uint64_t header_bytes = 0;
        for (int i = 7; i >= 0; --i)
            header_bytes = header_bytes << 8 | uint8_t(bytes.at(size_t(i)));
        TestSafetensors file;
        const auto header = nlohmann::json::parse(bytes.substr(8, header_bytes));
        for (const auto& [name, entry] : header.items()) {
            if (name == "__metadata__") {
                for (const auto& [key, value] : entry.items())
                    file.metadata.emplace_back(key, value);
                continue;
            }
            const auto offsets = entry.at("data_offsets").get<std::vector<uint64_t>>();
            file.tensors.push_back(
                {name, entry.at("dtype"), entry.at("shape"),
                 bytes.substr(8 + header_bytes + offsets.at(0), offsets.at(1) - offsets.at(0))});
        }
        return file;
    }

    [[nodiscard]] std::string bytes() const {
        nlohmann::ordered_json header = nlohmann::ordered_json::object();
        for (const auto& [key, value] : metadata) header["__metadata__"][key] = value;
        std::string data;
        for (const TestTensor& tensor : tensors) {
            header[tensor.name] = {
                {"dtype", tensor.dtype},
                {"shape", tensor.shape},
                {"data_offsets", {data.size(), data.size() + tensor.data.size()}}};
            data += tensor.data;
        }
        std::string text = header.dump();
        text.resize((text.size() + 7) / 8 * 8, ' ');
        return raw_safetensors(text, data);
    }

    TestTensor& at(std::string_view name) {
        for (TestTensor& tensor : tensors)
            if (tensor.name == name) return tensor;
        throw std::runtime_error("no tensor " + std::string(name));
    }
    [[nodiscard]] bool has(std::string_view name) const {
        return std::any_of(tensors.begin(), tensors.end(),
                           [&](const TestTensor& tensor) { return tensor.name == name; });
    }
    void erase(std::string_view name) {
        const std::string gone = at(name).name;
        std::erase_if(tensors, [&](const TestTensor& tensor) { return tensor.name == gone; });
    }
};

// A copy of a model directory without what its oracle computed, to be broken by a test.
inline void copy_model(const std::string& from, const std::string& to) {
    std::filesystem::create_directories(to);
    for (const auto& entry : std::filesystem::directory_iterator(from)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with("oracle.")) std::filesystem::copy(entry.path(), to + "/" + name);
    }
}

}  // namespace colibri

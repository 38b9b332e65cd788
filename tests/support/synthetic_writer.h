// Writes checkpoints of random weights, tensor by tensor: the bytes behind synthetic_model.h.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/rng.h"
#include "base/units.h"

namespace colibri::synthetic {

// f32, bf16, fp8: Hugging Face names in model-N-of-M.safetensors. int*: the containers of the
// existing engine with .qs scales, embedding and head int8-row, out-mtp-* int8-row without the
// layer's indexer, out-idx-* int8-row.
enum class Format : uint8_t { f32, bf16, fp8, int8_row, int4_row, int4_g64, int2_row };

inline std::string_view to_string(Format format) {
    switch (format) {
        case Format::f32: return "f32";
        case Format::bf16: return "bf16";
        case Format::fp8: return "fp8";
        case Format::int8_row: return "int8-row";
        case Format::int4_row: return "int4-row";
        case Format::int4_g64: return "int4-g64";
        case Format::int2_row: return "int2-row";
    }
    return "";
}

namespace detail {

// How a tensor's bytes are made.
enum class Coding : uint8_t { f32, bf16, fp8, int8, int4, int2, merged, scales };

struct Tensor {
    std::string name, dtype;
    std::vector<uint64_t> shape;
    uint64_t rows = 0, row_bytes = 0;
    Coding coding = Coding::f32;
    double deviation = 1, mean = 0;  // of the weights, scales included
    [[nodiscard]] uint64_t size_bytes() const { return rows * row_bytes; }
};

// Random codes of one coding, and their root mean square.
struct Pool {
    std::vector<char> bytes;
    double rms = 1;
};

class Generator {
public:
    explicit Generator(uint64_t seed) : rng_(seed) {}

    void row(const Tensor& tensor, std::string& out) {
        out.resize(tensor.row_bytes);
        switch (tensor.coding) {
            case Coding::f32: floats(tensor, out); return;
            case Coding::scales: scales(tensor, out); return;
            case Coding::bf16: halves(tensor, out); return;
            case Coding::fp8:
            case Coding::int8:
            case Coding::int4:
            case Coding::int2:
            case Coding::merged: codes(pool(tensor.coding), out); return;
        }
    }
    double rms(Coding coding) { return pool(coding).rms; }

private:
    static constexpr size_t kPool = 1 << 20;

    double normal() {
        double sum = 0;  // twelve uniforms: variance one
        for (int i = 0; i < 12; ++i) sum += rng_.uniform();
        return sum - 6;
    }

    void floats(const Tensor& tensor, std::string& out) {
        fill_normal();
        for (size_t i = 0, at = rng_.below(kPool); i < out.size() / 4; ++i, at = (at + 1) % kPool) {
            const auto value = float(tensor.mean + tensor.deviation * double(normal_[at]));
            std::memcpy(out.data() + i * 4, &value, 4);
        }
    }

    void halves(const Tensor& tensor, std::string& out) {
        fill_normal();
        for (size_t i = 0, at = rng_.below(kPool); i < out.size() / 2; ++i, at = (at + 1) % kPool) {
            const auto value = float(tensor.mean + tensor.deviation * double(normal_[at]));
            uint32_t bits = 0;
            std::memcpy(&bits, &value, 4);
            const auto half = uint16_t(bits >> 16);
            std::memcpy(out.data() + i * 2, &half, 2);
        }
    }

    void scales(const Tensor& tensor, std::string& out) {
        for (size_t i = 0; i < out.size() / 4; ++i) {
            const auto value = float(tensor.deviation * (0.5 + rng_.uniform()));
            std::memcpy(out.data() + i * 4, &value, 4);
        }
    }

    void codes(const Pool& pool, std::string& out) {
        for (size_t done = 0, at = rng_.below(pool.bytes.size()); done < out.size(); at = 0) {
            const size_t part = std::min(out.size() - done, pool.bytes.size() - at);
            std::memcpy(out.data() + done, pool.bytes.data() + at, part);
            done += part;
        }
    }

    void fill_normal() {
        if (!normal_.empty()) return;
        normal_.resize(kPool);
        for (float& value : normal_) value = float(normal());
    }

    const Pool& pool(Coding coding) {
        Pool& pool = pools_[size_t(coding)];
        if (!pool.bytes.empty()) return pool;
        pool.bytes.resize(kPool);
        double squares = 0;
        uint64_t count = 0;
        const auto code = [&](double factor, int low, int high) {
            const int value = std::clamp(int(std::lround(normal() * factor)), low, high);
            squares += double(value) * value;
            ++count;
            return value;
        };
        for (char& byte : pool.bytes) {
            if (coding == Coding::int4) {
                const int low = code(2.6, -8, 7) + 8;
                byte = char(low | (code(2.6, -8, 7) + 8) << 4);
            } else if (coding == Coding::int2) {
                int bits = 0;
                for (int k = 0; k < 4; ++k) bits |= (code(0.8, -2, 1) + 2) << (2 * k);
                byte = char(bits);
            } else if (coding == Coding::fp8) {
                // Sign, exponents 2^-5 to 2^1, any mantissa: no NaN, some subnormal zeros.
                const uint64_t bits = rng_.next();
                const int exponent = bits % 61 == 0 ? 0 : int(2 + bits / 61 % 7);
                byte = char(int(bits >> 63) << 7 | exponent << 3 | int(bits >> 40 & 7));
                const double value = exponent == 0
                                         ? std::ldexp(double(bits >> 40 & 7), -9)
                                         : std::ldexp(1 + double(bits >> 40 & 7) / 8, exponent - 7);
                squares += value * value;
                ++count;
            } else {
                byte = char(code(36, -128, 127));
            }
        }
        pool.rms = std::sqrt(squares / double(count));
        return pool;
    }

    Rng rng_;
    std::vector<float> normal_;
    std::array<Pool, 8> pools_;
};

// Collects tensors by series of files and writes them.
class Writer {
public:
    Writer(std::string directory, uint64_t seed, uint64_t file_bytes_max)
        : directory_(std::move(directory)), file_bytes_max_(file_bytes_max), generator_(seed) {}

    void vector(const std::string& name, uint64_t count, double mean, double deviation, bool half,
                int series = 0) {
        add({.name = name,
             .dtype = half ? "BF16" : "F32",
             .shape = {count},
             .rows = 1,
             .row_bytes = count * (half ? 2 : 4),
             .coding = half ? Coding::bf16 : Coding::f32,
             .deviation = deviation,
             .mean = mean},
            series);
    }

    void matrix(const std::string& name, uint64_t rows, uint64_t columns, Format format,
                double deviation, int series = 0) {
        const double wanted = deviation / std::sqrt(double(columns));
        switch (format) {
            case Format::f32:
            case Format::bf16: {
                const bool half = format == Format::bf16;
                add({.name = name,
                     .dtype = half ? "BF16" : "F32",
                     .shape = {rows, columns},
                     .rows = rows,
                     .row_bytes = columns * (half ? 2 : 4),
                     .coding = half ? Coding::bf16 : Coding::f32,
                     .deviation = wanted},
                    series);
                return;
            }
            case Format::fp8: {
                const uint64_t blocks = ceil_div(columns, uint64_t(128));
                add({.name = name,
                     .dtype = "F8_E4M3",
                     .shape = {rows, columns},
                     .rows = rows,
                     .row_bytes = columns,
                     .coding = Coding::fp8},
                    series);
                add({.name = name + "_scale_inv",
                     .dtype = "F32",
                     .shape = {ceil_div(rows, uint64_t(128)), blocks},
                     .rows = ceil_div(rows, uint64_t(128)),
                     .row_bytes = blocks * 4,
                     .coding = Coding::scales,
                     .deviation = wanted / generator_.rms(Coding::fp8)},
                    series);
                return;
            }
            case Format::int8_row:
                quantized(name, rows, columns, Coding::int8, 0, wanted, series);
                return;
            case Format::int4_row:
                quantized(name, rows, columns, Coding::int4, 0, wanted, series);
                return;
            case Format::int4_g64:
                quantized(name, rows, columns, Coding::int4, 64, wanted, series);
                return;
            case Format::int2_row:
                quantized(name, rows, columns, Coding::int2, 0, wanted, series);
                return;
        }
    }

    // One OLMoE expert of the existing engine: gate, up and down flattened.
    void merged(const std::string& prefix, uint64_t hidden, uint64_t dim) {
        const double rms = generator_.rms(Coding::merged);
        add({.name = prefix + ".merged_weight",
             .dtype = "I8",
             .shape = {3 * hidden * dim},
             .rows = 3 * hidden,
             .row_bytes = dim,
             .coding = Coding::merged},
            0);
        add({.name = prefix + ".qs",
             .dtype = "F32",
             .shape = {2 * hidden + dim},
             .rows = 1,
             .row_bytes = (2 * hidden + dim) * 4,
             .coding = Coding::scales,
             .deviation = 1 / std::sqrt(double(dim)) / rms},
            0);
    }

    // Series 0, 1, 2 under their name patterns; series 0 knows the number of files if `of`.
    Status write(const std::array<std::string, 3>& patterns, bool of) {
        for (size_t series = 0; series < series_.size(); ++series) {
            std::vector<std::pair<size_t, size_t>> files;
            const std::vector<Tensor>& tensors = series_[series];
            for (size_t begin = 0, end = 0; begin < tensors.size(); begin = end) {
                uint64_t bytes = 0;
                while (end < tensors.size() &&
                       (end == begin || bytes + tensors[end].size_bytes() <= file_bytes_max_))
                    bytes += tensors[end++].size_bytes();
                files.emplace_back(begin, end);
            }
            for (size_t i = 0; i < files.size(); ++i) {
                const size_t number = of ? i + 1 : i;
                const std::string name =
                    of ? fmt::format("{}{:05}-of-{:05}", patterns[series], number, files.size())
                       : fmt::format("{}{:05}", patterns[series], number);
                TRY_STATUS(write_file(directory_ + "/" + name + ".safetensors", tensors, files[i]));
            }
        }
        return {};
    }

    Status write_text(const std::string& name, const std::string& text) {
        std::ofstream out(directory_ + "/" + name, std::ios::binary);
        out << text;
        out.close();
        if (!out)
            return fail(ErrorKind::io, fmt::format("{}/{}: cannot be written", directory_, name));
        return {};
    }

private:
    void add(Tensor tensor, int series) { series_[size_t(series)].push_back(std::move(tensor)); }

    void quantized(const std::string& name, uint64_t rows, uint64_t columns, Coding coding,
                   uint64_t group, double wanted, int series) {
        const uint64_t per_byte = coding == Coding::int8 ? 1 : coding == Coding::int4 ? 2 : 4;
        const uint64_t row_bytes = ceil_div(columns, per_byte);
        const uint64_t scales = rows * (group == 0 ? 1 : ceil_div(columns, group));
        add({.name = name,
             .dtype = "U8",
             .shape = {rows * row_bytes},
             .rows = rows,
             .row_bytes = row_bytes,
             .coding = coding},
            series);
        add({.name = name + ".qs",
             .dtype = "F32",
             .shape = {scales},
             .rows = 1,
             .row_bytes = scales * 4,
             .coding = Coding::scales,
             .deviation = wanted / generator_.rms(coding)},
            series);
    }

    Status write_file(const std::string& path, const std::vector<Tensor>& tensors,
                      std::pair<size_t, size_t> range) {
        nlohmann::ordered_json header = nlohmann::ordered_json::object();
        header["__metadata__"] = {{"format", "pt"}};
        uint64_t offset = 0;
        for (size_t i = range.first; i < range.second; ++i) {
            header[tensors[i].name] = {
                {"dtype", tensors[i].dtype},
                {"shape", tensors[i].shape},
                {"data_offsets", {offset, offset + tensors[i].size_bytes()}}};
            offset += tensors[i].size_bytes();
        }
        std::string text = header.dump();
        text.resize(round_up(text.size(), size_t(8)), ' ');
        std::ofstream out(path, std::ios::binary);
        const uint64_t length = text.size();
        out.write(reinterpret_cast<const char*>(&length), sizeof length);
        out << text;
        std::string row;
        for (size_t i = range.first; i < range.second && out; ++i)
            for (uint64_t r = 0; r < tensors[i].rows; ++r) {
                generator_.row(tensors[i], row);
                out.write(row.data(), std::streamsize(row.size()));
            }
        out.close();
        if (!out)
            return fail(ErrorKind::io,
                        fmt::format("{}: cannot be written; is the disk full?", path));
        return {};
    }

    std::string directory_;
    uint64_t file_bytes_max_;
    Generator generator_;
    std::array<std::vector<Tensor>, 3> series_;
};

}  // namespace detail

}  // namespace colibri::synthetic

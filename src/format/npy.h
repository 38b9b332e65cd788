// NumPy's .npy files (version 1.0), written row by row: results of `coli eval` for comparison with
// other implementations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "tensor/dtype.h"

namespace colibri {

// An array in C order whose shape is known in advance. The file appears under its name once it is
// complete; until then, and after an error, there is nothing (or what was there before).
class NpyWriter {
public:
    // Errors: io naming the path; unsupported for element types that NumPy does not have (bf16,
    // fp8).
    [[nodiscard]] static Result<NpyWriter> open(const std::string& path, DType dtype,
                                                std::vector<uint64_t> shape);
    NpyWriter(NpyWriter&& other) noexcept;
    NpyWriter& operator=(NpyWriter&& other) noexcept;
    ~NpyWriter();

    // The next elements. Errors: io; invalid_input beyond the shape.
    [[nodiscard]] Status append(std::span<const std::byte> elements);
    // Puts the file in place. Errors: io; invalid_input when elements are missing.
    [[nodiscard]] Status close();

private:
    NpyWriter() = default;
    void abandon();
    [[nodiscard]] Status put(std::span<const std::byte> bytes);

    std::string path_, partial_path_;
    std::FILE* file_ = nullptr;
    uint64_t expected_bytes_ = 0, written_bytes_ = 0;
};

}  // namespace colibri

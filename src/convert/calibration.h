// Second moments of activations: how large the inputs of each matrix are, column by column.
//
// The file is a safetensors file of F32 tensors: for a resident matrix NAME the mean squares
// [columns] under its own name; for the routed experts of layer L (as in ExpertId)
// `experts.L.input` [dim], `experts.L.down` [experts, hidden] and `experts.L.rows` [experts], the
// number of rows that each expert saw. Metadata: format = "colibri-calibration", rows = tokens that
// were read.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace colibri {

struct ExpertMoments {
    std::vector<float> input;  // [dim]; gate and up
    std::vector<float> down;   // [experts][hidden]
    std::vector<float> rows;   // [experts]
};

struct Calibration {
    std::map<std::string, std::vector<float>> dense;
    std::map<uint32_t, ExpertMoments> experts;
    uint64_t rows = 0;

    // Weights of the columns of one matrix for the quantizer; empty when nothing is known. Of an
    // expert that saw few rows, drawn towards its mean, so that chance does not decide. `part`: 0
    // gate, 1 up, 2 down.
    [[nodiscard]] std::vector<float> expert(uint32_t layer, uint32_t expert, uint32_t part) const;
    [[nodiscard]] std::vector<float> matrix(const std::string& name) const;
};

// Errors: io.
[[nodiscard]] Status write_calibration(const Calibration& calibration, const std::string& path);
// Errors: corrupt, with file and tensor (not a calibration, values that are negative or not
// finite), io.
[[nodiscard]] Result<Calibration> read_calibration(const std::string& path);

}  // namespace colibri

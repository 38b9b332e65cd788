// What the families' config files have in common.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/notices.h"
#include "model/config.h"
#include "model/spec.h"

namespace colibri {

// Keys that never change what is computed: training, library and serving details.
void ignore_neutral_keys(const Config& config);

// hidden_act silu, no biases, a known dtype and a known quantization method. Errors: unsupported,
// naming key and value.
[[nodiscard]] Status check_common_maths(const Config& config);

// theta from rope_parameters or from the top level; rope_scaling null or "default". Errors:
// unsupported for other types.
[[nodiscard]] Result<Rope> plain_rope(const Config& config, uint32_t dims, RopePairing pairing);

// eos (one or a list), bos and pad ids. Ids outside the vocabulary are dropped with a notice.
[[nodiscard]] Status read_token_ids(const Config& config, Notices& notices, ModelSpec& spec);

[[nodiscard]] Result<Norm> rms_norm(const Config& config, std::string_view key, double fallback);

// A per-layer list: one entry per main layer, each one of `allowed`. Absent: empty.
[[nodiscard]] Result<std::vector<std::string>> layer_list(
    const Config& config, std::string_view key, uint32_t layers,
    std::initializer_list<std::string_view> allowed);

// An error about two fields that contradict each other: "config.json: num_experts_per_tok is 9,
// expected at most num_experts (8)".
[[nodiscard]] tl::unexpected<Error> inconsistent(const Config& config, std::string_view key,
                                                 std::string_view expected);

// rows * columns within what files and kernels can hold. Errors: invalid_input naming `what`.
[[nodiscard]] Status check_matrix(const Config& config, std::string_view what, uint64_t rows,
                                  uint64_t columns);

}  // namespace colibri

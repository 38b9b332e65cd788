// From floats to codes and scales: the maths of a conversion.
//
// A group of n columns shares a scale s; a weight x becomes s * q with a small integer q. Two ways
// to choose s:
//   round-to-nearest  s = absmax / 127 (int8), absmax / 7 (int4); int2 has the codes -2..1, so s is
//                     -x/2 for the x of largest magnitude
//   search            the s, out of a fixed list around that one, whose best rounding has the least
//                     squared error sum of w[k] * (x[k] - s q[k])^2, s then set so that the group
//                     keeps its length: sum w x^2 / sum w x q; w[k] is the mean square of input k
//                     where a calibration says so, else 1
// Both are functions of the group alone, in a fixed order of float operations: the same bytes on
// every machine and with any number of threads.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/weight_matrix.h"

namespace colibri {

enum class ScaleSearch : uint8_t { nearest, search };

// One row. `x` and (unless empty) `importance`: shape.columns values, finite, importance >= 0.
// `codes`: shape.columns signed integers. `scales`: one per group of columns, or one in all for row
// formats. Integer kinds only. Scales are finite for any finite x.
void quantize_row(const WeightFormat& format, ScaleSearch search, std::span<const float> x,
                  std::span<const float> importance, std::span<int8_t> codes,
                  std::span<float> scales);

// F8_E4M3 codes with one scale = absmax / 448 per group; no search: its steps are relative.
void quantize_row_fp8(uint32_t group, std::span<const float> x, std::span<uint8_t> codes,
                      std::span<float> scales);

}  // namespace colibri

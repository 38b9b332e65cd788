// Weight matrices in the order in which kernels multiply them: the tile16 layout.
//
// A matrix maps `columns` inputs to `rows` outputs: y[o] = sum over k of W[o,k] x[k]. Rows are cut
// into blocks of 16 (padded with zero rows); SIMD lanes are rows, never columns, so no kernel ever
// sums across lanes.
//
//   f32, bf16, fp8   data[block][column][16 rows]
//   int8             data[block][quad][16 rows][4 columns], a quad being 4 neighboring columns
//   int4             data[block][group][pair][16 rows][4 columns]: one byte holds, of its group,
//                    column 4*pair+j in the low nibble and column half+4*pair+j in the high one,
//                    where half is half of the group's padded width; a nibble is the value plus 8
//                    (padding: 8)
//   int2             likewise with four quarters of the group: bits 2p and 2p+1 of a byte belong to
//                    quarter p; the value plus 2 (padding: 2)
//   scales           f32 or f16 scales[block][group][16 rows]
//
// Groups run along columns. `group` = columns per scale; 0 means one scale per row (int8, int4) or
// none (f32, bf16). Where a kernel needs groups and the format has none it uses 256 columns ("row
// formats"). The last group may be narrower; integer formats pad its width with zeros to a multiple
// of 8, int2 of 16.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/units.h"
#include "tensor/dtype.h"

namespace colibri {

enum class WeightKind : uint8_t { f32, bf16, fp8, int8, int4, int2 };
inline constexpr uint32_t kWeightKinds = 6;

// How scales are stored. f16 only where they were rounded to it when the weights were quantized.
enum class ScaleType : uint8_t { f32, f16 };

inline constexpr uint32_t kTileRows = 16;
// Activation group of formats with one scale per row.
inline constexpr uint32_t kRowFormatGroup = 256;

struct WeightFormat {
    WeightKind kind = WeightKind::f32;
    // Columns per scale, a multiple of 8 (int2: 16); 0: per row (integers) or unscaled (floats).
    uint32_t group = 0;
    ScaleType scales = ScaleType::f32;

    friend bool operator==(const WeightFormat&, const WeightFormat&) = default;
};

// "int4-g64", "int8-row", "fp8-g128", "bf16", "f32"; the type of the scales is not named.
[[nodiscard]] std::string to_string(WeightFormat format);

// Of a type that has scales: "f32" or "f16".
[[nodiscard]] std::string_view to_string(ScaleType type);

[[nodiscard]] constexpr bool is_integer(WeightKind kind) {
    return kind == WeightKind::int8 || kind == WeightKind::int4 || kind == WeightKind::int2;
}

// Sizes of a tile16 matrix. All derived; cheap to make.
struct TileShape {
    WeightFormat format;
    uint32_t rows = 0;
    uint32_t columns = 0;

    [[nodiscard]] constexpr uint32_t blocks() const { return ceil_div(rows, kTileRows); }
    // Columns of one activation group (integer path) or one scale (float path).
    [[nodiscard]] constexpr uint32_t group_columns() const {
        if (format.group != 0) return format.group;
        return is_integer(format.kind) ? kRowFormatGroup : columns;
    }
    [[nodiscard]] constexpr uint32_t groups() const { return ceil_div(columns, group_columns()); }
    // Stored columns: as `columns` for floats; the last group rounded up for integers.
    [[nodiscard]] constexpr uint32_t padded_columns() const {
        if (!is_integer(format.kind)) return columns;
        const uint32_t full = (groups() - 1) * group_columns();
        return full + round_up(columns - full, format.kind == WeightKind::int2 ? 16U : 8U);
    }
    [[nodiscard]] constexpr uint32_t scale_groups() const {
        if (format.group != 0) return groups();
        return is_integer(format.kind) ? 1 : 0;
    }
    [[nodiscard]] constexpr uint64_t block_bytes() const {
        const uint64_t cells = uint64_t(padded_columns()) * kTileRows;
        switch (format.kind) {
            case WeightKind::f32: return cells * 4;
            case WeightKind::bf16: return cells * 2;
            case WeightKind::fp8:
            case WeightKind::int8: return cells;
            case WeightKind::int4: return cells / 2;
            case WeightKind::int2: return cells / 4;
        }
        return 0;
    }
    // Multiples of 64, so that data and scales of neighboring matrices stay aligned.
    [[nodiscard]] constexpr uint64_t data_bytes() const {
        return round_up(block_bytes() * blocks(), uint64_t(64));
    }
    [[nodiscard]] constexpr uint32_t scale_size() const {
        return format.scales == ScaleType::f16 ? 2 : 4;
    }
    [[nodiscard]] constexpr uint64_t scale_bytes() const {
        const uint64_t bytes = uint64_t(blocks()) * scale_groups() * kTileRows * scale_size();
        return round_up(bytes, uint64_t(64));
    }
    [[nodiscard]] constexpr uint64_t total_bytes() const { return data_bytes() + scale_bytes(); }
};

// A matrix somewhere in memory: data first, scales right behind (at data_bytes()). Does not own.
// 64-byte aligned.
struct MatrixView {
    TileShape shape;
    const std::byte* data = nullptr;

    // Null for unscaled formats.
    [[nodiscard]] const std::byte* scales() const {
        return shape.scale_groups() == 0 ? nullptr : data + shape.data_bytes();
    }
    // Number `index` in the order above.
    [[nodiscard]] float scale(uint64_t index) const {
        const std::byte* at = data + shape.data_bytes() + index * shape.scale_size();
        if (shape.format.scales == ScaleType::f32) {
            float value = 0;
            std::memcpy(&value, at, sizeof value);
            return value;
        }
        uint16_t bits = 0;
        std::memcpy(&bits, at, sizeof bits);
        return f16_to_f32(bits);
    }
};

}  // namespace colibri

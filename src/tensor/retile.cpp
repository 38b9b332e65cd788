#include "tensor/retile.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "tensor/interleave.h"

namespace colibri {

namespace {

// The rows of one block as they lie in the source.
struct BlockRows {
    const std::byte* first;
    uint64_t row_bytes;
    uint32_t count;  // rows that exist; the others of the 16 are padding

    [[nodiscard]] const std::byte* at(uint32_t row, uint64_t offset) const {
        return first + row * row_bytes + offset;
    }
};

struct Job {
    const TileShape& shape;
    std::span<const std::byte> source;
    uint64_t row_bytes;
    uint32_t block_begin;
    uint32_t block_end;
};

Status check_source(const Job& job) {
    CHECK(job.block_begin <= job.block_end && job.block_end <= job.shape.blocks());
    const uint32_t first = job.block_begin * kTileRows;
    const uint32_t end = std::min(job.shape.rows, job.block_end * kTileRows);
    if (first >= end) return {};
    const uint64_t expected = (end - first) * job.row_bytes;
    if (job.source.size() >= expected) return {};
    return fail(
        ErrorKind::corrupt,
        fmt::format("found {} bytes for rows {} to {} of a {} x {} matrix, expected {}",
                    job.source.size(), first, end, job.shape.rows, job.shape.columns, expected));
}

// Runs fill(block, rows, out of the block), which returns false when it saw a value that find_bad
// then names.
template <class Fill, class FindBad>
Status each_block(const Job& job, std::byte* out, Fill fill, FindBad find_bad) {
    TRY_STATUS(check_source(job));
    for (uint32_t block = job.block_begin; block < job.block_end; ++block) {
        const uint32_t first = block * kTileRows;
        const BlockRows rows{.first = job.source.data() +
                                      uint64_t(block - job.block_begin) * kTileRows * job.row_bytes,
                             .row_bytes = job.row_bytes,
                             .count = std::min(kTileRows, job.shape.rows - first)};
        if (!fill(rows, out + job.shape.block_bytes() * block)) return find_bad(rows, first);
    }
    return {};
}

Status not_finite(uint32_t row, uint32_t column, std::string_view found) {
    return fail(
        ErrorKind::corrupt,
        fmt::format("found {} at row {}, column {}, expected a finite number", found, row, column));
}

// Looks again, one value at a time, where a vector said that there is one.
template <class T, class IsBad>
Status find_not_finite(const BlockRows& rows, uint32_t first_row, uint32_t columns, IsBad is_bad) {
    for (uint32_t r = 0; r < rows.count; ++r)
        for (uint32_t c = 0; c < columns; ++c) {
            T bits = 0;
            std::memcpy(&bits, rows.at(r, uint64_t(c) * sizeof(T)), sizeof bits);
            if (is_bad(bits)) return not_finite(first_row + r, c, fmt::format("bits 0x{:X}", bits));
        }
    return fail(ErrorKind::corrupt, fmt::format("found a value that is not finite in rows {} to {}",
                                                first_row, first_row + rows.count));
}

// 16 bytes of a row, or fewer at its end with zeros behind; zeros for padding rows.
template <class V>
V load_row(const BlockRows& rows, uint32_t row, uint64_t offset) {
    if (row >= rows.count) return V{};
    if (offset + 16 <= rows.row_bytes) return load_vector<V>(rows.at(row, offset));
    V v{};
    if (offset < rows.row_bytes) std::memcpy(&v, rows.at(row, offset), rows.row_bytes - offset);
    return v;
}

template <class V>
bool any_set(V v) {
    const auto halves = std::bit_cast<std::array<uint64_t, 2>>(v);
    return (halves[0] | halves[1]) != 0;
}

bool fill_fp8(const TileShape& shape, const BlockRows& rows, std::byte* out) {
    Bytes16 bad{};
    for (uint32_t c = 0; c < shape.columns; c += 16) {
        Bytes16 tile[16];
        for (uint32_t r = 0; r < 16; ++r) {
            tile[r] = load_row<Bytes16>(rows, r, c);
            bad |= Bytes16((tile[r] & 0x7F) == 0x7F);
        }
        transpose(tile);
        const uint32_t count = std::min(16U, shape.columns - c);
        for (uint32_t i = 0; i < count; ++i) store_vector(out + (c + i) * kTileRows, tile[i]);
    }
    return !any_set(bad);
}

// Writes four rows' 16 bytes as four quads of four columns each.
void store_quads(Dwords4 (&tile)[4], uint32_t row, uint32_t quads, std::byte* out) {
    transpose(tile);
    for (uint32_t q = 0; q < quads; ++q) store_vector(out + q * 64 + row * 4, tile[q]);
}

bool fill_int8(const TileShape& shape, const BlockRows& rows, std::byte* out) {
    const uint32_t padded = shape.padded_columns();
    for (uint32_t c = 0; c < padded; c += 16) {
        const uint32_t quads = std::min(16U, padded - c) / 4;
        for (uint32_t r = 0; r < 16; r += 4) {
            Dwords4 tile[4];
            for (uint32_t i = 0; i < 4; ++i) tile[i] = load_row<Dwords4>(rows, r + i, c);
            store_quads(tile, r, quads, out + uint64_t(c) * kTileRows);
        }
    }
    return true;
}

// Codes (value + 8) of a packed row.
template <uint32_t kBits>
uint8_t packed_code(const BlockRows& rows, uint32_t columns, uint32_t row, uint32_t column) {
    if (row >= rows.count || column >= columns) return 8;
    constexpr uint32_t kPerByte = 8 / kBits;
    const auto byte = uint32_t(*rows.at(row, column / kPerByte));
    const uint32_t code = (byte >> (column % kPerByte * kBits)) & ((1U << kBits) - 1);
    return uint8_t(kBits == 2 ? code + 6 : code);
}

template <class Word>
uint64_t load_word(const std::byte* p) {
    Word word = 0;
    std::memcpy(&word, p, sizeof word);
    return word;
}

// Sixteen output bytes of one row: low nibbles from columns `low` on, high ones from `high` on;
// `used` of the sixteen exist in the group, what the others hold does not matter.
template <uint32_t kBits>
Bytes16 nibble_pairs(const BlockRows& rows, uint32_t columns, uint32_t row, uint32_t low,
                     uint32_t high, uint32_t used) {
    constexpr uint32_t kPerByte = 8 / kBits;
    constexpr uint32_t kBytes = 16 / kPerByte;
    const bool in_range =
        row < rows.count && high + used <= columns && high / kPerByte + kBytes <= rows.row_bytes;
    if (!in_range) {
        Bytes16 v{};
        for (uint32_t i = 0; i < used; ++i)
            v[i] = uint8_t(packed_code<kBits>(rows, columns, row, low + i) |
                           packed_code<kBits>(rows, columns, row, high + i) << 4);
        return v;
    }
    const std::byte* first = rows.at(row, low / kPerByte);
    const std::byte* second = rows.at(row, high / kPerByte);
    if constexpr (kBits == 4) {
        const auto packed = std::bit_cast<Bytes16>(
            Qwords2{load_word<uint64_t>(first), load_word<uint64_t>(second)});
        const Bytes16 even = packed & 15;
        const Bytes16 odd = packed >> 4;
        return interleave_low(even, odd) | (interleave_high(even, odd) << 4);
    } else {
        const auto packed = std::bit_cast<Bytes16>(
            Qwords2{load_word<uint32_t>(first) | load_word<uint32_t>(second) << 32, 0});
        const Bytes16 pairs01 = interleave_low(packed & 3, (packed >> 2) & 3);
        const Bytes16 pairs23 = interleave_low((packed >> 4) & 3, packed >> 6);
        const auto a = std::bit_cast<Words8>(pairs01);
        const auto b = std::bit_cast<Words8>(pairs23);
        const Bytes16 low_codes = std::bit_cast<Bytes16>(interleave_low(a, b)) + 6;
        const Bytes16 high_codes = std::bit_cast<Bytes16>(interleave_high(a, b)) + 6;
        return low_codes | (high_codes << 4);
    }
}

bool fill_int2(const TileShape& shape, const BlockRows& rows, std::byte* out) {
    const uint32_t padded = shape.padded_columns();
    const uint32_t group = shape.group_columns();
    for (uint32_t first = 0; first < padded; first += group) {
        const uint32_t quarter = std::min(group, padded - first) / 4;
        std::byte* bytes = out + uint64_t(first) / 4 * kTileRows;
        for (uint32_t c = 0; c < quarter; ++c)
            for (uint32_t row = 0; row < kTileRows; ++row) {
                uint32_t byte = 0;
                for (uint32_t part = 0; part < 4; ++part) {
                    const uint32_t column = first + part * quarter + c;
                    // packed_code widens to the offset of nibbles.
                    byte |= (packed_code<2>(rows, shape.columns, row, column) - 6U) << (2 * part);
                }
                bytes[(uint64_t(c / 4) * kTileRows + row) * 4 + c % 4] = std::byte(byte);
            }
    }
    return true;
}

// False when the value is not exact in this type.
bool store_scale(ScaleType type, float value, uint64_t index, std::byte* scales) {
    if (type == ScaleType::f32) {
        std::memcpy(scales + index * sizeof value, &value, sizeof value);
        return true;
    }
    const uint16_t bits = f32_to_f16(value);
    std::memcpy(scales + index * sizeof bits, &bits, sizeof bits);
    return f16_to_f32(bits) == value;
}

template <uint32_t kBits>
bool fill_int4(const TileShape& shape, const BlockRows& rows, std::byte* out) {
    const uint32_t padded = shape.padded_columns();
    const uint32_t group = shape.group_columns();
    for (uint32_t first = 0; first < padded; first += group) {
        const uint32_t half = std::min(group, padded - first) / 2;
        for (uint32_t c = 0; c < half; c += 16) {
            const uint32_t used = std::min(16U, half - c);
            std::byte* pairs = out + (uint64_t(first) / 2 + c) * kTileRows;
            for (uint32_t r = 0; r < 16; r += 4) {
                Dwords4 tile[4];
                for (uint32_t i = 0; i < 4; ++i)
                    tile[i] = std::bit_cast<Dwords4>(nibble_pairs<kBits>(
                        rows, shape.columns, r + i, first + c, first + half + c, used));
                store_quads(tile, r, used / 4, pairs);
            }
        }
    }
    return true;
}

bool fill_bf16(const TileShape& shape, const BlockRows& rows, std::byte* out) {
    const bool widen = shape.format.kind == WeightKind::f32;
    Words8 bad{};
    for (uint32_t c = 0; c < shape.columns; c += 8) {
        const uint32_t count = std::min(8U, shape.columns - c);
        for (uint32_t r = 0; r < 16; r += 8) {
            Words8 tile[8];
            for (uint32_t i = 0; i < 8; ++i) {
                tile[i] = load_row<Words8>(rows, r + i, uint64_t(c) * 2);
                bad |= Words8((tile[i] & 0x7F80) == 0x7F80);
            }
            transpose(tile);
            for (uint32_t i = 0; i < count; ++i) {
                const uint64_t cell = uint64_t(c + i) * kTileRows + r;
                if (widen) {
                    store_vector(out + cell * 4, interleave_low(Words8{}, tile[i]));
                    store_vector(out + cell * 4 + 16, interleave_high(Words8{}, tile[i]));
                } else {
                    store_vector(out + cell * 2, tile[i]);
                }
            }
        }
    }
    return !any_set(bad);
}

bool fill_f32(const TileShape& shape, const BlockRows& rows, std::byte* out) {
    Dwords4 bad{};
    for (uint32_t c = 0; c < shape.columns; c += 4) {
        const uint32_t count = std::min(4U, shape.columns - c);
        for (uint32_t r = 0; r < 16; r += 4) {
            Dwords4 tile[4];
            for (uint32_t i = 0; i < 4; ++i) {
                tile[i] = load_row<Dwords4>(rows, r + i, uint64_t(c) * 4);
                bad |= Dwords4((tile[i] & 0x7F800000U) == 0x7F800000U);
            }
            transpose(tile);
            for (uint32_t i = 0; i < count; ++i)
                store_vector(out + (uint64_t(c + i) * kTileRows + r) * 4, tile[i]);
        }
    }
    return !any_set(bad);
}

// Binary16 is rare in checkpoints: widened a cell at a time, exactly. Its exponent and fraction,
// moved to where binary32 has them, are the value times 2^-112.
bool fill_f16(const TileShape& shape, const BlockRows& rows, std::byte* out) {
    bool good = true;
    for (uint32_t c = 0; c < shape.columns; ++c) {
        float cells[kTileRows] = {};
        for (uint32_t r = 0; r < rows.count; ++r) {
            uint16_t bits = 0;
            std::memcpy(&bits, rows.at(r, uint64_t(c) * 2), sizeof bits);
            good &= (bits & 0x7C00U) != 0x7C00U;
            const float magnitude = std::bit_cast<float>(uint32_t(bits & 0x7FFFU) << 13) * 0x1p112F;
            cells[r] = (bits & 0x8000U) != 0 ? -magnitude : magnitude;
        }
        std::memcpy(out + uint64_t(c) * sizeof cells, cells, sizeof cells);
    }
    return good;
}

}  // namespace

Status retile_float(const TileShape& shape, DType source_type, std::span<const std::byte> source,
                    uint32_t block_begin, uint32_t block_end, std::byte* out) {
    CHECK(shape.format.kind == WeightKind::f32 ||
          (shape.format.kind == WeightKind::bf16 && source_type == DType::bf16));
    const Job job{shape, source, uint64_t(shape.columns) * size_bytes(source_type), block_begin,
                  block_end};
    if (source_type == DType::f32)
        return each_block(
            job, out,
            [&](const BlockRows& rows, std::byte* to) { return fill_f32(shape, rows, to); },
            [&](const BlockRows& rows, uint32_t first) {
                return find_not_finite<uint32_t>(rows, first, shape.columns, [](uint32_t bits) {
                    return (bits & 0x7F800000U) == 0x7F800000U;
                });
            });
    CHECK(source_type == DType::bf16 || source_type == DType::f16);
    const uint32_t exponent = source_type == DType::bf16 ? 0x7F80 : 0x7C00;
    return each_block(
        job, out,
        [&](const BlockRows& rows, std::byte* to) {
            return source_type == DType::bf16 ? fill_bf16(shape, rows, to)
                                              : fill_f16(shape, rows, to);
        },
        [&](const BlockRows& rows, uint32_t first) {
            return find_not_finite<uint16_t>(rows, first, shape.columns, [&](uint16_t bits) {
                return (bits & exponent) == exponent;
            });
        });
}

Status retile_fp8(const TileShape& shape, std::span<const std::byte> source, uint32_t block_begin,
                  uint32_t block_end, std::byte* out) {
    CHECK(shape.format.kind == WeightKind::fp8);
    return each_block(
        {shape, source, shape.columns, block_begin, block_end}, out,
        [&](const BlockRows& rows, std::byte* to) { return fill_fp8(shape, rows, to); },
        [&](const BlockRows& rows, uint32_t first) {
            return find_not_finite<uint8_t>(rows, first, shape.columns,
                                            [](uint8_t bits) { return (bits & 0x7F) == 0x7F; });
        });
}

Status retile_int8(const TileShape& shape, std::span<const std::byte> source, uint32_t block_begin,
                   uint32_t block_end, std::byte* out) {
    CHECK(shape.format.kind == WeightKind::int8);
    return each_block(
        {shape, source, shape.columns, block_begin, block_end}, out,
        [&](const BlockRows& rows, std::byte* to) { return fill_int8(shape, rows, to); },
        [](const BlockRows&, uint32_t) { return Status{}; });
}

Status retile_int4(const TileShape& shape, uint32_t bits, std::span<const std::byte> source,
                   uint32_t block_begin, uint32_t block_end, std::byte* out) {
    CHECK(shape.format.kind == WeightKind::int4 && (bits == 4 || bits == 2));
    const uint32_t row_bytes = ceil_div(shape.columns, 8 / bits);
    return each_block(
        {shape, source, row_bytes, block_begin, block_end}, out,
        [&](const BlockRows& rows, std::byte* to) {
            return bits == 4 ? fill_int4<4>(shape, rows, to) : fill_int4<2>(shape, rows, to);
        },
        [](const BlockRows&, uint32_t) { return Status{}; });
}

Status retile_int2(const TileShape& shape, std::span<const std::byte> source, uint32_t block_begin,
                   uint32_t block_end, std::byte* out) {
    CHECK(shape.format.kind == WeightKind::int2);
    return each_block(
        {shape, source, ceil_div(shape.columns, 4U), block_begin, block_end}, out,
        [&](const BlockRows& rows, std::byte* to) { return fill_int2(shape, rows, to); },
        [](const BlockRows&, uint32_t) { return Status{}; });
}

Status retile_scales(const TileShape& shape, std::span<const float> source, uint32_t source_groups,
                     uint32_t first_row, uint32_t row_divisor, std::byte* out) {
    const uint32_t groups = shape.scale_groups();
    if (groups == 0 || shape.rows == 0) return {};
    CHECK(row_divisor != 0);
    const uint64_t last_row = (uint64_t(first_row) + shape.rows - 1) / row_divisor;
    if (groups > source_groups || (last_row + 1) * source_groups > source.size())
        return fail(ErrorKind::corrupt,
                    fmt::format("found {} scales in rows of {}, expected at least {} rows of {}",
                                source.size(), source_groups, last_row + 1, groups));
    std::byte* scales = out + shape.data_bytes();
    for (uint32_t row = 0; row < shape.blocks() * kTileRows; ++row) {
        const uint64_t first = uint64_t(row / kTileRows) * groups * kTileRows + row % kTileRows;
        const uint64_t source_row = (uint64_t(first_row) + row) / row_divisor;
        for (uint32_t g = 0; g < groups; ++g) {
            const float value = row < shape.rows ? source[source_row * source_groups + g] : 0.0F;
            if (!std::isfinite(value))
                return not_finite(uint32_t(source_row), g, fmt::format("scale {}", value));
            if (!store_scale(shape.format.scales, value, first + uint64_t(g) * kTileRows, scales))
                return fail(ErrorKind::corrupt,
                            fmt::format("scale {} at row {}, group {} is not exact in 16 bits",
                                        value, source_row, g));
        }
    }
    return {};
}

}  // namespace colibri

#include "convert/produce.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "convert/decode.h"
#include "tensor/dtype.h"

namespace colibri {

namespace {

// Rows that are decoded and quantized together: enough to fill row blocks, few enough for a cache.
constexpr uint32_t kRecodeRows = 16;

// A matrix (or some rows of one) as rows in a stored form.
struct RowMajor {
    MatrixSource source;  // coding, shape, row_bytes, scale_groups, scale_row_divisor
    std::vector<std::byte> raw;
    std::vector<float> scales;
};

Coding coding_of(WeightKind kind) {
    switch (kind) {
        case WeightKind::f32: return Coding::f32;
        case WeightKind::bf16: return Coding::bf16;
        case WeightKind::fp8: return Coding::f8_e4m3;
        case WeightKind::int8: return Coding::int8;
        case WeightKind::int4: return Coding::int4;
        case WeightKind::int2: return Coding::int2;
    }
    return Coding::f32;
}

uint64_t row_bytes_of(WeightKind kind, uint64_t columns) {
    switch (kind) {
        case WeightKind::f32: return columns * 4;
        case WeightKind::bf16: return columns * 2;
        case WeightKind::fp8:
        case WeightKind::int8: return columns;
        case WeightKind::int4: return ceil_div(columns, uint64_t(2));
        case WeightKind::int2: return ceil_div(columns, uint64_t(4));
    }
    return 0;
}

// Describes `rows` rows in the format `format`, without their bytes.
RowMajor empty_rows(const MatrixSource& source, WeightFormat format, uint32_t rows) {
    RowMajor out;
    out.source.name = source.name;
    out.source.data = source.data;
    out.source.coding = coding_of(format.kind);
    out.source.shape = {.format = format, .rows = rows, .columns = source.shape.columns};
    out.source.row_bytes = row_bytes_of(format.kind, source.shape.columns);
    out.source.scale_groups = out.source.shape.scale_groups();
    out.source.scale_row_divisor = 1;
    // Says that there are scales; they are not read from anywhere.
    out.source.scales = out.source.scale_groups > 0 ? source.data : nullptr;
    out.raw.resize(out.source.row_bytes * rows);
    out.scales.resize(uint64_t(rows) * out.source.scale_groups);
    return out;
}

void pack_int4(std::span<const int8_t> codes, std::byte* out) {
    const size_t pairs = codes.size() / 2;
    for (size_t i = 0; i < pairs; ++i)
        out[i] = std::byte(uint8_t((codes[2 * i] + 8) | (codes[2 * i + 1] + 8) << 4));
    if (codes.size() % 2 != 0) out[pairs] = std::byte(uint8_t(codes.back() + 8));
}

void pack_int2(std::span<const int8_t> codes, std::byte* out) {
    std::fill_n(out, ceil_div(codes.size(), size_t(4)), std::byte(0));
    for (size_t i = 0; i < codes.size(); ++i)
        out[i / 4] |= std::byte(uint8_t((codes[i] + 2) << (i % 4 * 2)));
}

class Recoder {
public:
    Recoder(const MatrixSource& source, std::span<const float> scales, WeightFormat format,
            ScaleSearch search, std::span<const float> importance)
        : source_(source),
          scales_(scales),
          format_(format),
          search_(search),
          importance_(importance),
          values_(source.shape.columns),
          codes_(source.shape.columns) {}

    // `raw`: rows of the source, the first being row `first` of it (scales go by that).
    Result<RowMajor> run(std::span<const std::byte> raw, uint32_t first, uint32_t rows) {
        RowMajor out = empty_rows(source_, format_, rows);
        for (uint32_t r = 0; r < rows; ++r) {
            const size_t groups = source_.scale_groups;
            const std::span<const float> own =
                scales_.empty()
                    ? scales_
                    : scales_.subspan((first + r) / source_.scale_row_divisor * groups, groups);
            Status status = decode_row(
                source_, raw.subspan(r * source_.row_bytes, source_.row_bytes), own, values_);
            if (!status)
                return tl::unexpected(
                    std::move(status).error().within(fmt::format("row {}", first + r)));
            encode(out, r);
        }
        return out;
    }

private:
    void encode(RowMajor& out, uint32_t row) {
        std::byte* bytes = out.raw.data() + row * out.source.row_bytes;
        const size_t groups = out.source.scale_groups;
        const std::span<float> scales = std::span(out.scales).subspan(row * groups, groups);
        switch (format_.kind) {
            case WeightKind::f32: std::memcpy(bytes, values_.data(), values_.size() * 4); return;
            case WeightKind::bf16:
                for (size_t i = 0; i < values_.size(); ++i) {
                    const uint16_t bits = f32_to_bf16(values_[i]);
                    std::memcpy(bytes + 2 * i, &bits, 2);
                }
                return;
            case WeightKind::fp8:
                quantize_row_fp8(format_.group, values_,
                                 {reinterpret_cast<uint8_t*>(bytes), values_.size()}, scales);
                return;
            case WeightKind::int8:
                quantize_row(format_, search_, values_, importance_,
                             {reinterpret_cast<int8_t*>(bytes), values_.size()}, scales);
                return;
            case WeightKind::int4:
                quantize_row(format_, search_, values_, importance_, codes_, scales);
                pack_int4(codes_, bytes);
                return;
            case WeightKind::int2:
                quantize_row(format_, search_, values_, importance_, codes_, scales);
                pack_int2(codes_, bytes);
                return;
        }
    }

    const MatrixSource& source_;
    std::span<const float> scales_;
    WeightFormat format_;
    ScaleSearch search_;
    std::span<const float> importance_;
    std::vector<float> values_;
    std::vector<int8_t> codes_;
};

// Scales of one row block.
uint64_t scale_block_bytes(const TileShape& shape) {
    return uint64_t(shape.scale_groups()) * kTileRows * shape.scale_size();
}

// Rows [row, row + rows) of a matrix as a matrix of its own. `row` is a multiple of the rows that
// share a scale.
MatrixSource some_rows(const MatrixSource& source, uint32_t row, uint32_t rows) {
    MatrixSource part = source;
    part.data_begin += row * source.row_bytes;
    part.scales_begin += uint64_t(row / source.scale_row_divisor) * source.scale_groups;
    part.shape.rows = rows;
    return part;
}

}  // namespace

Status Producer::matrix(const MatrixSource& source, const TileShape& shape,
                        std::span<const float> importance, std::byte* out) const {
    std::vector<std::byte> raw(source.data_bytes());
    TRY_STATUS(checkpoint_.read(*source.data, source.data_begin, raw));
    TRY(const std::vector<float> scales, read_scales(checkpoint_, source));
    if (shape.format == source.shape.format) {
        TRY_STATUS(retile_data(source, raw, 0, shape.blocks(), out));
        return retile_all_scales(source, scales, 0, out);
    }
    Recoder recoder(source, scales, shape.format, search_, importance);
    const uint64_t scale_block = scale_block_bytes(shape);
    std::vector<std::byte> block;
    for (uint32_t row = 0; row < shape.rows; row += kRecodeRows) {
        const uint32_t rows = std::min(kRecodeRows, shape.rows - row);
        TRY(const RowMajor part,
            recoder.run(std::span(raw).subspan(row * source.row_bytes), row, rows));
        const uint32_t at = row / kTileRows;
        TRY_STATUS(retile_data(part.source, part.raw, 0, 1, out + at * shape.block_bytes()));
        if (scale_block == 0) continue;
        // Data and scales of one block, of which the scales are wanted.
        block.resize(part.source.shape.total_bytes());
        TRY_STATUS(retile_all_scales(part.source, part.scales, 0, block.data()));
        std::memcpy(out + shape.data_bytes() + at * scale_block,
                    block.data() + part.source.shape.data_bytes(), scale_block);
    }
    return {};
}

Result<Produced> Producer::rows(const ConvertUnit& unit) const {
    const DensePlan& item = plan_.dense[unit.item];
    const uint32_t first = unit.begin * kTileRows;
    TileShape shape = item.shape;
    shape.rows = std::min(shape.rows, unit.end * kTileRows) - first;
    const std::vector<float> importance =
        calibration_ != nullptr ? calibration_->matrix(item.job.source.name) : std::vector<float>();
    Produced out;
    out.bytes.resize(shape.total_bytes());
    TRY_STATUS(
        matrix(some_rows(item.job.source, first, shape.rows), shape, importance, out.bytes.data()));
    const auto scales = out.bytes.begin() + ptrdiff_t(shape.data_bytes());
    out.scales.assign(scales, scales + ptrdiff_t(scale_block_bytes(shape) * shape.blocks()));
    out.bytes.resize(shape.block_bytes() * shape.blocks());
    return out;
}

Result<Produced> Producer::vector(const ConvertUnit& unit) const {
    const MatrixSource& source = plan_.dense[unit.item].job.source;
    const uint32_t count = source.shape.rows;
    std::vector<std::byte> raw(source.data_bytes());
    TRY_STATUS(checkpoint_.read(*source.data, source.data_begin, raw));
    std::vector<float> values(count);
    MatrixSource as_row = source;
    as_row.shape.columns = count;
    TRY_STATUS(decode_row(as_row, raw, {}, values));
    Produced out;
    out.bytes.resize(unit.out_bytes);
    std::memcpy(out.bytes.data(), values.data(), out.bytes.size());
    return out;
}

Result<Produced> Producer::kv_b(const ConvertUnit& unit) const {
    const DensePlan& item = plan_.dense[unit.item];
    const MatrixSource& stored = item.job.source;
    RowMajor all;
    all.source = stored;
    all.raw.resize(stored.data_bytes());
    TRY_STATUS(checkpoint_.read(*stored.data, stored.data_begin, all.raw));
    TRY(all.scales, read_scales(checkpoint_, stored));
    if (item.shape.format != stored.shape.format) {
        // The halves are multiplied along different axes, so a calibration of one input says
        // nothing about the matrix as a whole.
        Recoder recoder(stored, all.scales, item.shape.format, search_, {});
        TRY(RowMajor recoded, recoder.run(all.raw, 0, stored.shape.rows));
        all = std::move(recoded);
    }
    Produced out;
    out.bytes.resize(unit.out_bytes);
    std::byte* at = out.bytes.data();
    FillJob key = item.job;
    FillJob value = item.value;
    const ContainerTensor* tensor = &plan_.manifest.tensors[item.first_tensor];
    key.source = value.source = all.source;
    key.head_shape.format = key_up_format(item.shape.format);
    key.head_stride_bytes = tensor->size_bytes() / tensor->heads;
    key.out = at;
    at += tensor->size_bytes();
    key.column_scales = nullptr;
    if (key.head_shape.format.group != 0) {
        ++tensor;
        key.column_scales = reinterpret_cast<float*>(at);
        at += tensor->size_bytes();
    }
    ++tensor;
    value.head_shape.format = item.shape.format;
    value.head_stride_bytes = tensor->size_bytes() / tensor->heads;
    value.out = at;
    for (const FillJob* job : {&key, &value})
        for (uint32_t h = 0; h < job->heads; ++h) {
            const uint64_t first = uint64_t(h) * job->head_rows + job->first_row;
            const auto rows = std::span<const std::byte>(all.raw).subspan(
                first * all.source.row_bytes, job->rows_used * all.source.row_bytes);
            TRY_STATUS(job == &key ? lay_out_key_up(*job, h, rows, all.scales)
                                   : lay_out_value_up(*job, h, rows, all.scales));
        }
    return out;
}

Result<Produced> Producer::experts(const ConvertUnit& unit) const {
    const ExpertPlan& layer = plan_.experts[unit.item];
    const ExtentLayout extent = extent_layout(layer.target.parts);
    Produced out;
    out.bytes.resize(extent.size_bytes);
    for (uint32_t part = 0; part < 3; ++part) {
        const MatrixSource& source = layer.source.sources[unit.begin][part];
        const std::vector<float> importance =
            calibration_ != nullptr ? calibration_->expert(layer.source.layer, unit.begin, part)
                                    : std::vector<float>();
        Status status = matrix(source, layer.target.parts[part], importance,
                               out.bytes.data() + extent.offsets[part]);
        if (!status)
            return tl::unexpected(
                std::move(status).error().within(checkpoint_.where(*source.data)));
    }
    const std::span<const std::byte> bytes(out.bytes);
    out.parts = {xxh3_128(bytes.first(extent.offsets[2])),
                 xxh3_128(bytes.subspan(extent.offsets[2]))};
    return out;
}

Result<Produced> Producer::run(const ConvertUnit& unit) const {
    if (unit.kind == ConvertUnit::Kind::experts) return experts(unit);
    auto made = unit.kind == ConvertUnit::Kind::rows     ? rows(unit)
                : unit.kind == ConvertUnit::Kind::vector ? vector(unit)
                                                         : kv_b(unit);
    if (!made)
        return tl::unexpected(std::move(made).error().within(
            checkpoint_.where(*plan_.dense[unit.item].job.source.data)));
    return made;
}

void for_each_range(const ConvertPlan& plan, const ConvertUnit& unit,
                    const std::function<void(uint32_t, uint64_t, uint64_t)>& range) {
    const auto matrix = [&](const MatrixSource& source) {
        range(source.data->file, source.data->offset + source.data_begin, source.data_bytes());
        if (source.scales == nullptr) return;
        const uint64_t element = size_bytes(source.scales->dtype);
        range(source.scales->file, source.scales->offset + source.scales_begin * element,
              source.scale_count() * element);
    };
    if (unit.kind == ConvertUnit::Kind::experts) {
        for (const MatrixSource& source : plan.experts[unit.item].source.sources[unit.begin])
            matrix(source);
        return;
    }
    const DensePlan& item = plan.dense[unit.item];
    if (unit.kind != ConvertUnit::Kind::rows) return matrix(item.job.source);
    const uint32_t first = unit.begin * kTileRows;
    const uint32_t end = std::min(item.shape.rows, unit.end * kTileRows);
    matrix(some_rows(item.job.source, first, end - first));
}

}  // namespace colibri

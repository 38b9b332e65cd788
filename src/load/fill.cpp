// Reading resident weights: bounded staging, re-tiling on the team.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <mutex>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "load/bind.h"
#include "tensor/dtype.h"
#include "tensor/retile.h"

namespace colibri {

namespace {

constexpr uint64_t kStoredChunkBytes = 4 << 20;

// Exact value of one stored element, scales not applied.
float element(Coding coding, const std::byte* row, uint32_t column) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(row);
    uint16_t half = 0;
    switch (coding) {
        case Coding::f32: {
            float value = 0;
            std::memcpy(&value, bytes + size_t(column) * 4, 4);
            return value;
        }
        case Coding::f16:
            std::memcpy(&half, bytes + size_t(column) * 2, 2);
            return f16_to_f32(half);
        case Coding::bf16:
            std::memcpy(&half, bytes + size_t(column) * 2, 2);
            return bf16_to_f32(half);
        case Coding::f8_e4m3: return f8_e4m3_to_f32(bytes[column]);
        case Coding::int8: return float(int8_t(bytes[column]));
        case Coding::int4: return float(int((bytes[column / 2] >> (column % 2 * 4)) & 15) - 8);
        case Coding::int2: return float(int((bytes[column / 4] >> (column % 4 * 2)) & 3) - 2);
    }
    return 0;
}

Status store_cell(Coding coding, const std::byte* row, uint32_t column, std::byte* out,
                  uint64_t cell) {
    const float value = element(coding, row, column);
    if (!std::isfinite(value))
        return fail(ErrorKind::corrupt, fmt::format("column {} is not a finite number", column));
    switch (coding) {
        case Coding::f32:
        case Coding::f16: std::memcpy(out + cell * 4, &value, 4); break;
        case Coding::bf16: std::memcpy(out + cell * 2, row + size_t(column) * 2, 2); break;
        case Coding::f8_e4m3: out[cell] = row[column]; break;
        case Coding::int8:
        case Coding::int4:
        case Coding::int2: out[cell] = std::byte(int8_t(value)); break;
    }
    return {};
}

class Filler {
public:
    Filler(const Checkpoint& checkpoint, ThreadPool& pool,
           const std::function<void(uint64_t, uint64_t)>& progress)
        : checkpoint_(checkpoint), pool_(pool), progress_(progress) {}

    Status run(const std::vector<FillJob>& jobs) {
        uint64_t largest_row = 0;
        for (const FillJob& job : jobs) {
            total_ += job.source.data_bytes();
            largest_row = std::max(largest_row, job.source.row_bytes);
        }
        TRY(staging_,
            AlignedBuffer::allocate(std::max(kFillStagingBytes, kTileRows * largest_row)));
        for (const FillJob& job : jobs) {
            Status filled = fill(job);
            if (!filled)
                return tl::unexpected(
                    std::move(filled.error()).within(checkpoint_.where(*job.source.data)));
        }
        return {};
    }

private:
    Status fill(const FillJob& job) {
        switch (job.kind) {
            case FillJob::Kind::matrix: return matrix(job);
            case FillJob::Kind::vector: return vector(job);
            case FillJob::Kind::key_up: return key_up(job);
            case FillJob::Kind::value_up: return value_up(job);
            case FillJob::Kind::stored: return stored(job);
        }
        return {};
    }

    // Reads rows [row, row + rows) of the source into staging.
    Result<std::span<const std::byte>> read_rows(const MatrixSource& source, uint64_t row,
                                                 uint64_t rows) {
        const std::span<std::byte> into = staging_.bytes().first(rows * source.row_bytes);
        TRY_STATUS(
            checkpoint_.read(*source.data, source.data_begin + row * source.row_bytes, into));
        done_ += into.size();
        if (progress_) progress_(std::min(done_, total_), total_);
        return std::span<const std::byte>(into);
    }

    // Straight into its place, checked on the way.
    Status stored(const FillJob& job) {
        const TensorInfo& tensor = *job.source.data;
        const Container& container = *checkpoint_.container();
        const uint32_t index = *container.find(tensor.name);
        Xxh3Stream stream;
        for (uint64_t at = 0; at < tensor.size_bytes; at += kStoredChunkBytes) {
            const std::span<std::byte> part{job.out + at,
                                            std::min(kStoredChunkBytes, tensor.size_bytes - at)};
            TRY_STATUS(checkpoint_.read(tensor, at, part));
            stream.update(part);
            done_ += part.size();
            if (progress_) progress_(std::min(done_, total_), total_);
        }
        const Digest128 expected = container.checksums().tensors[index];
        if (stream.digest() != expected)
            return fail(ErrorKind::corrupt,
                        fmt::format("its checksum is {}, expected {}: the bytes on disk are "
                                    "damaged; coli doctor --deep lists all damage",
                                    to_hex(stream.digest()), to_hex(expected)));
        return check_finite(container.manifest().tensors[index], job.out);
    }

    // A sound file may still hold what some other writer should not have put there.
    static Status check_scales(const MatrixView& matrix) {
        const TileShape& shape = matrix.shape;
        const uint64_t count = uint64_t(shape.blocks()) * shape.scale_groups() * kTileRows;
        for (uint64_t i = 0; i < count; ++i)
            if (!std::isfinite(matrix.scale(i)))
                return fail(ErrorKind::corrupt, fmt::format("scale {} is not a finite number", i));
        return {};
    }
    static Status check_finite(const ContainerTensor& tensor, const std::byte* bytes) {
        uint64_t count = 0;
        switch (tensor.layout) {
            case TensorLayout::vector: count = tensor.rows; break;
            case TensorLayout::tile16:
                return check_scales({.shape = tensor.shape(), .data = bytes});
            case TensorLayout::key_up_scales: count = tensor.size_bytes() / sizeof(float); break;
            case TensorLayout::key_up:
            case TensorLayout::value_up: break;  // scales of value_up are those of key_up
        }
        const auto* floats = reinterpret_cast<const float*>(bytes);
        for (uint64_t i = 0; i < count; ++i)
            if (!std::isfinite(floats[i]))
                return fail(
                    ErrorKind::corrupt,
                    fmt::format("{} {} is not a finite number",
                                tensor.layout == TensorLayout::vector ? "element" : "scale", i));
        return {};
    }

    Status matrix(const FillJob& job) {
        const TileShape& shape = job.source.shape;
        const auto step = uint32_t(
            std::max(uint64_t(1), staging_.size_bytes() / (job.source.row_bytes * kTileRows)));
        for (uint32_t block = 0; block < shape.blocks(); block += step) {
            const uint32_t end = std::min(shape.blocks(), block + step);
            const uint32_t first_row = block * kTileRows;
            TRY(const auto raw, read_rows(job.source, first_row,
                                          std::min(shape.rows, end * kTileRows) - first_row));
            TRY_STATUS(retile_parallel(job.source, raw, block, end, job.out));
        }
        TRY(const auto scales, read_scales(checkpoint_, job.source));
        return retile_all_scales(job.source, scales, 0, job.out);
    }

    Status retile_parallel(const MatrixSource& source, std::span<const std::byte> raw,
                           uint32_t begin, uint32_t end, std::byte* out) {
        std::mutex mutex;
        Status result;
        pool_.split(end - begin, 1, [&](uint32_t from, uint32_t to) {
            const uint64_t skip = uint64_t(from) * kTileRows * source.row_bytes;
            Status part = retile_data(source, raw.subspan(skip), begin + from, begin + to, out);
            if (part) return;
            const std::lock_guard lock(mutex);
            if (result) result = std::move(part);
        });
        return result;
    }

    Status vector(const FillJob& job) {
        TRY(const auto raw, read_rows(job.source, 0, job.source.shape.rows));
        auto* out = reinterpret_cast<float*>(job.out);
        for (uint32_t i = 0; i < job.source.shape.rows; ++i) {
            out[i] = element(job.source.coding, raw.data() + i * job.source.row_bytes, 0);
            if (!std::isfinite(out[i]))
                return fail(ErrorKind::corrupt,
                            fmt::format("element {} is not a finite number", i));
        }
        return {};
    }

    Status key_up(const FillJob& job) {
        TRY(const auto scales, read_scales(checkpoint_, job.source));
        for (uint32_t h = 0; h < job.heads; ++h) {
            TRY(const auto rows, read_head_rows(job, h * job.head_rows + job.first_row));
            TRY_STATUS(lay_out_key_up(job, h, rows, scales));
        }
        return {};
    }

    Status value_up(const FillJob& job) {
        TRY(const auto scales, read_scales(checkpoint_, job.source));
        for (uint32_t h = 0; h < job.heads; ++h) {
            TRY(const auto rows, read_head_rows(job, h * job.head_rows + job.first_row));
            TRY_STATUS(lay_out_value_up(job, h, rows, scales));
        }
        return {};
    }

    // One head's rows; staging holds at least 16 of the widest matrix, heads are larger: grow it
    // once.
    Result<std::span<const std::byte>> read_head_rows(const FillJob& job, uint32_t first) {
        const uint64_t need = job.rows_used * job.source.row_bytes;
        if (staging_.size_bytes() < need) {
            TRY(staging_, AlignedBuffer::allocate(need));
        }
        return read_rows(job.source, first, job.rows_used);
    }

    const Checkpoint& checkpoint_;
    ThreadPool& pool_;
    const std::function<void(uint64_t, uint64_t)>& progress_;
    AlignedBuffer staging_;
    uint64_t done_ = 0;
    uint64_t total_ = 0;
};

}  // namespace

// W_UK of the head, transposed: cell [block of 16 latent dims][nope dim][lane].
Status lay_out_key_up(const FillJob& job, uint32_t head, std::span<const std::byte> rows,
                      std::span<const float> scales) {
    const MatrixSource& source = job.source;
    std::byte* out = job.out + head * job.head_stride_bytes;
    for (uint32_t n = 0; n < job.rows_used; ++n)
        for (uint32_t d = 0; d < job.head_shape.rows; ++d) {
            const uint64_t cell =
                (uint64_t(d / kTileRows) * job.rows_used + n) * kTileRows + d % kTileRows;
            TRY_STATUS(store_cell(source.coding, rows.data() + n * source.row_bytes, d, out, cell));
        }
    if (job.column_scales == nullptr) return {};
    const uint32_t first = head * job.head_rows + job.first_row;
    float* head_scales =
        job.column_scales + uint64_t(head) * job.head_shape.blocks() * job.rows_used;
    const uint32_t group =
        source.scale_groups == 1 ? job.head_shape.rows : source.shape.group_columns();
    for (uint32_t block = 0; block < job.head_shape.blocks(); ++block)
        for (uint32_t n = 0; n < job.rows_used; ++n)
            head_scales[uint64_t(block) * job.rows_used + n] =
                scales[uint64_t((first + n) / source.scale_row_divisor) * source.scale_groups +
                       block * kTileRows / group];
    return {};
}

Status lay_out_value_up(const FillJob& job, uint32_t head, std::span<const std::byte> rows,
                        std::span<const float> scales) {
    MatrixSource source = job.source;
    source.shape = job.head_shape;
    std::byte* out = job.out + head * job.head_stride_bytes;
    TRY_STATUS(retile_data(source, rows, 0, job.head_shape.blocks(), out));
    return retile_all_scales(source, scales, head * job.head_rows + job.first_row, out);
}

Status fill_dense(const Checkpoint& checkpoint, const std::vector<FillJob>& jobs, ThreadPool& pool,
                  const std::function<void(uint64_t, uint64_t)>& progress) {
    return Filler(checkpoint, pool, progress).run(jobs);
}

}  // namespace colibri

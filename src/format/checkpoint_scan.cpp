#include "format/checkpoint_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/units.h"
#include "tensor/dtype.h"

namespace colibri {

namespace {

constexpr uint64_t kWindowBytes = 4 * kMiB;  // a multiple of every element's size

template <class Word>
std::optional<uint64_t> find_bits(std::span<const std::byte> bytes, Word mask) {
    for (uint64_t i = 0; i < bytes.size() / sizeof(Word); ++i) {
        Word word = 0;
        std::memcpy(&word, bytes.data() + i * sizeof(Word), sizeof(Word));
        if ((word & mask) == mask) return i;
    }
    return std::nullopt;
}

// Place of the first element with all exponent bits set: infinity or NaN. F8_E4M3 has no infinity;
// its one NaN has all bits but the sign.
std::optional<uint64_t> find_not_finite(DType type, std::span<const std::byte> bytes) {
    switch (type) {
        case DType::f32: return find_bits<uint32_t>(bytes, 0x7F800000U);
        case DType::bf16: return find_bits<uint16_t>(bytes, 0x7F80U);
        case DType::f16: return find_bits<uint16_t>(bytes, 0x7C00U);
        case DType::f8_e4m3: return find_bits<uint8_t>(bytes, 0x7FU);
        case DType::f8_e8m0: return find_bits<uint8_t>(bytes, 0xFFU);
        case DType::u8:
        case DType::i8:
        case DType::i32:
        case DType::i64: return std::nullopt;
    }
    return std::nullopt;
}

}  // namespace

Result<std::vector<ContainerFinding>> scan_checkpoint(
    const Checkpoint& checkpoint,
    const std::function<void(uint64_t done, uint64_t total)>& progress, const CancelToken* cancel) {
    std::vector<ContainerFinding> findings;
    std::vector<std::byte> window;
    uint64_t total = 0;
    for (const TensorInfo& tensor : checkpoint.tensors()) total += tensor.size_bytes;
    uint64_t done = 0;
    for (const TensorInfo& tensor : checkpoint.tensors()) {
        bool found = false;
        for (uint64_t at = 0; at < tensor.size_bytes && !found; at += kWindowBytes) {
            if (is_cancelled(cancel))
                return fail(ErrorKind::cancelled, "reading the model: cancelled");
            window.resize(std::min(kWindowBytes, tensor.size_bytes - at));
            const Status read = checkpoint.read(tensor, at, window);
            const auto place =
                read ? find_not_finite(tensor.dtype, window) : std::optional<uint64_t>();
            if (!read)
                findings.push_back({.file = "", .what = read.error().message});
            else if (place)
                findings.push_back(
                    {.file = "",
                     .what = fmt::format("{}: number {} is not finite", checkpoint.where(tensor),
                                         at / size_bytes(tensor.dtype) + *place)});
            found = !read || place.has_value();
            if (progress) progress(done + at + window.size(), total);
        }
        done += tensor.size_bytes;
    }
    return findings;
}

}  // namespace colibri

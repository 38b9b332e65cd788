// Owned, zeroed, page-aligned bytes for weights, slots and staging.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/error.h"

namespace colibri {

// Move-only. Backed by its own anonymous mapping: pages count towards the resident set only once
// touched and go back to the system when the buffer dies. `data()` is aligned to 4 KiB. Buffers of
// 2 MiB and more are made of huge pages where the system gives them: weights stream through the
// address translation too (4 to 10 % of a decode step), and a direct read into scattered small
// pages is cut into more requests than the drive is quick at (docs/decisions/010).
class AlignedBuffer {
public:
    AlignedBuffer() = default;
    // Errors: out_of_budget when the system refuses the mapping.
    [[nodiscard]] static Result<AlignedBuffer> allocate(uint64_t size_bytes);
    AlignedBuffer(AlignedBuffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)),
          size_bytes_(std::exchange(other.size_bytes_, 0)) {}
    AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;
    AlignedBuffer(const AlignedBuffer&) = delete;
    AlignedBuffer& operator=(const AlignedBuffer&) = delete;
    ~AlignedBuffer();

    [[nodiscard]] std::byte* data() const { return data_; }
    [[nodiscard]] uint64_t size_bytes() const { return size_bytes_; }
    [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_bytes_}; }
    template <class T>
    [[nodiscard]] T* as() const {
        return reinterpret_cast<T*>(data_);
    }

private:
    std::byte* data_ = nullptr;
    uint64_t size_bytes_ = 0;
};

}  // namespace colibri

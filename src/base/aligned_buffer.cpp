#include "base/aligned_buffer.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include "base/units.h"

namespace colibri {

namespace {

// Below this a buffer's partly used last huge page would be a large share of it.
constexpr uint64_t kHugePagesFromBytes = 64 * kMiB;

}  // namespace

Result<AlignedBuffer> AlignedBuffer::allocate(uint64_t size_bytes) {
    AlignedBuffer buffer;
    if (size_bytes == 0) return buffer;
    void* mapping =
        mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED)
        return fail(ErrorKind::out_of_budget,
                    fmt::format("the system refused {} of memory", format_bytes(size_bytes)));
#ifdef MADV_HUGEPAGE
    // Weights stream through the address translation too: 4 to 10 % of a decode step. A refusal
    // costs only speed.
    if (size_bytes >= kHugePagesFromBytes) (void)madvise(mapping, size_bytes, MADV_HUGEPAGE);
#endif
    buffer.data_ = static_cast<std::byte*>(mapping);
    buffer.size_bytes_ = size_bytes;
    return buffer;
}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
    return *this;
}

AlignedBuffer::~AlignedBuffer() {
    if (data_ != nullptr) munmap(data_, size_bytes_);
}

}  // namespace colibri

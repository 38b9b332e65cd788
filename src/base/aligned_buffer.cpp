#include "base/aligned_buffer.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include "base/units.h"

namespace colibri {

namespace {

constexpr uint64_t kHugePageBytes = 2 * kMiB;
constexpr uint64_t kPageBytes = 4 * kKiB;

// Begins at a huge page, so that as much as fits of the mapping can be made of them.
void* map_at_huge_page(uint64_t size_bytes) {
    const uint64_t mapped_bytes = size_bytes + kHugePageBytes;
    if (mapped_bytes < size_bytes) return MAP_FAILED;
    void* mapping =
        mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) return mapping;
    auto* begin = static_cast<std::byte*>(mapping);
    const uint64_t before_bytes = round_up(reinterpret_cast<uintptr_t>(begin), kHugePageBytes) -
                                  reinterpret_cast<uintptr_t>(begin);
    if (before_bytes > 0) munmap(begin, before_bytes);
    const uint64_t used_bytes = round_up(size_bytes, kPageBytes);
    munmap(begin + before_bytes + used_bytes, mapped_bytes - before_bytes - used_bytes);
    begin += before_bytes;
#ifdef MADV_HUGEPAGE
    // A refusal costs only speed.
    (void)madvise(begin, used_bytes, MADV_HUGEPAGE);
#endif
    return begin;
}

}  // namespace

Result<AlignedBuffer> AlignedBuffer::allocate(uint64_t size_bytes) {
    AlignedBuffer buffer;
    if (size_bytes == 0) return buffer;
    void* mapping = size_bytes >= kHugePageBytes ? map_at_huge_page(size_bytes)
                                                 : mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE,
                                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED)
        return fail(ErrorKind::out_of_budget,
                    fmt::format("the system refused {} of memory", format_bytes(size_bytes)));
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

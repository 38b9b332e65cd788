#include "platform/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "base/units.h"

namespace colibri {

namespace {

constexpr uint64_t kHugePageBytes = 2 * kMiB;

std::span<std::byte> whole_pages(std::span<std::byte> memory) {
    const auto page_bytes = uint64_t(::sysconf(_SC_PAGESIZE));
    const auto address = reinterpret_cast<uintptr_t>(memory.data());
    const uint64_t skipped = round_up(uint64_t(address), page_bytes) - address;
    if (skipped >= memory.size()) return {};
    const uint64_t left = memory.size() - skipped;
    return memory.subspan(skipped, left / page_bytes * page_bytes);
}

}  // namespace

void release_pages(std::span<std::byte> memory) {
    const std::span<std::byte> pages = whole_pages(memory);
    if (pages.empty()) return;
    (void)::madvise(pages.data(), pages.size(), MADV_DONTNEED);
#ifdef MADV_NOHUGEPAGE
    // Else the system could fill the hole again when it makes huge pages of what lies around it.
    // Not for small holes: each is a mapping of its own then, and their number is limited.
    if (pages.size() >= kHugePageBytes)
        (void)::madvise(pages.data(), pages.size(), MADV_NOHUGEPAGE);
#endif
}

void reclaim_pages(std::span<std::byte> memory) {
    const std::span<std::byte> pages = whole_pages(memory);
#ifdef MADV_HUGEPAGE
    if (pages.size() >= kHugePageBytes) (void)::madvise(pages.data(), pages.size(), MADV_HUGEPAGE);
#endif
}

}  // namespace colibri

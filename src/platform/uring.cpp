#include "platform/uring.h"

#include <fmt/format.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/units.h"

namespace colibri {

namespace {

constexpr uint32_t kSetupEntriesMax = 4096;

tl::unexpected<Error> refused(const char* step, int error) {
    return fail(ErrorKind::unsupported,
                fmt::format("io_uring is not available here ({}: {}); use threads instead", step,
                            std::generic_category().message(error)));
}

uint32_t load(uint32_t* shared) {
    return std::atomic_ref(*shared).load(std::memory_order_acquire);
}

void store(uint32_t* shared, uint32_t value) {
    std::atomic_ref(*shared).store(value, std::memory_order_release);
}

}  // namespace

Result<Uring> Uring::create(uint32_t entries) {
    CHECK(entries > 0 && entries <= kSetupEntriesMax);
    io_uring_params params{};
    Uring ring;
    ring.descriptor_ = int(::syscall(SYS_io_uring_setup, entries, &params));
    if (ring.descriptor_ < 0) return refused("io_uring_setup", errno);
    // One mapping for both rings came with Linux 5.4, plain reads with 5.6.
    if ((params.features & IORING_FEAT_SINGLE_MMAP) == 0)
        return refused("io_uring_setup", EOPNOTSUPP);
    const auto sq_bytes = uint32_t(params.sq_off.array + params.sq_entries * sizeof(uint32_t));
    const auto cq_bytes = uint32_t(params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe));
    TRY_STATUS(ring.map_rings(sq_bytes, cq_bytes, params.sq_entries));
    auto* base = static_cast<std::byte*>(ring.rings_);
    const auto at = [&](uint32_t offset) { return reinterpret_cast<uint32_t*>(base + offset); };
    ring.submissions_ = {.head = at(params.sq_off.head),
                         .tail = at(params.sq_off.tail),
                         .mask = *at(params.sq_off.ring_mask)};
    ring.indices_ = at(params.sq_off.array);
    ring.completions_ = {.head = at(params.cq_off.head),
                         .tail = at(params.cq_off.tail),
                         .mask = *at(params.cq_off.ring_mask)};
    ring.results_ = reinterpret_cast<io_uring_cqe*>(base + params.cq_off.cqes);
    TRY_STATUS(ring.check_operations());
    return ring;
}

Status Uring::map_rings(uint32_t sq_bytes, uint32_t cq_bytes, uint32_t entries) {
    const auto map = [&](uint64_t bytes, uint64_t what) {
        return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                      descriptor_, off_t(what));
    };
    const uint64_t rings_bytes = std::max(sq_bytes, cq_bytes);
    void* rings = map(rings_bytes, IORING_OFF_SQ_RING);
    if (rings == MAP_FAILED) return refused("mmap", errno);
    rings_ = rings;
    rings_bytes_ = rings_bytes;
    const uint64_t entries_bytes = entries * sizeof(io_uring_sqe);
    void* mapped = map(entries_bytes, IORING_OFF_SQES);
    if (mapped == MAP_FAILED) return refused("mmap", errno);
    entries_ = static_cast<io_uring_sqe*>(mapped);
    entries_bytes_ = entries_bytes;
    return {};
}

Status Uring::check_operations() const {
    constexpr uint32_t kOperations = 256;
    std::vector<std::byte> bytes(sizeof(io_uring_probe) + kOperations * sizeof(io_uring_probe_op));
    auto* probe = reinterpret_cast<io_uring_probe*>(bytes.data());
    if (::syscall(SYS_io_uring_register, descriptor_, IORING_REGISTER_PROBE, probe, kOperations) <
        0)
        return refused("io_uring_register", errno);
    if (probe->last_op < IORING_OP_READ ||
        (probe->ops[IORING_OP_READ].flags & IO_URING_OP_SUPPORTED) == 0)
        return refused("IORING_OP_READ", EOPNOTSUPP);
    return {};
}

Uring::Uring(Uring&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      rings_(std::exchange(other.rings_, nullptr)),
      rings_bytes_(other.rings_bytes_),
      submissions_(other.submissions_),
      indices_(other.indices_),
      entries_(std::exchange(other.entries_, nullptr)),
      entries_bytes_(other.entries_bytes_),
      completions_(other.completions_),
      results_(other.results_),
      pushed_(other.pushed_) {}

Uring::~Uring() {
    if (entries_ != nullptr) (void)::munmap(entries_, entries_bytes_);
    if (rings_ != nullptr) (void)::munmap(rings_, rings_bytes_);
    if (descriptor_ >= 0) (void)::close(descriptor_);
}

void Uring::push_read(int descriptor, std::span<std::byte> into, uint64_t offset, uint64_t tag) {
    const uint32_t tail = *submissions_.tail;
    CHECK(tail - load(submissions_.head) <= submissions_.mask);
    const uint32_t index = tail & submissions_.mask;
    io_uring_sqe& entry = entries_[index];
    std::memset(&entry, 0, sizeof entry);
    entry.opcode = IORING_OP_READ;
    entry.fd = descriptor;
    entry.addr = reinterpret_cast<uint64_t>(into.data());
    entry.len = uint32_t(into.size());
    entry.off = offset;
    entry.user_data = tag;
    indices_[index] = index;
    store(submissions_.tail, tail + 1);
    ++pushed_;
}

void Uring::submit() {
    if (pushed_ == 0) return;
    const long took = ::syscall(SYS_io_uring_enter, descriptor_, pushed_, 0, 0, nullptr, 0);
    if (took > 0) pushed_ -= uint32_t(took);
}

void Uring::submit_and_wait() {
    while (true) {
        const long took = ::syscall(SYS_io_uring_enter, descriptor_, pushed_, 1,
                                    IORING_ENTER_GETEVENTS, nullptr, 0);
        if (took >= 0) {
            pushed_ -= uint32_t(took);
            if (pushed_ == 0) return;
        } else if (errno != EINTR) {
            // The system lacks memory for a moment, or wants completions to be taken first.
            CHECK(errno == EAGAIN || errno == EBUSY || errno == ENOMEM);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        if (load(completions_.tail) != *completions_.head) return;
    }
}

bool Uring::pop(Completion& completion) {
    const uint32_t head = *completions_.head;
    if (head == load(completions_.tail)) return false;
    const io_uring_cqe& result = results_[head & completions_.mask];
    completion = {.tag = result.user_data, .result = result.res};
    store(completions_.head, head + 1);
    return true;
}

uint64_t Uring::memory_bytes(uint32_t entries) {
    // Both rings are rounded up to a power of two, the second one holds twice as many.
    const uint64_t places = 2 * uint64_t(entries);
    return round_up(places * (sizeof(io_uring_sqe) + sizeof(uint32_t)) +
                        2 * places * sizeof(io_uring_cqe),
                    4 * kKiB) +
           8 * kKiB;
}

}  // namespace colibri

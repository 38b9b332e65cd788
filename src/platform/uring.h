// io_uring by its system calls: one submission and one completion ring, owned by one thread.
#pragma once

#include <cstdint>
#include <span>

#include "base/error.h"

struct io_uring_sqe;
struct io_uring_cqe;

namespace colibri {

// All functions but create() are for one thread.
class Uring {
public:
    struct Completion {
        uint64_t tag = 0;
        int32_t result = 0;
    };

    // A ring for up to `entries` operations under way. Errors: unsupported, naming what the system
    // said (containers often forbid io_uring, old kernels lack it).
    [[nodiscard]] static Result<Uring> create(uint32_t entries);
    Uring(Uring&& other) noexcept;
    Uring& operator=(Uring&&) = delete;
    Uring(const Uring&) = delete;
    Uring& operator=(const Uring&) = delete;
    ~Uring();

    // Puts a positioned read into the ring; submit() and submit_and_wait() start it. The caller
    // keeps at most `entries` under way.
    void push_read(int descriptor, std::span<std::byte> into, uint64_t offset, uint64_t tag);
    // Starts what was pushed; what the system cannot take now stays for the next call.
    void submit();
    // Starts what was pushed and waits for at least one completion.
    void submit_and_wait();
    // False when none has come.
    [[nodiscard]] bool pop(Completion& completion);

    [[nodiscard]] static uint64_t memory_bytes(uint32_t entries);

private:
    struct Ring {
        uint32_t* head = nullptr;
        uint32_t* tail = nullptr;
        uint32_t mask = 0;
    };
    Uring() = default;
    Status map_rings(uint32_t sq_bytes, uint32_t cq_bytes, uint32_t entries);
    Status check_operations() const;

    int descriptor_ = -1;
    void* rings_ = nullptr;
    uint64_t rings_bytes_ = 0;
    Ring submissions_;
    uint32_t* indices_ = nullptr;
    io_uring_sqe* entries_ = nullptr;
    uint64_t entries_bytes_ = 0;
    Ring completions_;
    io_uring_cqe* results_ = nullptr;
    uint32_t pushed_ = 0;  // since the last submission
};

}  // namespace colibri

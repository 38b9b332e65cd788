// What every block computes with: a kernel table, a team of threads, and planned scratch memory.
#pragma once

#include <cstdint>
#include <span>

#include "base/aligned_buffer.h"
#include "base/check.h"
#include "base/thread_pool.h"
#include "blocks/observer.h"
#include "kernels/kernels.h"

namespace colibri {

// A stack of 64-byte aligned arrays inside one planned buffer. Sizes are computed beforehand by the
// scratch_bytes functions of the blocks, so running out is a bug. One thread.
class Scratch {
public:
    explicit Scratch(std::span<std::byte> memory) : memory_(memory) {}

    template <class T>
    [[nodiscard]] T* take(uint64_t count) {
        const uint64_t begin = round_up(used_, uint64_t(64));
        used_ = begin + count * sizeof(T);
        CHECK(used_ <= memory_.size());
        return reinterpret_cast<T*>(memory_.data() + begin);
    }
    [[nodiscard]] uint64_t mark() const { return used_; }
    void release(uint64_t mark) { used_ = mark; }

private:
    std::span<std::byte> memory_;
    uint64_t used_ = 0;
};

// Releases what was taken since its construction.
class ScratchScope {
public:
    explicit ScratchScope(Scratch& scratch) : scratch_(scratch), mark_(scratch.mark()) {}
    ~ScratchScope() { scratch_.release(mark_); }
    ScratchScope(const ScratchScope&) = delete;
    ScratchScope& operator=(const ScratchScope&) = delete;

private:
    Scratch& scratch_;
    uint64_t mark_;
};

// Bytes that `count` elements take from a Scratch, at most.
template <class T>
[[nodiscard]] constexpr uint64_t scratch_bytes_of(uint64_t count) {
    return round_up(count * sizeof(T), uint64_t(64)) + 64;
}

struct Compute {
    const Kernels& kernels;
    ThreadPool& pool;
    Scratch& scratch;
    bool float_activations = false;  // --activations f32
    InputObserver* observer = nullptr;
};

}  // namespace colibri

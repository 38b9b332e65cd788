// A flag that one thread raises and every wait of a request looks at.
#pragma once

#include <atomic>

namespace colibri {

// Async-signal-safe to raise. Owned by the request; everyone else holds a pointer, null meaning
// "never".
class CancelToken {
public:
    void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
    void reset() { cancelled_.store(false, std::memory_order_relaxed); }
    [[nodiscard]] bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

private:
    std::atomic<bool> cancelled_{false};
};

[[nodiscard]] inline bool is_cancelled(const CancelToken* token) {
    return token != nullptr && token->cancelled();
}

}  // namespace colibri

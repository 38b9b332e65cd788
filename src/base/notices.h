// What the user should be told once and the program goes on: the messages are collected here, and
// only apps prints them.
#pragma once

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace colibri {

// Thread-safe. The same text is kept once.
class Notices {
public:
    void add(std::string text) {
        const std::lock_guard lock(mutex_);
        if (std::find(seen_.begin(), seen_.end(), text) != seen_.end()) return;
        seen_.push_back(text);
        fresh_.push_back(std::move(text));
    }
    // Hands over what came since the last call, oldest first.
    [[nodiscard]] std::vector<std::string> take() {
        const std::lock_guard lock(mutex_);
        return std::exchange(fresh_, {});
    }

private:
    std::mutex mutex_;
    std::vector<std::string> seen_;
    std::vector<std::string> fresh_;
};

}  // namespace colibri

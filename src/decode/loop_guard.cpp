#include "decode/loop_guard.h"

#include <algorithm>

namespace colibri {

bool LoopGuard::push(int32_t token) {
    if (length_ == 0) return false;
    bool loop = false;
    const auto periods = uint32_t(std::min<uint64_t>(pushed_, kPeriodMax));
    for (uint32_t period = 1; period <= periods; ++period) {
        uint32_t& equal = equal_[period - 1];
        equal = last_[(pushed_ - period) % kPeriodMax] == token ? equal + 1 : 0;
        // The first time around has nothing before it to be equal to.
        const uint64_t length = uint64_t(equal) + period;
        loop |= length >= length_ && length >= uint64_t(kRepeatsMin) * period;
    }
    if (last_.size() < kPeriodMax)
        last_.push_back(token);
    else
        last_[pushed_ % kPeriodMax] = token;
    ++pushed_;
    return loop;
}

}  // namespace colibri

#include "decode/stop.h"

#include <fmt/format.h>

#include <algorithm>

namespace colibri {

EndTokens::EndTokens(std::vector<int32_t> ids) : ids_(std::move(ids)) {
    std::sort(ids_.begin(), ids_.end());
}

bool EndTokens::contains(int32_t id) const {
    return std::binary_search(ids_.begin(), ids_.end(), id);
}

Result<StopMatcher> StopMatcher::create(std::vector<std::string> stops) {
    if (stops.size() > kStopStringsMax)
        return fail(
            ErrorKind::invalid_input,
            fmt::format("{} stop strings, at most {} are possible", stops.size(), kStopStringsMax));
    StopMatcher matcher;
    for (size_t index = 0; index < stops.size(); ++index) {
        std::string& text = stops[index];
        if (text.empty() || text.size() > kStopStringBytesMax)
            return fail(ErrorKind::invalid_input,
                        fmt::format("stop string {} has {} bytes, expected 1 to {}", index,
                                    text.size(), kStopStringBytesMax));
        Pattern pattern{.text = std::move(text), .fallback = {0, 0}};
        for (size_t end = 1; end < pattern.text.size(); ++end) {
            uint32_t border = pattern.fallback[end];
            while (border > 0 && pattern.text[border] != pattern.text[end])
                border = pattern.fallback[border];
            pattern.fallback.push_back(pattern.text[border] == pattern.text[end] ? border + 1 : 0);
        }
        matcher.patterns_.push_back(std::move(pattern));
    }
    return matcher;
}

void StopMatcher::advance(Pattern& pattern, char byte) {
    while (pattern.matched > 0 && pattern.text[pattern.matched] != byte)
        pattern.matched = pattern.fallback[pattern.matched];
    if (pattern.text[pattern.matched] == byte) ++pattern.matched;
}

bool StopMatcher::feed(std::string_view piece, std::string& out) {
    if (patterns_.empty()) {
        out.append(piece);
        return false;
    }
    for (const char byte : piece) {
        if (stopped_) break;
        held_ += byte;
        size_t complete = 0, partial = 0;
        for (Pattern& pattern : patterns_) {
            advance(pattern, byte);
            if (pattern.matched == pattern.text.size())
                complete = std::max(complete, pattern.text.size());
            partial = std::max<size_t>(partial, pattern.matched);
        }
        stopped_ = complete > 0;
        const size_t released = held_.size() - (stopped_ ? complete : partial);
        out.append(held_, 0, released);
        held_.erase(0, stopped_ ? held_.size() : released);
    }
    return stopped_;
}

void StopMatcher::flush(std::string& out) {
    out.append(held_);
    held_.clear();
    for (Pattern& pattern : patterns_) pattern.matched = 0;
}

}  // namespace colibri

#include "text/stream_decoder.h"

#include <algorithm>

#include "text/tokenizer_parts.h"
#include "text/utf8.h"

namespace colibri {

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, bool keep_special)
    : parts_(tokenizer.parts_),
      keep_special_(keep_special),
      spaces_to_strip_(parts_->decode.strip_leading_spaces) {}

std::string StreamDecoder::push(int32_t id) {
    std::string out;
    if (!keep_special_ && parts_->added.is_special(id)) return out;
    const std::string_view bytes = parts_->vocabulary.bytes(id);
    if (bytes.empty()) return out;
    if (!parts_->decode.byte_fallback) {
        take_bytes(bytes, out);
        return out;
    }
    const auto& byte_tokens = parts_->bpe.options().byte_tokens;
    if (bytes.size() == 1 && byte_tokens[static_cast<uint8_t>(bytes[0])] == id) {
        pending_ += bytes;
        return out;
    }
    end_fallback_run(out);
    emit(bytes, out);
    return out;
}

std::string StreamDecoder::flush() {
    std::string out;
    if (parts_->decode.byte_fallback) {
        end_fallback_run(out);
    } else {
        std::string text;
        append_lossy_utf8(text, pending_);
        pending_.clear();
        emit(text, out);
    }
    spaces_to_strip_ = parts_->decode.strip_leading_spaces;
    return out;
}

void StreamDecoder::take_bytes(std::string_view bytes, std::string& out) {
    pending_ += bytes;
    // Only the last three bytes can be the beginning of a character that is still unfinished.
    size_t complete = pending_.size();
    for (size_t back = 1; back <= std::min<size_t>(3, pending_.size()); ++back) {
        const size_t position = pending_.size() - back;
        if ((static_cast<uint8_t>(pending_[position]) & 0xC0) == 0x80) continue;
        if (utf8_step(pending_, position).kind == Utf8Kind::truncated &&
            utf8_step(pending_, position).length == back)
            complete = position;
        break;
    }
    std::string text;
    append_lossy_utf8(text, std::string_view(pending_).substr(0, complete));
    pending_.erase(0, complete);
    emit(text, out);
}

void StreamDecoder::end_fallback_run(std::string& out) {
    if (pending_.empty()) return;
    if (valid_utf8_prefix(pending_) == pending_.size()) {
        emit(pending_, out);
    } else {
        for (size_t i = 0; i < pending_.size(); ++i) emit(kReplacementCharacter, out);
    }
    pending_.clear();
}

void StreamDecoder::emit(std::string_view text, std::string& out) {
    while (spaces_to_strip_ > 0 && !text.empty()) {
        if (text.front() != ' ') {
            spaces_to_strip_ = 0;
            break;
        }
        text.remove_prefix(1);
        --spaces_to_strip_;
    }
    out += text;
}

}  // namespace colibri

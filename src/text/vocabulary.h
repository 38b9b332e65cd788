// The strings of all tokens by id, and the way back from a string to its id.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colibri {

inline constexpr int32_t kNoToken = -1;

// Hash of a token's bytes and of a pair of ids; shared by the tables of this folder.
[[nodiscard]] uint64_t hash_bytes(std::string_view bytes);
[[nodiscard]] uint64_t hash_pair(int32_t left, int32_t right);

// Open addressing over strings that live elsewhere: slots hold an index, the caller compares.
class StringIndex {
public:
    // For at most `count` entries.
    explicit StringIndex(size_t count = 0);

    // Index whose string equals `text`, or kNoToken. `string_at(index)` gives an entry's string.
    template <class StringAt>
    [[nodiscard]] int32_t find(std::string_view text, const StringAt& string_at) const {
        for (size_t slot = hash_bytes(text) & mask_;; slot = (slot + 1) & mask_) {
            const int32_t index = slots_[slot];
            if (index == kNoToken || string_at(index) == text) return index;
        }
    }

    // False if the string is there already. Inserting more than `count` entries is a programmer's
    // error.
    template <class StringAt>
    [[nodiscard]] bool insert(int32_t index, const StringAt& string_at) {
        const std::string_view text = string_at(index);
        for (size_t slot = hash_bytes(text) & mask_;; slot = (slot + 1) & mask_) {
            if (slots_[slot] == kNoToken) {
                slots_[slot] = index;
                return true;
            }
            if (string_at(slots_[slot]) == text) return false;
        }
    }

    [[nodiscard]] size_t memory_bytes() const { return slots_.capacity() * sizeof(int32_t); }

private:
    std::vector<int32_t> slots_;
    size_t mask_ = 0;
};

class Vocabulary {
public:
    struct Entry {
        int32_t id;  // >= 0
        std::string_view bytes;
        bool findable;  // reachable by find(): false for added tokens and what no text can spell
    };

    Vocabulary() : index_(0) {}
    // Entries with distinct ids; findable ones with distinct bytes.
    explicit Vocabulary(std::vector<Entry> entries);

    // Largest id + 1.
    [[nodiscard]] int32_t size() const { return static_cast<int32_t>(offsets_.size()) - 1; }
    // Empty for an id that has no token.
    [[nodiscard]] std::string_view bytes(int32_t id) const {
        if (id < 0 || id >= size()) return {};
        return std::string_view(arena_).substr(offsets_[id], offsets_[id + 1] - offsets_[id]);
    }
    [[nodiscard]] int32_t find(std::string_view bytes) const {
        if (bytes.size() > longest_) return kNoToken;
        return index_.find(bytes, [this](int32_t id) { return this->bytes(id); });
    }
    // Bytes of the longest findable token.
    [[nodiscard]] size_t longest() const { return longest_; }
    [[nodiscard]] size_t memory_bytes() const;

private:
    std::string arena_;
    std::vector<uint32_t> offsets_{0};
    StringIndex index_;
    size_t longest_ = 0;
};

}  // namespace colibri

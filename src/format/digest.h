// Hashes of bytes on disk: XXH3-128 finds damage at the speed of memory, SHA-256 names a file for
// the world outside.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace colibri {

struct Digest128 {
    uint64_t low = 0, high = 0;
    friend bool operator==(const Digest128&, const Digest128&) = default;
};

[[nodiscard]] Digest128 xxh3_128(std::span<const std::byte> bytes);
[[nodiscard]] Digest128 xxh3_128(std::string_view text);

// 32 hexadecimal digits, the high half first (the canonical form of xxhsum -H2).
[[nodiscard]] std::string to_hex(const Digest128& digest);
[[nodiscard]] std::optional<Digest128> digest_from_hex(std::string_view text);

// A text that holds its own digest: 32 digits right after the last `key`, hashed as zeros.
inline constexpr std::string_view kZeroDigest = "00000000000000000000000000000000";
// Replaces the 32 characters after the last `key`, which must be there.
void write_self_digest(std::string& text, std::string_view key);
// False too when the text has no such key or ends too soon after it.
[[nodiscard]] bool self_digest_matches(std::string_view text, std::string_view key);

// The same digest over bytes that come in pieces. Move-only.
class Xxh3Stream {
public:
    Xxh3Stream();
    Xxh3Stream(Xxh3Stream&&) noexcept;
    Xxh3Stream& operator=(Xxh3Stream&&) noexcept;
    ~Xxh3Stream();
    void update(std::span<const std::byte> bytes);
    [[nodiscard]] Digest128 digest() const;
    void reset();

private:
    struct State;
    std::unique_ptr<State> state_;
};

using Sha256 = std::array<uint8_t, 32>;

// 64 hexadecimal digits.
[[nodiscard]] std::string to_hex(const Sha256& digest);
[[nodiscard]] std::optional<Sha256> sha256_from_hex(std::string_view text);
[[nodiscard]] Sha256 sha256(std::string_view text);

// SHA-256 over bytes that come in pieces. Move-only.
class Sha256Stream {
public:
    Sha256Stream();
    Sha256Stream(Sha256Stream&&) noexcept;
    Sha256Stream& operator=(Sha256Stream&&) noexcept;
    ~Sha256Stream();
    void update(std::span<const std::byte> bytes);
    // Ends the stream.
    [[nodiscard]] Sha256 finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace colibri

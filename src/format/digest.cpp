#include "format/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <xxhash.h>
// The same functions for the processor's widest vectors: every expert that is read is checked,
// while the next one is on its way through the same memory.
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#endif

#include "base/check.h"

namespace colibri {

namespace {

Digest128 of(const XXH128_hash_t& hash) {
    return {.low = hash.low64, .high = hash.high64};
}

std::optional<uint8_t> hex_digit(char c) {
    if (c >= '0' && c <= '9') return uint8_t(c - '0');
    if (c >= 'a' && c <= 'f') return uint8_t(c - 'a' + 10);
    return std::nullopt;
}

// Lower-case digits only, so that a digest has one spelling.
bool parse_hex(std::string_view text, std::span<uint8_t> out) {
    if (text.size() != out.size() * 2) return false;
    for (size_t i = 0; i < out.size(); ++i) {
        const auto high = hex_digit(text[2 * i]);
        const auto low = hex_digit(text[2 * i + 1]);
        if (!high || !low) return false;
        out[i] = uint8_t(*high << 4 | *low);
    }
    return true;
}

// Where the 32 digits after the last `key` begin; npos when the text has no room for them.
size_t self_digest_place(std::string_view text, std::string_view key) {
    const size_t found = text.rfind(key);
    if (found == std::string_view::npos) return found;
    const size_t place = found + key.size();
    return place + kZeroDigest.size() <= text.size() ? place : std::string_view::npos;
}

std::string self_digest(std::string text, size_t place) {
    text.replace(place, kZeroDigest.size(), kZeroDigest);
    return to_hex(xxh3_128(std::string_view(text)));
}

}  // namespace

Digest128 xxh3_128(std::span<const std::byte> bytes) {
    return of(XXH3_128bits(bytes.data(), bytes.size()));
}

Digest128 xxh3_128(std::string_view text) {
    return of(XXH3_128bits(text.data(), text.size()));
}

std::string to_hex(const Digest128& digest) {
    return fmt::format("{:016x}{:016x}", digest.high, digest.low);
}

std::optional<Digest128> digest_from_hex(std::string_view text) {
    std::array<uint8_t, 16> bytes{};
    if (!parse_hex(text, bytes)) return std::nullopt;
    Digest128 digest;
    for (size_t i = 0; i < 8; ++i) {
        digest.high = digest.high << 8 | bytes[i];
        digest.low = digest.low << 8 | bytes[8 + i];
    }
    return digest;
}

void write_self_digest(std::string& text, std::string_view key) {
    const size_t place = self_digest_place(text, key);
    CHECK(place != std::string_view::npos);
    text.replace(place, kZeroDigest.size(), self_digest(text, place));
}

bool self_digest_matches(std::string_view text, std::string_view key) {
    const size_t place = self_digest_place(text, key);
    return place != std::string_view::npos &&
           self_digest(std::string(text), place) == text.substr(place, kZeroDigest.size());
}

struct Xxh3Stream::State {
    XXH3_state_t* state = XXH3_createState();
    State() { CHECK(state != nullptr && XXH3_128bits_reset(state) == XXH_OK); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() { XXH3_freeState(state); }
};

Xxh3Stream::Xxh3Stream() : state_(std::make_unique<State>()) {}
Xxh3Stream::Xxh3Stream(Xxh3Stream&&) noexcept = default;
Xxh3Stream& Xxh3Stream::operator=(Xxh3Stream&&) noexcept = default;
Xxh3Stream::~Xxh3Stream() = default;

void Xxh3Stream::update(std::span<const std::byte> bytes) {
    CHECK(XXH3_128bits_update(state_->state, bytes.data(), bytes.size()) == XXH_OK);
}
Digest128 Xxh3Stream::digest() const {
    return of(XXH3_128bits_digest(state_->state));
}
void Xxh3Stream::reset() {
    CHECK(XXH3_128bits_reset(state_->state) == XXH_OK);
}

std::string to_hex(const Sha256& digest) {
    std::string text;
    for (const uint8_t byte : digest) text += fmt::format("{:02x}", byte);
    return text;
}

std::optional<Sha256> sha256_from_hex(std::string_view text) {
    Sha256 digest{};
    if (!parse_hex(text, digest)) return std::nullopt;
    return digest;
}

Sha256 sha256(std::string_view text) {
    Sha256Stream stream;
    stream.update(std::as_bytes(std::span(text)));
    return stream.finish();
}

struct Sha256Stream::State {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    State() { CHECK(context != nullptr && EVP_DigestInit_ex(context, EVP_sha256(), nullptr) == 1); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() { EVP_MD_CTX_free(context); }
};

Sha256Stream::Sha256Stream() : state_(std::make_unique<State>()) {}
Sha256Stream::Sha256Stream(Sha256Stream&&) noexcept = default;
Sha256Stream& Sha256Stream::operator=(Sha256Stream&&) noexcept = default;
Sha256Stream::~Sha256Stream() = default;

void Sha256Stream::update(std::span<const std::byte> bytes) {
    CHECK(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
}

Sha256 Sha256Stream::finish() {
    Sha256 digest{};
    CHECK(EVP_DigestFinal_ex(state_->context, digest.data(), nullptr) == 1);
    return digest;
}

}  // namespace colibri

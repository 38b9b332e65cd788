// config.json, read key by key: typed getters that say what was found and expected where, and a
// record of what was read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace colibri {

// Larger files are no model configs. Whoever reads the file bounds it by this before it is in
// memory.
inline constexpr uint64_t kConfigBytesMax = 16'000'000;
inline constexpr size_t kConfigDepthMax = 32;
// Bound of every count that is a size of the model; the product of two still fits 64 bits with
// room.
inline constexpr uint32_t kConfigCountMax = (uint32_t(1) << 31) - 1;

// One JSON object of the document and the shared record of the keys read from it. A key with the
// value null counts as absent, as in the published files. Numbers in quotes are refused. Every
// error is invalid_input and names the file, the key with its path, what was found and what was
// expected. Copies share the record; not thread-safe.
class Config {
public:
    // `file` is for messages. Errors: invalid_input for text over kConfigBytesMax, no JSON object,
    // nesting over kConfigDepthMax, or a key that appears twice in one object.
    [[nodiscard]] static Result<Config> parse(std::string_view text, std::string file);

    [[nodiscard]] const std::string& file() const;
    // Present and not null. Counts as read.
    [[nodiscard]] bool has(std::string_view key) const;
    // The same without leaving a trace.
    [[nodiscard]] bool peek(std::string_view key) const;

    // Integers in [minimum, maximum].
    [[nodiscard]] Result<uint32_t> count(std::string_view key, uint32_t minimum = 1,
                                         uint32_t maximum = kConfigCountMax) const;
    [[nodiscard]] Result<uint32_t> count_or(std::string_view key, uint32_t fallback,
                                            uint32_t minimum = 1,
                                            uint32_t maximum = kConfigCountMax) const;
    // Finite numbers, integers included.
    [[nodiscard]] Result<double> number(std::string_view key) const;
    [[nodiscard]] Result<double> number_or(std::string_view key, double fallback) const;
    [[nodiscard]] Result<bool> flag_or(std::string_view key, bool fallback) const;
    [[nodiscard]] Result<std::string> text(std::string_view key) const;
    [[nodiscard]] Result<std::string> text_or(std::string_view key, std::string fallback) const;
    // Absent: nothing.
    [[nodiscard]] Result<std::optional<std::vector<std::string>>> texts(std::string_view key) const;
    [[nodiscard]] Result<std::optional<std::vector<uint32_t>>> counts(std::string_view key) const;
    // One id or a list of ids, each >= 0; absent: empty. An element may not be null.
    [[nodiscard]] Result<std::vector<int32_t>> token_ids(std::string_view key) const;
    // A nested object; absent: nothing. Its keys are named "key.inner" in messages.
    [[nodiscard]] Result<std::optional<Config>> section(std::string_view key) const;
    // Whether the value is a list, a string...: for keys that come in two forms.
    [[nodiscard]] bool is_list(std::string_view key) const;

    // Marks keys as known without reading them.
    void ignore(std::initializer_list<std::string_view> keys) const;
    // Keys of this object that nobody has read, in file order, with their path; sections that were
    // opened are looked into.
    [[nodiscard]] std::vector<std::string> unread() const;

    // The value as it stands in the file, cut to a readable length; "nothing" when absent.
    [[nodiscard]] std::string found(std::string_view key) const;
    // "config.json: hidden_size is "64", expected an integer from 1 to 2147483647".
    [[nodiscard]] tl::unexpected<Error> wrong(std::string_view key, std::string_view expected,
                                              ErrorKind kind = ErrorKind::invalid_input) const;

private:
    struct View;
    explicit Config(std::shared_ptr<const View> view) : view_(std::move(view)) {}
    std::shared_ptr<const View> view_;
};

}  // namespace colibri

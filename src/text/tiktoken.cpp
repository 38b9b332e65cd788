// tiktoken rank files: one token a line, "base64(bytes) SP rank".
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "text/tokenizer.h"
#include "text/tokenizer_parts.h"

namespace colibri {
namespace {

constexpr uint8_t kNotBase64 = 64;

constexpr std::array<uint8_t, 256> kBase64 = [] {
    std::array<uint8_t, 256> values{};
    values.fill(kNotBase64);
    constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (uint8_t i = 0; i < 64; ++i) values[static_cast<uint8_t>(kDigits[i])] = i;
    return values;
}();

// Appends the decoded bytes. False if `text` is not base64 with its padding.
bool append_base64(std::string& out, std::string_view text) {
    if (text.empty() || text.size() % 4 != 0) return false;
    size_t padding = 0;
    while (padding < 2 && text.ends_with('=')) {
        text.remove_suffix(1);
        ++padding;
    }
    uint32_t bits = 0;
    unsigned count = 0;
    for (const char c : text) {
        const uint8_t value = kBase64[static_cast<uint8_t>(c)];
        if (value == kNotBase64) return false;
        bits = bits << 6 | value;
        count += 6;
        if (count >= 8) {
            count -= 8;
            out.push_back(static_cast<char>(bits >> count & 0xFF));
        }
    }
    return (bits & ((1U << count) - 1)) == 0;
}

struct Line {
    int32_t id;
    size_t offset;  // into the arena
    size_t length;
};

struct RankFile {
    std::string arena;
    std::vector<Line> lines;
};

Result<RankFile> read_ranks(std::string_view bytes, std::string_view file_name) {
    RankFile file;
    file.arena.reserve(bytes.size());
    file.lines.reserve(bytes.size() / 8);
    size_t number = 0;
    while (!bytes.empty()) {
        const size_t end = std::min(bytes.find('\n'), bytes.size());
        std::string_view line = bytes.substr(0, end);
        bytes.remove_prefix(std::min(end + 1, bytes.size()));
        ++number;
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty()) continue;
        const size_t space = line.find(' ');
        const size_t offset = file.arena.size();
        if (space == std::string_view::npos || !append_base64(file.arena, line.substr(0, space)))
            return fail(ErrorKind::invalid_input,
                        fmt::format("{}: line {}: expected \"base64 rank\", found '{}'", file_name,
                                    number, line.substr(0, 60)));
        const std::string_view digits = line.substr(space + 1);
        int32_t id = 0;
        const auto [stop, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), id);
        if (error != std::errc{} || stop != digits.data() + digits.size() || id < 0 ||
            id >= Tokenizer::kMaxTokens)
            return fail(
                ErrorKind::invalid_input,
                fmt::format("{}: line {}: rank '{}' is not a number from 0 to {}", file_name,
                            number, digits.substr(0, 40), Tokenizer::kMaxTokens - 1));
        file.lines.push_back({id, offset, file.arena.size() - offset});
    }
    return file;
}

Status check_ranks(RankFile& file, std::string_view file_name) {
    std::sort(file.lines.begin(), file.lines.end(),
              [](const Line& a, const Line& b) { return a.id < b.id; });
    for (size_t i = 1; i < file.lines.size(); ++i)
        if (file.lines[i].id == file.lines[i - 1].id)
            return fail(ErrorKind::invalid_input,
                        fmt::format("{}: rank {} is given twice", file_name, file.lines[i].id));
    StringIndex index(file.lines.size());
    const auto text = [&file](int32_t i) {
        return std::string_view(file.arena).substr(file.lines[i].offset, file.lines[i].length);
    };
    for (int32_t i = 0; i < static_cast<int32_t>(file.lines.size()); ++i)
        if (!index.insert(i, text))
            return fail(ErrorKind::invalid_input,
                        fmt::format("{}: ranks {} and another are the same token", file_name,
                                    file.lines[i].id));
    return {};
}

}  // namespace

Result<TokenizerParts> load_tiktoken(std::string_view bytes, const std::string& pattern,
                                     std::vector<AddedToken> added, std::string_view file_name) {
    if (bytes.size() > Tokenizer::kMaxFileBytes)
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}: {} bytes, more than the {} that a tokenizer may have",
                                file_name, bytes.size(), Tokenizer::kMaxFileBytes));
    TRY(RankFile file, read_ranks(bytes, file_name));
    TRY_STATUS(check_ranks(file, file_name));
    std::vector<Vocabulary::Entry> entries;
    entries.reserve(file.lines.size() + added.size());
    BpeOptions options{.rule = MergeRule::ranks};
    for (const Line& line : file.lines) {
        const std::string_view token =
            std::string_view(file.arena).substr(line.offset, line.length);
        entries.push_back({line.id, token, true});
        if (token.size() == 1) options.byte_tokens[static_cast<uint8_t>(token[0])] = line.id;
    }
    const auto missing =
        std::find(options.byte_tokens.begin(), options.byte_tokens.end(), kNoToken);
    if (missing != options.byte_tokens.end())
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}: no token for the single byte 0x{:02X}; every byte needs one",
                                file_name, missing - options.byte_tokens.begin()));
    const size_t ranked = entries.size();
    for (const AddedToken& token : added) {
        const auto same = std::lower_bound(
            entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(ranked), token.id,
            [](const Vocabulary::Entry& a, int32_t id) { return a.id < id; });
        const bool taken =
            same != entries.begin() + static_cast<std::ptrdiff_t>(ranked) && same->id == token.id;
        if (token.id < 0 || token.id >= Tokenizer::kMaxTokens || taken)
            return fail(ErrorKind::invalid_input,
                        fmt::format("{}: special token '{}': id {} is {}", file_name, token.content,
                                    token.id, taken ? "a rank of the file" : "out of range"));
        entries.push_back({token.id, token.content, false});
    }
    std::sort(entries.begin() + static_cast<std::ptrdiff_t>(ranked), entries.end(),
              [](const Vocabulary::Entry& a, const Vocabulary::Entry& b) { return a.id < b.id; });
    for (size_t i = ranked + 1; i < entries.size(); ++i)
        if (entries[i].id == entries[i - 1].id)
            return fail(ErrorKind::invalid_input,
                        fmt::format("{}: special tokens '{}' and '{}' share the id {}", file_name,
                                    entries[i - 1].bytes, entries[i].bytes, entries[i].id));
    TokenizerParts parts;
    parts.vocabulary = Vocabulary(std::move(entries));
    parts.bpe = Bpe(options, MergeTable());
    TRY(Regex regex,
        Regex::compile(pattern, RegexDialect::rust, fmt::format("{}: pattern", file_name)));
    parts.pretokenizer = Pretokenizer({SplitStep{std::move(regex)}});
    TRY(parts.added, AddedTokens::build(std::move(added), {}, file_name));
    return parts;
}

}  // namespace colibri

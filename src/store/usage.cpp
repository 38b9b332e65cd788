#include "store/usage.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>
#include <map>

namespace colibri {

namespace {

static_assert(std::endian::native == std::endian::little, "state files are little endian");

constexpr std::string_view kMagic = "COLIUSE\n";
constexpr uint32_t kVersion = 1;
// Of every layer and expert together: more than any model has.
constexpr uint64_t kEntriesMax = 1 << 24;
constexpr int64_t kTextCountMax = 1LL << 31;
constexpr uint32_t kTextVersion = 2;

struct Header {
    char magic[8];
    uint32_t version;
    uint32_t entries;
    uint64_t fingerprint;
    double steps;
};
struct Record {
    uint32_t layer;
    uint32_t index;
    double uses;
};

template <class T>
void put(std::string& out, const T& value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

void UsageHistory::add(std::span<const ExpertUse> uses, uint64_t more_steps) {
    const double faded = std::exp2(-double(more_steps) / kHalfLifeSteps);
    steps = steps * faded + double(more_steps);
    for (Entry& entry : entries) entry.uses *= faded;
    std::vector<Entry> merged;
    merged.reserve(entries.size() + uses.size());
    auto old = entries.begin();
    for (const ExpertUse& use : uses) {
        while (old != entries.end() && old->id < use.id) merged.push_back(*old++);
        double before = 0;
        if (old != entries.end() && old->id == use.id) before = (old++)->uses;
        merged.push_back({use.id, before + double(use.count)});
    }
    merged.insert(merged.end(), old, entries.end());
    entries = std::move(merged);
}

std::string encode_usage(const UsageHistory& history, uint64_t fingerprint) {
    Header header{.magic = {},
                  .version = kVersion,
                  .entries = uint32_t(history.entries.size()),
                  .fingerprint = fingerprint,
                  .steps = history.steps};
    std::copy(kMagic.begin(), kMagic.end(), header.magic);
    std::string bytes;
    bytes.reserve(sizeof header + history.entries.size() * sizeof(Record) + sizeof(uint64_t));
    put(bytes, header);
    for (const UsageHistory::Entry& entry : history.entries)
        put(bytes, Record{.layer = entry.id.layer, .index = entry.id.index, .uses = entry.uses});
    put(bytes, uint64_t(XXH3_64bits(bytes.data(), bytes.size())));
    return bytes;
}

Result<UsageHistory> decode_usage(std::string_view bytes, uint64_t fingerprint,
                                  std::string_view name) {
    Header header{};
    if (bytes.size() < sizeof header || !bytes.starts_with(kMagic))
        return fail(ErrorKind::corrupt,
                    fmt::format("{}: not a usage history ({} bytes)", name, bytes.size()));
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.version != kVersion)
        return fail(ErrorKind::unsupported,
                    fmt::format("{}: version {} of usage histories; this program reads {}", name,
                                header.version, kVersion));
    const uint64_t expected_bytes =
        sizeof header + uint64_t(header.entries) * sizeof(Record) + sizeof(uint64_t);
    if (header.entries > kEntriesMax || bytes.size() != expected_bytes)
        return fail(ErrorKind::corrupt, fmt::format("{}: {} bytes, {} entries need {}", name,
                                                    bytes.size(), header.entries, expected_bytes));
    const std::string_view body = bytes.substr(0, bytes.size() - sizeof(uint64_t));
    uint64_t checksum = 0;
    std::memcpy(&checksum, bytes.data() + body.size(), sizeof checksum);
    if (checksum != XXH3_64bits(body.data(), body.size()))
        return fail(ErrorKind::corrupt, fmt::format("{}: the checksum does not match", name));
    if (header.fingerprint != fingerprint)
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}: the history of another model ({:016x}, this one is {:016x})",
                                name, header.fingerprint, fingerprint));
    UsageHistory history{.steps = header.steps, .entries = {}};
    bool sound = std::isfinite(header.steps) && header.steps >= 0;
    history.entries.reserve(header.entries);
    for (uint32_t i = 0; i < header.entries; ++i) {
        Record record{};
        std::memcpy(&record, bytes.data() + sizeof header + i * sizeof record, sizeof record);
        const ExpertId id{record.layer, record.index};
        sound = sound && std::isfinite(record.uses) && record.uses >= 0 &&
                (history.entries.empty() || history.entries.back().id < id);
        history.entries.push_back({id, record.uses});
    }
    if (!sound)
        return fail(ErrorKind::corrupt,
                    fmt::format("{}: entries out of order, or uses that are no numbers", name));
    return history;
}

Result<UsageHistory> parse_usage_text(std::string_view text, std::string_view name, uint32_t layers,
                                      uint32_t experts, uint32_t top_k) {
    std::map<ExpertId, double> uses;
    std::map<uint32_t, double> by_layer;
    for (size_t at = 0, line_number = 1; at < text.size(); ++line_number) {
        const size_t end = std::min(text.find('\n', at), text.size());
        std::string_view line = text.substr(at, end - at);
        at = end + 1;
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty()) continue;
        const auto bad = [&](std::string_view what) {
            return fail(ErrorKind::invalid_input,
                        fmt::format("{}, line {}: {}", name, line_number, what));
        };
        std::array<int64_t, 3> value{};
        const char* from = line.data();
        const char* const stop = line.data() + line.size();
        for (int64_t& number : value) {
            while (from != stop && *from == ' ') ++from;
            const auto [next, error] = std::from_chars(from, stop, number);
            if (error != std::errc() || (next != stop && *next != ' '))
                return bad("not three integers");
            from = next;
        }
        if (std::any_of(from, stop, [](char c) { return c != ' '; }))
            return bad("more than three integers");
        const auto [layer, index, count] = value;
        if (layer == -1 && (index != layers || count != experts))
            return bad(
                fmt::format("a history of {} layers with {} experts; this model has {} "
                            "with {}",
                            index, count, layers, experts));
        if (layer < 0) continue;
        if (layer >= layers || index < 0 || index >= experts || count < 0 || count > kTextCountMax)
            return bad(
                fmt::format("layer {} expert {} with {} uses; this model has {} layers "
                            "with {} experts",
                            layer, index, count, layers, experts));
        uses[{uint32_t(layer), uint32_t(index)}] += double(count);
        by_layer[uint32_t(layer)] += double(count);
    }
    UsageHistory history;
    for (const auto& [layer, sum] : by_layer)
        history.steps = std::max(history.steps, sum / std::max(1U, top_k));
    for (const auto& [id, count] : uses) history.entries.push_back({id, count});
    return history;
}

std::string format_usage_text(const UsageHistory& history, uint32_t layers, uint32_t experts) {
    std::string text;
    const auto out = std::back_inserter(text);
    fmt::format_to(out, "-1 {} {}\n-2 {} 0\n", layers, experts, kTextVersion);
    for (const UsageHistory::Entry& entry : history.entries) {
        const auto count = int64_t(std::min(std::round(entry.uses), double(kTextCountMax)));
        if (count > 0) fmt::format_to(out, "{} {} {}\n", entry.id.layer, entry.id.index, count);
    }
    return text;
}

}  // namespace colibri

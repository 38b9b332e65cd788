#include "convert/journal.h"

#include <cstring>

namespace colibri {

namespace {

enum class RecordType : uint32_t { begin = 1, progress = 2, finished = 3, spent = 4 };

constexpr size_t kFrameBytes = 8;
constexpr size_t kCheckBytes = 8;
constexpr uint32_t kPayloadBytesMax = 1U << 28;
constexpr uint64_t kFilesMax = 100'000;

void put(std::string& out, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) out += char(uint8_t(value >> (8 * i)));
}
uint64_t get(std::string_view bytes, size_t at, size_t count) {
    uint64_t value = 0;
    for (size_t i = 0; i < count; ++i) value |= uint64_t(uint8_t(bytes[at + i])) << (8 * i);
    return value;
}

// False when the payload is not what the type promises.
bool apply(JournalState& state, uint32_t type, std::string_view payload) {
    if (type == uint32_t(RecordType::begin)) {
        if (!state.begin.empty()) return false;
        state.begin = payload;
        return true;
    }
    if (state.begin.empty()) return false;
    if (type == uint32_t(RecordType::spent)) {
        state.spent.emplace(payload);
        return true;
    }
    if (payload.size() < 4 || get(payload, 0, 4) >= kFilesMax) return false;
    if (get(payload, 0, 4) >= state.files.size()) state.files.resize(get(payload, 0, 4) + 1);
    JournalFile& file = state.files[get(payload, 0, 4)];
    if (type == uint32_t(RecordType::finished)) {
        if (payload.size() != 4 + 32) return false;
        file.sha256.emplace();
        std::memcpy(file.sha256->data(), payload.data() + 4, 32);
        return true;
    }
    if (type != uint32_t(RecordType::progress) || payload.size() < 16 ||
        (payload.size() - 16) % 16 != 0)
        return false;
    file.tensors = uint32_t(get(payload, 4, 4));
    file.bytes = get(payload, 8, 8);
    if (file.tensors == 0) {
        file = {};
        return payload.size() == 16;
    }
    for (size_t at = 16; at < payload.size(); at += 16)
        file.digests.push_back({.low = get(payload, at, 8), .high = get(payload, at + 8, 8)});
    return true;
}

}  // namespace

JournalState parse_journal(std::string_view bytes) {
    JournalState state;
    size_t at = 0;
    while (bytes.size() - at >= kFrameBytes + kCheckBytes) {
        const uint64_t size = get(bytes, at + 4, 4);
        if (size > kPayloadBytesMax || size > bytes.size() - at - kFrameBytes - kCheckBytes) break;
        const std::string_view record = bytes.substr(at, kFrameBytes + size);
        if (xxh3_128(record).low != get(bytes, at + record.size(), kCheckBytes)) break;
        if (!apply(state, uint32_t(get(bytes, at, 4)), record.substr(kFrameBytes))) break;
        at += record.size() + kCheckBytes;
        state.valid_bytes = at;
    }
    return state;
}

Result<Journal> Journal::open(const std::string& path, uint64_t valid_bytes) {
    Journal journal;
    TRY(journal.file_, OutputFile::open(path, valid_bytes, /*exclusive=*/true));
    return journal;
}

Status Journal::append(uint32_t type, std::string_view payload) {
    std::string record;
    put(record, type, 4);
    put(record, payload.size(), 4);
    record += payload;
    put(record, xxh3_128(std::string_view(record)).low, kCheckBytes);
    TRY_STATUS(file_.append(std::as_bytes(std::span(record))));
    return file_.sync();
}

Status Journal::begin(std::string_view what) {
    return append(uint32_t(RecordType::begin), what);
}

Status Journal::progress(uint32_t file, uint32_t tensors, uint64_t bytes,
                         const std::vector<Digest128>& digests) {
    std::string payload;
    put(payload, file, 4);
    put(payload, tensors, 4);
    put(payload, bytes, 8);
    for (const Digest128& digest : digests) {
        put(payload, digest.low, 8);
        put(payload, digest.high, 8);
    }
    return append(uint32_t(RecordType::progress), payload);
}

Status Journal::finished(uint32_t file, const Sha256& sha256) {
    std::string payload;
    put(payload, file, 4);
    payload.append(reinterpret_cast<const char*>(sha256.data()), sha256.size());
    return append(uint32_t(RecordType::finished), payload);
}

Status Journal::spent(std::string_view source_file) {
    return append(uint32_t(RecordType::spent), source_file);
}

}  // namespace colibri

#include "runtime/usage_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "base/units.h"
#include "platform/file.h"

namespace colibri {

namespace {

constexpr uint64_t kUsageBytesMax = 64 * kMiB;

Status write_into(const std::string& path, const std::string& bytes) {
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
    // A directory that cannot be made shows in the write.
    return write_file_atomic(path, std::as_bytes(std::span(bytes)));
}

}  // namespace

UsageFile::UsageFile(const UsagePlace& place, Notices& notices) : place_(place) {
    if (place.directory.empty()) return;
    path_ = place.directory + "/usage";
    if (!place.fallback_directory.empty())
        fallback_path_ =
            fmt::format("{}/{:016x}/usage", place.fallback_directory, place.fingerprint);
    if (read(path_, notices)) return;
    if (!fallback_path_.empty() && read(fallback_path_, notices)) {
        path_ = std::exchange(fallback_path_, "");
        return;
    }
    read_text(place.model_directory + "/.coli_usage", notices);
}

// True when there is such a file, good or not.
bool UsageFile::read(const std::string& path, Notices& notices) {
    const auto bytes = read_file(path, kUsageBytesMax);
    if (!bytes && bytes.error().kind == ErrorKind::not_found) return false;
    auto history =
        bytes ? decode_usage(*bytes, place_.fingerprint, path) : tl::unexpected(bytes.error());
    if (history) {
        history_ = *std::move(history);
    } else {
        notices.add(fmt::format("{}; it is ignored and left alone. Delete it to begin a new one",
                                history.error().message));
        path_.clear();
        fallback_path_.clear();
    }
    return true;
}

void UsageFile::read_text(const std::string& path, Notices& notices) {
    const auto text = read_file(path, kUsageBytesMax);
    if (!text) return;
    auto history = parse_usage_text(*text, path, place_.layers, place_.experts, place_.top_k);
    if (history) {
        history_ = *std::move(history);
    } else {
        notices.add(fmt::format("{}; it is ignored", history.error().message));
    }
}

Status UsageFile::write() {
    const std::string bytes = encode_usage(history_, place_.fingerprint);
    Status written = write_into(path_, bytes);
    if (written || fallback_path_.empty() || !write_into(fallback_path_, bytes)) return written;
    path_ = std::exchange(fallback_path_, "");
    return {};
}

Status UsageFile::save(std::span<const ExpertUse> uses, uint64_t steps) {
    if (path_.empty()) return {};
    history_.add(uses, steps);
    Status written = write();
    if (written || std::exchange(complained_, true)) return {};
    return tl::unexpected(std::move(written).error().within(
        "the usage history is not kept (answers are not affected; --state-dir names another "
        "place)"));
}

Status UsageFile::replace(UsageHistory history) {
    if (path_.empty())
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}/usage is not a history of this model; delete it first",
                                place_.directory));
    history_ = std::move(history);
    return write();
}

}  // namespace colibri

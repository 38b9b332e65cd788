#include "runtime/usage_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "platform/file.h"

namespace colibri {

namespace {

Status write_into(const std::string& path, std::string_view bytes) {
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
    // A directory that cannot be made shows in the write.
    return write_file_atomic(path, std::as_bytes(std::span(bytes)));
}

}  // namespace

std::vector<std::string> state_file_paths(const std::string& directory,
                                          const std::string& fallback_directory,
                                          uint64_t fingerprint, std::string_view name) {
    std::vector<std::string> paths;
    if (!directory.empty()) paths.push_back(fmt::format("{}/{}", directory, name));
    if (!fallback_directory.empty())
        paths.push_back(fmt::format("{}/{:016x}/{}", fallback_directory, fingerprint, name));
    return paths;
}

Result<std::string> write_state_file(std::span<const std::string> paths, std::string_view bytes) {
    std::optional<Error> first;
    for (const std::string& path : paths) {
        Status written = write_into(path, bytes);
        if (written) return path;
        if (!first) first = std::move(written).error();
    }
    if (!first) return fail(ErrorKind::io, "there is no place for state files");
    return tl::unexpected(*std::move(first));
}

UsageFile::UsageFile(const UsagePlace& place, Notices& notices) : place_(place) {
    if (place.directory.empty()) return;
    const auto paths =
        state_file_paths(place.directory, place.fallback_directory, place.fingerprint, "usage");
    path_ = paths[0];
    if (paths.size() > 1) fallback_path_ = paths[1];
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

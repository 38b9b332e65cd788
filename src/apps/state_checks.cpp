#include "apps/state_checks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "apps/file_system.h"
#include "apps/tuning.h"
#include "base/units.h"
#include "platform/file.h"
#include "runtime/usage_file.h"

namespace colibri {

namespace {

namespace fs = std::filesystem;

// The largest history: 16 bytes for each of some ten thousand experts.
constexpr uint64_t kStateRoomMin = kMiB;

// Why files cannot be written into a directory that may not exist yet; "" when they can.
std::string why_not_writable(const std::string& directory) {
    fs::path nearest = directory;
    std::error_code error;
    while (!fs::exists(nearest, error) && nearest.has_parent_path() &&
           nearest != nearest.parent_path())
        nearest = nearest.parent_path();
    if (nearest.empty()) nearest = ".";
    if (!fs::is_directory(nearest, error))
        return fmt::format("{} is not a directory", nearest.string());
    const FileSystemFacts facts = file_system_facts(nearest.string());
    if (facts.read_only) return fmt::format("{}: the file system is read-only", nearest.string());
    if (::access(nearest.c_str(), W_OK | X_OK) != 0)
        return fmt::format("{}: {}", nearest.string(), std::generic_category().message(errno));
    if (facts.free_bytes < kStateRoomMin)
        return fmt::format("{}: the drive is full, {} left", nearest.string(),
                           format_bytes(facts.free_bytes));
    return "";
}

void check_place(const UsagePlace& place, Findings& findings) {
    const std::string why = why_not_writable(place.directory);
    if (why.empty()) return findings.ok("state.directory", place.directory);
    const std::string& other = place.fallback_directory;
    const bool saved = !other.empty() && why_not_writable(other).empty();
    findings.add(
        {.id = "state.directory",
         .severity = saved ? Severity::note : Severity::warning,
         .summary = why,
         .reason = saved ? fmt::format("usage history and tuning are kept in {} instead", other)
                         : "usage history and tuning cannot be kept: every start is a cold one",
         .remedy = saved ? "" : "make room or give --state-dir"});
}

// What a process that was killed while it replaced a file has left.
void check_leftovers(const UsagePlace& place, Findings& findings) {
    std::error_code error;
    std::string names;
    for (fs::directory_iterator at(place.directory, error), end; !error && at != end;
         at.increment(error)) {
        const std::string name = at->path().filename().string();
        const bool ours = name.starts_with("usage.") || name.starts_with("tune.json.");
        if (ours && name.ends_with(".tmp"))
            names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
    }
    if (names.empty()) return;
    findings.add({.id = "state.leftovers",
                  .severity = Severity::note,
                  .summary = fmt::format("{}: {}", place.directory, names),
                  .reason = "a run was killed while it wrote; the files before are whole",
                  .remedy = "delete them unless a run is going on"});
}

void add_ignored(std::string id, const Error& error, std::string what, Findings& findings) {
    findings.add({.id = std::move(id),
                  .severity = Severity::warning,
                  .summary = error.message,
                  .reason = fmt::format("it is ignored and left alone: {}", what),
                  .remedy = error.kind == ErrorKind::unsupported
                                ? "use the program that wrote it, or delete it to begin anew"
                            : error.kind == ErrorKind::io ? "check permissions and the drive"
                                                          : "delete it to begin anew"});
}

constexpr const char* kNoHistory = "the cache begins without experience and learns nothing";

void check_usage(const UsagePlace& place, Findings& findings) {
    for (const std::string& path :
         state_file_paths(place.directory, place.fallback_directory, place.fingerprint, "usage")) {
        const auto bytes = read_file(path, kUsageBytesMax);
        if (!bytes && bytes.error().kind == ErrorKind::not_found) continue;
        if (!bytes) return add_ignored("state.usage", bytes.error(), kNoHistory, findings);
        const auto history = decode_usage(*bytes, place.fingerprint, path);
        if (!history) return add_ignored("state.usage", history.error(), kNoHistory, findings);
        return findings.ok("state.usage", fmt::format("{}: {:.0f} tokens, {} experts", path,
                                                      history->steps, history->entries.size()));
    }
    const std::string original = place.model_directory + "/.coli_usage";
    const auto text = read_file(original, kUsageBytesMax);
    if (!text && text.error().kind == ErrorKind::not_found)
        return findings.ok("state.usage", "no history yet");
    const auto history =
        text ? parse_usage_text(*text, original, place.layers, place.experts, place.top_k)
             : tl::unexpected(text.error());
    if (!history)
        return add_ignored("state.usage", history.error(), "a new history begins empty", findings);
    findings.ok("state.usage", fmt::format("{}: {} experts, of the original engine", original,
                                           history->entries.size()));
}

void check_tuning(const Settings& settings, const UsagePlace& place, Findings& findings) {
    const FoundTuning found = find_tuning(settings, place.model_directory);
    switch (found.kind) {
        case FoundTuning::Kind::none:
            return findings.ok("state.tune", "not tuned (coli tune does it)");
        case FoundTuning::Kind::applies:
            return findings.ok("state.tune", tuning_summary(found.file));
        case FoundTuning::Kind::foreign:
        case FoundTuning::Kind::damaged: break;
    }
    findings.add(
        {.id = "state.tune",
         .severity = found.kind == FoundTuning::Kind::foreign ? Severity::note : Severity::warning,
         .summary = found.why,
         .reason = "it is ignored and left alone: the defaults are used",
         .remedy = "coli tune replaces it"});
}

}  // namespace

void check_state(const Settings& settings, const UsagePlace& place, Findings& findings) {
    check_place(place, findings);
    check_leftovers(place, findings);
    check_usage(place, findings);
    check_tuning(settings, place, findings);
}

}  // namespace colibri

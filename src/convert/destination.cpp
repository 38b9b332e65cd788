#include "convert/destination.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "format/container.h"
#include "format/shard_set.h"
#include "platform/file.h"
#include "platform/output_file.h"

namespace colibri {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kJournalBytesMax = 1 << 30;

// What a model needs beside its weights, and what people want to find there.
constexpr std::array<std::string_view, 16> kSideFiles{"config.json",
                                                      "generation_config.json",
                                                      "tokenizer.json",
                                                      "tokenizer_config.json",
                                                      "added_tokens.json",
                                                      "special_tokens_map.json",
                                                      "vocab.json",
                                                      "merges.txt",
                                                      "tokenizer.model",
                                                      "tiktoken.model",
                                                      "chat_template.json",
                                                      "preprocessor_config.json",
                                                      "LICENSE",
                                                      "LICENSE.txt",
                                                      "LICENSE.md",
                                                      "README.md"};

Status io_error(const std::string& path, const std::error_code& error) {
    return fail(ErrorKind::io, fmt::format("{}: {}", path, error.message()));
}

}  // namespace

Result<JournalState> read_journal(const std::string& destination) {
    const auto text = read_file(destination + "/" + kJournalFileName, kJournalBytesMax);
    if (text) return parse_journal(*text);
    if (text.error().kind == ErrorKind::not_found) return JournalState{};
    return tl::unexpected(text.error());
}

Result<Checkpoint> open_source(std::span<const std::string> sources, const std::string& destination,
                               const JournalState& journal, Notices& notices) {
    if (journal.spent.empty())
        return Checkpoint::open(sources.front(), notices, sources.subspan(1));
    const fs::path view = fs::path(destination) / kViewFolder;
    const fs::path spent = fs::path(destination) / kSpentFolder;
    std::error_code error;
    fs::remove_all(view, error);
    if (!fs::create_directories(view, error)) return tl::unexpected(io_error(view, error).error());
    const auto link = [&](const fs::path& target) {
        fs::create_symlink(fs::absolute(target), view / target.filename(), error);
        return !error;
    };
    for (const std::string& name : journal.spent)
        if (!link(spent / name)) return tl::unexpected(io_error(spent / name, error).error());
    for (const std::string& source : sources) {
        for (fs::directory_iterator entry(source, error), end; !error && entry != end;
             entry.increment(error)) {
            const std::string name = entry->path().filename().string();
            if (journal.spent.contains(name) || !entry->is_regular_file()) continue;
            if (&source != sources.data() && entry->path().extension() != ".safetensors") continue;
            if (!link(entry->path())) break;
        }
        if (error) return tl::unexpected(io_error(source, error).error());
    }
    return Checkpoint::open(view.string(), notices);
}

std::string begin_record(const ConvertPlan& plan) {
    return fmt::format("{}\n{}\n{}", plan.manifest.identity, plan.manifest.source_id,
                       plan.manifest.parameters);
}

Result<bool> check_destination(std::span<const std::string> sources, const std::string& destination,
                               const ConvertPlan& plan, const JournalState& journal) {
    std::error_code error;
    if (fs::exists(destination, error) && !fs::is_directory(destination, error))
        return fail(
            ErrorKind::invalid_input,
            fmt::format("{}: found a file, expected a directory to write into", destination));
    for (const std::string& source : sources)
        if (fs::equivalent(source, destination, error))
            return fail(
                ErrorKind::invalid_input,
                fmt::format("{}: source and destination are the same directory", destination));
    const std::string manifest_path = destination + "/" + kManifestFileName;
    if (fs::exists(manifest_path, error)) {
        TRY(const std::string text, read_file(manifest_path, kManifestBytesMax));
        const auto manifest = parse_manifest(text, manifest_path);
        if (manifest && manifest->identity == plan.manifest.identity) return true;
        return fail(
            ErrorKind::invalid_input,
            fmt::format(
                "{}: holds another container already{}; use an empty directory", destination,
                manifest ? fmt::format(" (from {}, {})", manifest->source, manifest->parameters)
                         : ""));
    }
    if (!journal.begin.empty()) {
        if (journal.begin == begin_record(plan)) return false;
        const size_t second = journal.begin.find('\n');
        const size_t third = journal.begin.find('\n', second + 1);
        const bool same_source =
            third != std::string::npos &&
            journal.begin.substr(second + 1, third - second - 1) == plan.manifest.source_id;
        return fail(
            ErrorKind::invalid_input,
            fmt::format("{}: a conversion {} has begun here (\"{}\"), asked for is \"{}\"{}; run "
                        "it with the same parameters, or use an empty directory",
                        destination,
                        same_source ? "with other parameters" : "of another or altered source",
                        third == std::string::npos ? "" : journal.begin.substr(third + 1),
                        plan.manifest.parameters, same_source ? "" : " of this source"));
    }
    for (fs::directory_iterator entry(destination, error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        if (name.ends_with(".safetensors") || name == kIndexFileName)
            return fail(ErrorKind::invalid_input,
                        fmt::format("{}: holds {} already; convert writes into an empty or new "
                                    "directory",
                                    destination, name));
    }
    return false;
}

Status save_header(const CheckpointFile& file, const std::string& destination) {
    TRY(const SafetensorsHeader header, read_safetensors_header(*file.file));
    std::vector<std::byte> bytes(header.data_begin);
    TRY_STATUS(file.file->read_at(0, bytes));
    const std::string folder = destination + "/" + kSpentFolder;
    std::error_code error;
    fs::create_directories(folder, error);
    TRY(OutputFile out, OutputFile::open(folder + "/" + file_name_of(file.path), 0));
    TRY_STATUS(out.append(bytes));
    TRY_STATUS(out.resize(file.size_bytes));
    TRY_STATUS(out.sync());
    sync_directory(folder);
    sync_directory(destination);
    return {};
}

Result<std::vector<std::string>> side_file_names(const std::string& source) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator entry(source, error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        const bool known =
            std::find(kSideFiles.begin(), kSideFiles.end(), name) != kSideFiles.end() ||
            name.ends_with(".jinja") || name.ends_with(".tiktoken");
        if (known && !name.starts_with('.') && entry->is_regular_file()) names.push_back(name);
    }
    if (error) return tl::unexpected(io_error(source, error).error());
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace colibri

#include "format/shard_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>

namespace colibri {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".safetensors";
constexpr size_t kNamesShownMax = 12;
constexpr uint32_t kShardNumberMax = 99'999;

// A numbered name: "out-mtp-00003.safetensors" is {"out-mtp-", 3, 0},
// "model-00002-of-00009.safetensors" {"model-", 2, 9}.
struct Numbered {
    std::string series;
    uint32_t number = 0;
    uint32_t of = 0;  // 0: the name does not say
    size_t digits = 0;
};

std::optional<uint32_t> shard_number(std::string_view text) {
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value > kShardNumberMax)
        return std::nullopt;
    return value;
}

std::optional<Numbered> parse_numbered(std::string_view name) {
    if (!name.ends_with(kSuffix)) return std::nullopt;
    name.remove_suffix(kSuffix.size());
    for (const std::string_view series : {"out-mtp-", "out-idx-", "out-", "model-"}) {
        if (!name.starts_with(series)) continue;
        std::string_view rest = name.substr(series.size());
        Numbered numbered{.series = std::string(series)};
        const size_t of = rest.find("-of-");
        if (of != std::string_view::npos) {
            const std::optional<uint32_t> total = shard_number(rest.substr(of + 4));
            if (!total || *total == 0) return std::nullopt;
            numbered.of = *total;
            rest = rest.substr(0, of);
        }
        const std::optional<uint32_t> number = shard_number(rest);
        if (!number) return std::nullopt;
        numbered.number = *number;
        numbered.digits = rest.size();
        return numbered;
    }
    return std::nullopt;
}

std::string shard_name(const Numbered& like, uint32_t number) {
    return like.of == 0 ? fmt::format("{}{:0{}}{}", like.series, number, like.digits, kSuffix)
                        : fmt::format("{}{:0{}}-of-{:0{}}{}", like.series, number, like.digits,
                                      like.of, like.digits, kSuffix);
}

// "a, b, c and 4 more"
std::string listed(const std::vector<std::string>& names) {
    const size_t shown = std::min(names.size(), kNamesShownMax);
    std::string text =
        fmt::format("{}", fmt::join(names.begin(), names.begin() + long(shown), ", "));
    if (shown < names.size()) text += fmt::format(" and {} more", names.size() - shown);
    return text;
}

bool has(const std::vector<std::string>& sorted, const std::string& name) {
    return std::binary_search(sorted.begin(), sorted.end(), name);
}

Status in_two_places(const std::string& name, const std::string& first, const std::string& second) {
    return fail(
        ErrorKind::invalid_input,
        fmt::format("{} is in {} and in {}; a model's files may lie in several directories, "
                    "each once: remove one, or use the second directory as a mirror",
                    name, first, second));
}

// The *.safetensors entries of the directories, sorted; the ones that cannot be part of a
// checkpoint with the reason.
struct Listing {
    std::vector<std::string> usable;
    std::map<std::string, std::string> unusable;
    std::map<std::string, std::string> directory_of;
};

Status add_directory(const std::string& directory, Listing& listing) {
    std::vector<std::string> found;
    std::error_code error;
    fs::directory_iterator entry(directory, error);
    if (error == std::errc::not_a_directory)
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}: found a file, expected the directory that holds the model",
                                directory));
    if (error)
        return fail(
            error == std::errc::no_such_file_or_directory ? ErrorKind::not_found : ErrorKind::io,
            fmt::format("{}: cannot list the model's directory: {}", directory, error.message()));
    for (; entry != fs::directory_iterator(); entry.increment(error)) {
        if (error) break;
        const std::string name = entry->path().filename().string();
        if (!std::string_view(name).ends_with(kSuffix)) continue;
        std::error_code status_error;
        const fs::file_status status = entry->status(status_error);  // follows links
        const bool sound = !name.starts_with('.') && fs::is_regular_file(status);
        if (has(listing.usable, name)) {
            if (sound) return in_two_places(name, listing.directory_of[name], directory);
            continue;  // what another directory has is not missed here
        }
        listing.unusable.erase(name);
        listing.directory_of[name] = directory;
        if (name.starts_with('.'))
            listing.unusable.emplace(name, "a hidden file");
        else if (fs::is_directory(status))
            listing.unusable.emplace(name, "a folder");
        else if (sound)
            found.push_back(name);
        else
            listing.unusable.emplace(name,
                                     fs::exists(status) ? "not a regular file" : "a dangling link");
    }
    if (error)
        return fail(ErrorKind::io, fmt::format("{}: cannot list the model's directory: {}",
                                               directory, error.message()));
    listing.usable.insert(listing.usable.end(), found.begin(), found.end());
    std::sort(listing.usable.begin(), listing.usable.end());
    return {};
}

// Every further directory must hold something that is read.
Status check_use(std::span<const std::string> directories, const std::vector<std::string>& paths) {
    for (const std::string& directory : directories.subspan(1))
        if (std::none_of(paths.begin(), paths.end(), [&](const std::string& path) {
                return fs::path(path).parent_path() == fs::path(directory + "/x").parent_path();
            }))
            return fail(ErrorKind::invalid_input,
                        fmt::format("{}: holds no file of the model in {}; name only directories "
                                    "that its shards lie in",
                                    directory, directories.front()));
    return {};
}

Status incomplete(const std::string& directory, const Listing& listing,
                  const std::vector<std::string>& missing, size_t expected) {
    std::vector<std::string> shown;
    for (const std::string& name : missing) {
        const auto reason = listing.unusable.find(name);
        shown.push_back(reason == listing.unusable.end() ? name
                                                         : name + " (" + reason->second + ")");
    }
    return fail(ErrorKind::not_found,
                fmt::format("{}: {} of {} shards are missing: {}; finish the download", directory,
                            missing.size(), expected, listed(shown)));
}

// Shards 1..M for names that say "-of-M".
Status check_of(const std::string& directory, const Listing& listing,
                const std::vector<std::string>& names) {
    std::optional<Numbered> first;
    for (const std::string& name : names) {
        const std::optional<Numbered> numbered = parse_numbered(name);
        if (!first) first = numbered;
        if (numbered->of != first->of)
            return fail(ErrorKind::invalid_input,
                        fmt::format("{}: found shards of two sets, {} and {}; keep one set",
                                    directory, names.front(), name));
    }
    if (!first || first->of == 0) return {};
    std::vector<std::string> missing;
    for (uint32_t number = 1; number <= first->of; ++number)
        if (std::string name = shard_name(*first, number); !has(names, name))
            missing.push_back(std::move(name));
    if (!missing.empty()) return incomplete(directory, listing, missing, first->of);
    if (names.size() != first->of)
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}: found {} files numbered -of-{}: {}", directory, names.size(),
                                first->of, listed(names)));
    return {};
}

// Numbers that a series without "-of-M" leaves out. Its end is unknown, and a converter may skip a
// number, so this is a hint for later messages and no error.
std::string numbering_gaps(const std::vector<std::string>& names) {
    std::map<std::string, std::pair<Numbered, std::vector<uint32_t>>> series;
    for (const std::string& name : names) {
        const std::optional<Numbered> numbered = parse_numbered(name);
        if (!numbered || numbered->of != 0) continue;
        auto& [like, numbers] =
            series.try_emplace(numbered->series, *numbered, std::vector<uint32_t>{}).first->second;
        numbers.push_back(numbered->number);
    }
    std::vector<std::string> missing;
    for (auto& [name, entry] : series) {
        auto& [like, numbers] = entry;
        std::sort(numbers.begin(), numbers.end());
        // The out- files count from 0, model- files from 1.
        uint32_t expected = name == "model-" ? std::min(1U, numbers.front()) : 0;
        for (const uint32_t number : numbers) {
            for (; expected < number && missing.size() <= kNamesShownMax; ++expected)
                missing.push_back(shard_name(like, expected));
            expected = number + 1;
        }
    }
    return missing.empty() ? "" : fmt::format("; the numbering lacks {}", listed(missing));
}

// The names of one scheme among the usable files.
Result<std::vector<std::string>> one_scheme(const std::string& directory, const Listing& listing) {
    std::vector<std::string> out, model, single, other;
    const auto sort_in = [&](const std::string& name) {
        const std::optional<Numbered> numbered = parse_numbered(name);
        if (name == "model.safetensors") return &single;
        if (!numbered) return &other;
        return numbered->series == "model-" ? &model : &out;
    };
    for (const std::string& name : listing.usable) sort_in(name)->push_back(name);
    const int schemes = int(!out.empty()) + int(!model.empty()) + int(!single.empty());
    if (schemes > 1) {
        std::vector<std::string> examples;
        for (const auto* names : {&single, &model, &out})
            if (!names->empty()) examples.push_back(names->front());
        return fail(
            ErrorKind::invalid_input,
            fmt::format("{}: found files of more than one checkpoint: {}; keep those of one",
                        directory, fmt::join(examples, ", ")));
    }
    // A broken link or folder in the place of a shard is a missing shard, not a stray.
    std::vector<std::string> broken;
    for (const auto& [name, reason] : listing.unusable)
        if (!name.starts_with('.') && (name == "model.safetensors" || parse_numbered(name)))
            broken.push_back(name);
    if (!broken.empty()) {
        TRY_STATUS(incomplete(directory, listing, broken, listing.usable.size() + broken.size()));
    }
    if (!single.empty()) return single;
    if (!model.empty()) {
        TRY_STATUS(check_of(directory, listing, model));
        return model;
    }
    if (!out.empty()) return out;
    return other;
}

// With an index there is no doubt about which files belong, so other sound files are no news.
void name_strays(const Listing& listing, const ShardSet& set, Notices& notices) {
    std::map<std::string, std::vector<std::string>> strays;
    for (const std::string& name : listing.usable)
        if (!set.indexed && !has(set.names, name))
            strays[listing.directory_of.at(name)].push_back(name);
    for (const auto& [name, reason] : listing.unusable)
        strays[listing.directory_of.at(name)].push_back(name + " (" + reason + ")");
    for (const auto& [directory, names] : strays)
        notices.add(fmt::format("{}: not part of the checkpoint and not read: {}", directory,
                                listed(names)));
}

}  // namespace

Result<ShardSet> choose_shards(std::span<const std::string> directories,
                               const std::vector<std::string>& indexed_names, Notices& notices) {
    const std::string& directory = directories.front();
    Listing listing;
    for (const std::string& each : directories) TRY_STATUS(add_directory(each, listing));
    ShardSet set;
    std::vector<std::string> missing;
    for (const std::string& name : indexed_names)
        if (!has(listing.usable, name)) missing.push_back(name);
    const bool has_container =
        std::any_of(listing.usable.begin(), listing.usable.end(), [](const std::string& name) {
            const std::optional<Numbered> numbered = parse_numbered(name);
            return numbered && numbered->series != "model-";
        });
    if (!indexed_names.empty() && missing.size() == indexed_names.size() && has_container) {
        // A converter's output beside the index of the checkpoint it was made from.
        notices.add(fmt::format("{}/{}: names none of the files that are here and is ignored",
                                directory, kIndexFileName));
    } else if (!indexed_names.empty()) {
        if (!missing.empty()) {
            TRY_STATUS(incomplete(directory, listing, missing, indexed_names.size()));
        }
        if (has_container)
            return fail(
                ErrorKind::invalid_input,
                fmt::format("{}: found out-*.safetensors beside the shards that {} names; keep "
                            "the files of one checkpoint",
                            directory, kIndexFileName));
        set.indexed = true;
        set.names = indexed_names;
        std::sort(set.names.begin(), set.names.end());
    }
    if (!set.indexed) {
        TRY(set.names, one_scheme(directory, listing));
        set.gaps = numbering_gaps(set.names);
    }
    name_strays(listing, set, notices);
    if (!set.gaps.empty()) notices.add(directory + set.gaps);
    if (set.names.empty())
        return fail(ErrorKind::not_found,
                    fmt::format("{}: no *.safetensors files found; expected model.safetensors, "
                                "model-N-of-M.safetensors or out-N.safetensors",
                                directory));
    for (const std::string& name : set.names)
        set.paths.push_back(listing.directory_of.at(name) + "/" + name);
    TRY_STATUS(check_use(directories, set.paths));
    return set;
}

std::vector<std::string> joined(const std::string& directory,
                                std::span<const std::string> further) {
    std::vector<std::string> directories{directory};
    directories.insert(directories.end(), further.begin(), further.end());
    return directories;
}

Result<std::vector<std::string>> find_files(std::span<const std::string> directories,
                                            const std::vector<std::string>& names) {
    std::vector<std::string> paths;
    for (const std::string& name : names) {
        std::string path;
        for (const std::string& directory : directories) {
            std::string candidate = directory + "/" + name;
            std::error_code error;
            if (!fs::exists(candidate, error)) continue;
            if (!path.empty())
                return tl::unexpected(
                    in_two_places(name, fs::path(path).parent_path(), directory).error());
            path = std::move(candidate);
        }
        paths.push_back(std::move(path));
    }
    TRY_STATUS(check_use(directories, paths));
    return paths;
}

}  // namespace colibri

#include "load/mirrors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/rng.h"
#include "base/units.h"

namespace colibri {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kHeaderLengthBytes = 8;
constexpr uint64_t kSampleBytes = 4096;
constexpr uint32_t kSamples = 64;

// The first place of [begin, begin + size) at which two files differ; size when they do not.
Result<uint64_t> first_difference(const File& original, const File& copy, uint64_t begin,
                                  uint64_t size_bytes) {
    constexpr uint64_t kWindow = kMiB;
    std::vector<std::byte> a, b;
    for (uint64_t at = 0; at < size_bytes; at += kWindow) {
        a.resize(std::min(kWindow, size_bytes - at));
        b.resize(a.size());
        TRY_STATUS(original.read_at(begin + at, a));
        TRY_STATUS(copy.read_at(begin + at, b));
        const auto [end, other] = std::mismatch(a.begin(), a.end(), b.begin());
        if (end != a.end()) return at + uint64_t(end - a.begin());
    }
    return size_bytes;
}

// Why `copy` is none, or nothing.
Result<std::optional<std::string>> why_not_a_copy(const File& original, const File& copy) {
    if (copy.size_bytes() != original.size_bytes())
        return std::optional(
            fmt::format("found {} bytes, expected {}", copy.size_bytes(), original.size_bytes()));
    uint64_t header_bytes = 0;
    if (original.size_bytes() >= kHeaderLengthBytes) {
        std::byte length[kHeaderLengthBytes];
        TRY_STATUS(original.read_at(0, length));
        std::memcpy(&header_bytes, length, sizeof length);
    }
    header_bytes = std::min(original.size_bytes(), header_bytes + kHeaderLengthBytes);
    const auto differs = [&](uint64_t begin,
                             uint64_t size_bytes) -> Result<std::optional<std::string>> {
        TRY(const uint64_t place, first_difference(original, copy, begin, size_bytes));
        if (place == size_bytes) return std::nullopt;
        return std::optional(
            fmt::format("it differs from {} at byte {}", original.path(), begin + place));
    };
    TRY(auto header, differs(0, header_bytes));
    if (header) return header;
    const uint64_t data_bytes = original.size_bytes() - header_bytes;
    Rng rng(data_bytes);
    for (uint32_t i = 0; i < kSamples && data_bytes > 0; ++i) {
        const uint64_t begin = header_bytes + rng.below(data_bytes);
        TRY(auto sample, differs(begin, std::min(kSampleBytes, original.size_bytes() - begin)));
        if (sample) return sample;
    }
    return std::nullopt;
}

std::string name_of(const std::string& path) {
    return path.substr(path.find_last_of('/') + 1);
}

// The copy of one file, when the mirror has a good one.
std::shared_ptr<const File> find_copy(const CheckpointFile& original, const std::string& directory,
                                      Notices& notices) {
    const std::string path = directory + "/" + name_of(original.path);
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return nullptr;
    std::string reason;
    if (fs::equivalent(path, original.path, ignored)) {
        reason = "it is the model's own file";
    } else if (auto file = File::open(path); !file) {
        reason = file.error().message;
    } else if (auto why = why_not_a_copy(*original.file, **file); !why) {
        reason = why.error().message;
    } else if (*why) {
        reason = **why;
    } else {
        return *std::move(file);
    }
    notices.add(fmt::format("mirror file {} is not used: {}", path, reason));
    return nullptr;
}

// A number in [0, 1) that belongs to an expert.
double place_of(ExpertId id) {
    return Rng((uint64_t(id.layer) << 32) | id.index).uniform();
}

}  // namespace

Result<Mirrors> open_mirrors(const Checkpoint& checkpoint,
                             const std::vector<MirrorOptions>& options, Notices& notices) {
    Mirrors mirrors;
    const auto originals = checkpoint.files();
    for (const MirrorOptions& option : options) {
        std::error_code error;
        if (!fs::is_directory(option.directory, error))
            return fail(ErrorKind::invalid_input,
                        fmt::format("--mirror {}: no such directory", option.directory));
        if (fs::equivalent(option.directory, checkpoint.directory(), error))
            return fail(
                ErrorKind::invalid_input,
                fmt::format("--mirror {}: this is the model's own directory", option.directory));
        Mirrors::Copy copy{.directory = option.directory,
                           .bytes_per_s = option.bytes_per_s,
                           .file_of = std::vector<uint32_t>(originals.size(), Mirrors::kNoFile)};
        bool any = false;
        for (size_t i = 0; i < originals.size(); ++i) {
            auto file = find_copy(originals[i], option.directory, notices);
            if (file == nullptr) continue;
            copy.file_of[i] = uint32_t(originals.size() + mirrors.files.size());
            mirrors.files.push_back(std::move(file));
            any = true;
        }
        if (!any)
            return fail(ErrorKind::invalid_input,
                        fmt::format("--mirror {}: it holds no copy of a file of {}",
                                    option.directory, checkpoint.directory()));
        mirrors.copies.push_back(std::move(copy));
    }
    return mirrors;
}

void spread_over_mirrors(const Mirrors& mirrors, const std::vector<double>& speeds,
                         std::vector<ExpertSource>& experts) {
    struct Choice {
        double speed;
        std::vector<uint32_t> files;  // for each extent
    };
    for (ExpertSource& source : experts) {
        std::vector<Choice> choices{{.speed = speeds[0], .files = {}}};
        for (const Extent& extent : source.extents) choices[0].files.push_back(extent.file);
        for (size_t m = 0; m < mirrors.copies.size(); ++m) {
            Choice choice{.speed = speeds[1 + m], .files = {}};
            for (const Extent& extent : source.extents)
                choice.files.push_back(mirrors.copies[m].file_of[extent.file]);
            if (std::find(choice.files.begin(), choice.files.end(), Mirrors::kNoFile) ==
                choice.files.end())
                choices.push_back(std::move(choice));
        }
        double sum = 0;
        for (const Choice& choice : choices) sum += choice.speed;
        double place = place_of(source.id) * sum;
        size_t first = 0;
        while (first + 1 < choices.size() && place >= choices[first].speed)
            place -= choices[first++].speed;
        std::rotate(choices.begin(), choices.begin() + std::ptrdiff_t(first),
                    choices.begin() + std::ptrdiff_t(first) + 1);
        for (size_t e = 0; e < source.extents.size(); ++e)
            source.extents[e].file = choices[0].files[e];
        source.mirrors.clear();
        for (size_t i = 1; i < choices.size(); ++i)
            source.mirrors.push_back(std::move(choices[i].files));
    }
}

}  // namespace colibri

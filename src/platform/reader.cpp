#include "platform/reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "platform/pread_reader.h"
#include "platform/uring_reader.h"

namespace colibri {

std::string_view to_string(ReaderKind kind) {
    switch (kind) {
        case ReaderKind::automatic: return "auto";
        case ReaderKind::uring: return "uring";
        case ReaderKind::pread: return "pread";
        case ReaderKind::buffered: return "buffered";
    }
    return "";
}

Result<std::unique_ptr<Reader>> make_reader(ReadSink& sink, ReaderOptions options) {
    if (options.kind == ReaderKind::automatic)
        options.kind = why_no_uring().empty() ? ReaderKind::uring : ReaderKind::pread;
    return options.kind == ReaderKind::uring ? make_uring_reader(sink, options)
                                             : make_pread_reader(sink, options);
}

uint64_t reader_memory_bytes(const ReaderOptions& options) {
    switch (options.kind) {
        case ReaderKind::automatic:
            return std::max(uring_reader_memory_bytes(options), pread_reader_memory_bytes(options));
        case ReaderKind::uring: return uring_reader_memory_bytes(options);
        case ReaderKind::pread:
        case ReaderKind::buffered: return pread_reader_memory_bytes(options);
    }
    return 0;
}

ReaderChoice choose_reader(ReaderKind wanted, std::span<const std::shared_ptr<const File>> files) {
    ReaderChoice choice{.kind = wanted, .direct = wanted != ReaderKind::buffered, .remark = ""};
    if (wanted == ReaderKind::buffered) return choice;
    if (wanted == ReaderKind::automatic) {
        choice.remark = why_no_uring();
        choice.kind = choice.remark.empty() ? ReaderKind::uring : ReaderKind::pread;
    }
    const auto refuses = [](const std::shared_ptr<const File>& file) {
        return file->direct_descriptor() < 0;
    };
    const auto refused = std::count_if(files.begin(), files.end(), refuses);
    if (refused == 0) return choice;
    choice.direct = false;
    const auto& first = *std::find_if(files.begin(), files.end(), refuses);
    // Without direct reads a ring only hands the work to threads of the kernel.
    if (wanted == ReaderKind::automatic && size_t(refused) == files.size())
        choice.kind = ReaderKind::buffered;
    choice.remark = fmt::format(
        "{} of {} files cannot be read past the page cache ({}): they are read through it, which "
        "is slower on a fast drive",
        refused, files.size(), first->path());
    return choice;
}

}  // namespace colibri

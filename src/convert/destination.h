// What a conversion finds where it is to write, and the source of one that has eaten some shards.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/notices.h"
#include "convert/journal.h"
#include "convert/plan.h"
#include "format/checkpoint.h"

namespace colibri {

// Headers of deleted source shards, and links to the others, while a conversion lasts.
inline constexpr const char* kSpentFolder = "convert.spent";
inline constexpr const char* kViewFolder = "convert.source";

// The journal of an unfinished conversion; empty without one. Errors: io.
[[nodiscard]] Result<JournalState> read_journal(const std::string& destination);

// Opens the source, whose directories are as Checkpoint::open has them. Where shards were deleted
// their saved headers stand in for them: no unit that is still to be done reads their data.
[[nodiscard]] Result<Checkpoint> open_source(std::span<const std::string> sources,
                                             const std::string& destination,
                                             const JournalState& journal, Notices& notices);

// True when the directory holds this very container already. Errors: invalid_input when it holds
// another one, half of another one, or files that would be overwritten; for a source inside the
// destination.
[[nodiscard]] Result<bool> check_destination(std::span<const std::string> sources,
                                             const std::string& destination,
                                             const ConvertPlan& plan, const JournalState& journal);

// What the journal's first record says of this plan.
[[nodiscard]] std::string begin_record(const ConvertPlan& plan);

// Saves the header of a shard so that it can be deleted.
[[nodiscard]] Status save_header(const CheckpointFile& file, const std::string& destination);

// Names of the files beside the weights that are copied, sorted.
[[nodiscard]] Result<std::vector<std::string>> side_file_names(const std::string& source);

}  // namespace colibri

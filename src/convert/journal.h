// What a conversion has made durable, so that it can go on after a crash.
//
// The file is a sequence of records {type u32, payload bytes u32, payload, low half of the XXH3-128
// of all that}; a record that is cut short or damaged ends it. Nothing is ever rewritten.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "format/digest.h"
#include "platform/output_file.h"

namespace colibri {

struct JournalFile {
    uint32_t tensors = 0;  // complete and durable
    uint64_t bytes = 0;    // up to the end of the last of them
    std::vector<Digest128> digests;
    std::optional<Sha256> sha256;  // of a finished file
};

struct JournalState {
    std::string begin;               // what the conversion is; empty: nothing was begun
    std::vector<JournalFile> files;  // as far as they are mentioned
    std::set<std::string> spent;     // source files that were, or may have been, deleted
    uint64_t valid_bytes = 0;        // of the journal
};

// Of the journal's bytes. Never fails: what cannot be read did not happen.
[[nodiscard]] JournalState parse_journal(std::string_view bytes);

// Appends records; each is durable when its function returns. Errors as OutputFile.
class Journal {
public:
    // Cuts what is not valid. Errors: invalid_input while another process converts into the same
    // directory.
    [[nodiscard]] static Result<Journal> open(const std::string& path, uint64_t valid_bytes);

    [[nodiscard]] Status begin(std::string_view what);
    // `tensors` and `bytes` are totals, `digests` those since the last record of the file. A total
    // of 0 forgets the file.
    [[nodiscard]] Status progress(uint32_t file, uint32_t tensors, uint64_t bytes,
                                  const std::vector<Digest128>& digests);
    [[nodiscard]] Status finished(uint32_t file, const Sha256& sha256);
    [[nodiscard]] Status spent(std::string_view source_file);

private:
    [[nodiscard]] Status append(uint32_t type, std::string_view payload);
    OutputFile file_;
};

}  // namespace colibri

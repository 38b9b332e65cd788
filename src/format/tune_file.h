// tune.json: what `coli tune` has measured for one model on one machine, and what it chose.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace colibri {

inline constexpr uint64_t kTuneFileBytesMax = 1 << 20;

// What the numbers are true for. Texts are compared as they are.
struct TuneMachine {
    std::string processor;  // "AMD EPYC ..."
    std::string isa;        // the widest that the kernels have here: "avx512"
    uint32_t cores = 0;     // that the process may use
    std::string drive;      // file system that holds the model: its type and identity
    friend bool operator==(const TuneMachine&, const TuneMachine&) = default;
};

// An option and its value, as one would write them on the command line.
struct TuneChoice {
    std::string option;  // without the dashes
    std::string value;
    friend bool operator==(const TuneChoice&, const TuneChoice&) = default;
};

struct TuneMeasurement {
    TuneChoice candidate;
    // Tokens per second of the candidate by those of what was best until then: the median of pairs.
    double ratio = 0;
    double spread = 0;  // of what it was compared with: (90 % - 10 %) / median
    uint32_t pairs = 0;
    std::string verdict;
    friend bool operator==(const TuneMeasurement&, const TuneMeasurement&) = default;
};

struct TuneFile {
    uint64_t model = 0;  // fingerprint
    TuneMachine machine;
    std::string date;  // UTC: "2026-11-30T00:10:00Z"
    double seconds = 0;
    uint64_t ram_bytes = 0;   // the budget
    double cached_share = 0;  // of the experts, in that budget
    std::vector<TuneMeasurement> measured;
    std::vector<TuneChoice> chosen;  // what differs from the defaults; options are unique
    double gain = 1;                 // of the chosen together over the defaults; 1 when none is
    friend bool operator==(const TuneFile&, const TuneFile&) = default;
};

// One JSON object, with a checksum over the whole text.
[[nodiscard]] std::string format_tune(const TuneFile& file);

// `name` is the file's, for messages. Errors: unsupported (a later version), corrupt (everything
// else that is not as format_tune writes it).
[[nodiscard]] Result<TuneFile> parse_tune(std::string_view text, std::string_view name);

}  // namespace colibri

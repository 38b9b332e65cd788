// Checkpoint to container, as a job that can be cut off anywhere and run again (docs/convert.md).
//
// The result depends on the source, the recipe and the calibration alone: not on threads, on
// interruptions, or on the machine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "base/notices.h"
#include "convert/plan.h"
#include "convert/quantize.h"
#include "convert/recipe.h"

namespace colibri {

struct ConvertProgress {
    uint64_t done_bytes = 0;   // read and written
    uint64_t total_bytes = 0;  // to be read and written by this run
    std::string_view file;     // being written
};

struct ConvertOptions {
    std::string source, destination;
    std::vector<std::string> split_directories;  // that hold some of the source's shards
    std::string writer;                          // program and version, for the manifest
    Recipe recipe;
    ScaleSearch search = ScaleSearch::search;
    std::string calibration;  // file of coli calibrate; empty: none
    uint32_t threads = 0;     // 0: usable_cores()
    // Each source shard as soon as everything made from it is durable and was read back.
    bool delete_source_shards = false;
    // Bytes of source and result that may be in memory at a time; one unit always may.
    uint64_t window_bytes = 256 << 20;
    // Data written between two points from which a run can go on.
    uint64_t checkpoint_bytes = 256 << 20;
    std::function<void(const ConvertProgress&)> progress;
    const CancelToken* cancel = nullptr;
    // For tests. Before every write, sync and rename; an error is as one of the operation itself.
    std::function<Status(std::string_view operation)> before;
    // For tests. Free bytes of the destination; empty: asks the system.
    std::function<Result<uint64_t>()> free_bytes;
};

struct ConvertEstimate {
    std::vector<PlanLine> lines;
    uint64_t in_bytes = 0;           // weights that are read
    uint64_t out_bytes = 0;          // everything that is written
    uint64_t done_bytes = 0;         // of it, durable already
    uint64_t free_bytes = 0;         // on the destination's filesystem
    uint64_t peak_memory_bytes = 0;  // the process's peak resident set stays below
    bool exact = false;              // nothing is quantized anew
    bool complete = false;           // the destination holds the result already
};

struct ConvertReport {
    uint64_t in_bytes = 0, out_bytes = 0;  // moved by this run
    uint64_t resumed_bytes = 0;            // durable before it
    uint64_t elapsed_us = 0;
    uint64_t encode_us = 0;  // of all threads, reading excluded as far as it waits elsewhere
    bool already_complete = false;
};

// What convert() would do. Reads headers; writes nothing. Errors as convert().
[[nodiscard]] Result<ConvertEstimate> estimate_conversion(const ConvertOptions& options,
                                                          Notices& notices);

// Errors: invalid_input (the destination holds something else, or a conversion with other
// parameters; the source is a container), out_of_budget (not enough room: checked before anything
// is written, and again on the way), io, corrupt (naming file and tensor of the source), cancelled.
// After an error or a crash the same call goes on where the last durable point was.
[[nodiscard]] Result<ConvertReport> convert(const ConvertOptions& options, Notices& notices);

}  // namespace colibri

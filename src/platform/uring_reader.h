// The reader for fast drives: one thread keeps many direct reads under way through io_uring.
#pragma once

#include <memory>

#include "platform/reader.h"

namespace colibri {

// Why this system has no io_uring; empty when it has.
[[nodiscard]] std::string why_no_uring();

// Errors: as make_reader.
[[nodiscard]] Result<std::unique_ptr<Reader>> make_uring_reader(ReadSink& sink,
                                                                const ReaderOptions& options);
[[nodiscard]] uint64_t uring_reader_memory_bytes(const ReaderOptions& options);

}  // namespace colibri

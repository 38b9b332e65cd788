// The reader that works everywhere: a pool of threads in positioned reads.
#pragma once

#include <memory>

#include "platform/reader.h"

namespace colibri {

// Direct reads unless `options.kind` is buffered. Errors: as make_reader.
[[nodiscard]] Result<std::unique_ptr<Reader>> make_pread_reader(ReadSink& sink,
                                                                const ReaderOptions& options);
[[nodiscard]] uint64_t pread_reader_memory_bytes(const ReaderOptions& options);

}  // namespace colibri

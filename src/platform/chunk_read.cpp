#include "platform/chunk_read.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/units.h"
#include "platform/read_loop.h"

namespace colibri {

namespace {

uint64_t block_begin(uint64_t offset) {
    return offset / kDirectBlockBytes * kDirectBlockBytes;
}

}  // namespace

ChunkRead::ChunkRead(const ReadRange& range, uint64_t begin, uint64_t end, int direct_descriptor)
    : file_(range.file),
      begin_(direct_descriptor >= 0 ? block_begin(begin) : begin),
      at_(begin_),
      wanted_end_(end),
      block_end_(direct_descriptor >= 0 ? round_up(end, kDirectBlockBytes) : end),
      into_(range.out.data() + int64_t(begin_ - range.offset)),
      direct_descriptor_(direct_descriptor) {}

SystemRead ChunkRead::call() const {
    CHECK(!is_done());
    return {.file = file_,
            .descriptor = is_direct() ? direct_descriptor_ : file_->descriptor(),
            .direct = is_direct(),
            .offset = at_,
            .into = {into_, call_bytes()}};
}

ChunkRead::Step ChunkRead::take(int64_t result) {
    if (result < 0) return take_error(int(-result));
    if (result == 0) {
        error_ =
            fail(ErrorKind::corrupt,
                 fmt::format("{}: the file ends at byte {}, expected at least {} more; it was cut "
                             "after it had been opened, copy it again",
                             file_->path(), at_, wanted_end_ - at_))
                .value();
        return Step::failed;
    }
    at_ += uint64_t(result);
    into_ += result;
    if (is_done()) {
        // The read has left pages behind that nobody will ask for again.
        if (!is_direct())
            (void)::posix_fadvise(file_->descriptor(), off_t(block_begin(begin_)),
                                  off_t(at_ - block_begin(begin_)), POSIX_FADV_DONTNEED);
        return Step::done;
    }
    // A short read that stopped inside a block cannot be continued directly.
    if (at_ % kDirectBlockBytes != 0) direct_descriptor_ = -1;
    return Step::again;
}

ChunkRead::Step ChunkRead::take_error(int error) {
    if (error == EINTR) return Step::again;
    if (is_direct() && (error == EINVAL || error == EOPNOTSUPP)) {
        file_->refuse_direct();
        direct_descriptor_ = -1;
        return Step::again;
    }
    if (error == EIO && io_errors_++ < kIoRetriesMax) {
        ++retries_;
        return Step::again;
    }
    if (error == EAGAIN && again_++ < kAgainRetriesMax) {
        ++retries_;
        return Step::pause;
    }
    error_ = fail(ErrorKind::io,
                  fmt::format("{}: reading {} bytes at offset {} failed: {}; check the drive",
                              file_->path(), wanted_end_ - at_, at_,
                              std::generic_category().message(error)))
                 .value();
    return Step::failed;
}

Status ChunkRead::take_status() {
    if (!error_) return {};
    return tl::unexpected(*std::exchange(error_, std::nullopt));
}

}  // namespace colibri

// Writes a container's data files in order, durable at checkpoints, and knows their digests.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "convert/journal.h"
#include "convert/plan.h"
#include "convert/produce.h"
#include "platform/output_file.h"

namespace colibri {

using FaultHook = std::function<Status(std::string_view operation)>;

class ContainerWriter {
public:
    // `manifest` gets header digests at once, file digests as files end. All must outlive it.
    ContainerWriter(std::string directory, ConvertPlan& plan, JournalState state, Journal journal,
                    uint64_t checkpoint_bytes, const FaultHook& before);

    // Tensors of `file` that are durable; all of a finished file. Reads back what the journal says
    // is there: what does not agree is made again.
    [[nodiscard]] Result<uint32_t> resume(uint32_t file);
    // The result of `unit`, the next one.
    [[nodiscard]] Status add(const ConvertUnit& unit, const Produced& produced);
    // Makes everything so far durable. After an error of something else: so that little is lost.
    [[nodiscard]] Status checkpoint();
    // Reads what became durable since the last call back from the drive. Errors: corrupt, io.
    [[nodiscard]] Status verify_durable();
    [[nodiscard]] Journal& journal() { return journal_; }
    // Digests by file, in the order of its tensors; of experts two each.
    [[nodiscard]] const std::vector<Digest128>& digests(uint32_t file) const {
        return files_[file].digests;
    }
    [[nodiscard]] uint32_t durable_tensors(uint32_t file) const { return files_[file].tensors; }
    [[nodiscard]] uint64_t written_bytes() const { return written_bytes_; }

private:
    [[nodiscard]] Status open(uint32_t file);
    [[nodiscard]] Status write(std::span<const std::byte> bytes);
    [[nodiscard]] Status finish_file();
    [[nodiscard]] bool read_back(uint32_t file);
    [[nodiscard]] Status fault(std::string_view operation) const {
        return before_ ? before_(operation) : Status();
    }
    void end_tensor();

    const std::string directory_;
    ConvertPlan& plan_;
    std::vector<JournalFile> files_;
    std::vector<uint32_t> tensor_counts_;
    std::vector<size_t> verified_;  // digests by file
    Journal journal_;
    const uint64_t checkpoint_bytes_;
    const FaultHook& before_;

    std::optional<uint32_t> open_file_;
    OutputFile output_;
    Sha256Stream sha_;
    Xxh3Stream xxh_;                 // of the tensor under way
    std::vector<std::byte> scales_;  // of the matrix under way
    uint32_t tensors_ = 0;           // complete in the open file
    std::vector<Digest128> fresh_;   // of those since the last checkpoint
    uint64_t fresh_bytes_ = 0, tensor_end_ = 0, written_bytes_ = 0;
};

}  // namespace colibri

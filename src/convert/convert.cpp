#include "convert/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/clock.h"
#include "base/units.h"
#include "convert/calibration.h"
#include "convert/container_writer.h"
#include "convert/destination.h"
#include "convert/workshop.h"
#include "format/container.h"
#include "format/shard_set.h"
#include "platform/file.h"
#include "platform/machine.h"

namespace colibri {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kSideFileBytesMax = 512 << 20;
// Journal, manifest, checksum table and the filesystem's own needs.
constexpr uint64_t kSpareBytes = 8 << 20;
// Between two looks at the free space.
constexpr uint64_t kSpaceCheckBytes = 64 << 20;
// Program, libraries, stacks, buffers of reading back.
constexpr uint64_t kProgramBytes = 40 << 20;
// Per tensor of the source: name, record, place in the plan.
constexpr uint64_t kTensorBytes = 768;

std::string parameters_of(const ConvertOptions& options, const std::string& calibration) {
    return fmt::format("formats {}; scales {}; calibration {}", options.recipe.canonical(),
                       options.search == ScaleSearch::search ? "search" : "nearest",
                       calibration.empty() ? "none" : calibration);
}

class Job {
public:
    Job(const ConvertOptions& options, Notices& notices) : options_(options), notices_(notices) {}

    Result<ConvertEstimate> prepare();
    Result<ConvertReport> run();

private:
    [[nodiscard]] Status fault(std::string_view operation) const {
        return options_.before ? options_.before(operation) : Status();
    }
    [[nodiscard]] Result<uint64_t> free_bytes() const {
        if (options_.free_bytes) return options_.free_bytes();
        std::error_code error;
        fs::path at = fs::absolute(options_.destination, error);
        while (!fs::exists(at, error) && at.has_parent_path() && at != at.parent_path())
            at = at.parent_path();
        return free_disk_bytes(at.string());
    }
    [[nodiscard]] uint64_t needed_bytes() const;
    [[nodiscard]] Status check_room(uint64_t needed) const;
    [[nodiscard]] Status check_calibration() const;
    Result<Journal> begin();
    Result<std::vector<uint32_t>> remaining(ContainerWriter& writer);
    Status write_units(ContainerWriter& writer, const std::vector<uint32_t>& units);
    Status copy_side_files();
    Status finish(const ContainerWriter& writer);
    Status clean_up();
    // Deletes source shards that nothing needs any more.
    Status delete_spent(ContainerWriter& writer);
    void show(uint32_t file, uint64_t done_bytes, uint64_t total_bytes) const;

    const ConvertOptions& options_;
    Notices& notices_;
    JournalState journal_state_;
    std::optional<Checkpoint> source_;
    ConvertPlan plan_;
    bool complete_ = false;
    std::vector<size_t> last_unit_;    // by source file: one past the last unit that reads it
    std::vector<uint32_t> unit_ends_;  // tensors of the unit's file after it
    std::vector<bool> spent_;
    size_t durable_units_ = 0;
    ConvertReport report_;
    uint64_t since_check_ = 0;
    std::string spent_needed_;  // a deleted shard that is needed again
    std::optional<Calibration> calibration_;
};

Result<ConvertEstimate> Job::prepare() {
    if (options_.source.empty() || options_.destination.empty())
        return fail(ErrorKind::invalid_input, "a source and a destination directory are needed");
    std::string calibration_digest;
    if (!options_.calibration.empty()) {
        TRY(calibration_, read_calibration(options_.calibration));
        TRY(const Sha256 digest, sha256_of_file(options_.calibration));
        calibration_digest = to_hex(digest).substr(0, 16);
    }
    TRY(journal_state_, read_journal(options_.destination));
    TRY(source_, open_source(joined(options_.source, options_.split_directories),
                             options_.destination, journal_state_, notices_));
    std::error_code error;
    const std::string name = fs::absolute(options_.source, error).lexically_normal().string();
    TRY(plan_,
        plan_conversion(*source_, options_.recipe, parameters_of(options_, calibration_digest),
                        file_name_of(name.ends_with('/') ? name.substr(0, name.size() - 1) : name),
                        notices_));
    plan_.manifest.writer = options_.writer;
    if (calibration_) TRY_STATUS(check_calibration());
    TRY(complete_, check_destination(joined(options_.source, options_.split_directories),
                                     options_.destination, plan_, journal_state_));

    last_unit_.assign(source_->files().size(), 0);
    std::vector<uint32_t> ends(plan_.manifest.files.size());
    for (size_t i = 0; i < plan_.units.size(); ++i) {
        ends[plan_.units[i].file] += plan_.units[i].tensors;
        unit_ends_.push_back(ends[plan_.units[i].file]);
        for_each_range(plan_, plan_.units[i],
                       [&](uint32_t file, uint64_t, uint64_t) { last_unit_[file] = i + 1; });
    }
    ConvertEstimate estimate{.lines = summarize(plan_),
                             .in_bytes = plan_.in_bytes,
                             .out_bytes = plan_.out_bytes,
                             .exact = plan_.exact(),
                             .complete = complete_};
    for (const JournalFile& file : journal_state_.files) estimate.done_bytes += file.bytes;
    TRY(estimate.free_bytes, free_bytes());
    uint64_t names = 0;
    for (const ExpertPlan& layer : plan_.experts) names += layer.source.experts * uint64_t(3);
    estimate.peak_memory_bytes = kProgramBytes +
                                 std::max(options_.window_bytes, plan_.largest_unit_bytes) +
                                 kTensorBytes * (source_->tensors().size() + names);
    return estimate;
}

// Of this model: every matrix that it names has as many columns.
Status Job::check_calibration() const {
    const auto mismatch = [&](const std::string& what, size_t found, size_t expected) {
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}: {} values for {}, expected {}: it was made with another model",
                                options_.calibration, found, what, expected));
    };
    size_t known = 0;
    for (const DensePlan& item : plan_.dense) {
        const auto found = calibration_->dense.find(item.job.source.name);
        if (found == calibration_->dense.end()) continue;
        ++known;
        if (found->second.size() != item.shape.columns)
            return mismatch(found->first, found->second.size(), item.shape.columns);
    }
    for (const ExpertPlan& layer : plan_.experts) {
        const auto found = calibration_->experts.find(layer.source.layer);
        if (found == calibration_->experts.end()) continue;
        ++known;
        const std::string what = fmt::format("the experts of layer {}", layer.target.layer);
        const TileShape& gate = layer.target.parts[0];
        const TileShape& down = layer.target.parts[2];
        if (found->second.input.size() != gate.columns)
            return mismatch(what, found->second.input.size(), gate.columns);
        if (found->second.down.size() != uint64_t(layer.target.count) * down.columns)
            return mismatch(what, found->second.down.size(),
                            uint64_t(layer.target.count) * down.columns);
    }
    if (known > 0) return {};
    return fail(ErrorKind::invalid_input,
                fmt::format("{}: names no tensor of this model", options_.calibration));
}

// With deletion the source makes room as it is eaten.
uint64_t Job::needed_bytes() const {
    uint64_t done = 0;
    for (const JournalFile& file : journal_state_.files) done += file.bytes;
    if (!options_.delete_source_shards)
        return plan_.out_bytes - std::min(done, plan_.out_bytes) + kSpareBytes;
    uint64_t written = 0, freed = 0, peak = 0;
    std::vector<bool> gone(last_unit_.size());
    for (size_t i = 0; i < plan_.units.size(); ++i) {
        written += plan_.units[i].out_bytes;
        const uint64_t new_bytes = written - std::min(written, done);
        peak = std::max(peak, new_bytes - std::min(new_bytes, freed));
        for (size_t f = 0; f < last_unit_.size(); ++f)
            if (!gone[f] && last_unit_[f] <= i + 1 &&
                !journal_state_.spent.contains(file_name_of(source_->files()[f].path))) {
                gone[f] = true;
                freed += source_->files()[f].size_bytes;
            }
    }
    return peak + options_.checkpoint_bytes + kSpareBytes;
}

Status Job::check_room(uint64_t needed) const {
    TRY(const uint64_t free, free_bytes());
    if (free >= needed) return {};
    return fail(
        ErrorKind::out_of_budget,
        fmt::format("{}: {} more are needed ({} bytes), {} are free ({} bytes); make room "
                    "and run the same command again{}",
                    options_.destination, format_bytes(needed), needed, format_bytes(free), free,
                    options_.delete_source_shards
                        ? ""
                        : ", or let the source make room with --delete-source-shards"));
}

Result<Journal> Job::begin() {
    std::error_code error;
    fs::create_directories(options_.destination, error);
    if (error)
        return fail(ErrorKind::io,
                    fmt::format("{}: cannot create: {}", options_.destination, error.message()));
    TRY_STATUS(fault("journal"));
    TRY(Journal journal,
        Journal::open(options_.destination + "/" + kJournalFileName, journal_state_.valid_bytes));
    if (journal_state_.begin.empty()) {
        TRY_STATUS(journal.begin(begin_record(plan_)));
        sync_directory(options_.destination);
    }
    return journal;
}

Result<std::vector<uint32_t>> Job::remaining(ContainerWriter& writer) {
    std::vector<uint32_t> durable;
    for (uint32_t file = 0; file < plan_.manifest.files.size(); ++file) {
        TRY(const uint32_t tensors, writer.resume(file));
        durable.push_back(tensors);
    }
    std::vector<uint32_t> units;
    for (uint32_t i = 0; i < plan_.units.size(); ++i) {
        const ConvertUnit& unit = plan_.units[i];
        // A unit is done with the tensor that it ends or belongs to.
        const uint32_t end = unit_ends_[i] + (unit.tensors == 0 ? 1 : 0);
        if (end <= durable[unit.file]) {
            report_.resumed_bytes += unit.out_bytes;
            continue;
        }
        units.push_back(i);
        for_each_range(plan_, unit, [&](uint32_t file, uint64_t, uint64_t) {
            const std::string name = file_name_of(source_->files()[file].path);
            spent_needed_ =
                spent_needed_.empty() && journal_state_.spent.contains(name) ? name : spent_needed_;
        });
    }
    if (!spent_needed_.empty())
        return fail(ErrorKind::not_found,
                    fmt::format("{}: {} was deleted after it had been converted, but what was made "
                                "of it in {} is gone; fetch the shard again and use an empty "
                                "directory",
                                options_.source, spent_needed_, options_.destination));
    return units;
}

void Job::show(uint32_t file, uint64_t done_bytes, uint64_t total_bytes) const {
    if (!options_.progress) return;
    options_.progress({.done_bytes = done_bytes,
                       .total_bytes = total_bytes,
                       .file = plan_.manifest.files[file].name});
}

Status Job::delete_spent(ContainerWriter& writer) {
    while (durable_units_ < plan_.units.size() &&
           unit_ends_[durable_units_] + (plan_.units[durable_units_].tensors == 0 ? 1 : 0) <=
               writer.durable_tensors(plan_.units[durable_units_].file))
        ++durable_units_;
    bool verified = false;
    for (size_t f = 0; f < last_unit_.size(); ++f) {
        const CheckpointFile& file = source_->files()[f];
        const std::string name = file_name_of(file.path);
        if (spent_[f] || last_unit_[f] > durable_units_) continue;
        spent_[f] = true;
        if (journal_state_.spent.contains(name)) continue;
        if (!verified) TRY_STATUS(writer.verify_durable());
        verified = true;
        TRY_STATUS(fault("delete"));
        TRY_STATUS(save_header(file, options_.destination));
        TRY_STATUS(writer.journal().spent(name));
        for (const std::string& directory : joined(options_.source, options_.split_directories)) {
            std::error_code error;
            fs::remove(fs::path(directory) / name, error);  // no error where it is not
            if (error)
                notices_.add(fmt::format("{}/{}: could not be deleted: {}", directory, name,
                                         error.message()));
        }
    }
    return {};
}

Status Job::write_units(ContainerWriter& writer, const std::vector<uint32_t>& units) {
    const Producer producer(*source_, plan_, options_.search,
                            calibration_ ? &*calibration_ : nullptr);
    const uint32_t threads = options_.threads != 0 ? options_.threads : usable_cores();
    Workshop workshop(*source_, plan_, producer, units, options_.window_bytes);
    TRY_STATUS(workshop.start(threads));
    uint64_t total = 0;
    for (const uint32_t i : units) total += plan_.units[i].in_bytes + plan_.units[i].out_bytes;
    uint64_t done = 0;
    for (const uint32_t i : units) {
        const ConvertUnit& unit = plan_.units[i];
        if (is_cancelled(options_.cancel)) {
            TRY_STATUS(writer.checkpoint());
            return fail(ErrorKind::cancelled,
                        "stopped; the same command goes on from where it was");
        }
        auto made = workshop.take();
        if (!made) {
            (void)writer.checkpoint();
            return tl::unexpected(std::move(made).error());
        }
        since_check_ += unit.out_bytes;
        if (since_check_ >= kSpaceCheckBytes) {
            since_check_ = 0;
            if (Status room = check_room(unit.out_bytes + kSpareBytes); !room) {
                (void)writer.checkpoint();
                return room;
            }
        }
        TRY_STATUS(writer.add(unit, *made));
        *made = {};
        workshop.done();
        done += unit.in_bytes + unit.out_bytes;
        report_.in_bytes += unit.in_bytes;
        if (options_.delete_source_shards) TRY_STATUS(delete_spent(writer));
        show(unit.file, done, total);
    }
    report_.encode_us = workshop.busy_us();
    return {};
}

Status Job::copy_side_files() {
    TRY(const std::vector<std::string> names, side_file_names(options_.source));
    plan_.manifest.side_files.clear();
    for (const std::string& name : names) {
        TRY(const std::string text, read_file(options_.source + "/" + name, kSideFileBytesMax));
        TRY_STATUS(fault("side file"));
        TRY_STATUS(
            write_file_atomic(options_.destination + "/" + name, std::as_bytes(std::span(text))));
        plan_.manifest.side_files.push_back(
            {.name = name, .size_bytes = text.size(), .sha256 = sha256(text)});
        report_.out_bytes += text.size();
    }
    return {};
}

// Dense digests in file order are those of the manifest's tensors; likewise experts.
Status Job::finish(const ContainerWriter& writer) {
    ChecksumTable table{.identity = plan_.manifest.identity, .tensors = {}, .experts = {}};
    std::vector<size_t> next(plan_.manifest.files.size());
    for (const ContainerTensor& tensor : plan_.manifest.tensors)
        table.tensors.push_back(writer.digests(tensor.file)[next[tensor.file]++]);
    for (const ContainerExperts& layer : plan_.manifest.experts)
        for (uint32_t e = 0; e < layer.count; ++e) {
            const auto& digests = writer.digests(layer.file);
            size_t& at = next[layer.file];
            table.experts.push_back({digests[at], digests[at + 1]});
            at += 2;
        }
    const std::string sums = checksum_table_bytes(table);
    plan_.manifest.checksum_bytes = sums.size();
    plan_.manifest.checksum_digest = xxh3_128(std::string_view(sums));
    TRY_STATUS(fault("checksums"));
    TRY_STATUS(write_file_atomic(options_.destination + "/" + kChecksumFileName,
                                 std::as_bytes(std::span(sums))));
    const std::string text = manifest_text(plan_.manifest);
    TRY_STATUS(fault("manifest"));
    TRY_STATUS(write_file_atomic(options_.destination + "/" + kManifestFileName,
                                 std::as_bytes(std::span(text))));
    report_.out_bytes += writer.written_bytes() + sums.size() + text.size();
    return {};
}

// What only the way there needed. Temporary files of a crash in the middle of a rename too.
Status Job::clean_up() {
    TRY_STATUS(fault("clean up"));
    std::error_code error;
    const fs::path destination(options_.destination);
    fs::remove_all(destination / kViewFolder, error);
    fs::remove_all(destination / kSpentFolder, error);
    std::vector<fs::path> temporary;
    for (fs::directory_iterator entry(destination, error), end; !error && entry != end;
         entry.increment(error))
        if (entry->path().extension() == ".tmp") temporary.push_back(entry->path());
    for (const fs::path& path : temporary) fs::remove(path, error);
    fs::remove(destination / kJournalFileName, error);
    sync_directory(options_.destination);
    return {};
}

Result<ConvertReport> Job::run() {
    const uint64_t begin_us = now_us();
    TRY(const ConvertEstimate estimate, prepare());
    if (complete_) {
        report_.already_complete = true;
        TRY_STATUS(clean_up());
        return report_;
    }
    TRY_STATUS(check_room(needed_bytes()));
    TRY(Journal journal, begin());
    spent_.resize(source_->files().size());
    ContainerWriter writer(options_.destination, plan_, journal_state_, std::move(journal),
                           options_.checkpoint_bytes, options_.before);
    TRY(const std::vector<uint32_t> units, remaining(writer));
    if (options_.delete_source_shards) TRY_STATUS(delete_spent(writer));
    TRY_STATUS(write_units(writer, units));
    TRY_STATUS(copy_side_files());
    TRY_STATUS(finish(writer));
    TRY_STATUS(clean_up());
    report_.elapsed_us = now_us() - begin_us;
    return report_;
}

}  // namespace

Result<ConvertEstimate> estimate_conversion(const ConvertOptions& options, Notices& notices) {
    return Job(options, notices).prepare();
}

Result<ConvertReport> convert(const ConvertOptions& options, Notices& notices) {
    return Job(options, notices).run();
}

}  // namespace colibri

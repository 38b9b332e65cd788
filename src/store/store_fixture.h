// Files of experts with known content, and a consumer that checks every byte, for the store's
// tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/rng.h"
#include "base/units.h"
#include "platform/test_tree.h"
#include "store/expert_store.h"

namespace colibri {

// Byte `at` of the landed expert: a function of the id alone.
inline std::byte expert_byte(ExpertId id, uint64_t at) {
    const uint64_t mixed =
        (uint64_t(id.layer) * 131071 + id.index * 8191 + 1) * (at / 8 + 0x9E3779B97F4A7C15ULL);
    return std::byte((mixed >> (8 * (at % 8))) & 0xFF);
}

struct FixtureShape {
    uint32_t layers = 3;
    uint32_t experts = 16;
    uint32_t extent_bytes = 1000;  // an expert has three extents of this, and a little more each
    uint32_t classes = 1;          // expert i of a layer is in class i % classes
    uint32_t files = 2;
    uint32_t slots = 4;
    uint32_t ring_slots = 2;
    bool in_place = false;  // one extent of three times extent_bytes, to be read into the slot
    uint32_t mirrors = 0;   // copies of every file
    bool check_arrivals = false;  // of experts in place, instead of landing them
};

// Compares an expert with what it should be, byte by byte as they come.
class ContentCheck final : public ArrivalCheck {
public:
    explicit ContentCheck(const FixtureShape& shape) : shape_(shape) {}
    void begin(ExpertId id) override {
        id_ = id;
        at_ = 0;
        right_ = true;
    }
    void take(std::span<const std::byte> bytes) override {
        for (const std::byte byte : bytes) right_ &= byte == expert_byte(id_, at_++);
    }
    [[nodiscard]] Status finish() override {
        const uint64_t expected =
            3 * uint64_t(shape_.extent_bytes) + 3 * uint64_t(id_.index % shape_.classes);
        if (at_ != expected)
            return fail(ErrorKind::invalid_input,
                        "checked " + std::to_string(at_) + " bytes of " + std::to_string(expected));
        if (!right_) return fail(ErrorKind::corrupt, "checksum of gate differs");
        return {};
    }

private:
    const FixtureShape shape_;
    ExpertId id_;
    uint64_t at_ = 0;
    bool right_ = true;
};

// How experts come into slots: through staging, or in place and looked at afterwards or on arrival.
struct LandingWay {
    bool in_place = false;
    bool check_arrivals = false;
};
inline constexpr LandingWay kLandingWays[] = {{false, false}, {true, false}, {true, true}};

// Experts lie in the files as three extents each, with gaps, in an order that is not theirs.
class StoreFixture {
public:
    explicit StoreFixture(const FixtureShape& shape = {}) : shape_(shape) {
        std::vector<std::string> contents(shape.files, std::string(77, '#'));
        for (uint32_t layer = 0; layer < shape.layers; ++layer)
            for (uint32_t index = 0; index < shape.experts; ++index)
                add_expert({layer, index}, contents);
        for (uint32_t file = 0; file < shape.files; ++file) {
            const std::string name = "experts-" + std::to_string(file) + ".bin";
            tree_.write(name, contents[file] + "tail");
            auto opened = File::open(tree_.path(name));
            CHECK(opened.has_value());
            files_.push_back(*opened);
        }
        for (uint32_t mirror = 1; mirror <= shape.mirrors; ++mirror)
            for (uint32_t file = 0; file < shape.files; ++file) {
                const std::string name =
                    "mirror-" + std::to_string(mirror) + "-" + std::to_string(file) + ".bin";
                tree_.write(name, contents[file] + "tail");
                files_.push_back(File::open(tree_.path(name)).value());
            }
    }

    [[nodiscard]] StoreConfig config() const {
        StoreConfig config;
        config.files = files_;
        config.experts = sources_;
        for (uint32_t i = 0; i < shape_.classes; ++i)
            config.classes.push_back({.slot_bytes = slot_bytes(i),
                                      .slots = shape_.slots,
                                      .ring_slots = shape_.ring_slots});
        config.landing = [](ExpertId, std::span<const std::span<const std::byte>> raw,
                            std::span<std::byte> slot) -> Status {
            size_t at = 0;
            for (const auto& part : raw) {
                if (part.size() > slot.size() - at)
                    return fail(ErrorKind::corrupt, "the expert is larger than its slot");
                if (slot.data() + at != part.data())
                    std::memcpy(slot.data() + at, part.data(), part.size());
                at += part.size();
            }
            if (at != slot.size())
                return fail(ErrorKind::corrupt, "the expert is smaller than its slot");
            return {};
        };
        if (shape_.in_place && shape_.check_arrivals)
            config.make_arrival_check = [shape = shape_] {
                return std::make_unique<ContentCheck>(shape);
            };
        return config;
    }

    [[nodiscard]] std::vector<ExpertId> all() const {
        std::vector<ExpertId> ids;
        for (const ExpertSource& source : sources_) ids.push_back(source.id);
        std::sort(ids.begin(), ids.end());
        return ids;
    }
    [[nodiscard]] uint64_t slot_bytes(uint32_t slot_class) const {
        return 3 * uint64_t(shape_.extent_bytes) + 3 * slot_class;
    }
    [[nodiscard]] uint32_t class_of(ExpertId id) const { return id.index % shape_.classes; }
    [[nodiscard]] bool right(const ExpertLease& lease) const {
        const uint64_t bytes = slot_bytes(class_of(lease.id()));
        for (uint64_t at = 0; at < bytes; ++at)
            if (lease.data()[at] != expert_byte(lease.id(), at)) return false;
        return true;
    }
    // A random set of distinct experts.
    [[nodiscard]] std::vector<ExpertId> random_set(Rng& rng, size_t size_max) const {
        std::vector<ExpertId> ids = all();
        for (size_t i = ids.size(); i > 1; --i) std::swap(ids[i - 1], ids[rng.below(i)]);
        ids.resize(rng.below(std::min(size_max, ids.size()) + 1));
        return ids;
    }
    [[nodiscard]] const std::vector<std::shared_ptr<const File>>& files() const { return files_; }
    [[nodiscard]] const std::vector<ExpertSource>& sources() const { return sources_; }
    [[nodiscard]] const ExpertSource& source(ExpertId id) const {
        return *std::find_if(sources_.begin(), sources_.end(),
                             [&](const ExpertSource& s) { return s.id == id; });
    }
    [[nodiscard]] const TestTree& tree() const { return tree_; }

private:
    void add_expert(ExpertId id, std::vector<std::string>& contents) {
        ExpertSource source{
            .id = id, .extents = {}, .slot_class = class_of(id), .in_place = shape_.in_place};
        if (shape_.in_place) {
            add_extent(source, id.index % shape_.files, contents);
        } else {
            add_parts(source, contents);
        }
        for (uint32_t mirror = 1; mirror <= shape_.mirrors; ++mirror) {
            std::vector<uint32_t>& copy = source.mirrors.emplace_back();
            for (const Extent& extent : source.extents)
                copy.push_back(extent.file + mirror * shape_.files);
        }
        // Extent order is the order of the content; where the extents lie need not follow it.
        sources_.insert(sources_.begin() + (sources_.size() / 2), std::move(source));
    }

    void add_extent(ExpertSource& source, uint32_t file, std::vector<std::string>& contents) {
        std::string& content = contents[file];
        content.resize(round_up(uint64_t(content.size()), kDirectBlockBytes), '-');
        const uint64_t size_bytes = slot_bytes(source.slot_class);
        source.extents.push_back(
            {.file = file, .offset = content.size(), .size_bytes = size_bytes});
        for (uint64_t at = 0; at < size_bytes; ++at)
            content.push_back(char(expert_byte(source.id, at)));
    }

    void add_parts(ExpertSource& source, std::vector<std::string>& contents) {
        const ExpertId id = source.id;
        const uint64_t part_bytes = shape_.extent_bytes + source.slot_class;
        for (uint32_t part = 0; part < 3; ++part) {
            const auto file = uint32_t((id.index + (part == 2 ? 1 : 0)) % contents.size());
            contents[file].append((id.index * 7 + part * 3) % 50, '-');
            source.extents.push_back(
                {.file = file, .offset = contents[file].size(), .size_bytes = part_bytes});
            for (uint64_t at = 0; at < part_bytes; ++at)
                contents[file].push_back(char(expert_byte(id, part * part_bytes + at)));
        }
    }

    FixtureShape shape_;
    TestTree tree_;
    std::vector<std::shared_ptr<const File>> files_;
    std::vector<ExpertSource> sources_;
};

// Checks content as a checksum would.
inline LandingFunction checked(const LandingFunction& copy) {
    return [copy](ExpertId id, std::span<const std::span<const std::byte>> raw,
                  std::span<std::byte> slot) -> Status {
        TRY_STATUS(copy(id, raw, slot));
        for (uint64_t at = 0; at < slot.size(); ++at)
            if (slot[at] != expert_byte(id, at))
                return fail(ErrorKind::corrupt, "checksum of gate differs");
        return {};
    };
}

inline std::unique_ptr<ExpertStore> make_store(StoreConfig config) {
    auto store = ExpertStore::create(std::move(config));
    if (!store) ADD_FAILURE() << store.error().message;
    CHECK(store.has_value());
    return *std::move(store);
}

// Reads a stream to its end, one lease at a time; the ids in the order of arrival. Checks the
// bytes.
inline Result<std::vector<ExpertId>> read_all(const StoreFixture& fixture, ExpertStore& store,
                                              std::span<const ExpertId> set, StreamKind kind) {
    TRY_STATUS(store.open_stream(set, kind));
    std::vector<ExpertId> order;
    while (true) {
        TRY(const ExpertLease lease, store.next());
        if (!lease) return order;
        EXPECT_TRUE(fixture.right(lease)) << lease.id().layer << "/" << lease.id().index;
        order.push_back(lease.id());
    }
}

}  // namespace colibri

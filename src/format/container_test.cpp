#include "format/container.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "format/checkpoint.h"
#include "format/test_container.h"

namespace colibri {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ContainerTest : public testing::Test {
protected:
    void SetUp() override {
        const auto* info = testing::UnitTest::GetInstance()->current_test_info();
        directory_ = fs::temp_directory_path() /
                     fmt::format("colibri_container_{}_{}", info->name(), getpid());
        fs::remove_all(directory_);
    }
    void TearDown() override { fs::remove_all(directory_); }

    [[nodiscard]] std::string open_error(const std::string& directory) const {
        Notices notices;
        const auto opened = open_container(directory, notices);
        return opened ? "" : opened.error().message;
    }
    static std::vector<ContainerFinding> deep(const std::string& directory) {
        const auto findings = verify_container(directory, true, {});
        EXPECT_TRUE(findings.has_value());
        return *findings;
    }
    // The manifest's JSON with one change, its own digest made right again.
    void rewrite(const TestContainer& c, const std::function<void(nlohmann::ordered_json&)>& edit) {
        auto json = nlohmann::ordered_json::parse(test_read(c.path(kManifestFileName)));
        edit(json);
        json["manifest_xxh3"] = std::string(32, '0');
        std::string text = json.dump(1) + "\n";
        const std::string self = to_hex(xxh3_128(std::string_view(text)));
        text.replace(text.rfind(std::string(32, '0')), 32, self);
        test_write(c.path(kManifestFileName), text);
    }
    std::string directory_;
};

// Goal: the digests are the published functions.
// Method: vectors computed with coreutils' sha256sum and xxhsum -H2.
TEST(Digest, KnownVectors) {
    EXPECT_EQ(to_hex(sha256("abc")),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(to_hex(xxh3_128(std::string_view(""))), "99aa06d3014798d86001c324468d497f");
    EXPECT_EQ(to_hex(xxh3_128(std::string_view("abc"))), "06b05ab6733a618578af5f94892f3950");
    Sha256Stream stream;
    Xxh3Stream xxh;
    for (const char c : std::string("abc")) {
        stream.update(std::as_bytes(std::span(&c, 1)));
        xxh.update(std::as_bytes(std::span(&c, 1)));
    }
    EXPECT_EQ(stream.finish(), sha256("abc"));
    EXPECT_EQ(xxh.digest(), xxh3_128(std::string_view("abc")));
    EXPECT_EQ(digest_from_hex(to_hex(xxh.digest())), xxh.digest());
    EXPECT_FALSE(digest_from_hex("06B05AB6733a618578af5f94892f3950").has_value());
}

// Goal: a sound container opens, says what it holds, and has no findings.
// Method: a hand-made one; tensors through Checkpoint at 4 KiB, bytes as written.
TEST_F(ContainerTest, OpensAndVerifies) {
    const TestContainer c(directory_);
    Notices notices;
    const auto checkpoint = Checkpoint::open(directory_, notices);
    ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().message;
    ASSERT_NE(checkpoint->container(), nullptr);
    EXPECT_EQ(checkpoint->tensors().size(), 8U);
    const TensorInfo* expert = checkpoint->find("layers.1.experts.2");
    ASSERT_NE(expert, nullptr);
    EXPECT_EQ(expert->offset % 4096, 0U);
    EXPECT_EQ(expert->size_bytes % 4096, 0U);
    std::vector<std::byte> bytes(expert->size_bytes);
    ASSERT_TRUE(checkpoint->read(*expert, 0, bytes));
    const ContainerExperts* layer = checkpoint->container()->experts_of(1);
    ASSERT_NE(layer, nullptr);
    EXPECT_TRUE(check_expert(*layer, checkpoint->container()->expert_digests(1)[2], bytes));
    EXPECT_FALSE(check_expert(*layer, checkpoint->container()->expert_digests(1)[1], bytes));
    bytes[bytes.size() - 1] ^= std::byte(1);
    const Status damaged =
        check_expert(*layer, checkpoint->container()->expert_digests(1)[2], bytes);
    ASSERT_FALSE(damaged);
    EXPECT_THAT(damaged.error().message, HasSubstr("down"));
    EXPECT_TRUE(notices.take().empty());
    EXPECT_TRUE(deep(directory_).empty());
}

// Goal: another program can list and copy a data file.
// Method: a JSON tree parses the header; offsets are contiguous and end at the file's end.
TEST_F(ContainerTest, DataFilesAreSafetensors) {
    const TestContainer c(directory_);
    for (const std::string& bytes : c.files) {
        uint64_t length = 0;
        for (size_t i = 8; i-- > 0;) length = length << 8 | uint8_t(bytes[i]);
        EXPECT_EQ((8 + length) % 4096, 0U);
        const auto header = nlohmann::ordered_json::parse(bytes.substr(8, length));
        uint64_t at = 0;
        for (const auto& [name, entry] : header.items()) {
            if (name == "__metadata__") continue;
            EXPECT_EQ(entry["data_offsets"][0], at);
            at = entry["data_offsets"][1];
            const uint64_t width = entry["dtype"] == "F32" ? 4 : 1;
            EXPECT_EQ(at - uint64_t(entry["data_offsets"][0]), uint64_t(entry["shape"][0]) * width);
        }
        EXPECT_EQ(8 + length + at, bytes.size());
    }
}

// Goal: what can be found without reading data is found by open, naming the file.
// Method: one kind of damage at a time.
TEST_F(ContainerTest, OpenFindsCheapDamage) {
    const TestContainer c(directory_);
    const std::string experts = c.path("experts-00001.safetensors");
    const std::string whole = test_read(experts);
    for (const size_t cut : {size_t(1), size_t(4096), whole.size() - 100}) {
        test_write(experts, whole.substr(0, whole.size() - cut));
        EXPECT_THAT(open_error(directory_), HasSubstr("experts-00001.safetensors: found"));
    }
    test_write(experts, whole + "x");
    EXPECT_THAT(open_error(directory_), HasSubstr("something was added"));
    std::string bytes = whole;
    bytes[100] ^= 1;
    test_write(experts, bytes);
    EXPECT_THAT(open_error(directory_), HasSubstr("experts-00001.safetensors"));
    fs::remove(experts);
    EXPECT_THAT(open_error(directory_), HasSubstr("missing: experts-00001.safetensors"));
    test_write(experts, whole);
    EXPECT_EQ(open_error(directory_), "");

    for (const char* name : {kChecksumFileName, kManifestFileName, "config.json"}) {
        const std::string good = test_read(c.path(name));
        for (const size_t at : {size_t(0), good.size() / 2, good.size() - 1}) {
            std::string bad = good;
            bad[at] ^= 4;
            test_write(c.path(name), bad);
            EXPECT_THAT(open_error(directory_), HasSubstr(name)) << at;
        }
        test_write(c.path(name), good.substr(0, good.size() - 1));
        EXPECT_THAT(open_error(directory_), HasSubstr(name));
        fs::remove(c.path(name));
        if (std::string_view(name) != kManifestFileName) {
            EXPECT_THAT(open_error(directory_), HasSubstr(name));
        }
        test_write(c.path(name), good);
    }
    EXPECT_EQ(open_error(directory_), "");
}

// Goal: files of two containers do not mix.
// Method: two containers of the same geometry that differ in identity; each file, the manifest and
// the table of one in the other. Two data files exchanged.
TEST_F(ContainerTest, OpenFindsSwappedFilesAndStaleManifests) {
    const TestContainer a(directory_ + "/a");
    TestContainer b(directory_ + "/b");
    b.manifest.identity = "ffffffffffffffffffffffffffffffff";
    b.write();
    for (const std::string name :
         {"dense.safetensors", "experts-00001.safetensors", "draft.safetensors", "colibri.sums"}) {
        const std::string own = test_read(a.path(name));
        test_write(a.path(name), test_read(b.path(name)));
        EXPECT_THAT(open_error(a.directory), HasSubstr(name));
        test_write(a.path(name), own);
    }
    test_write(a.path("colibri.json"), test_read(b.path("colibri.json")));
    EXPECT_NE(open_error(a.directory), "");
    a.write_manifest();
    EXPECT_EQ(open_error(a.directory), "");
    fs::rename(a.path("draft.safetensors"), a.path("x"));
    fs::rename(a.path("experts-00001.safetensors"), a.path("draft.safetensors"));
    fs::rename(a.path("x"), a.path("experts-00001.safetensors"));
    EXPECT_THAT(open_error(a.directory), HasSubstr("experts-00001.safetensors"));
}

// Goal: a flipped bit anywhere in the data is found by the deep check, naming what it hit.
// Method: one bit in a dense matrix, in a norm, in the first and last byte of an expert's parts,
// and two at once.
TEST_F(ContainerTest, DeepCheckFindsFlippedBits) {
    const TestContainer c(directory_);
    const auto flip = [&](const std::string& name, uint64_t offset) {
        std::string bytes = test_read(c.path(name));
        bytes.at(offset) ^= 0x10;
        test_write(c.path(name), bytes);
    };
    const ExtentLayout extent = extent_layout(c.manifest.experts[0].parts);
    const struct {
        std::string file;
        uint64_t offset;
        std::string what;
    } cases[] = {
        {"dense.safetensors", 4096, "tensor a.weight"},
        {"dense.safetensors", c.files[0].size() - 1, "tensor a.norm"},
        {"experts-00001.safetensors", 4096, "expert 0 of layer 1, gate and up part"},
        {"experts-00001.safetensors", 4096 + extent.offsets[2] - 1,
         "expert 0 of layer 1, gate and up part"},
        {"experts-00001.safetensors", 4096 + extent.offsets[2], "expert 0 of layer 1, down part"},
        {"experts-00001.safetensors", 4096 + 2 * extent.size_bytes - 1,
         "expert 1 of layer 1, down part"}};
    for (const auto& one : cases) {
        flip(one.file, one.offset);
        const auto shallow = verify_container(directory_, false, {});
        ASSERT_TRUE(shallow.has_value());
        EXPECT_TRUE(shallow->empty());
        const auto findings = deep(directory_);
        ASSERT_EQ(findings.size(), 1U) << one.what;
        EXPECT_EQ(findings[0].file, one.file);
        EXPECT_THAT(findings[0].what, HasSubstr(one.what));
        flip(one.file, one.offset);
    }
    flip("dense.safetensors", 5000);
    flip("draft.safetensors", 5000);
    EXPECT_EQ(deep(directory_).size(), 2U);
    CancelToken cancel;
    cancel.cancel();
    const auto cancelled = verify_container(directory_, true, {}, &cancel);
    ASSERT_FALSE(cancelled.has_value());
    EXPECT_EQ(cancelled.error().kind, ErrorKind::cancelled);
}

// Goal: side files other than config.json are checked by the deep check.
// Method: one named in the manifest, altered, cut and removed.
TEST_F(ContainerTest, DeepCheckReadsSideFiles) {
    TestContainer c(directory_);
    c.manifest.side_files.push_back(
        {.name = "tokenizer.json", .size_bytes = 3, .sha256 = sha256("abc")});
    c.write_manifest();
    for (const char* text : {"abd", "ab"}) {
        test_write(c.path("tokenizer.json"), text);
        ASSERT_EQ(deep(directory_).size(), 1U);
        EXPECT_EQ(deep(directory_)[0].file, "tokenizer.json");
    }
    fs::remove(c.path("tokenizer.json"));
    EXPECT_EQ(deep(directory_).size(), 1U);
    test_write(c.path("tokenizer.json"), "abc");
    EXPECT_TRUE(deep(directory_).empty());
}

// Goal: the draft layer's file may be left out, others may not.
// Method: remove it: a notice, and no tensor of it.
TEST_F(ContainerTest, DraftFileIsOptional) {
    const TestContainer c(directory_);
    fs::remove(c.path("draft.safetensors"));
    Notices notices;
    const auto checkpoint = Checkpoint::open(directory_, notices);
    ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().message;
    EXPECT_THAT(notices.take(), testing::ElementsAre(HasSubstr("draft.safetensors not found")));
    EXPECT_EQ(checkpoint->find("layers.2.experts.0"), nullptr);
    EXPECT_TRUE(deep(directory_).empty());
}

// Goal: what this version does not know is refused by name; what a later version may add is not.
// Method: one unknown thing at a time in a manifest that is otherwise right.
TEST_F(ContainerTest, RefusesWhatItDoesNotKnow) {
    const TestContainer c(directory_);
    const struct {
        std::function<void(nlohmann::ordered_json&)> edit;
        std::string found;
    } cases[] = {{[](auto& j) { j["min_reader_version"] = 2; }, "needs a reader of version 2"},
                 {[](auto& j) { j["format"] = "gguf"; }, "gguf"},
                 {[](auto& j) { j["tensors"][0]["format"] = "int3-g64"; }, "int3-g64"},
                 {[](auto& j) { j["tensors"][0]["format"] = "int8-g12"; }, "int8-g12"},
                 {[](auto& j) { j["tensors"][0]["scales"] = "bf16"; }, "bf16"},
                 {[](auto& j) { j["tensors"][1]["scales"] = "f16"; }, "f16"},
                 {[](auto& j) { j["tensors"][0]["layout"] = "tile32"; }, "tile32"},
                 {[](auto& j) { j["experts"][1]["up"]["format"] = "q4_k"; }, "q4_k"},
                 {[](auto& j) { j["compression"] = "zstd"; }, "compression"},
                 {[](auto& j) { j["files"][0]["mirror"] = "x"; }, "mirror"},
                 {[](auto& j) { j["experts"][0]["bias"] = 1; }, "bias"},
                 {[](auto& j) { j["files"][0]["name"] = "../dense.safetensors"; }, "../dense"},
                 {[](auto& j) { j["files"][1]["name"] = "dense.safetensors"; }, "named twice"},
                 {[](auto& j) { j["tensors"][1]["name"] = "a.weight"; }, "named twice"},
                 {[](auto& j) { j["experts"][1]["layer"] = 1; }, "appears twice"},
                 {[](auto& j) { j["tensors"][0]["rows"] = -1; }, "rows"},
                 {[](auto& j) { j["tensors"][0]["rows"] = 1.5; }, "rows"},
                 {[](auto& j) { j["tensors"][0]["rows"] = uint64_t(1) << 63; }, "rows"},
                 {[](auto& j) { j["tensors"][0]["heads"] = 65536; }, "a.weight"},
                 {[](auto& j) { j["tensors"][0]["file"] = 3; }, "file"},
                 {[](auto& j) { j["experts"][0]["count"] = 4; }, "expected"},
                 {[](auto& j) { j["experts"][0].erase("down"); }, "down"},
                 {[](auto& j) { j["files"][0].erase("sha256"); }, "sha256"}};
    for (const auto& one : cases) {
        c.write_manifest();
        rewrite(c, one.edit);
        EXPECT_THAT(open_error(directory_), HasSubstr(one.found));
        EXPECT_THAT(open_error(directory_), testing::Not(HasSubstr("manifest_xxh3")));
    }
    c.write_manifest();
    rewrite(c, [](auto& j) {
        j["version"] = 2;
        j["novelty"] = {1, 2};
    });
    EXPECT_EQ(open_error(directory_), "");
}

// Goal: extents that overlap, leave their file, appear twice or lie elsewhere are refused even when
// the manifest vouches for the header.
// Method: one header edit at a time, with the header's digest in the manifest made right.
TEST_F(ContainerTest, ExtentsMustBeWhereTheManifestImplies) {
    TestContainer c(directory_);
    const std::string whole = c.files[1];
    const Digest128 own = c.manifest.files[1].header;
    const std::string extent =
        std::to_string(extent_layout(c.manifest.experts[0].parts).size_bytes);
    const struct {
        std::string from, to;
    } edits[] = {{"\"data_offsets\":[0," + extent, "\"data_offsets\":[1," + extent},
                 {"\"shape\":[" + extent + "]", "\"shape\":[1,1]"},
                 {"layers.1.experts.1", "layers.1.experts.0"},
                 {"layers.1.experts.1", "layers.1.experts.7"},
                 {"[" + extent + ",", "[0,"},
                 {"\"U8\"", "\"I8\""},
                 {"[0," + extent + "]", "[0,99999999]"}};
    for (const auto& edit : edits) {
        std::string bytes = whole;
        const size_t at = bytes.find(edit.from);
        ASSERT_NE(at, std::string::npos) << edit.from;
        bytes.replace(at, edit.from.size(), edit.to);
        // Padding takes up the difference.
        const size_t end = bytes.find("}} ");
        ASSERT_NE(end, std::string::npos);
        if (bytes.size() > whole.size()) bytes.erase(end + 2, bytes.size() - whole.size());
        if (bytes.size() < whole.size()) bytes.insert(end + 2, whole.size() - bytes.size(), ' ');
        test_write(c.path("experts-00001.safetensors"), bytes);
        c.manifest.files[1].header = xxh3_128(std::string_view(bytes).substr(0, 4096));
        c.write_manifest();
        EXPECT_THAT(open_error(directory_), HasSubstr("experts-00001.safetensors")) << edit.to;
        EXPECT_THAT(open_error(directory_), testing::Not(HasSubstr("XXH3"))) << edit.to;
    }
    c.manifest.files[1].header = own;
    c.write_manifest();
    test_write(c.path("experts-00001.safetensors"), whole);
    EXPECT_EQ(open_error(directory_), "");
}

// Goal: malformed manifests end in an error.
// Method: texts that are no manifest; every prefix of a real one.
TEST_F(ContainerTest, MalformedManifests) {
    const TestContainer c(directory_);
    const std::string text = test_read(c.path(kManifestFileName));
    for (size_t size = 0; size < text.size() - 1; size += 37)
        EXPECT_FALSE(parse_manifest(text.substr(0, size), "m").has_value());
    EXPECT_FALSE(parse_manifest(std::string(100'000, '['), "m").has_value());
    EXPECT_FALSE(parse_manifest("[]", "m").has_value());
    const auto twice = parse_manifest(R"({"format":"colibri-container","format":"x"})", "m");
    ASSERT_FALSE(twice.has_value());
    EXPECT_THAT(twice.error().message, HasSubstr("twice"));
    EXPECT_TRUE(parse_manifest(text, "m").has_value());
}

// Goal: an unfinished conversion is not taken for a model, nor for a foreign checkpoint.
// Method: data files and a journal without a manifest.
TEST_F(ContainerTest, UnfinishedConversion) {
    const TestContainer c(directory_);
    fs::remove(c.path(kManifestFileName));
    test_write(c.path(kJournalFileName), "x");
    Notices notices;
    const auto checkpoint = Checkpoint::open(directory_, notices);
    ASSERT_FALSE(checkpoint.has_value());
    EXPECT_THAT(checkpoint.error().message, HasSubstr("has not finished"));
}

}  // namespace
}  // namespace colibri

#include "format/checkpoint.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "format/test_safetensors.h"
#include "platform/test_tree.h"

namespace colibri {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string golden(std::string_view name) {
    return std::string(COLIBRI_SOURCE_DIR "/tests/golden/") + std::string(name);
}

// A model directory to break; named files hold one tensor each unless told otherwise.
struct ModelTree : TestTree {
    [[nodiscard]] Result<Checkpoint> open() { return Checkpoint::open(root(), notices); }
    void shard(const std::string& file, const std::string& tensor,
               const std::string& data = "abcd") const {
        TestSafetensors safetensors;
        safetensors.tensors = {{tensor, "U8", {data.size()}, data}};
        write(file, safetensors.bytes());
    }
    void index(const std::vector<std::pair<std::string, std::string>>& map) const {
        nlohmann::ordered_json json;
        for (const auto& [tensor, file] : map) json["weight_map"][tensor] = file;
        write("model.safetensors.index.json", json.dump());
    }
    Notices notices;
};

void expect_refused(const Result<Checkpoint>& result, ErrorKind kind, const std::string& what) {
    ASSERT_FALSE(result) << what;
    EXPECT_EQ(result.error().kind, kind) << result.error().message;
    EXPECT_THAT(result.error().message, HasSubstr(what));
}

TEST(Checkpoint, EveryFixtureOpensWithTheTensorsOfItsHeaders) {
    // Goal: healthy checkpoints of every layout open, and names, shapes and bytes are those on
    // disk. Method: all fixtures; each tensor compared with the test's own reading of the files.
    for (const char* name :
         {"glm_short", "glm_sparse", "glm_odd", "glm_mtp", "glm_fp8", "glm_out_int4row",
          "glm_out_int4g64", "glm_out_int2row", "olmoe", "olmoe_clip", "olmoe_out_int8"}) {
        Notices notices;
        const auto checkpoint = Checkpoint::open(golden(name), notices);
        ASSERT_TRUE(checkpoint) << checkpoint.error().message;
        size_t count = 0;
        for (const CheckpointFile& file : checkpoint->files()) {
            EXPECT_THAT(file.path, testing::Not(HasSubstr("oracle")));
            for (const TestTensor& expected : TestSafetensors::load(file.path).tensors) {
                ++count;
                const TensorInfo* found = checkpoint->find(expected.name);
                ASSERT_NE(found, nullptr) << expected.name;
                EXPECT_EQ(to_string(found->dtype), expected.dtype);
                EXPECT_EQ(found->shape, expected.shape);
                std::string data(expected.data.size(), '?');
                ASSERT_TRUE(checkpoint->read(*found, 0, std::as_writable_bytes(std::span(data))));
                EXPECT_EQ(data, expected.data) << expected.name;
            }
        }
        EXPECT_EQ(checkpoint->tensors().size(), count);
        EXPECT_EQ(checkpoint->gaps(), "");
        EXPECT_EQ(checkpoint->find("model.layers"), nullptr);
        // Each has its reference outputs beside it, which only an index tells from a shard.
        if (fs::exists(golden(name) + "/model.safetensors.index.json"))
            EXPECT_THAT(notices.take(), IsEmpty());
        else
            EXPECT_THAT(notices.take(), ElementsAre(HasSubstr("not read: oracle.safetensors")));
    }
}

TEST(Checkpoint, ReadsPartsAndRefusesMore) {
    // Goal: any range of a tensor can be read; a range past it is an error and no neighbour's
    // bytes. Method: two tensors in one file.
    ModelTree tree;
    TestSafetensors file;
    file.tensors = {{"a", "U8", {4}, "abcd"}, {"b", "U8", {4}, "efgh"}};
    tree.write("model.safetensors", file.bytes());
    const auto checkpoint = *tree.open();
    std::array<std::byte, 2> out{};
    ASSERT_TRUE(checkpoint.read(*checkpoint.find("a"), 2, out));
    EXPECT_EQ(char(out[1]), 'd');
    EXPECT_FALSE(checkpoint.read(*checkpoint.find("a"), 3, out));
    EXPECT_FALSE(checkpoint.read(*checkpoint.find("a"), ~uint64_t(0), out));
    EXPECT_EQ(checkpoint.data_bytes(), 8U);
    EXPECT_THAT(checkpoint.where(*checkpoint.find("b")),
                AllOf(HasSubstr("model.safetensors"), HasSubstr("tensor b")));
}

TEST(Checkpoint, MissingShardsAreListed) {
    // Goal: F2: each shard removed in turn is named, with and without an index.
    // Method: the FP8 fixture's three shards.
    for (const bool with_index : {true, false})
        for (int shard = 1; shard <= 3; ++shard) {
            ModelTree tree;
            copy_model(golden("glm_fp8"), tree.path("m"));
            const std::string gone = fmt::format("model-0000{}-of-00003.safetensors", shard);
            fs::remove(tree.path("m/" + gone));
            if (!with_index) fs::remove(tree.path("m/model.safetensors.index.json"));
            expect_refused(Checkpoint::open(tree.path("m"), tree.notices), ErrorKind::not_found,
                           "1 of 3 shards are missing: " + gone);
        }
}

TEST(Checkpoint, ALongListOfMissingShardsIsCut) {
    // Goal: a download that has just begun gives a message of bounded length.
    // Method: shard 7 of 141 alone.
    ModelTree tree;
    tree.shard("model-00007-of-00141.safetensors", "a");
    const auto result = tree.open();
    expect_refused(result, ErrorKind::not_found,
                   "140 of 141 shards are missing: model-00001-of-00141");
    EXPECT_THAT(result.error().message, HasSubstr("and 128 more"));
}

TEST(Checkpoint, GapsInAnOpenNumberingAreAHint) {
    // Goal: F2 for names that do not say how many there are: the missing numbers are known to later
    // messages. Method: out-00000 and out-00003, out-mtp-00001.
    ModelTree tree;
    tree.shard("out-00000.safetensors", "a");
    tree.shard("out-00003.safetensors", "b");
    tree.shard("out-mtp-00001.safetensors", "c");
    const auto checkpoint = tree.open();
    ASSERT_TRUE(checkpoint) << checkpoint.error().message;
    EXPECT_EQ(checkpoint->gaps(),
              "; the numbering lacks out-00001.safetensors, out-00002.safetensors, "
              "out-mtp-00000.safetensors");
    EXPECT_THAT(tree.notices.take(), ElementsAre(HasSubstr("lacks out-00001")));
}

TEST(Checkpoint, DuplicatesAcrossShardsAreRefused) {
    // Goal: F11: one name in two shards is an error that names both, also when only the data
    // differ. Method: two plain files; equal data, then different data.
    for (const char* data : {"abcd", "abce"}) {
        ModelTree tree;
        tree.shard("out-00000.safetensors", "same");
        tree.shard("out-00001.safetensors", "same", data);
        expect_refused(
            tree.open(), ErrorKind::corrupt,
            "tensor same is in out-00000.safetensors and again in out-00001.safetensors");
    }
}

TEST(Checkpoint, TheIndexMustAgreeWithTheHeaders) {
    // Goal: an index of another version is refused, naming the tensor and the files.
    // Method: a tensor in another file, a tensor too many in the index, one too few.
    const std::string first = "model-00001-of-00002.safetensors",
                      second = "model-00002-of-00002.safetensors";
    const auto build = [&](const std::vector<std::pair<std::string, std::string>>& map) {
        ModelTree tree;
        tree.shard(first, "a");
        tree.shard(second, "b");
        tree.index(map);
        return tree.open();
    };
    EXPECT_TRUE(build({{"b", second}, {"a", first}}));
    expect_refused(build({{"a", second}, {"b", first}}), ErrorKind::corrupt,
                   "tensor a is said to be in " + second);
    expect_refused(build({{"a", first}, {"b", second}, {"c", second}}), ErrorKind::corrupt,
                   "tensor c is not in " + second);
    expect_refused(build({{"a", first}, {"aa", second}, {"b", second}}), ErrorKind::corrupt,
                   "tensor aa is not in " + second);
    expect_refused(build({{"0", first}, {"a", first}, {"b", second}}), ErrorKind::corrupt,
                   "tensor 0 is not in " + first);
}

TEST(Checkpoint, AnIndexThatNamesTooLittleIsRefused) {
    // Goal: a tensor that the index does not know is not loaded in silence.
    // Method: two tensors in one shard, one in the index.
    ModelTree tree;
    TestSafetensors file;
    file.tensors = {{"a", "U8", {1}, "x"}, {"b", "U8", {1}, "y"}};
    tree.write("model-00001-of-00001.safetensors", file.bytes());
    tree.index({{"b", "model-00001-of-00001.safetensors"}});
    expect_refused(tree.open(), ErrorKind::corrupt, "does not name tensor a");
}

TEST(Checkpoint, BrokenIndexesAreRefused) {
    // Goal: the index is a foreign file: its JSON and its file names are checked before use.
    // Method: malformed texts, and names that leave the directory.
    ModelTree tree;
    tree.shard("model-00001-of-00001.safetensors", "a");
    const std::pair<std::string, std::string> cases[] = {
        {"", "not valid JSON"},
        {"[]", "found an array, expected an object"},
        {"{}", "weight_map is missing"},
        {R"({"weight_map":7})", "weight_map is a number"},
        {R"({"weight_map":{"a":7}})", "weight_map entry a: found a number"},
        {R"({"weight_map":{"a":{}}})", "weight_map entry a: found an object"},
        {R"({"weight_map":{"a":"../x.safetensors"}})", "plain name"},
        {R"({"weight_map":{"a":"/etc/x.safetensors"}})", "plain name"},
        {R"({"weight_map":{"a":"config.json"}})", "plain name"},
        {R"({"weight_map":{"a":"x\u0000.safetensors"}})", "plain name"},
        {R"({"weight_map":{},"weight_map":{}})", "appears twice"},
        {R"({"weight_map":{"a":"m.safetensors","a":"m.safetensors"}})", "names tensor a twice"},
        {R"({"x":)" + std::string(10'000, '['), "nested deeper"},
    };
    for (const auto& [text, what] : cases) {
        tree.write("model.safetensors.index.json", text);
        expect_refused(tree.open(), ErrorKind::corrupt, what);
    }
    fs::remove(tree.path("model.safetensors.index.json"));
    fs::create_symlink("nowhere", tree.path("model.safetensors.index.json"));
    expect_refused(tree.open(), ErrorKind::not_found, "dangling link");
}

TEST(Checkpoint, StraysAreNamedAndSkipped) {
    // Goal: F19: unrelated entries neither break loading nor pass unnoticed.
    // Method: a healthy single file beside a 3-byte file, a resource fork, a folder, a nested
    // model, a dangling link.
    ModelTree tree;
    tree.shard("model.safetensors", "a");
    tree.write("junk.safetensors", "abc");
    tree.write("._model.safetensors", "fork");
    tree.write(".safetensors", "abc");
    tree.write("nested/model.safetensors", "broken");
    tree.write("folder.safetensors/x", "x");
    fs::create_symlink("nowhere", tree.path("link.safetensors"));
    const auto checkpoint = tree.open();
    ASSERT_TRUE(checkpoint) << checkpoint.error().message;
    EXPECT_EQ(checkpoint->files().size(), 1U);
    EXPECT_THAT(
        tree.notices.take(),
        ElementsAre(AllOf(
            HasSubstr("junk.safetensors"), HasSubstr("._model.safetensors (a hidden file)"),
            HasSubstr("folder.safetensors (a folder)"),
            HasSubstr("link.safetensors (a dangling link)"), testing::Not(HasSubstr("nested")))));
}

TEST(Checkpoint, AShardThatIsALinkToNowhereIsMissing) {
    // Goal: a broken entry in the place of a shard is an error that says so, not a stray.
    // Method: dangling links as a numbered shard, as model.safetensors, and as out-00001.
    for (const char* name :
         {"model-00002-of-00002.safetensors", "model.safetensors", "out-00001.safetensors"}) {
        ModelTree tree;
        const std::string healthy = std::string_view(name).starts_with("out")
                                        ? "out-00000.safetensors"
                                        : "model-00001-of-00002.safetensors";
        if (std::string_view(name) != "model.safetensors") tree.shard(healthy, "a");
        fs::create_symlink("nowhere", tree.path(name));
        expect_refused(tree.open(), ErrorKind::not_found, std::string(name) + " (a dangling link)");
    }
}

TEST(Checkpoint, LinksToFilesElsewhereWork) {
    // Goal: a download cache keeps its files elsewhere and links to them.
    // Method: model.safetensors as a link into another directory.
    ModelTree tree;
    tree.shard("blobs/1234", "a");
    fs::create_directories(tree.path("m"));
    fs::create_symlink("../blobs/1234", tree.path("m/model.safetensors"));
    EXPECT_TRUE(Checkpoint::open(tree.path("m"), tree.notices));
}

TEST(Checkpoint, MixedSchemesAreRefused) {
    // Goal: files of two checkpoints in one directory are never merged.
    // Method: out- beside model-, model.safetensors beside shards, two totals, out- beside an
    // index's shards.
    const std::vector<std::vector<std::string>> cases = {
        {"out-00000", "model-00001-of-00001"},
        {"model", "model-00001-of-00001"},
        {"model", "out-mtp-00000"},
        {"model-00001-of-00001", "model-00002-of-00002"},
        {"model-00001", "model-00001-of-00001"},
    };
    for (const auto& names : cases) {
        ModelTree tree;
        for (const std::string& name : names) tree.shard(name + ".safetensors", name);
        expect_refused(tree.open(), ErrorKind::invalid_input, names[1]);
    }
    ModelTree tree;
    tree.shard("model-00001-of-00001.safetensors", "a");
    tree.shard("out-00000.safetensors", "b");
    tree.index({{"a", "model-00001-of-00001.safetensors"}});
    expect_refused(tree.open(), ErrorKind::invalid_input,
                   "found out-*.safetensors beside the shards");
}

TEST(Checkpoint, AConvertersOutputBesideTheOldIndexLoads) {
    // Goal: an index of which no file is there does not block the container that was made from it.
    // Method: out-00000 and an index of model- shards.
    ModelTree tree;
    tree.shard("out-00000.safetensors", "a");
    tree.index({{"b", "model-00001-of-00001.safetensors"}});
    EXPECT_TRUE(tree.open());
    EXPECT_THAT(tree.notices.take(),
                ElementsAre(HasSubstr("names none of the files that are here")));
}

TEST(Checkpoint, PlainNamesAreAllRead) {
    // Goal: without a scheme every *.safetensors belongs to the checkpoint, and one that is none is
    // refused by name. Method: two files with free names, then a third of 3 bytes.
    ModelTree tree;
    tree.shard("a.safetensors", "a");
    tree.shard("model-part.safetensors", "b");
    EXPECT_EQ(tree.open()->tensors().size(), 2U);
    EXPECT_THAT(tree.notices.take(), IsEmpty());
    tree.write("c.safetensors", "abc");
    expect_refused(tree.open(), ErrorKind::corrupt, "c.safetensors: not a safetensors file");
}

TEST(Checkpoint, DirectoriesThatHoldNoModelAreRefused) {
    // Goal: a wrong path gets an error of its own kind.
    // Method: absent, a file, an empty directory.
    ModelTree tree;
    expect_refused(Checkpoint::open(tree.path("absent"), tree.notices), ErrorKind::not_found,
                   "cannot list");
    expect_refused(tree.open(), ErrorKind::not_found, "no *.safetensors files found");
    tree.write("file", "x");
    expect_refused(Checkpoint::open(tree.path("file"), tree.notices), ErrorKind::invalid_input,
                   "found a file");
}

TEST(Checkpoint, ATruncatedShardNamesItsFileAndSizes) {
    // Goal: F1 and F17 through the directory: file, real and expected size.
    // Method: cut 1 byte and 4 KiB from a shard of a fixture, add one byte.
    for (const int change : {-1, -4096, 1}) {
        ModelTree tree;
        copy_model(golden("glm_mtp"), tree.path("m"));
        const std::string shard = tree.path("m/model-00002-of-00002.safetensors");
        const auto size = int64_t(fs::file_size(shard));
        fs::resize_file(shard, uint64_t(size + change));
        const auto result = Checkpoint::open(tree.path("m"), tree.notices);
        expect_refused(result, ErrorKind::corrupt,
                       fmt::format("found {} bytes, expected {}", size + change, size));
        EXPECT_THAT(result.error().message, HasSubstr("model-00002-of-00002.safetensors"));
    }
}

TEST(Checkpoint, ManyThreadsMayAskAtOnce) {
    // Goal: F27: nothing is filled lazily; lookups and reads from many threads agree.
    // Method: 8 threads read every tensor of a fixture right after the open.
    Notices notices;
    const auto checkpoint = *Checkpoint::open(golden("glm_mtp"), notices);
    std::array<uint64_t, 8> sums{};
    std::vector<std::thread> threads;
    for (uint64_t& sum : sums)
        threads.emplace_back([&sum, &checkpoint] {
            for (const TensorInfo& tensor : checkpoint.tensors()) {
                std::vector<std::byte> data(tensor.size_bytes);
                if (checkpoint.find(tensor.name) != &tensor || !checkpoint.read(tensor, 0, data))
                    return;
                for (const std::byte b : data) sum = sum * 31 + uint64_t(b);
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_NE(sums[0], 0U);
    for (const uint64_t sum : sums) EXPECT_EQ(sum, sums[0]);
}

}  // namespace
}  // namespace colibri

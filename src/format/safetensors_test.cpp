#include "format/safetensors.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"
#include "format/test_safetensors.h"
#include "platform/machine.h"
#include "platform/test_tree.h"

namespace colibri {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Header and data as a file on disk, read by the code under test.
Result<SafetensorsHeader> read_bytes(std::string_view bytes) {
    const TestTree tree;
    tree.write("x.safetensors", bytes);
    const auto file = File::open(tree.path("x.safetensors"));
    EXPECT_TRUE(file);
    return read_safetensors_header(**file);
}

Result<SafetensorsHeader> read_header(std::string_view json, size_t data_bytes = 0) {
    return read_bytes(raw_safetensors(json, std::string(data_bytes, '\1')));
}

std::string entry(std::string_view name, std::string_view dtype, std::string_view shape,
                  std::string_view offsets) {
    return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":{}}})", name, dtype, shape,
                       offsets);
}

std::string object(const std::vector<std::string>& entries) {
    return fmt::format("{{{}}}", fmt::join(entries, ","));
}

void expect_refused(const Result<SafetensorsHeader>& result, std::string_view what) {
    ASSERT_FALSE(result) << what;
    EXPECT_EQ(result.error().kind, ErrorKind::corrupt) << what;
    EXPECT_THAT(result.error().message,
                AllOf(HasSubstr("x.safetensors"), HasSubstr(std::string(what))));
}

TEST(Safetensors, ReadsEveryDtypeShapeAndTheMetadata) {
    // Goal: names, types, shapes, absolute positions and metadata come out as they went in.
    // Method: a file with one tensor of every supported type, put together by the test's own
    // writer.
    TestSafetensors file;
    const std::pair<const char*, size_t> types[] = {{"F32", 4}, {"BF16", 2},    {"F16", 2},
                                                    {"U8", 1},  {"F8_E4M3", 1}, {"F8_E8M0", 1},
                                                    {"I8", 1},  {"I32", 4},     {"I64", 8}};
    for (const auto& [dtype, bytes] : types)
        file.tensors.push_back(
            {std::string("t.") + dtype, dtype, {3, 5}, std::string(15 * bytes, 'x')});
    file.tensors.push_back({"scalar", "F32", {}, "abcd"});
    file.metadata = {{"format", "pt"}, {"colibri.fmt", "{\"a\":\"int4\"}"}};
    const auto header = read_bytes(file.bytes());
    ASSERT_TRUE(header) << header.error().message;
    ASSERT_EQ(header->tensors.size(), 10U);
    uint64_t at = header->data_begin;
    for (size_t i = 0; i < 10; ++i) {
        const SafetensorsEntry& tensor = header->tensors[i];
        EXPECT_EQ(tensor.name, file.tensors[i].name);
        EXPECT_EQ(to_string(tensor.dtype), file.tensors[i].dtype);
        EXPECT_EQ(tensor.shape, file.tensors[i].shape);
        EXPECT_EQ(tensor.offset, at);
        EXPECT_EQ(tensor.size_bytes, file.tensors[i].data.size());
        at += tensor.size_bytes;
    }
    EXPECT_EQ(header->metadata, file.metadata);
}

TEST(Safetensors, UnorderedHeadersHolesEmptyTensorsAndUnknownFieldsLoad) {
    // Goal: everything that is legal, if unusual, loads (F15, F18).
    // Method: header order against data order, a hole of 4 bytes, zero-sized tensors, spaces, extra
    // fields.
    const std::string json = object(
        {entry("late", "U8", "[4]", "[8,12]"), entry("early", "U8", "[2,2]", "[0,4]"),
         entry("none", "F32", "[0,7]", "[4,4]"),
         entry("huge", "F32", "[0,9223372036854775807,9]", "[12,12]"),
         R"("odd":{"x":[[{"y":1}],2],"dtype":"U8","z":null,"shape":[],"data_offsets":[4,5]})"});
    const auto header = read_header(json, 12);
    ASSERT_TRUE(header) << header.error().message;
    ASSERT_EQ(header->tensors.size(), 5U);
    EXPECT_EQ(header->tensors[0].offset, header->data_begin + 8);
    EXPECT_EQ(header->tensors[2].size_bytes, 0U);
    EXPECT_TRUE(read_header("{}")->tensors.empty());
}

TEST(Safetensors, LengthPrefixIsComparedWithTheFile) {
    // Goal: F13, F16: no header length is believed, and none allocates first.
    // Method: lengths 0, file size, file size - 7, 101 MB, 2^63, 2^64 - 1 in a file of 1 KiB; tiny
    // files.
    const std::string rest(1016, ' ');
    const uint64_t before = peak_resident_bytes();
    for (const uint64_t length : {uint64_t(0), uint64_t(1024), uint64_t(1017),
                                  uint64_t(101'000'000), uint64_t(1) << 63, ~uint64_t(0)}) {
        std::string bytes;
        for (int i = 0; i < 8; ++i) bytes += char((length >> (8 * i)) & 0xFF);
        expect_refused(read_bytes(bytes + rest), fmt::format("header length is {}", length));
    }
    EXPECT_LT(peak_resident_bytes(), before + 16 * kMiB);
    expect_refused(read_bytes(""), "found 0 bytes, expected at least 8");
    expect_refused(read_bytes("abc"), "found 3 bytes, expected at least 8");
}

TEST(Safetensors, AHeaderOverTheCapIsRefusedBeforeItIsRead) {
    // Goal: F16: a header length that fits the file but not the cap costs no memory.
    // Method: a sparse file of 200 MB whose prefix says 150 MB.
    const TestTree tree;
    tree.write("x.safetensors", std::string("\x80\xD1\xF0\x08\0\0\0\0{", 9));
    std::filesystem::resize_file(tree.path("x.safetensors"), 200'000'000);
    const uint64_t before = peak_resident_bytes();
    const auto file = *File::open(tree.path("x.safetensors"));
    expect_refused(read_safetensors_header(*file),
                   "header length is 150000000, expected at most 100000000");
    EXPECT_LT(peak_resident_bytes(), before + 16 * kMiB);
}

TEST(Safetensors, MalformedJsonIsRefused) {
    // Goal: F8: broken, deep or differently shaped JSON ends in an error with the position or the
    // key. Method: the listed texts.
    const std::string deep = std::string(10'000, '[');
    const std::pair<std::string, std::string> cases[] = {
        {"{a:1}", "not valid JSON"},
        {R"({"a":})", "not valid JSON"},
        {R"({"a)", "not valid JSON"},
        {R"({"a":{"dtype":"F32)", "not valid JSON"},
        {"[]", "does not start with '{'"},
        {deep, "does not start with '{'"},
        {R"({"a":)" + deep, "a: found an array, expected an object"},
        {R"({"a":{"x":)" + deep, "nested deeper than 16"},
        {R"({"a":{"shape":)" + deep, "shape holds an array"},
        {R"({"a":1})", "a: found a number, expected an object"},
        {R"({"a":{}})", "dtype is missing"},
        {R"({"a":{"dtype":"U8","data_offsets":[0,0]}})", "tensor a: shape is missing"},
        {R"({"a":{"dtype":"U8","shape":[0]}})", "tensor a: data_offsets is missing"},
        {R"({"a":{"dtype":7}})", "tensor a: dtype is a number, expected a string"},
        {R"({"a":{"dtype":"U8","dtype":"I8"}})", "field dtype appears twice"},
        {R"({"__metadata__":{"a":1}})", "__metadata__ key a: found a number"},
        {R"({"__metadata__":[]})", "__metadata__: found an array"},
        {R"({"__metadata__":{},"__metadata__":{}})", "__metadata__ appears twice"},
        {"{}{}", "not valid JSON"},
        {"{\"a\":\"\xFF\xFE\"}", "not valid JSON"},
        {object({entry("a\\nb", "U8", "[0]", "[0,0]")}), "names must be printable"},
        {object({entry(std::string(2000, 'n'), "U8", "[0]", "[0,0]")}), "at most 1024 bytes"},
    };
    for (const auto& [json, what] : cases) expect_refused(read_header(json), what);
}

TEST(Safetensors, OffsetsMustBeTwoOrderedIntegers) {
    // Goal: F13, F14: wrong counts, kinds, order and ends of data_offsets are refused, naming the
    // tensor. Method: one offsets array after another for a U8 tensor of 4 bytes.
    const std::pair<std::string_view, std::string_view> cases[] = {
        {"[0]", "has 1 numbers, expected 2"},
        {"[0,4,4]", "more than 2 numbers"},
        {"[]", "has 0 numbers"},
        {"[-4,0]", "holds a negative number"},
        {"[0,4.0]", "holds the number 4.0"},
        {"[0,1e1]", "holds the number 1e1"},
        {R"(["0",4])", "holds a string"},
        {"[0,null]", "holds null"},
        {"[[0],4]", "holds an array"},
        {"[0,18446744073709551616]", "holds the number 18446744073709551616"},
        {"4", "data_offsets is a number, expected an array of 2 integers"},
        {"[4,0]", "data_offsets [4, 0] are reversed"},
        {"[0,3]", "span 3 bytes, expected 4 for shape [4] of U8"},
        {"[1,5]", "ends 1 bytes past the end"},
        {"[18446744073709551611,18446744073709551615]", "past the end of the file"},
    };
    for (const auto& [offsets, what] : cases)
        expect_refused(read_header(object({entry("a", "U8", "[4]", offsets)}), 4), what);
}

TEST(Safetensors, ShapesMustMatchTheirSpan) {
    // Goal: F4: no shape is larger than its data, products never wrap, dimensions are non-negative
    // integers. Method: shapes whose 64-bit product wraps to the right size, and the usual broken
    // ones.
    const std::pair<std::string_view, std::string_view> cases[] = {
        {"[2]", "span 4 bytes, expected 8 for shape [2] of F32"},
        {"[4294967296,4294967296,1]", "does not fit 64 bits"},
        {"[4611686018427387905]", "does not fit 64 bits"},
        {"[-1]", "holds a negative number"},
        {"[1.0]", "holds the number 1.0"},
        {"[true]", "holds a boolean"},
        {"[1,1,1,1,1,1,1,1,1]", "more than 8 dimensions"},
        {"7", "shape is a number, expected an array"},
        {"{}", "shape is an object"},
    };
    for (const auto& [shape, what] : cases)
        expect_refused(read_header(object({entry("a", "F32", shape, "[0,4]")}), 4), what);
}

TEST(Safetensors, UnknownDtypesNameTheSupportedOnes) {
    // Goal: a type of the future is "unsupported", not "corrupt", and the message lists what is
    // known. Method: dtype F4.
    const auto header = read_header(object({entry("a", "F4", "[4]", "[0,2]")}), 2);
    ASSERT_FALSE(header);
    EXPECT_EQ(header.error().kind, ErrorKind::unsupported);
    EXPECT_THAT(header.error().message,
                AllOf(HasSubstr("\"F4\""), HasSubstr("F8_E4M3"), HasSubstr("tensor a")));
}

TEST(Safetensors, DuplicateKeysSayDuplicate) {
    // Goal: F12: a name that appears twice in one header is called that.
    // Method: two entries of one name with different, valid spans.
    const std::string json =
        object({entry("a", "U8", "[4]", "[0,4]"), entry("b", "U8", "[4]", "[4,8]"),
                entry("a", "U8", "[4]", "[8,12]")});
    expect_refused(read_header(json, 12), "tensor a appears twice in the header (duplicate key)");
}

TEST(Safetensors, OverlapsAreFoundWhateverTheOrder) {
    // Goal: F15: two tensors that share bytes are refused, by one byte, fully, or by containment.
    // Method: pairs in both header orders.
    for (const auto& [one, two] :
         {std::pair{"[0,4]", "[3,7]"}, {"[0,4]", "[0,4]"}, {"[3,7]", "[0,4]"}})
        expect_refused(
            read_header(object({entry("a", "U8", "[4]", one), entry("b", "U8", "[4]", two)}), 7),
            "overlap");
    expect_refused(
        read_header(object({entry("in", "U8", "[2]", "[1,3]"), entry("out", "U8", "[8]", "[0,8]")}),
                    8),
        "tensors out and in overlap");
}

TEST(Safetensors, TruncatedFilesNameFoundAndExpectedSize) {
    // Goal: F1: a file cut by any amount is refused with both sizes.
    // Method: cut 1 byte, 4 KiB and all of the data from a file with 64 KiB of data.
    TestSafetensors file;
    file.tensors = {{"a", "F32", {4096}, std::string(16384, 'a')},
                    {"b", "U8", {49152}, std::string(49152, 'b')}};
    const std::string whole = file.bytes();
    for (const size_t cut : {size_t(1), size_t(4096), size_t(65536)})
        expect_refused(
            read_bytes(whole.substr(0, whole.size() - cut)),
            fmt::format("found {} bytes, expected {}", whole.size() - cut, whole.size()));
    EXPECT_TRUE(read_bytes(whole));
}

TEST(Safetensors, TrailingBytesAreRefusedAsTheReferenceLibraryDoes) {
    // Goal: F17: one rule for bytes after the last tensor.
    // Method: one extra byte; and data without any tensor.
    TestSafetensors file;
    file.tensors = {{"a", "U8", {4}, "abcd"}};
    expect_refused(read_bytes(file.bytes() + "x"), "1 bytes follow the last tensor a");
    expect_refused(read_header("{}", 1), "1 bytes follow the last tensor");
}

TEST(Safetensors, AHundredThousandTensorsStayCompact) {
    // Goal: a header of real size is parsed without a tree of its JSON.
    // Method: 120,000 tensors with names of real length; the peak grows by less than 80 MiB.
    std::vector<std::string> entries;
    for (int i = 0; i < 120'000; ++i)
        entries.push_back(
            entry(fmt::format("model.layers.{}.mlp.experts.{}.gate_proj.weight", i / 1000, i),
                  "F8_E4M3", "[1,1]", fmt::format("[{},{}]", i, i + 1)));
    const std::string json = object(entries);
    const uint64_t before = resident_bytes();
    const auto header =
        parse_safetensors_header(json, 8 + json.size(), 8 + json.size() + 120'000, "x");
    ASSERT_TRUE(header) << header.error().message;
    EXPECT_EQ(header->tensors.size(), 120'000U);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_LT(resident_bytes(), before + 80 * kMiB);  // their shadow memory counts too
#else
    EXPECT_GT(before, 0U);
#endif
}

}  // namespace
}  // namespace colibri

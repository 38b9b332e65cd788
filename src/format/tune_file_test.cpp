#include "format/tune_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "format/digest.h"

namespace colibri {
namespace {

using ::testing::HasSubstr;

TuneFile example() {
    return {
        .model = 0x00123456789abcdeULL,
        .machine = {.processor = "AMD \"EPYC\"", .isa = "avx2", .cores = 4, .drive = "ext4 7"},
        .date = "2026-11-30T00:10:00Z",
        .seconds = 97.25,
        .ram_bytes = 47185920,
        .cached_share = 0.4375,
        .measured = {{.candidate = {.option = "reader", .value = "pread"},
                      .ratio = 1.0725,
                      .spread = 0.015,
                      .pairs = 5,
                      .verdict = "faster"},
                     {.candidate = {.option = "threads", .value = "1"},
                      .ratio = 0.625,
                      .spread = 0.5,
                      .pairs = 2,
                      .verdict = "not faster"}},
        .chosen = {{.option = "in-flight", .value = "24M"}, {.option = "reader", .value = "pread"}},
        .gain = 1.0625};
}

// The text with its digest made right again: what a careful forger would write.
std::string signed_text(std::string text) {
    constexpr std::string_view kKey = "\"checksum\": \"";
    const size_t place = text.rfind(kKey) + kKey.size();
    text.replace(place, 32, std::string(32, '0'));
    return text.replace(place, 32, to_hex(xxh3_128(std::string_view(text))));
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    const size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return signed_text(text.replace(at, what.size(), by));
}

// Goal: everything that is written comes back, and other programs can read it.
// Method: a file with every field set, through a plain JSON parser and through our own.
TEST(TuneFile, ComesBack) {
    const std::string text = format_tune(example());
    const auto json = nlohmann::json::parse(text);
    EXPECT_EQ(json["colibri_tune"], 1);
    EXPECT_EQ(json["model"], "00123456789abcde");
    EXPECT_EQ(json["chosen"]["reader"], "pread");
    EXPECT_EQ(json["measured"][1]["ratio"], 0.625);
    const auto file = parse_tune(text, "tune.json");
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(*file, example());
}

// Goal: damage of any kind is found, and nothing of it is used.
// Method: every cut and every changed byte of a good file.
TEST(TuneFile, FindsEveryChangedByte) {
    const std::string text = format_tune(example());
    for (size_t length = 0; length + 1 < text.size(); ++length) {
        const auto file = parse_tune(text.substr(0, length), "t");
        ASSERT_FALSE(file) << length;
        EXPECT_EQ(file.error().kind, ErrorKind::corrupt) << length;
    }
    for (size_t at = 0; at < text.size(); ++at) {
        std::string bad = text;
        bad[at] = char(bad[at] ^ 1);
        ASSERT_FALSE(parse_tune(bad, "t")) << at;
    }
}

// Goal: what has a right checksum but makes no sense is refused by name; another version is told
// from damage.
// Method: one change a case, with the checksum made right.
TEST(TuneFile, RefusesWhatMakesNoSense) {
    const std::string text = format_tune(example());
    const std::vector<std::array<std::string, 3>> cases{
        {"\"cores\": 4", "\"cores\": -4", "cores"},
        {"\"cores\": 4", "\"cores\": 4.5", "cores"},
        {"\"cores\": 4", "\"cores\": 1e12", "cores"},
        {"\"cores\": 4", "\"cores\": \"4\"", "cores"},
        {"00123456789abcde", "0123456789abcde", "model"},
        {"00123456789abcde", "00123456789abcdg", "model"},
        {"\"reader\": \"pread\"", "\"reader\": 7", "reader"},
        {"\"reader\": \"pread\"", "\"reader\": \"pread\", \"reader\": \"uring\"", "twice"},
        {"\"seconds\": 97.25", "\"seconds\": 1e400", ""},
        {"\"gain\": 1.0625", "\"gain\": [[[[[[1]]]]]]", "deeper"},
        {"\"ratio\": 0.625", "\"ratio\": null", "ratio"},
        {"\"date\": ", "\"day\": ", "date"}};
    for (const auto& [what, by, named] : cases) {
        const auto file = parse_tune(replaced(text, what, by), "a/tune.json");
        ASSERT_FALSE(file) << by;
        EXPECT_EQ(file.error().kind, ErrorKind::corrupt) << by;
        EXPECT_THAT(file.error().message, HasSubstr("a/tune.json: "));
        EXPECT_THAT(file.error().message, HasSubstr(named));
    }
    const auto later =
        parse_tune(replaced(text, "\"colibri_tune\": 1", "\"colibri_tune\": 2"), "t");
    ASSERT_FALSE(later);
    EXPECT_EQ(later.error().kind, ErrorKind::unsupported);
    EXPECT_THAT(later.error().message, HasSubstr("version 2"));
}

// Goal: size and depth are bounded before anything is built.
// Method: a text beyond the limit; a hundred thousand brackets.
TEST(TuneFile, BoundsSizeAndDepth) {
    EXPECT_FALSE(parse_tune(std::string(kTuneFileBytesMax + 1, ' '), "t"));
    EXPECT_FALSE(parse_tune(std::string(100000, '['), "t"));
    EXPECT_FALSE(parse_tune("", "t"));
    EXPECT_FALSE(parse_tune("null", "t"));
}

}  // namespace
}  // namespace colibri

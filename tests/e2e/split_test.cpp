// A model whose files lie on several drives.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "platform/test_tree.h"
#include "tests/e2e/program.h"

namespace colibri::e2e {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Files of `source` into three directories: data files dealt out in turn, all others into the
// first.
std::vector<std::string> deal(const std::string& source, const TestTree& tree,
                              const std::string& name) {
    std::vector<std::string> places;
    for (const char* part : {"a", "b", "c"}) {
        places.push_back(tree.path(name + part));
        fs::create_directories(places.back());
    }
    std::vector<fs::path> data;
    for (const auto& entry : fs::directory_iterator(source)) {
        if (!entry.is_regular_file() || entry.path().filename() == "oracle.safetensors") continue;
        if (entry.path().extension() == ".safetensors")
            data.push_back(entry.path());
        else
            fs::copy(entry.path(), places[0]);
    }
    std::sort(data.begin(), data.end());
    for (size_t i = 0; i < data.size(); ++i) fs::copy(data[i], places[(i + 1) % places.size()]);
    return places;
}

// Goal: where the files lie changes nothing. Method: the bundled model and a container of it, dealt
// over directories, against the whole ones; the container is made from the dealt source.
TEST(Split, AnswersTheSame) {
    const TestTree tree;
    const auto parts = deal(nano(), tree, "shards");
    const Outcome reference = ask_greedily(nano(), {});
    ASSERT_EQ(reference.exit_code, 0) << reference.err;
    const Outcome split = ask_greedily(parts[0], {"--dir", parts[1], "--dir", parts[2]});
    EXPECT_EQ(split.exit_code, 0) << split.err;
    EXPECT_EQ(split.out, reference.out);

    const std::string whole = tree.path("whole");
    const std::string made = tree.path("made");
    ASSERT_EQ(run({"convert", nano(), whole, "--experts", "int8"}).exit_code, 0);
    const Outcome convert =
        run({"convert", parts[0], made, "--experts", "int8", "--dir", parts[1], "--dir", parts[2]});
    ASSERT_EQ(convert.exit_code, 0) << convert.err;
    const auto pieces = deal(made, tree, "pieces");
    const std::vector<std::string> more{"--dir", pieces[1], "--dir", pieces[2]};
    const Outcome from_pieces = ask_greedily(pieces[0], more);
    EXPECT_EQ(from_pieces.exit_code, 0) << from_pieces.err;
    EXPECT_EQ(from_pieces.out, ask_greedily(whole, {}).out);
    const Outcome doctor =
        run({"doctor", "--deep", "--model", pieces[0], "--dir", pieces[1], "--dir", pieces[2]});
    EXPECT_EQ(doctor.exit_code, 0) << doctor.out << doctor.err;
}

// Goal: a shard is deleted where it lies, and a resumed run finds the others. Method: conversion of
// a copy that is dealt out, with deletion; what is left, and the answer.
TEST(Split, DeletesShardsWhereTheyLie) {
    const TestTree tree;
    const auto parts = deal(nano(), tree, "shards");
    const std::string made = tree.path("made");
    const Outcome convert = run({"convert", parts[0], made, "--experts", "int8",
                                 "--delete-source-shards", "--dir", parts[1], "--dir", parts[2]});
    ASSERT_EQ(convert.exit_code, 0) << convert.err;
    EXPECT_TRUE(fs::is_empty(parts[1]));
    EXPECT_TRUE(fs::is_empty(parts[2]));
    EXPECT_EQ(ask_greedily(made, {}).exit_code, 0);
}

// Goal: a wrong --dir is refused and named. Method: one that is not there, one without files of the
// model, one with a second copy of a shard, and a missing one.
TEST(Split, RefusesWhatDoesNotFit) {
    const TestTree tree;
    const auto parts = deal(nano(), tree, "shards");
    const std::string nowhere = tree.path("nowhere");
    const std::string other = tree.path("other");
    fs::create_directories(other);
    const std::vector<std::string> both{"--dir", parts[1], "--dir", parts[2]};
    const auto with = [&](const std::string& directory) {
        std::vector<std::string> more = both;
        more.insert(more.end(), {"--dir", directory});
        return ask_greedily(parts[0], more);
    };
    for (const std::string& directory : {nowhere, other, nano()}) {
        const Outcome outcome = with(directory);
        EXPECT_EQ(outcome.exit_code, 1) << directory;
        EXPECT_THAT(outcome.err, HasSubstr(directory));
    }
    const Outcome missing = ask_greedily(parts[0], {"--dir", parts[1]});
    EXPECT_EQ(missing.exit_code, 1);
    EXPECT_THAT(missing.err, HasSubstr("missing"));
}

}  // namespace
}  // namespace colibri::e2e

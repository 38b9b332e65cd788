// coli tune as a user meets it: what it writes, who uses that, and when it is passed over.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "format/tune_file.h"
#include "platform/test_tree.h"
#include "tests/e2e/program.h"

namespace colibri::e2e {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

Words with(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

// Fewer experts fit than the model has.
Words tune_line(const std::string& state, const Words& more = {}) {
    return with({"tune", "--model", nano(), "--seconds", "10", "--ram", "45M", "--ctx", "256",
                 "--state-dir", state},
                more);
}

Words answer_line(const std::string& state, const Words& more = {}) {
    return with({"run", "--model", nano(), "--greedy", "--max-tokens", "12", "--json", "--ram",
                 "45M", "--ctx", "256", "--no-usage", "--state-dir", state, "--prompt",
                 "Tell me a story about a bird."},
                more);
}

// What an answer says, and with how many threads and in which way it was made.
struct Answer {
    std::string text, engine, err;
};
Answer answer(const Words& line, const std::vector<std::pair<std::string, std::string>>& env = {}) {
    const Outcome outcome = run(line, "", env);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    if (outcome.exit_code != 0) return {};
    const auto report = nlohmann::json::parse(outcome.out);
    return {report["text"], report["model"]["engine"], outcome.err};
}

nlohmann::json info(const std::string& state, const Words& more = {}) {
    const Outcome outcome =
        run(with({"info", "--model", nano(), "--json", "--state-dir", state}, more));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out);
}

// A file as coli tune would write it here, with other choices.
std::string tuning_for_this_machine(const std::string& path, std::vector<TuneChoice> chosen) {
    auto file = parse_tune(read_bytes(path), path);
    EXPECT_TRUE(file) << file.error().message;
    file->chosen = std::move(chosen);
    file->gain = 1.5;
    return format_tune(*file);
}

}  // namespace

// Goal: tune keeps to its time, compares what can matter for a model that does not fit, and leaves
// a file that other commands know.
// Method: the bundled model with less memory than it needs, ten seconds; every number of the report
// against the rules in docs/tune.md.
TEST(Tune, MeasuresAndRemembers) {
    const TestTree tree;
    const Outcome outcome = run(tune_line(tree.path("state"), {"--json"}));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_LT(outcome.seconds, 20);
    const auto report = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(report["path"], tree.path("state/tune.json"));
    const auto file = parse_tune(read_bytes(tree.path("state/tune.json")), "tune.json");
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(report["tuning"]["checksum"], nlohmann::json::parse(format_tune(*file))["checksum"]);
    EXPECT_GT(file->cached_share, 0);
    EXPECT_LT(file->cached_share, 1);
    EXPECT_FALSE(file->measured.empty());
    std::set<std::string> options;
    for (const TuneMeasurement& one : file->measured) {
        options.insert(one.candidate.option);
        if (one.verdict == "faster") {
            EXPECT_GE(one.ratio, 1.03);
            EXPECT_GT(one.ratio - 1, one.spread);
            EXPECT_EQ(one.pairs, 5U);
        }
        EXPECT_NE(one.verdict, "other tokens") << one.candidate.option;
    }
    EXPECT_TRUE(options.contains("reader"));
    // Experts of 48 KiB are one chunk of any size; but where threads read, as many do as chunks may
    // be under way.
    const bool threads_read =
        std::any_of(file->measured.begin(), file->measured.end(), [](const TuneMeasurement& one) {
            return one.candidate.option == "reader" &&
                   (one.verdict == "faster" || one.candidate.value == "uring");
        });
    if (!threads_read) {
        EXPECT_FALSE(options.contains("chunk"));
    }
    for (const TuneChoice& choice : file->chosen) {
        const auto measured = [&](const TuneMeasurement& one) {
            return one.candidate == choice && one.verdict == "faster";
        };
        EXPECT_TRUE(std::any_of(file->measured.begin(), file->measured.end(), measured));
    }
    const auto known = info(tree.path("state"))["tuning"];
    EXPECT_EQ(known["state"], "applies");
    EXPECT_EQ(known["in_use"], true);
    EXPECT_EQ(known["content"]["model"], report["tuning"]["model"]);
    EXPECT_EQ(info(tree.path("elsewhere"))["tuning"]["state"], "none");

    // The same without --json is a page.
    const Outcome page =
        run(tune_line(tree.path("state"), {"--threads", "1", "--reader", "pread"}));
    ASSERT_EQ(page.exit_code, 0) << page.err;
    EXPECT_THAT(page.out, AllOf(HasSubstr("chosen"), HasSubstr("prefetch"), HasSubstr("kept in")));
    EXPECT_THAT(page.out, AllOf(Not(HasSubstr("\nreader")), Not(HasSubstr("\nthreads"))))
        << "options given are not varied";
}

// Goal: later runs use the choices unless told otherwise, and answer the same.
// Method: a file with choices that show (one thread, the buffered reader); the precedence of
// command line, environment, file and default; --no-tune.
TEST(Tune, LaterRunsUseIt) {
    const TestTree tree;
    const std::string state = tree.path("state");
    ASSERT_EQ(run(tune_line(state)).exit_code, 0);
    const std::string text =
        tuning_for_this_machine(state + "/tune.json", {{.option = "in-flight", .value = "4M"},
                                                       {.option = "prefetch", .value = "off"},
                                                       {.option = "reader", .value = "buffered"},
                                                       {.option = "threads", .value = "3"}});
    tree.write("state/tune.json", text);
    const Answer plain = answer(answer_line(state, {"--no-tune", "--threads", "2"}));
    EXPECT_THAT(plain.engine, HasSubstr("2 threads"));
    const Answer tuned = answer(answer_line(state));
    EXPECT_THAT(tuned.engine, HasSubstr("3 threads"));
    EXPECT_EQ(tuned.text, plain.text);
    EXPECT_EQ(tuned.err, "");
    const Answer told = answer(answer_line(state, {"--threads", "1"}));
    EXPECT_THAT(told.engine, HasSubstr("1 thread,"));
    EXPECT_EQ(told.text, plain.text);
    EXPECT_THAT(answer(answer_line(state), {{"COLI_THREADS", "4"}}).engine, HasSubstr("4 threads"));
    tree.write("coli.conf", "threads = 5\n");
    EXPECT_THAT(answer(answer_line(state, {"--config", tree.path("coli.conf")})).engine,
                HasSubstr("5 threads"));
    EXPECT_THAT(answer(answer_line(state), {{"COLI_TUNE", "no"}}).engine,
                Not(HasSubstr("3 threads")));

    EXPECT_EQ(info(state)["plan"]["reader"], "buffered, through the page cache");
    EXPECT_NE(info(state, {"--no-tune"})["plan"]["reader"], "buffered, through the page cache");
    EXPECT_EQ(info(state, {"--no-tune"})["tuning"]["in_use"], false);
    const Outcome config = run({"info", "--model", nano(), "--config", "--state-dir", state});
    EXPECT_THAT(config.out, ::testing::ContainsRegex("threads +3 +.*state/tune.json"));
    EXPECT_THAT(config.out, ::testing::ContainsRegex("in-flight +4 MiB +.*state/tune.json"));
}

// Goal: a file that is damaged, of a later version, of another model or machine, or with a choice
// that makes no sense costs one line and nothing else, and stays as it is; a new tuning replaces
// it. Method: one such file after the other; the answer is always that without any.
TEST(Tune, WhatDoesNotApplyCostsOneLine) {
    const TestTree tree;
    const std::string state = tree.path("state"), path = state + "/tune.json";
    ASSERT_EQ(run(tune_line(state)).exit_code, 0);
    const Answer plain = answer(answer_line(state, {"--no-tune"}));
    const auto good = parse_tune(read_bytes(path), path);
    ASSERT_TRUE(good);
    const auto variant = [&](const std::function<void(TuneFile&)>& change) {
        TuneFile file = *good;
        file.chosen = {{.option = "threads", .value = "3"}};
        change(file);
        return format_tune(file);
    };
    const std::vector<std::pair<std::string, std::string>> cases{
        {"garbage", "not a JSON object"},
        {read_bytes(path).substr(0, 100), "cut short"},
        {variant([](TuneFile& file) { file.model ^= 1; }), "another model"},
        {variant([](TuneFile& file) { file.machine.processor = "Z80"; }), "Z80"},
        {variant([](TuneFile& file) { file.machine.cores = 999; }), "999 cores"},
        {variant([](TuneFile& file) { file.machine.drive = "floppy"; }), "floppy"},
        {variant([](TuneFile& file) { file.chosen[0].value = "0"; }), "'0' is not possible"},
        {variant([](TuneFile& file) { file.chosen[0].option = "ram"; }), "'ram' is no option"}};
    for (const auto& [text, part] : cases) {
        tree.write("state/tune.json", text);
        const Answer one = answer(answer_line(state));
        EXPECT_EQ(one.text, plain.text) << part;
        EXPECT_EQ(one.engine, plain.engine) << part;
        EXPECT_THAT(one.err, AllOf(HasSubstr(part), HasSubstr("ignored and left alone"))) << part;
        EXPECT_EQ(std::count(one.err.begin(), one.err.end(), '\n'), 1) << one.err;
        EXPECT_EQ(read_bytes(path), text) << part;
        const auto known = info(state)["tuning"];
        EXPECT_EQ(known["in_use"], false) << part;
        EXPECT_THAT(known["why"].get<std::string>(), HasSubstr(part));
    }
    ASSERT_EQ(run(tune_line(state)).exit_code, 0);
    EXPECT_EQ(info(state)["tuning"]["state"], "applies");
}

// Goal: Ctrl-C leaves at once, without writing.
// Method: an interrupt in the middle of a long tuning.
TEST(Tune, CtrlCLeavesNothing) {
    const TestTree tree;
    Program program({"tune", "--model", nano(), "--seconds", "600", "--ram", "45M", "--state-dir",
                     tree.path("state")});
    // Progress is for terminals only: nothing says when it has begun.
    ::usleep(1'500'000);
    program.send_signal(SIGINT);
    const Outcome outcome = program.finish(20);
    EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("nothing was written"));
    EXPECT_FALSE(fs::exists(tree.path("state")));
}

// Goal: where everything is in memory nothing about reading is tried; a place that cannot be
// written is a failure that still shows the result; limits are checked.
// Method: the bundled model with plenty of memory and a state directory below a file; a fixture
// without a tokenizer; impossible seconds.
TEST(Tune, ResidentModelsAndWrongPlaces) {
    const TestTree tree;
    tree.write("file", "x");
    const Outcome outcome = run({"tune", "--model", nano(), "--seconds", "10", "--ctx", "256",
                                 "--ram", "2G", "--state-dir", tree.path("file/state"), "--json"});
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("the result is not kept"));
    const auto report = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(report["path"], "");
    for (const auto& one : report["tuning"]["measured"]) EXPECT_EQ(one["option"], "threads");
    EXPECT_EQ(report["laps"]["start_empty"], false);

    const Outcome bare = run(
        {"tune", "--model", golden("olmoe"), "--seconds", "10", "--state-dir", tree.path("state")});
    EXPECT_EQ(bare.exit_code, 0) << bare.err;
    EXPECT_TRUE(fs::exists(tree.path("state/tune.json")));

    EXPECT_EQ(run({"tune", "--model", nano(), "--seconds", "5"}).exit_code, 2);
    EXPECT_EQ(run({"tune", "--model", nano(), "--chunk", "1K"}).exit_code, 2);
    EXPECT_EQ(run({"tune", "--model", nano(), "--in-flight", "2G"}).exit_code, 2);
    EXPECT_EQ(run({"tune", "--model", "/nonexistent/model"}).exit_code, 1);
}

// Goal: a model spread over directories is tuned and recognized like any other.
// Method: a fixture of three shards, one of them in another directory; the file applies with the
// same --dir.
TEST(Tune, SpreadModelsToo) {
    const TestTree tree;
    const std::string state = tree.path("state");
    fs::create_directory(tree.path("model"));
    fs::create_directory(tree.path("other"));
    for (const auto& entry : fs::directory_iterator(golden("glm_fp8"))) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("oracle")) continue;
        fs::copy(entry.path(),
                 tree.path(name.starts_with("model-00002") ? "other" : "model") + "/" + name);
    }
    const Words where{"--model",          tree.path("model"), "--dir",
                      tree.path("other"), "--state-dir",      state};
    const Outcome outcome = run(with({"tune", "--seconds", "10", "--threads", "1"}, where));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Outcome known = run(with({"info", "--json"}, where));
    ASSERT_EQ(known.exit_code, 0) << known.err;
    EXPECT_EQ(nlohmann::json::parse(known.out)["tuning"]["state"], "applies");
}

}  // namespace colibri::e2e

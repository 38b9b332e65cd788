// What the command line refuses, with which exit code, before a model is loaded.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/e2e/program.h"

namespace colibri::e2e {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Goal: help of every command, on standard output, with success.
// Method: all ways to ask.
TEST(Usage, HelpsOnStandardOutput) {
    const std::vector<std::vector<std::string>> lines{{},
                                                      {"--help"},
                                                      {"help"},
                                                      {"run", "--help"},
                                                      {"chat", "-h"},
                                                      {"info", "--help"},
                                                      {"eval", "--help"},
                                                      {"eval", "ppl", "--help"},
                                                      {"help", "run"},
                                                      {"help", "eval"},
                                                      {"help", "eval", "trace"},
                                                      {"help", "--markdown"}};
    for (const auto& line : lines) {
        const Outcome outcome = run(line);
        EXPECT_EQ(outcome.exit_code, 0) << ::testing::PrintToString(line) << outcome.err;
        EXPECT_THAT(outcome.out, HasSubstr("coli"));
        EXPECT_THAT(outcome.err, IsEmpty());
    }
    EXPECT_THAT(run({"--version"}).out, StartsWith("colibri "));
    EXPECT_THAT(run({"version"}).out, StartsWith("colibri "));
}

// Goal: wrong usage ends with 2, says what is wrong and where to read on, and prints nothing else.
// Method: one line for each kind.
TEST(Usage, RefusesWithTwo) {
    const std::vector<std::pair<std::vector<std::string>, std::string>> lines{
        {{"fly"}, "unknown command 'fly'"},
        {{"eval"}, "logits, trace, ppl"},
        {{"run", "--temperature", "1"}, "--temp"},
        {{"run", "--temp", "hot", "x"}, "'hot'"},
        {{"run", "--max-tokens", "-1", "x"}, "'-1'"},
        {{"run", "--max-tokens", "1e20", "x"}, "'1e20'"},
        {{"run", "--greedy", "--temp", "1", "x"}, "exclude each other"},
        {{"run", "--tokens", "1"}, "eval logits, eval trace"},
        {{"run", "--model", nano()}, "prompt is empty"},
        {{"run", "--model", nano(), "--prompt", "x", "y"}, "two prompts"},
        {{"chat", "hello"}, "'hello'"},
        {{"eval", "logits", "--model", golden("glm_mtp")}, "--tokens is needed"},
        {{"eval", "logits", "--tokens", "1", "--model", golden("glm_mtp")}, "--out"},
        {{"eval", "trace", "--tokens", "1 x", "--out", "t"}, "'x'"},
        {{"eval", "ppl"}, "one FILE is needed"},
        {{"eval", "ppl", "a", "b"}, "found 2"},
        {{"help", "fly"}, "'fly'"},
        {{"run", "--config", "/nonexistent.conf", "x"}, "/nonexistent.conf"}};
    for (const auto& [line, text] : lines) {
        const Outcome outcome = run(line);
        EXPECT_EQ(outcome.exit_code, 2) << ::testing::PrintToString(line) << outcome.err;
        EXPECT_THAT(outcome.err, AllOf(StartsWith("coli: error: "), HasSubstr(text)));
        EXPECT_THAT(outcome.out, IsEmpty());
    }
}

// Goal: what is right but fails ends with 1.
// Method: a model that is not there, with every command.
TEST(Usage, FailsWithOne) {
    const std::string nowhere = "/nonexistent/model";
    const std::vector<std::vector<std::string>> lines{
        {"run", "--model", nowhere, "x"},
        {"chat", "--model", nowhere},
        {"info", "--model", nowhere},
        {"eval", "logits", "--model", nowhere, "--tokens", "1", "--out",
         "/nonexistent/colibri.npy"},
        {"eval", "ppl", "--model", nowhere, "/etc/hostname"}};
    for (const auto& line : lines) {
        const Outcome outcome = run(line);
        EXPECT_EQ(outcome.exit_code, 1) << ::testing::PrintToString(line) << outcome.err;
        EXPECT_THAT(outcome.err, AllOf(StartsWith("coli: error: "), HasSubstr(nowhere)));
        EXPECT_THAT(outcome.out, IsEmpty());
    }
}

// Goal: an environment full of other programs' variables does not matter; our own are checked by
// name. Method: the classic ones, then broken COLI_ variables, with a command that needs no prompt.
TEST(Usage, SurvivesAHostileEnvironment) {
    const Outcome fine = run({"info", "--model", nano()}, "",
                             {{"TEMP", "/var/tmp"},
                              {"CTX", "abc"},
                              {"RAM", ""},
                              {"TOP_P", "x"},
                              {"MODEL", "/x"},
                              {"COLI", "1"},
                              {"TERM", "dumb"},
                              {"LANG", "xx"}});
    EXPECT_EQ(fine.exit_code, 0) << fine.err;
    EXPECT_THAT(fine.out, HasSubstr("glm_moe_dsa"));
    for (const auto& [name, value] :
         std::vector<std::pair<std::string, std::string>>{{"COLI_RAM", ""},
                                                          {"COLI_CTX", "abc"},
                                                          {"COLI_TEMP", "/var/tmp"},
                                                          {"COLI_CUDA", "1"}}) {
        const Outcome outcome = run({"info", "--model", nano()}, "", {{name, value}});
        EXPECT_EQ(outcome.exit_code, 2) << name;
        EXPECT_THAT(outcome.err, HasSubstr(name));
    }
}

// Goal: every value can be traced to its source.
// Method: one from the environment, one from the command line.
TEST(Usage, ShowsWhereValuesComeFrom) {
    const Outcome outcome = run({"info", "--config", "--threads", "3"}, "",
                                {{"COLI_CTX", "128"}, {"COLI_TEMP", "0.5"}});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, ::testing::ContainsRegex("ctx +128 +COLI_CTX"));
    EXPECT_THAT(outcome.out, ::testing::ContainsRegex("temp +0.5 +COLI_TEMP"));
    EXPECT_THAT(outcome.out, ::testing::ContainsRegex("threads +3 +--threads"));
    EXPECT_THAT(outcome.out, ::testing::ContainsRegex("seed +random +default"));
    const Outcome json = run({"info", "--config", "--json"});
    EXPECT_GT(nlohmann::json::parse(json.out).size(), 15U);
}

// Goal: without --model the bundled one is found from where the program stands; without either, the
// message says what to do. Method: a copy of the program as an installation has it: bin/coli and
// share/colibri/models/nano.
TEST(Usage, FindsTheBundledModel) {
    const fs::path prefix = fs::path(testing::TempDir()) / "colibri_prefix";
    fs::remove_all(prefix);
    fs::create_directories(prefix / "bin");
    fs::create_directories(prefix / "share/colibri/models");
    fs::copy_file(COLIBRI_PROGRAM, prefix / "bin/coli");
    fs::create_directory_symlink(nano(), prefix / "share/colibri/models/nano");
    const Outcome found = run_program((prefix / "bin/coli").string(), {"info"});
    EXPECT_EQ(found.exit_code, 0) << found.err;
    EXPECT_THAT(found.out, HasSubstr((prefix / "share/colibri/models/nano").string()));
    fs::remove(prefix / "share/colibri/models/nano");
    const Outcome missing = run_program((prefix / "bin/coli").string(), {"info"});
    EXPECT_EQ(missing.exit_code, 2);
    EXPECT_THAT(missing.err, AllOf(HasSubstr("--model"), HasSubstr("COLI_MODEL")));
    fs::remove_all(prefix);
}

// Goal: info tells the plan without loading, and its numbers hold together.
// Method: JSON of the bundled model: parts sum up to the total, within the budget.
TEST(Usage, InfoAddsUp) {
    const Outcome outcome = run({"info", "--model", nano(), "--ram", "64M", "--json"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto report = nlohmann::json::parse(outcome.out);
    const auto& plan = report.at("plan");
    uint64_t sum = 0;
    for (const auto& part : plan.at("parts")) sum += part.at("bytes").get<uint64_t>();
    EXPECT_EQ(sum, plan.at("total_bytes"));
    EXPECT_LE(plan.at("total_bytes"), plan.at("budget_bytes"));
    EXPECT_EQ(plan.at("budget_bytes"), 64ULL << 20);
    EXPECT_EQ(report.at("model").at("experts_per_layer"), 128);
    EXPECT_EQ(report.at("model").at("experts_used"), 8);
    const Outcome spec = run({"info", "--model", nano(), "--spec"});
    EXPECT_EQ(spec.exit_code, 0);
    EXPECT_THAT(spec.out, HasSubstr("glm_moe_dsa"));
}

}  // namespace
}  // namespace colibri::e2e

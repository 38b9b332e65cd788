// The announced plan against what the process really took.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/units.h"
#include "format/test_safetensors.h"
#include "platform/test_tree.h"

namespace colibri {
namespace {

constexpr uint64_t kSlackBytes = 32 * kMiB;  // what the plan may exceed the peak by

// VmHWM of a running coli, 0 when the process has not become it yet or is gone.
uint64_t peak_bytes(pid_t process) {
    std::ifstream status(fmt::format("/proc/{}/status", process));
    std::string word, name;
    status >> word >> name;
    if (name != "coli") return 0;
    while (status >> word)
        if (word == "VmHWM:") {
            uint64_t kilobytes = 0;
            status >> kilobytes;
            return kilobytes * kKiB;
        }
    return 0;
}

struct Outcome {
    int exit_code = -1;
    uint64_t peak_bytes = 0;  // as seen from outside, up to a millisecond before the end
    std::string out, err;
};

// Runs coli with files as its three streams, watching its peak.
Outcome watch(const TestTree& tree, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), COLIBRI_PROGRAM);
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    const std::string in = tree.path("in"), out = tree.path("out"), err = tree.path("err");
    std::string path = "PATH=/usr/bin:/bin";
    char* environment[] = {path.data(), nullptr};
    Outcome outcome;
    const pid_t child = ::fork();
    EXPECT_GE(child, 0);
    if (child == 0) {
        ::dup2(::open(in.c_str(), O_RDONLY), STDIN_FILENO);
        ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), STDOUT_FILENO);
        ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), STDERR_FILENO);
        ::execve(COLIBRI_PROGRAM, words.data(), environment);
        ::_exit(127);
    }
    int status = 0;
    while (child > 0 && ::waitpid(child, &status, WNOHANG) == 0) {
        outcome.peak_bytes = std::max(outcome.peak_bytes, peak_bytes(child));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    outcome.out = test_read(out);
    outcome.err = test_read(err);
    return outcome;
}

// Text of many topics, so that nearly every expert is met.
std::string long_prompt(size_t characters) {
    std::ifstream lines(COLIBRI_SOURCE_DIR "/models/nano/eval.jsonl");
    std::string text, line;
    for (uint32_t i = 0; std::getline(lines, line) && text.size() < characters; ++i)
        if (i % 40 == 0) text += nlohmann::json::parse(line).dump();
    text.resize(std::min(text.size(), characters));
    return text;
}

nlohmann::json plan_of(const TestTree& tree, const std::string& ram) {
    const Outcome info =
        watch(tree, {"info", "--json", "--model", COLIBRI_SOURCE_DIR "/models/nano", "--ctx",
                     "1024", "--ram", ram});
    EXPECT_EQ(info.exit_code, 0) << info.err;
    return nlohmann::json::parse(info.out).at("plan");
}

// Goal: the process's peak resident set stays within the plan, and the plan is not far above it.
// Method: coli run on nano with a prompt that fills the context and all slots, at the smallest
// budget, between, and with everything.
TEST(Memory, PeakStaysWithinThePlanAndClose) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's shadow memory counts too";
#endif
    const TestTree tree;
    tree.write("in", long_prompt(2700));
    const nlohmann::json plan = plan_of(tree, "4G");
    const uint64_t smallest = ceil_div(plan.at("smallest_budget_bytes").get<uint64_t>(), kMiB);
    const uint64_t everything = ceil_div(plan.at("everything_bytes").get<uint64_t>(), kMiB);
    for (const uint64_t ram : {smallest, (smallest + everything) / 2, everything}) {
        const std::string budget = fmt::format("{}M", ram);
        const uint64_t planned = plan_of(tree, budget).at("total_bytes").get<uint64_t>();
        const Outcome run =
            watch(tree, {"run", "--json", "--greedy", "--model", COLIBRI_SOURCE_DIR "/models/nano",
                         "--ctx", "1024", "--ram", budget, "--max-tokens", "24", "-"});
        ASSERT_EQ(run.exit_code, 0) << run.err;
        const nlohmann::json report = nlohmann::json::parse(run.out);
        EXPECT_EQ(report.at("stats").at("planned_bytes"), planned);
        EXPECT_GT(report.at("usage").at("prompt_tokens"), 900);
        const uint64_t peak =
            std::max(run.peak_bytes, report.at("stats").at("peak_resident_bytes").get<uint64_t>());
        fmt::print("nano, --ram {}: peak {:.2f} MiB, plan {:.2f} MiB ({} prompt tokens)\n", budget,
                   double(peak) / kMiB, double(planned) / kMiB,
                   report.at("usage").at("prompt_tokens").get<int>());
        EXPECT_LE(planned, ram * kMiB);
        EXPECT_LE(peak, planned) << "--ram " << budget;
        EXPECT_GE(peak + kSlackBytes, planned) << "--ram " << budget;
    }
}

}  // namespace
}  // namespace colibri

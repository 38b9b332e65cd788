// coli trace: routes of a real run, and what policies make of them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "platform/test_tree.h"
#include "tests/e2e/program.h"

namespace colibri::e2e {
namespace {

using ::testing::HasSubstr;

std::string read_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

struct Line {
    int turn = 0, phase = 0, step = 0, layer = 0, slot = 0, expert = 0;
    double weight = 0;
    int residency = 0;
    uint64_t expert_bytes = 0;
};

// The choices of a trace, read with scanf and nothing of colibri.
std::vector<Line> lines_of(const std::string& text) {
    std::vector<Line> lines;
    std::istringstream in(text);
    for (std::string row; std::getline(in, row);) {
        Line line;
        unsigned long long bytes = 0;
        if (std::sscanf(row.c_str(), "%d,%d,%d,%d,%d,%d,%lf,%d,%llu", &line.turn, &line.phase,
                        &line.step, &line.layer, &line.slot, &line.expert, &line.weight,
                        &line.residency, &bytes) != 9)
            continue;
        line.expert_bytes = bytes;
        lines.push_back(line);
    }
    return lines;
}

// int32 or float tensor of a fixture's oracle.safetensors as doubles.
std::vector<double> oracle(const std::string& fixture, const std::string& name) {
    const std::string bytes = read_text(golden(fixture) + "/oracle.safetensors");
    uint64_t header_size = 0;
    std::memcpy(&header_size, bytes.data(), 8);
    const auto header = nlohmann::json::parse(bytes.substr(8, header_size));
    const uint64_t begin = header[name]["data_offsets"][0], end = header[name]["data_offsets"][1];
    const bool integers = header[name]["dtype"] == "I32";
    std::vector<double> values;
    for (uint64_t at = 8 + header_size + begin; at < 8 + header_size + end; at += 4) {
        int32_t integer = 0;
        float number = 0;
        std::memcpy(&integer, bytes.data() + at, 4);
        std::memcpy(&number, bytes.data() + at, 4);
        values.push_back(integers ? double(integer) : double(number));
    }
    return values;
}

}  // namespace

// Goal: a recorded trace holds the routes of the run: every position, layer and expert with its
// weight.
// Method: a prompt of a fixture and three tokens more; its routes were computed by another
// implementation. Residency and bytes: an expert is read at most as often as it is not resident,
// and the first use of all is never resident.
TEST(Trace, RecordsTheRoutesOfTheRun) {
    const TestTree tree;
    const std::string fixture = "glm_short";
    const auto prompt =
        nlohmann::json::parse(read_text(golden(fixture) + "/oracle.json"))["cases"][2]["prompt"];
    std::string tokens;
    for (const auto& token : prompt) tokens += token.dump() + " ";
    const std::string out = tree.path("routes.csv");
    const Outcome outcome = run({"trace", "record", "--model", golden(fixture), "--activations",
                                 "f32", "--tokens", tokens, "--greedy", "3", "--out", out});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    const std::string text = read_text(out);
    EXPECT_THAT(text, HasSubstr("# route_trace v1\n# model=glm_short arch=glm_moe_dsa "));
    std::map<int, std::map<int, std::map<int, double>>> weights;  // [layer][position][expert]
    std::set<std::pair<int, int>> seen;
    for (const Line& line : lines_of(text)) {
        EXPECT_EQ(line.phase, line.step < int(prompt.size()) ? 0 : 1);
        if (seen.insert({line.layer, line.expert}).second) {
            EXPECT_EQ(line.residency, 0);
            EXPECT_GT(line.expert_bytes, 0U);
        }
        if (line.residency == 1) {
            EXPECT_EQ(line.expert_bytes, 0U);
        }
        weights[line.layer][line.step][line.expert] = line.weight;
    }
    ASSERT_FALSE(weights.empty());
    for (const auto& [layer, rows] : weights) {
        const std::string name = "p2.router." + std::to_string(layer);
        const std::vector<double> ids = oracle(fixture, name + ".ids");
        const std::vector<double> expected = oracle(fixture, name + ".weights");
        const size_t top_k = ids.size() / prompt.size();
        EXPECT_EQ(rows.size(), prompt.size() + 3);
        for (size_t i = 0; i < ids.size(); ++i) {
            const auto& row = rows.at(int(i / top_k));
            ASSERT_TRUE(row.contains(int(ids[i]))) << layer << " " << i / top_k;
            EXPECT_NEAR(row.at(int(ids[i])), expected[i], 1e-4);
        }
    }
}

// Goal: replay prints what follows from the routes, the same every time.
// Method: a trace small enough to work out by hand: layer 0 uses experts 0, 1, 0, 1, 0 one after
// the other and there is one slot of two: every use misses; with two slots the first two do.
TEST(Trace, ReplaysByHand) {
    const TestTree tree;
    std::string text =
        "# route_trace v1\n# model=m arch=a n_layer=1 n_expert=2 n_expert_used=1\n"
        "# layer=0 expert_bytes=1000 dense_bytes=0\n"
        "turn,phase,step,layer,slot,expert,weight,residency,expert_bytes\n";
    for (int step = 0; step < 5; ++step)
        text += "0,1," + std::to_string(step) + ",0,0," + std::to_string(step % 2) + ",1,0,0\n";
    tree.write("t.csv", text);
    const std::vector<std::string> command = {"trace",      "replay",     tree.path("t.csv"),
                                              "--capacity", "50,100",     "--json",
                                              "--policy",   "lru,belady", "--policy=all"};
    const Outcome outcome = run(command);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(run(command).out, outcome.out);
    const auto report = nlohmann::json::parse(outcome.out)[0];
    EXPECT_EQ(report["decode_tokens"], 5);
    ASSERT_EQ(report["results"].size(), 8U);
    for (const auto& row : report["results"]) {
        const bool whole = row["slots"] == 2;
        EXPECT_EQ(row["hits"], whole ? 3 : 0) << row;
        EXPECT_EQ(row["misses"], whole ? 2 : 5) << row;
        EXPECT_EQ(row["bytes_per_token"], whole ? 400.0 : 1000.0) << row;
        EXPECT_EQ(row["belady_ratio"], 1.0) << row;
    }
    EXPECT_THAT(run({"trace", "replay", tree.path("t.csv")}).out, HasSubstr("of the bound"));
}

// Goal: what cannot work says so, with the exit code of its kind.
// Method: no file, a file without decode steps, wrong words, no messages.
TEST(Trace, RefusesWhatCannotWork) {
    const TestTree tree;
    tree.write("empty.csv",
               "# route_trace v1\n# model=m arch=a n_layer=1 n_expert=2 n_expert_used=1\n"
               "turn,phase,step,layer,slot,expert,weight,residency,expert_bytes\n");
    const auto refusal = [](const std::vector<std::string>& arguments, int code) {
        const Outcome outcome = run(arguments);
        EXPECT_EQ(outcome.exit_code, code) << outcome.err;
        return outcome.err;
    };
    const std::string file = tree.path("empty.csv");
    EXPECT_THAT(refusal({"trace", "replay"}, 2), HasSubstr("a route trace is needed"));
    EXPECT_THAT(refusal({"trace", "replay", file}, 1), HasSubstr("no decode steps"));
    EXPECT_THAT(refusal({"trace", "replay", file, "--policy", "fifo"}, 2), HasSubstr("'fifo'"));
    EXPECT_THAT(refusal({"trace", "replay", file, "--capacity", "0"}, 2), HasSubstr("--capacity"));
    EXPECT_THAT(refusal({"trace", "replay", file + "x"}, 1), HasSubstr("empty.csvx"));
    EXPECT_THAT(refusal({"trace", "record"}, 2), HasSubstr("--out"));
    EXPECT_THAT(refusal({"trace", "record", "--out", file}, 2), HasSubstr("messages"));
    EXPECT_THAT(refusal({"trace"}, 2), HasSubstr("record, replay"));
}

}  // namespace colibri::e2e

// coli iobench: what the drive delivers, and what a model can expect of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "platform/test_tree.h"
#include "tests/e2e/program.h"

namespace colibri::e2e {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kQuick{"iobench", "--seconds", "0.02", "--json"};

std::vector<std::string> quick(const std::vector<std::string>& more) {
    std::vector<std::string> line = kQuick;
    line.insert(line.end(), more.begin(), more.end());
    return line;
}

// Goal: a model's page is consistent: every reader in both patterns, and the expected speed is the
// fastest reader's bandwidth over the bytes of a token that are missed.
// Method: nano; all numbers recomputed from the printed measurements, the bytes of a token from its
// config: 7 layers x 8 experts x 3 matrices of 64 x 256 FP8 weights (the few scales stay in
// memory).
TEST(Iobench, TellsWhatAModelCanExpect) {
    const Outcome outcome = run(quick({nano()}));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto report = nlohmann::json::parse(outcome.out);
    std::set<std::pair<std::string, std::string>> seen;
    double best = 0;
    for (const auto& row : report["measurements"]) {
        seen.emplace(row["pattern"], row["reader"]);
        const double rate = row["bytes_per_second"];
        EXPECT_GT(rate, 0);
        EXPECT_NEAR(rate, row["reads_per_second"].get<double>() * row["block_bytes"].get<double>(),
                    rate * 1e-9);
        if (row["pattern"] == "random" && row["reader"] != "raw") best = std::max(best, rate);
    }
    for (const char* reader : {"raw", "pread", "buffered"})
        for (const char* pattern : {"sequential", "random"})
            EXPECT_TRUE(seen.contains({pattern, reader})) << pattern << " " << reader;
    const double per_token = report["expert_bytes_per_token"];
    EXPECT_EQ(per_token, 7.0 * 8 * 3 * 64 * 256);
    ASSERT_EQ(report["expected"].size(), 5U);
    for (const auto& at : report["expected"]) {
        const double missed = per_token * (1 - at["hit_rate"].get<double>());
        EXPECT_NEAR(at["bytes_per_token"].get<double>(), missed, 1);
        EXPECT_NEAR(at["tokens_per_second_max"].get<double>(), best / missed, best / missed * 1e-6);
    }
}

// Goal: one file, one reader, one block size, as asked; nothing about tokens.
// Method: a file of a megabyte; then blocks that do not fit, a file that is not there, two files.
TEST(Iobench, MeasuresAFile) {
    const TestTree tree;
    tree.write("data", std::string(1 << 20, 'x'));
    const Outcome outcome =
        run(quick({"--reader", "pread", "--block", "64K", "--depth", "3", tree.path("data")}));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto report = nlohmann::json::parse(outcome.out);
    ASSERT_EQ(report["measurements"].size(), 4U);
    for (const auto& row : report["measurements"]) {
        if (row["pattern"] != "random") continue;
        EXPECT_EQ(row["block_bytes"], 65536);
        EXPECT_EQ(row["depth"], 3);
    }
    EXPECT_FALSE(report.contains("expected"));

    const Outcome large = run(quick({"--block", "2M", tree.path("data")}));
    EXPECT_EQ(large.exit_code, 2);
    EXPECT_THAT(large.err, HasSubstr("its largest file has 1 MiB"));
    EXPECT_EQ(run(quick({tree.path("none")})).exit_code, 1);
    EXPECT_EQ(run(quick({tree.path("data"), tree.path("data")})).exit_code, 2);
}

}  // namespace
}  // namespace colibri::e2e

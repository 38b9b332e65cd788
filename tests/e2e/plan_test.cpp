// coli plan and coli doctor, as a user meets them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "platform/test_tree.h"
#include "tests/e2e/program.h"

namespace colibri::e2e {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// A copy of a fixture that may be damaged.
class Copy {
public:
    explicit Copy(const std::string& source) {
        std::string pattern = (fs::temp_directory_path() / "colibri-doctor-XXXXXX").string();
        path_ = mkdtemp(pattern.data());
        for (const auto& entry : fs::directory_iterator(source))
            if (entry.is_regular_file() && !entry.path().filename().string().starts_with("oracle"))
                fs::copy(entry.path(), path_);
    }
    ~Copy() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    Copy(const Copy&) = delete;
    Copy& operator=(const Copy&) = delete;
    [[nodiscard]] const fs::path& path() const { return path_; }

private:
    fs::path path_;
};

nlohmann::json doctor(const std::string& model, int expected_exit, bool deep = true) {
    std::vector<std::string> arguments{"doctor", "--json", "--model", model};
    if (deep) arguments.emplace_back("--deep");
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, expected_exit) << outcome.out << outcome.err;
    return nlohmann::json::parse(outcome.out);
}

// Findings about the model, worse than a note: those about this machine are its own.
std::vector<std::string> model_findings(const nlohmann::json& report) {
    std::vector<std::string> found;
    for (const auto& check : report.at("checks")) {
        const std::string severity = check.at("severity");
        if (severity != "warning" && severity != "error") continue;
        if (std::string(check.at("id")).starts_with("model.")) found.push_back(check.at("summary"));
    }
    return found;
}

// Goal: a healthy model of any family and form has no findings.
// Method: coli doctor --deep on every kind of fixture and on the bundled model.
TEST(Doctor, FindsNothingOnHealthyModels) {
    std::vector<std::string> models{nano()};
    for (const char* name :
         {"glm_short", "glm_sparse", "glm_odd", "glm_mtp", "glm_fp8", "glm_out_int4row",
          "glm_out_int4g64", "glm_out_int2row", "olmoe", "olmoe_clip", "olmoe_out_int8"})
        models.push_back(golden(name));
    for (const std::string& model : models) {
        const auto report = doctor(model, 0);
        EXPECT_THAT(model_findings(report), testing::IsEmpty()) << model << report.dump(2);
    }
}

// Goal: each kind of damage ends in an error that names the file, with a reason and a remedy.
// Method: a truncated shard, a missing shard, a number that became NaN (found only by --deep), a
// configuration that does not parse.
TEST(Doctor, FindsDamage) {
    const auto expect_error = [](const Copy& copy, std::string_view part) {
        const auto report = doctor(copy.path(), 1);
        bool named = false;
        for (const auto& check : report.at("checks")) {
            if (check.at("severity") != "error") continue;
            EXPECT_NE(check.at("reason"), "");
            EXPECT_NE(check.at("remedy"), "");
            named = named || std::string(check.at("summary")).find(part) != std::string::npos;
        }
        EXPECT_TRUE(named) << part << report.dump(2);
    };
    const auto shard_of = [](const Copy& copy) {
        for (const auto& entry : fs::directory_iterator(copy.path()))
            if (entry.path().extension() == ".safetensors" &&
                entry.path().filename() != "oracle.safetensors")
                return entry.path();
        return fs::path();
    };
    {
        const Copy copy(golden("glm_short"));
        fs::resize_file(shard_of(copy), fs::file_size(shard_of(copy)) - 1);
        expect_error(copy, shard_of(copy).filename().string());
    }
    {
        const Copy copy(golden("glm_short"));
        fs::remove(shard_of(copy));
        expect_error(copy, "safetensors");
    }
    {
        const Copy copy(golden("glm_short"));
        const fs::path shard = shard_of(copy);
        std::fstream file(shard, std::ios::binary | std::ios::in | std::ios::out);
        file.seekp(-4, std::ios::end);
        file.write("\xFF\xFF\xFF\xFF", 4);
        file.close();
        expect_error(copy, "not finite");
    }
    {
        const Copy copy(golden("glm_short"));
        std::ofstream(copy.path() / "config.json") << "{";
        expect_error(copy, "config.json");
    }
}

// Goal: plan reports the engine's own memory plan, and a forecast that follows from its numbers.
// Method: coli plan and coli info on the bundled model at one budget; the given drive speed and hit
// rate in the arithmetic.
TEST(Plan, AgreesWithTheEngineAndItself) {
    const Outcome planned =
        run({"plan", nano(), "--ram", "45M", "--drives", "2,1", "--hit-rate", "60", "--json"});
    ASSERT_EQ(planned.exit_code, 0) << planned.err;
    const auto plan = nlohmann::json::parse(planned.out);
    const Outcome informed = run({"info", "--model", nano(), "--ram", "45M", "--json"});
    const auto info = nlohmann::json::parse(informed.out).at("plan");
    EXPECT_EQ(plan.at("memory").at("parts"), info.at("parts"));
    EXPECT_EQ(plan.at("memory").at("total_bytes"), info.at("total_bytes"));
    EXPECT_LE(plan.at("memory").at("total_bytes"), 45 << 20);
    const auto& token = plan.at("token");
    EXPECT_EQ(token.at("experts"), 7 * 8);  // seven layers with experts, eight of each
    const double missed = 56 * 0.4 * double(token.at("expert_read_bytes"));
    EXPECT_NEAR(double(token.at("read_bytes")), missed, 1);
    EXPECT_NEAR(double(token.at("read_seconds")), missed / 3e9, 1e-9);
    EXPECT_EQ(plan.at("memory").at("largest_context"), 2048);
}

// Goal: the hit rate comes from the usage history once that is long enough, and plan says so.
// Method: a history of the original engine, imported: of each layer's experts the first 32 share
// nine tenths of 1000 tokens' uses. With a given number of experts in memory the share follows.
TEST(Plan, ExpectsWhatTheHistoryPromises) {
    const TestTree tree;
    const std::string state = tree.path("state");
    const auto planned = [&](const std::vector<std::string>& more) {
        std::vector<std::string> words{"plan", nano(),        "--json", "--drives",
                                       "1",    "--state-dir", state};
        words.insert(words.end(), more.begin(), more.end());
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return nlohmann::json::parse(outcome.out).at("token");
    };
    const auto without = planned({"--ram", "45M"});
    EXPECT_EQ(without["hit_rate_from"], "prior");
    EXPECT_EQ(without["history_tokens"], 0);
    const auto write_history = [&](int uses_often, int uses_seldom) {
        std::string text = "-1 8 128\n";
        for (int layer = 1; layer < 8; ++layer)
            for (int expert = 0; expert < 128; ++expert)
                text += std::to_string(layer) + " " + std::to_string(expert) + " " +
                        std::to_string(expert < 32 ? uses_often : uses_seldom) + "\n";
        tree.write("usage.txt", text);
        const Outcome imported = run(
            {"usage", "--model", nano(), "--state-dir", state, "--import", tree.path("usage.txt")});
        EXPECT_EQ(imported.exit_code, 0) << imported.err;
    };
    // A layer: 32 x 288 + 96 x 10.67 uses; 8 of each token: some 1280 tokens.
    write_history(288, 11);
    const auto with = planned({"--ram", "45M"});
    EXPECT_EQ(with["hit_rate_from"], "history");
    EXPECT_NEAR(with["history_tokens"].get<double>(), (32 * 288 + 96 * 11) / 8.0, 1);
    const double slots = with["expert_slots"];
    const double often = std::min(slots, 7.0 * 32), seldom = slots - often;
    EXPECT_NEAR(with["hit_rate"].get<double>(),
                (often * 288 + seldom * 11) / (7.0 * (32 * 288 + 96 * 11)), 1e-9);
    EXPECT_EQ(planned({"--ram", "45M", "--no-usage"})["hit_rate_from"], "prior");
    EXPECT_EQ(planned({"--ram", "45M", "--hit-rate", "50"})["hit_rate_from"], "option");
    write_history(100, 4);  // 448 tokens are too few
    const auto few = planned({"--ram", "45M"});
    EXPECT_EQ(few["hit_rate_from"], "prior");
    const Outcome text =
        run({"plan", nano(), "--ram", "45M", "--drives", "1", "--state-dir", state});
    EXPECT_THAT(text.out, HasSubstr("the history has 448 tokens"));
}

// Goal: speeds of several drives add up as far as they hold the same files.
// Method: a fixture of three files; a mirror of all of them, one of the first alone; expected times
// by hand from the files' sizes: what only one drive has that drive must read.
TEST(Plan, AddsUpDrives) {
    const Copy model(golden("glm_fp8"));
    const Copy full(golden("glm_fp8"));
    const Copy part(golden("glm_fp8"));
    for (const char* name :
         {"model-00002-of-00003.safetensors", "model-00003-of-00003.safetensors"})
        fs::remove(part.path() / name);
    const auto speed = [&](const std::vector<std::string>& more) {
        std::vector<std::string> words{"plan", model.path(), "--json", "--hit-rate", "0"};
        words.insert(words.end(), more.begin(), more.end());
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return nlohmann::json::parse(outcome.out)
            .at("speeds")
            .at("drive_bytes_per_s")
            .get<double>();
    };
    EXPECT_DOUBLE_EQ(speed({"--drives", "3"}), 3e9);
    EXPECT_DOUBLE_EQ(speed({"--drives", "3,1.5"}), 4.5e9);
    EXPECT_NEAR(speed({"--drives", "3,1.5", "--mirror", full.path()}), 4.5e9, 1);
    double first = 0, all = 0;
    for (const auto& entry : fs::directory_iterator(model.path())) {
        if (entry.path().extension() != ".safetensors") continue;
        const auto bytes = double(entry.file_size());
        all += bytes;
        if (entry.path().filename() == "model-00001-of-00003.safetensors") first = bytes;
    }
    // Of the first file two thirds come from the model's drive; all of the others do.
    const double busiest_s = (first * 2 / 3 + all - first) / 3e9;
    EXPECT_NEAR(speed({"--drives", "3,1.5", "--mirror", part.path()}), all / busiest_s,
                1e-6 * all / busiest_s);
    EXPECT_EQ(run({"plan", model.path(), "--drives", "3", "--mirror", full.path()}).exit_code, 2);
    // Without --drives a given speed of a mirror counts beside what is measured.
    const Outcome text = run({"plan", model.path(), "--mirror", full.path().string() + "@2"});
    EXPECT_EQ(text.exit_code, 0) << text.err;
    EXPECT_THAT(text.out, HasSubstr(" + 2.00"));
}

// Goal: options of plan are checked, and a budget that is too small says what works.
// Method: wrong speeds and rates; a megabyte.
TEST(Plan, RefusesWhatMakesNoSense) {
    for (const char* drives : {"fast", "0", "-1", "1,,2", "1;2", ""}) {
        const Outcome outcome = run({"plan", nano(), "--drives", drives});
        EXPECT_EQ(outcome.exit_code, 2) << drives;
        EXPECT_THAT(outcome.err, HasSubstr("--drives"));
    }
    EXPECT_EQ(run({"plan", nano(), "--hit-rate", "101"}).exit_code, 2);
    EXPECT_EQ(run({"plan", nano(), "elsewhere"}).exit_code, 2);
    const Outcome small = run({"plan", nano(), "--ram", "2M"});
    EXPECT_EQ(small.exit_code, 1);
    EXPECT_THAT(small.err, HasSubstr("smallest that works"));
}

}  // namespace
}  // namespace colibri::e2e

// coli doctor: state files, and models broken in the ways that people report.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "format/tune_file.h"
#include "platform/test_tree.h"
#include "tests/e2e/program.h"

namespace colibri::e2e {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Json = nlohmann::json;

Json report_of(const Outcome& outcome) {
    const Json report = Json::parse(outcome.out, nullptr, false);
    EXPECT_FALSE(report.is_discarded()) << outcome.out << outcome.err;
    return report;
}

Json doctor(const std::string& state, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"doctor", "--json", "--model", nano(), "--state-dir", state};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    return report_of(outcome);
}

// The finding with this id; null when there is none.
Json finding(const Json& report, const std::string& id) {
    for (const Json& check : report.at("checks"))
        if (check.at("id") == id) return check;
    return {};
}

void expect_finding(const Json& report, const std::string& id, const std::string& severity,
                    const std::string& part) {
    const Json found = finding(report, id);
    ASSERT_FALSE(found.is_null()) << id << report.dump(2);
    EXPECT_EQ(found["severity"], severity) << found.dump(2);
    EXPECT_THAT(found["summary"].get<std::string>(), HasSubstr(part));
    if (severity == "ok") return;
    EXPECT_NE(found["reason"], "") << found.dump(2);
}

// A copy of a fixture that may be damaged.
class Model {
public:
    explicit Model(const std::string& source) {
        for (const auto& entry : fs::directory_iterator(source))
            if (entry.is_regular_file() && !entry.path().filename().string().starts_with("oracle"))
                fs::copy(entry.path(), tree_.root());
    }
    [[nodiscard]] std::string path() const { return tree_.root(); }
    [[nodiscard]] std::string path(const std::string& name) const { return tree_.path(name); }
    void write(const std::string& name, const std::string& text) const { tree_.write(name, text); }
    // Its data files, by name.
    [[nodiscard]] std::vector<std::string> shards() const {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(tree_.root()))
            if (entry.path().extension() == ".safetensors") names.push_back(entry.path().string());
        std::sort(names.begin(), names.end());
        return names;
    }

private:
    TestTree tree_;
};

void replace_in(const std::string& path, const std::string& what, const std::string& by) {
    std::string text = read_bytes(path);
    const size_t at = text.find(what);
    ASSERT_NE(at, std::string::npos) << what;
    std::ofstream(path, std::ios::binary) << text.replace(at, what.size(), by);
}

}  // namespace

// Goal: healthy state has no findings, and doctor writes nothing.
// Method: no state at all; then what a run and a tuning leave.
TEST(DoctorState, HealthyStateIsFine) {
    const TestTree tree;
    const std::string state = tree.path("state");
    const Json none = doctor(state);
    expect_finding(none, "state.directory", "ok", state);
    expect_finding(none, "state.usage", "ok", "no history yet");
    expect_finding(none, "state.tune", "ok", "not tuned");
    EXPECT_FALSE(fs::exists(state)) << "doctor writes nothing";
    ASSERT_EQ(run({"run", "--model", nano(), "--greedy", "--max-tokens", "6", "--state-dir", state,
                   "Hello."})
                  .exit_code,
              0);
    ASSERT_EQ(
        run({"tune", "--model", nano(), "--seconds", "10", "--ctx", "256", "--state-dir", state})
            .exit_code,
        0);
    const Json some = doctor(state);
    expect_finding(some, "state.usage", "ok", "tokens");
    expect_finding(some, "state.tune", "ok", "measured 20");
    EXPECT_TRUE(finding(some, "state.leftovers").is_null());
}

// Goal: each state file that runs would ignore is found, with the reason and what to do, as text
// and as JSON; none of it is an error, since everything runs on. Method: damage, other models,
// later versions, leftovers of a killed run.
TEST(DoctorState, FindsWhatIsIgnored) {
    const TestTree tree;
    const std::string state = tree.path("state");
    ASSERT_EQ(run({"run", "--model", nano(), "--greedy", "--max-tokens", "6", "--state-dir", state,
                   "Hello."})
                  .exit_code,
              0);
    const std::string usage = read_bytes(state + "/usage");
    std::string flipped = usage;
    flipped[flipped.size() / 2] = char(flipped[flipped.size() / 2] ^ 4);
    tree.write("state/usage", flipped);
    expect_finding(doctor(state), "state.usage", "warning", "checksum");
    tree.write("state/usage", usage.substr(0, usage.size() - 1));
    expect_finding(doctor(state), "state.usage", "warning", "bytes");
    std::string later = usage;
    later[8] = 9;  // the version follows the eight bytes of the name
    tree.write("state/usage", later);
    expect_finding(doctor(state), "state.usage", "warning", "version 9");
    EXPECT_EQ(read_bytes(state + "/usage"), later);
    fs::remove(state + "/usage");

    tree.write("state/usage.123.0.tmp", "half");
    tree.write("state/tune.json", "{");
    const Json report = doctor(state);
    expect_finding(report, "state.leftovers", "note", "usage.123.0.tmp");
    expect_finding(report, "state.tune", "warning", "tune.json");
    TuneFile foreign;
    foreign.model = 7;
    foreign.date = "2026-01-01T00:00:00Z";
    tree.write("state/tune.json", format_tune(foreign));
    expect_finding(doctor(state), "state.tune", "note", "another model");

    // Another model's history.
    const Model other(golden("olmoe"));
    tree.write("state/usage", usage);
    const Outcome outcome =
        run({"doctor", "--json", "--model", other.path(), "--state-dir", state});
    expect_finding(report_of(outcome), "state.usage", "warning", "another model");
    const Outcome text = run({"doctor", "--model", other.path(), "--state-dir", state});
    EXPECT_THAT(text.out, ::testing::ContainsRegex("warning +state.usage"));
    EXPECT_THAT(text.out, HasSubstr("do:  delete it to begin anew"));
}

// Goal: the original engine's history is looked at where there is no other.
// Method: a good one and a bad one beside a model.
TEST(DoctorState, LooksAtTheOriginalsHistory) {
    const TestTree tree;
    const Model model(golden("olmoe"));
    model.write(".coli_usage", "0 1 5\n1 2 7\n");
    const std::vector<std::string> line{"doctor",     "--json",      "--model",
                                        model.path(), "--state-dir", tree.path("state")};
    expect_finding(report_of(run(line)), "state.usage", "ok", "2 experts");
    model.write(".coli_usage", "0 1 5\n99999 2 7\n");
    expect_finding(report_of(run(line)), "state.usage", "warning", "line 2");
}

// Goal: a place that cannot be written is found before a run meets it.
// Method: below a file; a directory without the right to write (where rights mean something).
TEST(DoctorState, FindsPlacesThatCannotBeWritten) {
    const TestTree tree;
    tree.write("file", "x");
    expect_finding(doctor(tree.path("file/state")), "state.directory", "warning",
                   "is not a directory");
    fs::create_directory(tree.path("locked"));
    fs::permissions(tree.path("locked"), fs::perms::owner_read | fs::perms::owner_exec);
    if (::access(tree.path("locked").c_str(), W_OK) == 0) return;  // root may write everywhere
    expect_finding(doctor(tree.path("locked/state")), "state.directory", "warning", "denied");
}

// Goal: a state directory on a full drive costs one line; answers go on, the old history stays, and
// no half file is left.
// Method: a limit on file sizes makes every write of a byte fail, as a full drive does (and below a
// file nothing can be made at all); a chat of three turns.
TEST(FullStateDirectory, CostsOneLine) {
    const TestTree tree;
    const std::string state = tree.path("state");
    ASSERT_EQ(run({"run", "--model", nano(), "--greedy", "--max-tokens", "6", "--state-dir", state,
                   "Hello."})
                  .exit_code,
              0);
    const std::string before = read_bytes(state + "/usage");
#if defined(__SANITIZE_THREAD__)
    const std::string ignored = "trap '' XFSZ; ";  // its runtime writes before the program begins
#else
    const std::string ignored;
#endif
    const std::string script = ignored +
                               "ulimit -f 0; exec \"$0\" chat --model \"$1\" --greedy "
                               "--max-tokens 5 --state-dir \"$2\"";
    Program chat({"-c", script, COLIBRI_PROGRAM, nano(), state}, {{"COLI_USAGE", "true"}}, "",
                 "/bin/sh");
    chat.write_input("Hello.\nHello again.\nAnd again.\n");
    const Outcome talk = chat.finish();
    EXPECT_EQ(talk.exit_code, 0) << talk.err;
    const size_t said = talk.err.find("the usage history is not kept");
    ASSERT_NE(said, std::string::npos) << talk.err;
    EXPECT_EQ(talk.err.find("the usage history is not kept", said + 1), std::string::npos)
        << talk.err;
    EXPECT_EQ(read_bytes(state + "/usage"), before);
    EXPECT_EQ(std::distance(fs::directory_iterator(state), fs::directory_iterator()), 1);
}

// Goal: a low soft limit on open files stops nobody, and doctor names a hard one that does.
// Method: limits of a few files set by a shell; an answer of nano, and doctor's report of it.
TEST(OpenFiles, OnlyTheHardLimitCounts) {
    const auto limited = [&](const std::string& limit, const std::string& words) {
        return Program({"-c", "ulimit " + limit + "; exec \"$0\" " + words, COLIBRI_PROGRAM}, {},
                       "", "/bin/sh")
            .finish();
    };
    const std::string model = " --model " + nano();
    const Outcome soft = limited("-Sn 8", "run --greedy --max-tokens 2" + model + " Hello.");
    EXPECT_EQ(soft.exit_code, 0) << soft.err;
    const Outcome hard = limited("-n 16", "doctor --json" + model);
    EXPECT_EQ(hard.exit_code, 1) << hard.err;
    expect_finding(Json::parse(hard.out), "machine.open_files", "error", "16 files may be open");
}

// Goal: every kind of broken model that people report has a finding that names the file, with a
// reason and a remedy; what the engine loads, doctor accepts, and the other way round.
// Method: one kind a case on copies of fixtures; `coli eval logits` as the engine's own word.
TEST(DoctorModel, AgreesWithTheEngine) {
    struct Case {
        std::string name, fixture, part;
        std::function<void(const Model&)> damage;
        bool loads = false;  // all the same
    };
    const std::vector<Case> cases{
        {"a byte cut off", "glm_fp8", ".safetensors",
         [](const Model& m) { fs::resize_file(m.shards()[1], fs::file_size(m.shards()[1]) - 1); }},
        {"4 KiB cut off", "glm_fp8", ".safetensors",
         [](const Model& m) {
             fs::resize_file(m.shards()[0], fs::file_size(m.shards()[0]) - 4096);
         }},
        {"a shard missing", "glm_fp8", "00002-of-00003",
         [](const Model& m) { fs::remove(m.path("model-00002-of-00003.safetensors")); }},
        {"a byte too many", "glm_short", ".safetensors",
         [](const Model& m) {
             std::ofstream(m.shards()[0], std::ios::binary | std::ios::app) << 'x';
         }},
        {"an empty file", "glm_short", ".safetensors",
         [](const Model& m) { fs::resize_file(m.shards()[0], 0); }},
        {"a header length beyond the file", "glm_short", ".safetensors",
         [](const Model& m) {
             std::fstream file(m.shards()[0], std::ios::binary | std::ios::in | std::ios::out);
             file.write("\0\0\0\0\0\0\0\x7F", 8);
         }},
        {"no config", "glm_short", "config.json",
         [](const Model& m) { fs::remove(m.path("config.json")); }},
        {"an unknown family", "glm_short", "glm_moe_dsa",
         [](const Model& m) { replace_in(m.path("config.json"), "glm_moe_dsa", "glm_moe_dsb"); }},
        {"a config that wants more layers", "glm_short", "num_hidden_layers",
         [](const Model& m) {
             const Json config = Json::parse(read_bytes(m.path("config.json")));
             Json other = config;
             other["num_hidden_layers"] = config["num_hidden_layers"].get<int>() + 1;
             m.write("config.json", other.dump());
         }},
        {"a stray folder and a text beside it", "glm_short", "",
         [](const Model& m) {
             m.write("notes/model.safetensors", "abc");
             m.write("readme.txt", "hello");
         },
         true},
    };
    for (const Case& one : cases) {
        const Model model(golden(one.fixture));
        one.damage(model);
        const Outcome engine = run({"eval", "logits", "--tokens", "1", "--model", model.path(),
                                    "--out", model.path("out.npy")});
        EXPECT_EQ(engine.exit_code, one.loads ? 0 : 1) << one.name << engine.err;
        const Outcome outcome = run({"doctor", "--json", "--model", model.path()});
        EXPECT_EQ(outcome.exit_code, one.loads ? 0 : 1) << one.name << outcome.out;
        bool named = one.loads;
        const Json report = report_of(outcome);
        for (const Json& check : report.at("checks")) {
            if (check.at("severity") != "error") continue;
            EXPECT_NE(check.at("reason"), "") << one.name;
            EXPECT_NE(check.at("remedy"), "") << one.name;
            named |= check.at("summary").get<std::string>().find(one.part) != std::string::npos;
        }
        EXPECT_TRUE(named) << one.name << outcome.out;
    }
}

}  // namespace colibri::e2e

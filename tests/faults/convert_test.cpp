// Conversions that are killed, run out of room, or meet errors: the next run ends with the bytes of
// one that nothing happened to.
#include "convert/convert.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "base/rng.h"
#include "convert/journal.h"
#include "format/container.h"
#include "format/test_safetensors.h"
#include "platform/test_tree.h"
#include "tests/support/synthetic_model.h"

namespace colibri {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

using Files = std::map<std::string, std::string>;

Files read_directory(const std::string& directory) {
    Files files;
    for (const auto& entry : fs::directory_iterator(directory))
        files[entry.path().filename().string()] =
            entry.is_regular_file() ? test_read(entry.path().string()) : "a folder";
    return files;
}

// The same names with the same bytes.
void expect_same(const Files& got, const Files& want, const std::string& what) {
    for (const auto& [name, bytes] : want) {
        const auto found = got.find(name);
        if (found == got.end())
            ADD_FAILURE() << what << ": " << name << " is missing";
        else if (found->second != bytes)
            ADD_FAILURE() << what << ": " << name << " differs";
    }
    for (const auto& [name, bytes] : got)
        if (!want.contains(name)) ADD_FAILURE() << what << ": " << name << " was left behind";
}

class ConvertFaults : public testing::Test {
protected:
    void SetUp() override {
        fs::create_directories(source_);
        const synthetic::GlmShape shape{.dim = 128,
                                        .dense_hidden = 128,
                                        .expert_hidden = 64,
                                        .experts = 8,
                                        .indexers = "FSF",
                                        .seed = 3,
                                        .file_bytes_max = 400'000};
        const Status written = synthetic::write_glm(source_, shape, synthetic::Format::bf16);
        ASSERT_TRUE(written) << written.error().message;
        test_write(source_ + "/tokenizer.json", "{\"not\": \"read here\"}");
    }

    [[nodiscard]] ConvertOptions options(const std::string& destination) const {
        ConvertOptions options{.source = source_,
                               .destination = destination,
                               .writer = "test",
                               .threads = 2,
                               .window_bytes = 300'000,
                               .checkpoint_bytes = 60'000};
        return options;
    }
    static Status run(const ConvertOptions& options) {
        Notices notices;
        const auto report = convert(options, notices);
        if (!report) return tl::unexpected(report.error());
        return {};
    }
    // The bytes of an undisturbed run and the number of its operations.
    Files reference(uint64_t* operations = nullptr) {
        const std::string directory = tree_.path("reference");
        ConvertOptions plain = options(directory);
        uint64_t count = 0;
        plain.before = [&](std::string_view) -> Status {
            ++count;
            return {};
        };
        const Status status = run(plain);
        EXPECT_TRUE(status) << status.error().message;
        const auto findings = verify_container(directory, true, {});
        EXPECT_TRUE(findings && findings->empty());
        if (operations != nullptr) *operations = count;
        return read_directory(directory);
    }

    // Runs the conversion in a process of its own that dies: before its `kill_at`-th operation, or
    // (0) after `microseconds`. False when it finished first.
    static bool killed(ConvertOptions options, uint64_t kill_at, uint64_t microseconds) {
        uint64_t count = 0;
        options.before = [&](std::string_view) -> Status {
            if (++count == kill_at) (void)::raise(SIGKILL);
            return {};
        };
        const pid_t child = ::fork();
        if (child == 0) ::_exit(run(options) ? 0 : 3);
        if (kill_at == 0) {
            ::usleep(useconds_t(microseconds));
            (void)::kill(child, SIGKILL);
        }
        int status = 0;
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << status;
        return WIFSIGNALED(status);
    }

    // What a crash of the machine may do to bytes that were not yet durable: lost, or anything.
    static void lose_what_was_not_durable(const std::string& directory, Rng& rng) {
        const std::string path = directory + "/" + kJournalFileName;
        if (!fs::exists(path)) return;
        const JournalState state = parse_journal(test_read(path));
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(directory))
            if (entry.path().extension() == ".safetensors") names.push_back(entry.path().string());
        for (const std::string& name : names) {
            // Durable are the bytes that the journal knows of some file; which is its own business.
            uint64_t durable = 0;
            const std::string bytes = test_read(name);
            for (const JournalFile& file : state.files)
                if (file.bytes <= bytes.size()) durable = std::max(durable, file.bytes);
            if (bytes.size() <= durable) continue;
            const uint64_t keep = durable + rng.below(bytes.size() - durable + 1);
            std::string altered = bytes.substr(0, keep);
            for (uint64_t i = durable; i < keep; ++i) altered[i] = char(rng.next());
            test_write(name, altered);
        }
        std::string journal = test_read(path);
        for (uint64_t i = rng.below(30); i > 0; --i) journal += char(rng.next());
        test_write(path, journal);
    }

    // Conversions that are killed once at least, and what became of them.
    void crash_and_compare(uint32_t conversions, uint64_t seed) {
        uint64_t operations = 0;
        const Files want = reference(&operations);
        ASSERT_GT(operations, 60U);
        Rng rng(seed);
        uint32_t kills = 0;
        uint32_t identical = 0;
        for (uint32_t round = 0; round < conversions; ++round) {
            const std::string directory = tree_.path(fmt::format("crash{}", round));
            const uint64_t wanted = 1 + rng.below(3);
            for (uint64_t own = 0; own < wanted;) {
                const bool timed = rng.below(3) == 0;
                const bool died = killed(options(directory), timed ? 0 : 1 + rng.below(operations),
                                         rng.below(40'000));
                if (!died && own > 0) break;
                if (!died) fs::remove_all(directory);
                if (!died) continue;
                ++own;
                ++kills;
                EXPECT_FALSE(fs::exists(directory + "/colibri.json") &&
                             !verify_container(directory, true, {})->empty());
                if (rng.below(2) == 0) lose_what_was_not_durable(directory, rng);
            }
            const Status status = run(options(directory));
            ASSERT_TRUE(status) << status.error().message;
            expect_same(read_directory(directory), want, fmt::format("round {}", round));
            identical += HasFailure() ? 0 : 1;
            fs::remove_all(directory);
        }
        fmt::print("{} conversions killed {} times, {} identical results\n", conversions, kills,
                   identical);
    }

    TestTree tree_;
    std::string source_ = tree_.path("source");
};

// Goal: kill -9 at any point, also while resuming, costs time and nothing else.
// Method: a child process that dies before a random operation or after a random time, up to three
// times in a row; half of the time, data that was not durable is lost or scrambled. Then an
// undisturbed run; every byte of the directory equals that of a run nothing happened to.
TEST_F(ConvertFaults, KilledAtRandomPoints) {
    crash_and_compare(8, 1);
}

class ConvertFaultsSlow : public ConvertFaults {};

// Goal and method: as above, 100 conversions.
TEST_F(ConvertFaultsSlow, KilledAtAHundredRandomPoints) {
    crash_and_compare(100, 2);
}

// Goal: the result does not depend on threads, window or checkpoints.
// Method: other settings, compared byte by byte.
TEST_F(ConvertFaults, SettingsDoNotChangeTheBytes) {
    const Files want = reference();
    for (const uint32_t threads : {1U, 5U}) {
        ConvertOptions other = options(tree_.path(fmt::format("threads{}", threads)));
        other.threads = threads;
        other.window_bytes = threads == 1 ? 1 : 100 << 20;
        other.checkpoint_bytes = threads == 1 ? 1 : 100 << 20;
        const Status status = run(other);
        ASSERT_TRUE(status) << status.error().message;
        expect_same(read_directory(other.destination), want, fmt::format("{} threads", threads));
    }
}

// Goal: a full drive or a failing one stops the conversion with its message, and the next run
// completes it.
// Method: every operation in turn (in steps) fails once, with either kind of error.
TEST_F(ConvertFaults, ErrorsLeaveAResumableState) {
    uint64_t operations = 0;
    const Files want = reference(&operations);
    const std::string directory = tree_.path("failing");
    for (uint64_t at = 1; at <= operations; at += 1 + operations / 23) {
        ConvertOptions failing = options(directory);
        uint64_t count = 0;
        const ErrorKind kind = at % 2 == 0 ? ErrorKind::io : ErrorKind::out_of_budget;
        failing.before = [&](std::string_view operation) -> Status {
            if (++count != at) return {};
            return fail(kind, fmt::format("simulated failure of {}", operation));
        };
        const Status failed = run(failing);
        ASSERT_FALSE(failed) << at;
        EXPECT_EQ(failed.error().kind, kind);
        EXPECT_THAT(failed.error().message, HasSubstr("simulated"));
        const Status status = run(options(directory));
        ASSERT_TRUE(status) << status.error().message;
        expect_same(read_directory(directory), want, fmt::format("failure {}", at));
        fs::remove_all(directory);
    }
}

// Goal: a source that cannot be used as it is ends in its file and tensor, and the conversion goes
// on once the shard is whole again.
// Method: a value that is not finite in the last expert; then the sound shard.
TEST_F(ConvertFaults, BadShardsAreNamedAndResumed) {
    const Files want = reference();
    const std::string tensor = "model.layers.2.mlp.experts.7.down_proj.weight";
    std::string path;
    for (const auto& entry : fs::directory_iterator(source_))
        if (entry.path().extension() == ".safetensors" &&
            TestSafetensors::load(entry.path().string()).has(tensor))
            path = entry.path().string();
    ASSERT_FALSE(path.empty());
    const std::string sound = test_read(path);
    TestSafetensors file = TestSafetensors::load(path);
    const std::string& data = file.at(tensor).data;
    std::string damaged = sound;
    const size_t at = damaged.find(data);
    ASSERT_NE(at, std::string::npos);
    damaged[at + 10] = char(0xC0);
    damaged[at + 11] = char(0x7F);
    test_write(path, damaged);
    const std::string directory = tree_.path("damaged");
    const Status failed = run(options(directory));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().kind, ErrorKind::corrupt);
    EXPECT_THAT(failed.error().message, HasSubstr(tensor));
    EXPECT_FALSE(fs::exists(directory + "/colibri.json"));
    test_write(path, sound);
    Notices notices;
    const auto report = convert(options(directory), notices);
    ASSERT_TRUE(report.has_value()) << report.error().message;
    EXPECT_GT(report->resumed_bytes, 0U);
    expect_same(read_directory(directory), want, "resumed");
}

// Goal: too little room is refused before anything is written, and noticed on the way.
// Method: a drive that says how much it has.
TEST_F(ConvertFaults, RoomIsChecked) {
    ConvertOptions small = options(tree_.path("small"));
    small.free_bytes = [] { return Result<uint64_t>(100'000); };
    const Status refused = run(small);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::out_of_budget);
    EXPECT_THAT(refused.error().message, HasSubstr("free"));
    EXPECT_FALSE(fs::exists(small.destination));
}

// Goal: a cancel stops soon, keeps what is done, and the next run goes on.
// Method: cancelled from the progress callback; the second run writes less than all.
TEST_F(ConvertFaults, CancelKeepsWhatIsDone) {
    const Files want = reference();
    ConvertOptions one = options(tree_.path("cancelled"));
    CancelToken cancel;
    one.cancel = &cancel;
    one.progress = [&](const ConvertProgress& at) {
        if (at.done_bytes > at.total_bytes / 2) cancel.cancel();
    };
    const Status stopped = run(one);
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().kind, ErrorKind::cancelled);
    Notices notices;
    const auto estimate = estimate_conversion(options(one.destination), notices);
    ASSERT_TRUE(estimate.has_value()) << estimate.error().message;
    EXPECT_GT(estimate->done_bytes, estimate->out_bytes / 4);
    const auto report = convert(options(one.destination), notices);
    ASSERT_TRUE(report.has_value()) << report.error().message;
    EXPECT_GT(report->resumed_bytes, estimate->out_bytes / 4);
    expect_same(read_directory(one.destination), want, "resumed");
    const auto again = convert(options(one.destination), notices);
    ASSERT_TRUE(again.has_value()) << again.error().message;
    EXPECT_TRUE(again->already_complete);
}

// Goal: what has begun with other parameters, another source, or somebody else's files is not
// continued or overwritten.
// Method: each of them in turn.
TEST_F(ConvertFaults, MixedUpDirectoriesAreRefused) {
    const std::string directory = tree_.path("half");
    ASSERT_TRUE(killed(options(directory), 20, 0));
    ConvertOptions other = options(directory);
    ASSERT_TRUE(other.recipe.set_experts("int8"));
    Status status = run(other);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().kind, ErrorKind::invalid_input);
    EXPECT_THAT(status.error().message, HasSubstr("experts=int8-g64"));
    EXPECT_THAT(status.error().message, HasSubstr("other parameters"));

    ASSERT_TRUE(run(options(directory)));
    status = run(other);
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("another container"));

    fs::create_directories(tree_.path("taken"));
    test_write(tree_.path("taken") + "/model.safetensors", "mine");
    status = run(options(tree_.path("taken")));
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("model.safetensors"));
    EXPECT_EQ(test_read(tree_.path("taken") + "/model.safetensors"), "mine");

    status = run(options(source_));
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("same directory"));

    ConvertOptions twice = options(tree_.path("twice"));
    twice.source = directory;
    status = run(twice);
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("container already"));
}

// Goal: a source that changed between two runs is not mixed with what was made before.
// Method: a byte of a shard's header altered after a kill.
TEST_F(ConvertFaults, AlteredSourceIsRefused) {
    const std::string directory = tree_.path("half");
    ASSERT_TRUE(killed(options(directory), 20, 0));
    test_write(source_ + "/config.json", test_read(source_ + "/config.json") + " ");
    const Status status = run(options(directory));
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("altered source"));
}

// Goal: source shards are deleted only when what was made of them is durable and read back, and
// kills on the way lose nothing.
// Method: conversions that delete, killed at random points; the result equals that of a run that
// deletes nothing, and no shard is left. Then one whose output reads back differently.
TEST_F(ConvertFaults, DeletesSourceShardsSafely) {
    const Files want = reference();
    const std::string kept = tree_.path("kept");
    fs::copy(source_, kept);
    Rng rng(5);
    for (uint32_t round = 0; round < 6; ++round) {
        const std::string directory = tree_.path("eaten");
        ConvertOptions eating = options(directory);
        eating.delete_source_shards = true;
        for (int i = 0; i < 3; ++i)
            if (!killed(eating, 10 + rng.below(120), 0)) break;
        const Status status = run(eating);
        ASSERT_TRUE(status) << status.error().message;
        expect_same(read_directory(directory), want, fmt::format("round {}", round));
        for (const auto& entry : fs::directory_iterator(source_))
            EXPECT_NE(entry.path().extension(), ".safetensors") << entry.path();
        fs::remove_all(directory);
        fs::remove_all(source_);
        fs::copy(kept, source_);
    }
    ConvertOptions eating = options(tree_.path("lying"));
    eating.delete_source_shards = true;
    bool altered = false;
    eating.before = [&](std::string_view operation) -> Status {
        const std::string path = eating.destination + "/dense.safetensors";
        if (operation != "journal" || altered || !fs::exists(path)) return {};
        // What was just written is about to be called durable: alter it behind the writer's back.
        std::string bytes = test_read(path);
        bytes[bytes.size() / 2] ^= 1;
        test_write(path, bytes);
        altered = true;
        return {};
    };
    const Status status = run(eating);
    ASSERT_TRUE(altered);
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("reads back differently"));
}

}  // namespace
}  // namespace colibri

// Drives that fail and recover, copies that answer for them, and a cache that shrinks under a run
// never change a bit of the answer.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/rng.h"
#include "convert/convert.h"
#include "format/test_safetensors.h"
#include "platform/test_tree.h"
#include "tests/invariance/subject.h"
#include "tests/support/synthetic_model.h"

namespace colibri::invariance {
namespace {

using synthetic::Format;

// Reads that fail now and then, in ways that another attempt makes good: the same place fails once.
// Thread-safe.
class Weather {
public:
    explicit Weather(bool wrong_bytes) : wrong_bytes_(wrong_bytes) {}

    int64_t after(const SystemRead& call, int64_t result) {
        const std::lock_guard lock(mutex_);
        switch (rng_.below(8)) {
            case 0: return fails(call) ? -EIO : result;
            case 1: return -EINTR;
            case 2: return -EAGAIN;
            case 3: return std::min<int64_t>(result, 4096);
            case 4:
                if (wrong_bytes_ && result > 0 && fails(call))
                    call.into[rng_.below(uint64_t(result))] ^= std::byte(16);
                return result;
            default: return result;
        }
    }
    [[nodiscard]] uint64_t failures() const { return failed_.size(); }

private:
    // An expert, which is shorter than a window, lies in two of them at most.
    bool fails(const SystemRead& call) {
        constexpr uint64_t kWindow = 256 * 1024;
        const uint64_t window = 1 + call.offset / kWindow;
        for (const uint64_t near : {window - 1, window, window + 1})
            if (failed_.contains({call.file, near})) return false;
        failed_.emplace(call.file, window);
        return true;
    }

    const bool wrong_bytes_;
    std::mutex mutex_;
    Rng rng_{2};
    std::set<std::pair<const File*, uint64_t>> failed_;
};

class Storage : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        subject_.name = GetParam();
        subject_.directory = tree_.path("model");
        if (GetParam() == "nano") {
            copy_model(COLIBRI_SOURCE_DIR "/models/nano", subject_.directory);
            const auto oracle =
                nlohmann::json::parse(std::ifstream(COLIBRI_SOURCE_DIR "/models/nano/oracle.json"));
            subject_.prompt = oracle["cases"][0]["prompt"].get<std::vector<int32_t>>();
        } else {
            std::filesystem::create_directories(subject_.directory);
            const Status written = synthetic::write_glm(
                subject_.directory, {.experts = 16, .top_k = 4, .indexers = "FSF", .seed = 12},
                GetParam() == "glm_int4_g64" ? Format::int4_g64 : Format::bf16);
            ASSERT_TRUE(written) << written.error().message;
            Rng rng(5);
            for (int i = 0; i < 60; ++i) subject_.prompt.push_back(int32_t(rng.below(200)));
        }
        setting_ = {.kernels = machine_kernels().back(), .threads = 2, .slice = 16, .budget = 1};
        const auto plain = open(subject_, setting_);
        ASSERT_NE(plain, nullptr);
        vocab_ = plain->spec().vocab;
        want_ = run(*plain, subject_);
        tally_ = std::make_unique<Tally>(GetParam() + " storage");
    }

    // A container with the same bits, whose bytes are checked as they come.
    [[nodiscard]] Subject container() const {
        Subject converted = subject_;
        converted.directory = tree_.path("container");
        ConvertOptions options{
            .source = subject_.directory, .destination = converted.directory, .writer = "test"};
        EXPECT_TRUE(options.recipe.set_experts("keep"));
        EXPECT_TRUE(options.recipe.set_dense("keep"));
        EXPECT_TRUE(options.recipe.set_draft("keep"));
        Notices notices;
        const auto report = convert(options, notices);
        EXPECT_TRUE(report) << report.error().message;
        return converted;
    }

    TestTree tree_;
    Subject subject_;
    Setting setting_;
    uint32_t vocab_ = 0;
    Outcome want_;
    std::unique_ptr<Tally> tally_;
};

// Goal: faults that another attempt makes good leave no trace in the answer.
// Method: errors, interruptions, a busy device and short reads at random on the model as it is;
// wrong bytes too on a container, whose checksums find them.
TEST_P(Storage, RecoveredFaultsLeaveNoTrace) {
    for (const bool checked : {false, true}) {
        Weather weather(checked);
        const Subject subject = checked ? container() : subject_;
        for (const PrefetchMode prefetch : {PrefetchMode::off, PrefetchMode::on}) {
            Setting setting = setting_;
            setting.prefetch = prefetch;
            setting.read_hook = [&](const SystemRead& call, int64_t result) {
                return weather.after(call, result);
            };
            const auto model = open(subject, setting);
            ASSERT_NE(model, nullptr);
            tally_->compare(run(*model, subject), want_, vocab_,
                            checked ? "faults, container" : "faults");
        }
        // The smaller models' files have room for a few windows that are no neighbors.
        EXPECT_GT(weather.failures(), 1U);
    }
}

// Goal: a drive that dies in the middle of a run costs speed alone when there is a mirror, and
// which copy answers is no part of the answer. Method: the original fails from the tenth layer on,
// for ever; then another run with it dead from its beginning; then the mirror dies instead.
TEST_P(Storage, ADeadDriveChangesNothing) {
    const std::string mirror = tree_.path("mirror");
    copy_model(subject_.directory, mirror);
    const std::string original = subject_.directory;
    for (const std::string& victim : {original, mirror}) {
        std::atomic<bool> dead = false;
        Setting setting = setting_;
        setting.mirrors = {{.directory = mirror, .bytes_per_s = 1e9}};
        setting.read_hook = [&](const SystemRead& call, int64_t result) {
            return dead && call.file->path().starts_with(victim) ? -EIO : result;
        };
        const auto model = open(subject_, setting);
        ASSERT_NE(model, nullptr);
        uint32_t layers = 0;
        const auto die = [&] {
            if (++layers == 10) dead = true;
        };
        tally_->compare(run(*model, subject_, die), want_, vocab_, "died: " + victim);
        tally_->compare(run(*model, subject_), want_, vocab_, "dead: " + victim);
        EXPECT_EQ(model->store().storage().state, StorageState::degraded);
        EXPECT_GT(model->store_counters().retries, 0U);
    }
}

// Goal: a cache that shrinks and grows under a run is no part of the answer.
// Method: halved, restored, or set to a random budget before every second layer, prefill and
// decode, with guesses and both policies.
TEST_P(Storage, AShrinkingCacheChangesNothing) {
    for (const PolicyKind policy : {PolicyKind::frequency, PolicyKind::lru})
        for (const uint32_t budget : {1U, kBudgets - 1}) {
            Setting setting = setting_;
            setting.policy = policy;
            setting.budget = budget;
            setting.prefetch = PrefetchMode::on;
            const auto model = open(subject_, setting);
            ASSERT_NE(model, nullptr);
            Rng rng(budget);
            uint64_t least = UINT64_MAX, most = 0;
            const auto disturb = [&] {
                switch (rng.below(6)) {
                    case 0: model->halve_cache(); break;
                    case 1: model->restore_cache(); break;
                    case 2: model->resize_cache(rng.below(model->plan().total_bytes)); break;
                    default: break;
                }
                least = std::min(least, model->cache_size().slots);
                most = std::max(most, model->cache_size().slots);
            };
            tally_->compare(run(*model, subject_, disturb), want_, vocab_, "resized");
            EXPECT_LT(least, most);
            EXPECT_EQ(most, model->plan().expert_slots);
        }
}

INSTANTIATE_TEST_SUITE_P(Models, Storage, testing::Values("nano", "glm_int4_g64", "glm_bf16"),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace colibri::invariance

// Files of a model that somebody changes while it is in use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "colibri/engine.h"
#include "format/test_safetensors.h"
#include "platform/test_tree.h"
#include "runtime/model.h"
#include "store/storage_health.h"

namespace colibri {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

// An engine with few slots over a copy of the bundled model: experts are read all the time.
class ChangedFiles : public testing::Test {
protected:
    void SetUp() override {
        directory_ = tree_.path("model");
        copy_model(COLIBRI_SOURCE_DIR "/models/nano", directory_);
        for (const auto& entry : fs::directory_iterator(directory_))
            if (entry.path().extension() == ".safetensors" &&
                (shard_.empty() || fs::file_size(entry) > fs::file_size(shard_)))
                shard_ = entry.path().string();
        open();
    }
    void open() {
        Notices notices;
        EngineOptions options{.model_directory = directory_, .ram_budget_bytes = 40 << 20};
        options.context = 256;
        auto engine = Engine::open(options, notices);
        ASSERT_TRUE(engine) << engine.error().message;
        engine_ = *std::move(engine);
    }
    Result<Generation> answer(const std::function<void()>& after_first_text = {}) {
        TRY(const Prompt prompt, engine_->raw_prompt("A bird that", false));
        TRY(Session session, engine_->new_session());
        GenerateOptions options;
        options.sampling.temperature = 0;
        options.max_tokens = 12;
        bool told = false;
        options.on_text = [&](std::string_view, bool) {
            if (after_first_text && !std::exchange(told, true)) after_first_text();
        };
        return session.generate(prompt, options);
    }

    TestTree tree_;
    std::string directory_, shard_;
    std::unique_ptr<Engine> engine_;
};

}  // namespace

// Goal: a file that was cut is said with both sizes and what to do, and no answer is made from it.
// Method: cut between two answers.
TEST_F(ChangedFiles, ACutFileIsNamed) {
    const uint64_t size_bytes = fs::file_size(shard_);
    ASSERT_TRUE(answer());
    fs::resize_file(shard_, size_bytes - 1000);
    const auto later = answer();
    ASSERT_FALSE(later);
    EXPECT_EQ(later.error().kind, ErrorKind::corrupt);
    EXPECT_THAT(later.error().message,
                AllOf(HasSubstr(shard_), HasSubstr(std::to_string(size_bytes - 1000)),
                      HasSubstr(std::to_string(size_bytes)), HasSubstr("restart")));
}

// Goal: the same when it happens while an answer is made.
// Method: cut as soon as the first text is there; experts are read at every token.
TEST_F(ChangedFiles, AFileCutWithinAnAnswerIsNamed) {
    const uint64_t size_bytes = fs::file_size(shard_);
    const auto cut = answer([&] { fs::resize_file(shard_, 4096); });
    ASSERT_FALSE(cut);
    EXPECT_EQ(cut.error().kind, ErrorKind::corrupt);
    EXPECT_THAT(cut.error().message,
                AllOf(HasSubstr(shard_), HasSubstr("found 4096 bytes"),
                      HasSubstr(std::to_string(size_bytes)), HasSubstr("restart")));
    EXPECT_FALSE(answer());
}

// Goal: a file that was replaced (as downloads and packers do it: another file, renamed) disturbs
// nothing: the run goes on with the old bytes, and says so once.
// Method: the shard replaced by one of zeros; three answers, equal to the one before.
TEST_F(ChangedFiles, AReplacedFileIsANotice) {
    const auto before = answer();
    ASSERT_TRUE(before) << before.error().message;
    (void)engine_->take_notices();
    test_write(shard_ + ".new", std::string(fs::file_size(shard_), '\0'));
    fs::rename(shard_ + ".new", shard_);
    std::vector<std::string> notices;
    for (int i = 0; i < 3; ++i) {
        const auto after = answer();
        ASSERT_TRUE(after) << after.error().message;
        EXPECT_EQ(after->tokens, before->tokens);
        for (std::string& notice : engine_->take_notices()) notices.push_back(std::move(notice));
    }
    ASSERT_EQ(notices.size(), 1U);
    EXPECT_THAT(notices[0], AllOf(HasSubstr(shard_), HasSubstr("replaced")));
    EXPECT_EQ(engine_->storage().state, StorageState::ok);
}

// Goal: the same for a file that was removed.
// Method: the shard deleted; another answer.
TEST_F(ChangedFiles, ARemovedFileIsANotice) {
    const auto before = answer();
    ASSERT_TRUE(before) << before.error().message;
    (void)engine_->take_notices();
    fs::remove(shard_);
    const auto after = answer();
    ASSERT_TRUE(after) << after.error().message;
    EXPECT_EQ(after->tokens, before->tokens);
    const auto notices = engine_->take_notices();
    ASSERT_EQ(notices.size(), 1U);
    EXPECT_THAT(notices[0], AllOf(HasSubstr(shard_), HasSubstr("gone")));
}

// Goal: a file that was written to makes no more answers, whether or not checksums could tell the
// bytes apart: experts in memory may be of the old ones.
// Method: some bytes written in place, with the same values; then everything opened anew.
TEST_F(ChangedFiles, AFileWrittenToIsRefused) {
    ASSERT_TRUE(answer());
    const std::string bytes = test_read(shard_);
    std::ofstream(shard_, std::ios::binary | std::ios::in)
        .write(bytes.data(), std::streamsize(bytes.size()));
    for (int i = 0; i < 2; ++i) {
        const auto refused = answer();
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().kind, ErrorKind::corrupt);
        EXPECT_THAT(refused.error().message,
                    AllOf(HasSubstr(shard_), HasSubstr("written to"), HasSubstr("restart")));
    }
    engine_.reset();
    open();
    EXPECT_TRUE(answer());
}

// Goal: memory is given up on request within what works, and the answer stays.
// Method: budgets from plenty to nothing; too little is a notice and the smallest that works.
TEST_F(ChangedFiles, TheMemoryBudgetCanShrink) {
    const auto before = answer();
    ASSERT_TRUE(before) << before.error().message;
    (void)engine_->take_notices();
    const CacheSize planned = engine_->cache_size();
    EXPECT_EQ(planned.slots, planned.planned_slots);
    const uint64_t middle = (planned.total_bytes + planned.smallest_total_bytes) / 2;
    uint64_t last_slots = planned.slots;
    for (const uint64_t budget : {middle, planned.smallest_total_bytes, uint64_t(1000)}) {
        engine_->shrink_memory(budget);
        const CacheSize size = engine_->cache_size();
        EXPECT_LE(size.total_bytes, std::max(budget, size.smallest_total_bytes));
        EXPECT_LE(size.slots, last_slots);
        last_slots = size.slots;
        const auto after = answer();
        ASSERT_TRUE(after) << after.error().message;
        EXPECT_EQ(after->tokens, before->tokens);
        const auto notices = engine_->take_notices();
        EXPECT_EQ(notices.size(), budget == 1000 ? 1U : 0U);
        if (!notices.empty()) {
            EXPECT_THAT(notices[0], HasSubstr("less than the smallest that works"));
        }
    }
    EXPECT_TRUE(engine_->cache_size().is_smallest());
    engine_->restore_cache();
    EXPECT_EQ(engine_->cache_size().slots, planned.slots);
    engine_->halve_cache();
    EXPECT_LE(engine_->cache_size().slots, planned.slots / 2 + 2);
    EXPECT_EQ(answer()->tokens, before->tokens);
}

}  // namespace colibri

#include "convert/journal.h"

#include <gtest/gtest.h>

#include "format/test_safetensors.h"
#include "platform/test_tree.h"

namespace colibri {
namespace {

Digest128 digest(uint64_t n) {
    return {.low = n, .high = ~n};
}

// Goal: what was appended reads back, and whatever a crash leaves of the last record does not
// count. Method: a journal of every kind of record, cut at every byte and with every byte altered.
TEST(Journal, ReadsBackAndStopsAtDamage) {
    const TestTree tree;
    const std::string path = tree.path("journal");
    {
        auto journal = Journal::open(path, 0);
        ASSERT_TRUE(journal.has_value()) << journal.error().message;
        ASSERT_TRUE(journal->begin("what it is"));
        ASSERT_TRUE(journal->progress(0, 2, 5000, {digest(1), digest(2)}));
        ASSERT_TRUE(journal->progress(0, 3, 6000, {digest(3)}));
        ASSERT_TRUE(journal->finished(0, sha256("x")));
        ASSERT_TRUE(journal->spent("model-1.safetensors"));
        ASSERT_TRUE(journal->progress(2, 1, 4096, {digest(4)}));
    }
    const std::string bytes = test_read(path);
    const JournalState whole = parse_journal(bytes);
    EXPECT_EQ(whole.begin, "what it is");
    EXPECT_EQ(whole.valid_bytes, bytes.size());
    ASSERT_EQ(whole.files.size(), 3U);
    EXPECT_EQ(whole.files[0].tensors, 3U);
    EXPECT_EQ(whole.files[0].bytes, 6000U);
    EXPECT_EQ(whole.files[0].digests, (std::vector<Digest128>{digest(1), digest(2), digest(3)}));
    EXPECT_EQ(whole.files[0].sha256, sha256("x"));
    EXPECT_EQ(whole.files[1].tensors, 0U);
    EXPECT_EQ(whole.files[2].tensors, 1U);
    EXPECT_TRUE(whole.spent.contains("model-1.safetensors"));
    for (size_t cut = 0; cut < bytes.size(); ++cut) {
        const JournalState part = parse_journal(bytes.substr(0, cut));
        EXPECT_LE(part.valid_bytes, cut);
        // Once more with what would be appended behind a cut.
        EXPECT_EQ(parse_journal(bytes.substr(0, part.valid_bytes)).valid_bytes, part.valid_bytes);
        std::string altered = bytes;
        altered[cut] ^= 8;
        EXPECT_LE(parse_journal(altered).valid_bytes, cut);
    }
    const auto second = Journal::open(path, bytes.size());
    ASSERT_TRUE(second.has_value());
    const auto third = Journal::open(path, bytes.size());
    ASSERT_FALSE(third.has_value());
    EXPECT_EQ(third.error().kind, ErrorKind::invalid_input);
}

}  // namespace
}  // namespace colibri

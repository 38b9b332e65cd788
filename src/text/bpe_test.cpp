#include "text/bpe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/rng.h"

namespace colibri {
namespace {

using Ids = std::vector<int32_t>;

struct Model {
    std::vector<std::string> tokens;
    std::vector<MergeTable::Merge> merges;
};

// Letters a to d and random merges over what exists.
Model random_model(Rng& random) {
    Model model{.tokens = {"a", "b", "c", "d"}, .merges = {}};
    for (uint32_t rank = 0; rank < 60; ++rank) {
        const auto left = static_cast<int32_t>(random.below(model.tokens.size()));
        const auto right = static_cast<int32_t>(random.below(model.tokens.size()));
        const std::string joined = model.tokens[left] + model.tokens[right];
        if (joined.size() > 12) continue;
        auto at = std::find(model.tokens.begin(), model.tokens.end(), joined);
        const auto result = static_cast<int32_t>(at - model.tokens.begin());
        if (at == model.tokens.end()) model.tokens.push_back(joined);
        model.merges.push_back({left, right, rank, result});
    }
    std::erase_if(model.merges, [&](const auto& merge) {
        return std::any_of(model.merges.begin(), model.merges.end(), [&](const auto& other) {
            return other.left == merge.left && other.right == merge.right &&
                   other.rank > merge.rank;
        });
    });
    return model;
}

// The definition, word for word.
Ids merge_naively(const Model& model, const std::string& text, MergeRule rule) {
    Ids ids;
    for (const char c : text) ids.push_back(c - 'a');
    for (;;) {
        size_t best = 0;
        uint32_t best_rank = UINT32_MAX;
        int32_t result = kNoToken;
        for (size_t i = 0; i + 1 < ids.size(); ++i) {
            const std::string joined = model.tokens[ids[i]] + model.tokens[ids[i + 1]];
            for (const auto& merge : model.merges)
                if (rule == MergeRule::pairs && merge.left == ids[i] && merge.right == ids[i + 1] &&
                    merge.rank < best_rank) {
                    best = i;
                    best_rank = merge.rank;
                    result = merge.result;
                }
            const auto at = std::find(model.tokens.begin(), model.tokens.end(), joined);
            const auto rank = static_cast<uint32_t>(at - model.tokens.begin());
            if (rule == MergeRule::ranks && at != model.tokens.end() && rank < best_rank) {
                best = i;
                best_rank = rank;
                result = static_cast<int32_t>(rank);
            }
        }
        if (result == kNoToken) return ids;
        ids[best] = result;
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
}

Bpe make(const Model& model, MergeRule rule) {
    MergeTable table(model.merges.size());
    for (const auto& merge : model.merges) table.insert(merge);
    BpeOptions options{.rule = rule};
    for (int32_t i = 0; i < 4; ++i) options.byte_tokens['a' + i] = i;
    return {options, std::move(table)};
}

Vocabulary vocabulary_of(const Model& model) {
    std::vector<Vocabulary::Entry> entries;
    for (int32_t i = 0; i < static_cast<int32_t>(model.tokens.size()); ++i)
        entries.push_back({i, model.tokens[i], true});
    return Vocabulary(std::move(entries));
}

// Goal: both ways of merging (short pieces, long pieces) compute the definition, for both rules.
// Method: random merges and texts of 1 to 120 letters against a naive loop.
TEST(Bpe, EqualsTheDefinition) {
    Rng random(5);
    for (int round = 0; round < 60; ++round) {
        const Model model = random_model(random);
        const Vocabulary vocabulary = vocabulary_of(model);
        for (const MergeRule rule : {MergeRule::pairs, MergeRule::ranks}) {
            const Bpe bpe = make(model, rule);
            BpeScratch scratch;
            for (int text_number = 0; text_number < 20; ++text_number) {
                std::string text(1 + random.below(120), 'a');
                for (char& c : text)
                    c = static_cast<char>('a' + random.below(text_number % 2 ? 2 : 4));
                Ids expected = merge_naively(model, text, rule);
                if (rule == MergeRule::ranks && vocabulary.find(text) != kNoToken)
                    expected = {vocabulary.find(text)};
                Ids ids;
                bpe.encode(text, vocabulary, ids, scratch);
                ASSERT_EQ(ids, expected) << text;
            }
        }
    }
}

// Goal: symbols that no token spells become unknown tokens, fused or one by one, or are dropped.
// Method: a vocabulary without 'x'.
TEST(Bpe, UnknownSymbols) {
    const Model model{.tokens = {"a", "b", "c", "d"}, .merges = {}};
    const Vocabulary vocabulary = vocabulary_of(model);
    const auto encoded = [&](int32_t unknown, bool fuse) {
        BpeOptions options{.fuse_unknown = fuse, .unknown = unknown};
        for (int32_t i = 0; i < 4; ++i) options.byte_tokens['a' + i] = i;
        Ids ids;
        BpeScratch scratch;
        Bpe(options, MergeTable()).encode("axxbx", vocabulary, ids, scratch);
        return ids;
    };
    EXPECT_EQ(encoded(9, false), (Ids{0, 9, 9, 1, 9}));
    EXPECT_EQ(encoded(9, true), (Ids{0, 9, 1, 9}));
    EXPECT_EQ(encoded(kNoToken, false), (Ids{0, 1}));
}

// Goal: ids with gaps and empty vocabularies are safe to ask.
// Method: lookups in and outside of a sparse vocabulary.
TEST(Vocabulary, ToleratesGaps) {
    const Vocabulary vocabulary({{7, "seven", true}, {2, "two", true}, {9, "nine", false}});
    EXPECT_EQ(vocabulary.size(), 10);
    EXPECT_EQ(vocabulary.bytes(2), "two");
    EXPECT_EQ(vocabulary.bytes(3), "");
    EXPECT_EQ(vocabulary.bytes(10), "");
    EXPECT_EQ(vocabulary.bytes(-1), "");
    EXPECT_EQ(vocabulary.find("seven"), 7);
    EXPECT_EQ(vocabulary.find("nine"), kNoToken);
    EXPECT_EQ(Vocabulary().find("x"), kNoToken);
    EXPECT_EQ(Vocabulary().size(), 0);
}

}  // namespace
}  // namespace colibri

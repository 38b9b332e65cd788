#include <gtest/gtest.h>

#include <functional>

#include "text/tokenizer.h"
#include "text/tokenizer_fixture.h"

namespace colibri {
namespace {

using nlohmann::json;

void expect_refused(const std::string& bytes, const std::string& names) {
    const auto tokenizer = Tokenizer::from_json(bytes, "some/tokenizer.json");
    ASSERT_FALSE(tokenizer) << "expected a complaint about " << names;
    EXPECT_NE(tokenizer.error().message.find("some/tokenizer.json"), std::string::npos)
        << tokenizer.error().message;
    EXPECT_NE(tokenizer.error().message.find(names), std::string::npos)
        << tokenizer.error().message;
}

void expect_refused(const std::function<void(json&)>& damage, const std::string& names) {
    json file = fixture_tokenizer();
    damage(file);
    expect_refused(file.dump(), names);
}

// Goal: a damaged vocabulary is refused with the place of the damage, never read as id 0.
// Method: the hostile values of the field case, one at a time.
TEST(TokenizerJson, RefusesDamagedVocabulary) {
    expect_refused([](json& f) { f["model"]["vocab"]["x"] = "7"; },
                   "model.vocab: the id of 'x' is a string");
    expect_refused([](json& f) { f["model"]["vocab"]["x"] = 2147483648U; }, "id 2147483648 of 'x'");
    expect_refused([](json& f) { f["model"]["vocab"]["x"] = 18446744073709551615ULL; },
                   "out of range");
    expect_refused([](json& f) { f["model"]["vocab"]["x"] = -1; }, "a negative number");
    expect_refused([](json& f) { f["model"]["vocab"]["x"] = 1.5; }, "a fraction");
    expect_refused([](json& f) { f["model"]["vocab"]["x"] = nullptr; }, "null");
    expect_refused([](json& f) { f["model"]["vocab"]["x"] = json::array({1}); }, "an array");
    expect_refused([](json& f) { f["model"]["vocab"]["x"] = json::object(); }, "an object");
    expect_refused([](json& f) { f["model"]["vocab"] = json::array({"a", "b"}); },
                   "model.vocab: found an array");
    expect_refused([](json& f) { f["model"]["vocab"] = 3; }, "model.vocab: found a number");
    expect_refused([](json& f) { f["model"].erase("vocab"); }, "model.vocab: not found");
    expect_refused([](json& f) { f["model"]["vocab"]["new"] = 5; }, "id 5 is given to two tokens");
    expect_refused(R"({"model":{"type":"BPE","vocab":{"a":0,"a":1},"merges":[]},)"
                   R"("decoder":{"type":"ByteLevel"},)"
                   R"("pre_tokenizer":{"type":"ByteLevel"}})",
                   "'a' is there twice");
}

// Goal: damaged merges are refused with their index.
// Method: one, three and no parts, other types, unknown tokens.
TEST(TokenizerJson, RefusesDamagedMerges) {
    const auto push = [](const json& merge) {
        return [merge](json& f) { f["model"]["merges"].push_back(merge); };
    };
    expect_refused(push("l"), "model.merges[6]: 'l'");
    expect_refused(push("l l l"), "model.merges[6]: 'l l l'");
    expect_refused(push(json::array({"l"})), "model.merges[6]: 1 parts");
    expect_refused(push(json::array({"l", "l", "l"})), "model.merges[6]");
    expect_refused(push(json::array()), "model.merges[6]: 0 parts");
    expect_refused(push(7), "model.merges[6]: a number");
    expect_refused(push(json::array({"l", 7})), "model.merges[6]: a number");
    expect_refused(push(json::array({json::array({"l", "l"}), "l"})), "model.merges[6]");
    expect_refused(push({{"l", "l"}}), "model.merges[6]: an object");
    expect_refused(push(json::array({"l", "nope"})),
                   "model.merges[6]: 'nope' is not in model.vocab");
    expect_refused(push(json::array({"q", "z"})), "model.merges[6]: 'qz' is not in model.vocab");
    expect_refused(
        [](json& f) {
            f["model"]["merges"] = {{"a", "b"}};
            f["model"]["merges"] = "a b";
        },
        "model.merges: found a string");
}

// Goal: files that are not JSON, too deep or too large end in an error, not in a crash or in swap.
// Method: truncations at every step, a million brackets, 300 MB.
TEST(TokenizerJson, RefusesBrokenFiles) {
    const std::string whole = fixture_tokenizer().dump();
    for (size_t size = 0; size < whole.size(); size += 97)
        EXPECT_FALSE(Tokenizer::from_json(whole.substr(0, size), "tokenizer.json")) << size;
    expect_refused(std::string(1'000'000, '['), "nested more than 64 deep");
    std::string objects;
    for (int i = 0; i < 100'000; ++i) objects += R"({"a":)";
    expect_refused(objects, "nested more than 64 deep");
    // NOLINTNEXTLINE(bugprone-string-constructor): a file of that size
    expect_refused(std::string(300'000'000, ' '), "300000000 bytes");
    expect_refused("[1,2]", "JSON object");
    expect_refused("", "not valid JSON");
    expect_refused("{\"model\":\"\\uD800\"}", "not valid JSON");
}

// Goal: what would change the result and is not supported is refused by name.
// Method: each unknown or unsupported value in its field.
TEST(TokenizerJson, RefusesWhatItDoesNotImplement) {
    expect_refused([](json& f) { f["model"]["type"] = "Unigram"; }, "model.type: found Unigram");
    expect_refused([](json& f) { f["model"]["dropout"] = 0.1; }, "model.dropout");
    expect_refused([](json& f) { f["model"]["continuing_subword_prefix"] = "##"; },
                   "model.continuing_subword_prefix");
    expect_refused(
        [](json& f) {
            f["model"]["unk_token"] = "<none>";
            f["model"]["vocab"].erase("q");
        },
        "model.unk_token: '<none>'");
    expect_refused([](json& f) { f["model"]["unk_token"] = 3; }, "model.unk_token: found number");
    expect_refused([](json& f) { f["model"]["ignore_merges"] = "yes"; }, "model.ignore_merges");
    expect_refused([](json& f) { f["normalizer"] = {{"type", "Precompiled"}}; }, "'Precompiled'");
    expect_refused([](json& f) { f["normalizer"] = "NFC"; }, "normalizer.type: found nothing");
    expect_refused([](json& f) { f["pre_tokenizer"] = {{"type", "UnicodeScripts"}}; },
                   "'UnicodeScripts'");
    expect_refused([](json& f) { f["pre_tokenizer"]["pretokenizers"][0]["behavior"] = "Odd"; },
                   "'Odd'");
    expect_refused([](json& f) { f["pre_tokenizer"]["pretokenizers"][0]["pattern"] = "x"; },
                   "pretokenizers[0].pattern");
    expect_refused(
        [](json& f) { f["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "(a"; },
        "malformed pattern");
    expect_refused([](json& f) { f["decoder"] = {{"type", "WordPiece"}}; }, "'WordPiece'");
    expect_refused([](json& f) { f["decoder"] = nullptr; }, "without a decoder");
    expect_refused([](json& f) { f["pre_tokenizer"] = nullptr; }, "ByteLevel is in decoder");
    expect_refused([](json& f) { f["added_tokens"][0]["id"] = "3"; },
                   "added_tokens[0].id: found string");
    expect_refused([](json& f) { f["added_tokens"][0]["id"] = 2147483648U; }, "added_tokens[0].id");
    expect_refused([](json& f) { f["added_tokens"][0]["content"] = ""; }, "content of 0 bytes");
    expect_refused([](json& f) { f["added_tokens"][0]["special"] = 1; }, "added_tokens[0].special");
    expect_refused([](json& f) { f["added_tokens"] = {{"a", 1}}; }, "added_tokens: found object");
}

// Goal: members that do not concern encoding without added ends are accepted.
// Method: a file with post-processor, truncation, padding and unknown members loads.
TEST(TokenizerJson, AcceptsWhatDoesNotMatter) {
    json file = fixture_tokenizer();
    file["truncation"] = {{"max_length", 3}};
    file["padding"] = nullptr;
    file["post_processor"] = {{"type", "TemplateProcessing"}, {"single", json::array()}};
    file["model"]["fuse_unk"] = false;
    file["model"]["dropout"] = nullptr;
    file["model"]["unk_token"] = "<not in the vocabulary, and never needed>";
    file["model"]["end_of_word_suffix"] = "";
    file["model"]["unknown_member"] = {{"merges", 1}};
    file["vocab"] = "not the model's";
    file["normalizer"] = {{"type", "Sequence"}, {"normalizers", json::array()}};
    const auto tokenizer = Tokenizer::from_json(file.dump(), "tokenizer.json");
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    EXPECT_EQ(tokenizer->encode("hello", SpecialTokens::plain)->size(), 1U);
    EXPECT_EQ(tokenizer->size(), file["added_tokens"].back()["id"].get<int>() + 1);
}

}  // namespace
}  // namespace colibri

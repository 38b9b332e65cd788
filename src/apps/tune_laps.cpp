#include "apps/tune_laps.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/clock.h"
#include "base/rng.h"

namespace colibri {

namespace {

constexpr uint32_t kTokensPerTextMax = 256;
constexpr uint32_t kRandomTexts = 5;
constexpr uint32_t kSizingLaps = 8;
constexpr double kGrowthMax = 8;
// A lap this much shorter than wished is short.
constexpr double kShortLap = 0.6;
// With less than this part of the misses that a conversation would have, the cache flatters.
constexpr double kMissesMin = 0.5;

constexpr std::string_view kTexts[] = {
    "The lighthouse keeper had not seen another ship for eleven days when the fog finally lifted. "
    "She climbed the iron stairs with a lantern in one hand and her brother's old telescope in the "
    "other. Far out, beyond the reef, something small and green was moving against the current. It "
    "was a rowing boat, and the man in it was singing. \"You are late,\" she called, although she "
    "did not know him. He laughed, shipped his oars and let the tide carry him the rest of the "
    "way. "
    "In the stern lay a wooden crate tied with blue rope, and on its lid someone had painted her "
    "name.",
    "#include <map>\n#include <string>\n#include <vector>\n\n// Counts how often each word occurs."
    "\nstd::map<std::string, int> count_words(const std::vector<std::string>& words) {\n    "
    "std::map<std::string, int> counts;\n    for (const auto& word : words) {\n        if "
    "(word.empty()) continue;\n        ++counts[word];\n    }\n    return counts;\n}\n\nint main() "
    "{\n    const auto counts = count_words({\"a\", \"b\", \"a\"});\n    for (const auto& [word, "
    "count] : counts)\n        std::printf(\"%s %d\\n\", word.c_str(), count);\n    return 0;\n}\n",
    "Question: A train leaves at 9:40 and travels 210 km at 84 km/h. It stops for 12 minutes on "
    "the way. When does it arrive?\nAnswer: 210 / 84 = 2.5 hours, which is 2 hours and 30 minutes. "
    "With the stop it takes 2 hours and 42 minutes. 9:40 plus 2:42 is 12:22.\nQuestion: What is "
    "the "
    "sum of the first 20 odd numbers?\nAnswer: The sum of the first n odd numbers is n squared, so "
    "it is 20 * 20 = 400.\nQuestion: Solve 3x - 7 = 2x + 5.\nAnswer: Subtract 2x on both sides: x "
    "- "
    "7 = 5. Add 7: x = 12.\n",
    "Photosynthesis turns light, water and carbon dioxide into sugar and oxygen. In the first "
    "stage "
    "chlorophyll absorbs photons and passes excited electrons along a chain of proteins; the "
    "energy "
    "they release pumps protons across a membrane. The gradient drives an enzyme that makes ATP. "
    "In "
    "the second stage, the Calvin cycle, ATP and NADPH are spent to fix carbon into three-carbon "
    "molecules. Temperature, light intensity and the concentration of carbon dioxide limit the "
    "rate "
    "in turn, which is why greenhouses are often enriched with it.",
    "{\"orders\": [{\"id\": 1041, \"customer\": \"Ines\", \"items\": [{\"sku\": \"A-7\", "
    "\"count\": "
    "2}, {\"sku\": \"C-1\", \"count\": 1}], \"paid\": true}, {\"id\": 1042, \"customer\": "
    "\"Jonas\", \"items\": [], \"paid\": false}]}\nSELECT customer, COUNT(*) AS orders, SUM(total) "
    "AS revenue FROM orders WHERE paid = TRUE GROUP BY customer HAVING COUNT(*) > 1 ORDER BY "
    "revenue DESC LIMIT 10;\nDer schnelle Zug nach Hamburg hat heute leider zwanzig Minuten "
    "Verspätung. Le petit déjeuner est servi de sept heures à dix heures."};

constexpr double kTokensWorthTuning = 12;

int32_t most_probable(std::span<const float> logits) {
    return int32_t(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

}  // namespace

Result<std::vector<std::vector<int32_t>>> tuning_texts(const Tokenizer* tokenizer,
                                                       uint32_t vocabulary) {
    std::vector<std::vector<int32_t>> texts;
    if (tokenizer == nullptr) {
        Rng random(1);
        texts.resize(kRandomTexts);
        for (auto& text : texts)
            for (uint32_t i = 0; i < kTokensPerTextMax; ++i)
                text.push_back(int32_t(random.below(vocabulary)));
        return texts;
    }
    for (const std::string_view text : kTexts) {
        TRY(auto tokens, tokenizer->encode(text, SpecialTokens::plain));
        if (!tokens.empty()) texts.push_back(std::move(tokens));
    }
    if (texts.empty())
        return fail(ErrorKind::corrupt, "the tokenizer turns every text into no tokens at all");
    return texts;
}

TuneLaps::TuneLaps(Model& model, std::vector<std::vector<int32_t>> texts, const CancelToken* cancel)
    : model_(model),
      texts_(std::move(texts)),
      cancel_(cancel),
      state_(model.new_state()),
      texts_used_(uint32_t(texts_.size())) {}

Result<TuneLap> TuneLaps::lap(const Tunables& tunables) {
    TRY_STATUS(model_.retune(tunables));
    if (starts_empty_) model_.store().forget();
    TuneLap lap;
    lap.greedy.reserve(tokens());
    ForwardOptions options;
    options.cancel = cancel_;
    options.on_logits = [&](uint32_t, std::span<const float> logits) -> Status {
        lap.greedy.push_back(most_probable(logits));
        return {};
    };
    const StoreCounters before = model_.store_counters();
    const uint64_t begin_us = now_us();
    for (uint32_t text = 0; text < texts_used_; ++text) {
        state_.truncate(0);
        for (uint32_t i = 0; i < tokens_per_text_; ++i) {
            const int32_t token = texts_[text][i % texts_[text].size()];
            TRY_STATUS(model_.forward(state_, {&token, 1}, options));
        }
    }
    const uint64_t elapsed_us = std::max<uint64_t>(now_us() - begin_us, 1);
    const StoreCounters after = model_.store_counters();
    const uint64_t misses = after.misses - before.misses;
    const uint64_t asked = misses + after.hits - before.hits;
    hit_rate_ = asked == 0 ? 1 : 1 - double(misses) / double(asked);
    lap.tokens_per_s = 1e6 * double(tokens()) / double(elapsed_us);
    return lap;
}

Result<double> TuneLaps::timed(const Tunables& tunables) {
    TRY(const TuneLap measured, lap(tunables));
    return double(tokens()) / measured.tokens_per_s;
}

// Longer laps until one is long enough; fewer texts when one token of each is too much.
Status TuneLaps::size_laps(double lap_s, const Tunables& tunables) {
    const uint32_t most = std::min(kTokensPerTextMax, model_.plan().context);
    for (uint32_t attempt = 0; attempt < kSizingLaps; ++attempt) {
        TRY(const double took_s, timed(tunables));
        const double factor = lap_s / took_s;
        if (took_s > lap_s / kShortLap) {
            if (tokens_per_text_ == 1) {
                texts_used_ = std::max(1U, uint32_t(double(texts_used_) * factor));
                return {};
            }
            tokens_per_text_ = std::max(1U, uint32_t(double(tokens_per_text_) * factor));
        } else if (took_s >= kShortLap * lap_s || tokens_per_text_ == most) {
            return {};
        } else if (texts_used_ < texts_.size()) {
            // The first tokens were slow: everything was read for the first time.
            texts_used_ = uint32_t(texts_.size());
        } else {
            const double wished =
                std::ceil(double(tokens_per_text_) * std::clamp(factor, 1.25, kGrowthMax));
            tokens_per_text_ = std::min(most, uint32_t(wished));
        }
    }
    return {};
}

Status TuneLaps::prepare(double lap_s, double left_s, double expected_hit_rate,
                         const Tunables& tunables) {
    const auto all = uint32_t(texts_.size());
    texts_used_ = 1;
    TRY(const double token_s, timed(tunables));
    if (kTokensWorthTuning * token_s > left_s) return {};
    texts_used_ = std::clamp(uint32_t(lap_s / token_s), 1U, all);
    TRY_STATUS(size_laps(lap_s, tunables));
    TRY_STATUS(timed(tunables));
    if (1 - hit_rate_ >= kMissesMin * (1 - expected_hit_rate)) return {};
    starts_empty_ = true;
    return size_laps(lap_s, tunables);
}

}  // namespace colibri

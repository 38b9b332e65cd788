// How many of a decode step's experts the router of their layer names beforehand, from the state
// before the previous layer's experts have run.
#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <sstream>
#include <vector>

#include "base/units.h"
#include "bench/bench.h"
#include "platform/file.h"
#include "runtime/model.h"

namespace colibri::bench {

namespace {

constexpr uint64_t kIdsBytesMax = 16 * kMiB;

struct Counts {
    uint64_t guessed = 0, chosen = 0, right = 0;
    std::vector<uint64_t> guessed_by_rank, right_by_rank;  // the surest guess has rank 0

    void add(const std::vector<uint32_t>& guesses, const std::vector<uint32_t>& experts) {
        guessed_by_rank.resize(std::max(guessed_by_rank.size(), guesses.size()));
        right_by_rank.resize(guessed_by_rank.size());
        for (size_t rank = 0; rank < guesses.size(); ++rank) {
            const bool is_right = std::count(experts.begin(), experts.end(), guesses[rank]) > 0;
            ++guessed_by_rank[rank];
            right_by_rank[rank] += is_right ? 1 : 0;
            right += is_right ? 1 : 0;
        }
        guessed += guesses.size();
        chosen += experts.size();
    }
    [[nodiscard]] std::vector<double> precision() const {
        std::vector<double> shares;
        for (size_t rank = 0; rank < guessed_by_rank.size(); ++rank)
            shares.push_back(double(right_by_rank[rank]) /
                             double(std::max<uint64_t>(1, guessed_by_rank[rank])));
        return shares;
    }
};

std::vector<uint32_t> by_weight(std::span<const uint32_t> ids, const float* weights) {
    std::vector<size_t> order(ids.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return weights[a] > weights[b]; });
    std::vector<uint32_t> sorted;
    for (const size_t at : order) sorted.push_back(ids[at]);
    return sorted;
}

Result<std::vector<int32_t>> read_ids(const std::string& path) {
    TRY(const std::string text, read_file(path, kIdsBytesMax));
    std::istringstream words(text);
    std::vector<int32_t> ids;
    for (int32_t id = 0; words >> id;) ids.push_back(id);
    if (ids.size() >= 2) return ids;
    return fail(ErrorKind::invalid_input, "--ids " + path + ": two token ids at least");
}

}  // namespace

Status run_recall(Options options) {
    const std::string directory = options.text("model", "models/nano");
    const std::string path = options.text("ids", "");
    TRY(const uint64_t ram_bytes, options.bytes("ram", 40 * kMiB));
    TRY_STATUS(options.unknown());
    TRY(const std::vector<int32_t> ids, read_ids(path));
    Notices notices;
    TRY(const auto model,
        Model::open(
            {.directory = directory, .ram_budget_bytes = ram_bytes, .prefetch = PrefetchMode::on},
            notices));
    std::map<uint32_t, std::vector<uint32_t>> guesses;  // by layer
    Counts counts;
    ForwardOptions forward{.logits = LogitRows::none};
    forward.force_routes = [&](const RoutedSlice& routes, uint32_t* chosen, float* weights) {
        std::vector<uint32_t> list = by_weight({chosen, routes.top_k}, weights);
        if (routes.guess) {
            guesses[routes.layer] = std::move(list);
            return;
        }
        const auto guess = guesses.find(routes.layer);
        if (guess == guesses.end()) return;
        counts.add(guess->second, list);
        guesses.erase(guess);
    };
    SequenceState state = model->new_state();
    for (const int32_t id : ids) TRY_STATUS(model->forward(state, {&id, 1}, forward));
    JsonLine line("recall");
    line.add("model", directory)
        .add("tokens", uint64_t(ids.size()))
        .add("guessed", counts.guessed)
        .add("chosen", counts.chosen)
        .add("precision_by_rank", counts.precision())
        .add("recall", double(counts.right) / double(std::max<uint64_t>(1, counts.chosen)))
        .print();
    return {};
}

}  // namespace colibri::bench

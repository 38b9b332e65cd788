// coli calibrate: how large the inputs of each matrix are, for the quantizer.

#include <fmt/format.h>

#include <map>
#include <vector>

#include "apps/commands.h"
#include "apps/evaluation_text.h"
#include "apps/interrupt.h"
#include "apps/setup.h"
#include "convert/calibration.h"
#include "load/plan.h"

namespace colibri {

namespace {

// Sums of squares by column.
struct Moments {
    std::vector<double> sums;
    uint64_t rows = 0;

    void add(FloatRows x, uint32_t row_count, uint32_t columns) {
        sums.resize(columns);
        for (uint32_t r = 0; r < row_count; ++r) {
            const float* row = x.values + uint64_t(r) * x.stride;
            for (uint32_t c = 0; c < columns; ++c) sums[c] += double(row[c]) * double(row[c]);
        }
        rows += row_count;
    }
    [[nodiscard]] std::vector<float> means() const {
        std::vector<float> out(sums.size());
        for (size_t c = 0; c < sums.size(); ++c)
            out[c] = float(sums[c] / double(std::max<uint64_t>(rows, 1)));
        return out;
    }
};

class Collector final : public InputObserver {
public:
    void resident(const std::byte* data, std::string_view tensor) override {
        names_.emplace(data, tensor);
    }
    void input(const std::byte* data, FloatRows rows, uint32_t row_count,
               uint32_t columns) override {
        const auto name = names_.find(data);
        if (name != names_.end()) dense_[name->second].add(rows, row_count, columns);
    }
    void expert_input(uint32_t layer, uint32_t expert, bool down, FloatRows rows,
                      uint32_t row_count, uint32_t columns) override {
        Layer& own = layers_[layer];
        if (!down) return own.input.add(rows, row_count, columns);
        if (own.down.size() <= expert) own.down.resize(expert + 1);
        own.down[expert].add(rows, row_count, columns);
    }

    [[nodiscard]] Calibration result(const ModelSpec& spec, uint64_t tokens) const {
        Calibration out{.dense = {}, .experts = {}, .rows = tokens};
        for (const auto& [name, moments] : dense_) out.dense.emplace(name, moments.means());
        for (const auto& [layer, own] : layers_) {
            uint32_t experts = 0;
            uint32_t hidden = 0;
            for (const Sublayer& sublayer : spec.layers[layer].sublayers)
                if (const auto* moe = std::get_if<MoeFeedForward>(&sublayer.body)) {
                    experts = std::get<Router>(moe->router).experts;
                    hidden = moe->expert.hidden;
                }
            ExpertMoments& moments = out.experts[layer];
            moments.input = own.input.means();
            moments.rows.resize(experts);
            moments.down.resize(uint64_t(experts) * hidden);
            for (uint32_t e = 0; e < own.down.size(); ++e) {
                moments.rows[e] = float(own.down[e].rows);
                const std::vector<float> means = own.down[e].means();
                std::copy(means.begin(), means.end(),
                          moments.down.begin() + ptrdiff_t(uint64_t(e) * hidden));
            }
        }
        return out;
    }

private:
    struct Layer {
        Moments input;
        std::vector<Moments> down;  // by expert
    };
    std::map<const std::byte*, std::string> names_;
    std::map<std::string, Moments> dense_;
    std::map<uint32_t, Layer> layers_;
};

Result<uint64_t> run(Model& model, const std::vector<std::vector<int32_t>>& sequences,
                     const Console& console) {
    CancelToken cancel;
    const InterruptScope interrupts(cancel);
    Progress progress(console.err);
    uint64_t tokens = 0;
    // The head is a matrix too: it sees the rows whose logits are asked for.
    ForwardOptions options{.logits = LogitRows::all};
    options.on_logits = [](uint32_t, std::span<const float>) -> Status { return {}; };
    options.cancel = &cancel;
    for (size_t i = 0; i < sequences.size(); ++i) {
        SequenceState state = model.new_state();
        TRY_STATUS(model.forward(state, sequences[i], options));
        tokens += sequences[i].size();
        progress.show(
            fmt::format("{} of {} sequences, {} tokens", i + 1, sequences.size(), tokens));
    }
    return tokens;
}

}  // namespace

int calibrate_command(const Invocation& invocation, const Console& console) {
    const Settings& settings = invocation.settings;
    const auto wrong = [&](const std::string& what) {
        return misused(console, Command::calibrate, {ErrorKind::invalid_input, what, {}});
    };
    if (invocation.arguments.size() != 1)
        return wrong(fmt::format("one FILE is needed, found {}", invocation.arguments.size()));
    const std::string out = settings.text(Opt::out);
    if (out.empty()) return wrong("--out FILE is needed");
    auto options = model_options(settings);
    if (!options) return misused(console, Command::calibrate, options.error());
    Collector collector;
    options->observer = &collector;
    const std::string directory = options->directory;
    const auto model = open_model(*std::move(options), console);
    if (!model) return failed(console, model.error());
    Notices notices;
    const auto sequences =
        read_sequences(directory, invocation.arguments.front(), (*model)->plan().context,
                       settings.count(Opt::limit).value_or(0), notices);
    console.show(notices);
    if (!sequences) return failed(console, sequences.error());
    const auto tokens = run(**model, *sequences, console);
    if (!tokens) return failed(console, tokens.error());
    const Calibration calibration = collector.result((*model)->spec(), *tokens);
    if (const Status status = write_calibration(calibration, out); !status)
        return failed(console, status.error());
    console.out.write(fmt::format("{}: {} tokens, {} resident matrices, {} layers of experts\n",
                                  out, *tokens, calibration.dense.size(),
                                  calibration.experts.size()));
    return kExitOk;
}

}  // namespace colibri

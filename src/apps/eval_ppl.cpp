// coli eval ppl: how well a model predicts a text.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/commands.h"
#include "apps/evaluation_text.h"
#include "apps/interrupt.h"
#include "apps/setup.h"
#include "base/clock.h"
#include "load/plan.h"
#include "platform/file.h"

namespace colibri {

namespace {

struct Score {
    uint64_t tokens = 0;  // scored
    double nll = 0;       // sum of -ln p
    uint64_t elapsed_us = 0;
    uint32_t window = 0;  // positions
};

double negative_log_probability(std::span<const float> logits, int32_t token) {
    const double maximum = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float logit : logits) sum += std::exp(double(logit) - maximum);
    return maximum + std::log(sum) - double(logits[size_t(token)]);
}

// Windows overlap by half: all but the first begin with tokens that are context only.
Result<Score> score(Model& model, std::span<const int32_t> tokens, const Console& console) {
    CancelToken cancel;
    const InterruptScope interrupts(cancel);
    Progress progress(console.err);
    Score total{.window = uint32_t(std::min<uint64_t>(model.plan().context, tokens.size()))};
    const uint64_t begin_us = now_us();
    const size_t stride = std::max<size_t>(1, total.window / 2);
    size_t scored =
        1;  // tokens before this one are done; the first has nothing to be predicted from
    for (size_t begin = 0; scored < tokens.size(); begin += stride) {
        const size_t end = std::min(begin + total.window, tokens.size());
        if (end <= scored) continue;
        ForwardOptions options;
        options.cancel = &cancel;
        SequenceState state = model.new_state();
        options.logits = LogitRows::none;
        const size_t first_row = scored - 1;  // predicts token `scored`
        if (first_row > begin)
            TRY_STATUS(model.forward(state, tokens.subspan(begin, first_row - begin), options));
        options.logits = LogitRows::all;
        options.on_logits = [&](uint32_t row, std::span<const float> logits) -> Status {
            total.nll += negative_log_probability(logits, tokens[first_row + row + 1]);
            return {};
        };
        TRY_STATUS(model.forward(state, tokens.subspan(first_row, end - 1 - first_row), options));
        scored = end;
        progress.show(fmt::format("{} of {} tokens", scored, tokens.size()));
    }
    total.tokens = tokens.size() - 1;
    total.elapsed_us = now_us() - begin_us;
    return total;
}

void report(const Score& total, const std::string& file, bool json, const Console& console) {
    const double mean = total.nll / double(total.tokens);
    const double speed =
        1e6 * double(total.tokens) / double(std::max<uint64_t>(total.elapsed_us, 1));
    if (!json) {
        console.out.write(fmt::format(
            "perplexity {:.4f} over {} tokens (nll {:.5f} per token, window {}), {:.1f} tokens/s\n",
            std::exp(mean), total.tokens, mean, total.window, speed));
        return;
    }
    const nlohmann::ordered_json line = {{"file", file},
                                         {"tokens", total.tokens},
                                         {"nll", total.nll},
                                         {"nll_per_token", mean},
                                         {"ppl", std::exp(mean)},
                                         {"window", total.window},
                                         {"tokens_per_second", speed}};
    console.out.write(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace

int eval_ppl_command(const Invocation& invocation, const Console& console) {
    const Settings& settings = invocation.settings;
    if (invocation.arguments.size() != 1)
        return misused(console, Command::eval_ppl,
                       {ErrorKind::invalid_input,
                        fmt::format("one FILE is needed, found {}", invocation.arguments.size()),
                        {}});
    const std::string& file = invocation.arguments.front();
    auto options = engine_options(settings);
    if (!options) return misused(console, Command::eval_ppl, options.error());
    const auto text = file == "-" ? read_standard_input() : read_file(file, kEvaluationBytesMax);
    if (!text) return failed(console, text.error());
    if (text->empty())
        return failed(console,
                      {ErrorKind::invalid_input,
                       fmt::format("{} is empty; perplexity needs at least 2 tokens", file),
                       {}});
    const auto engine = open_engine(*std::move(options), console);
    if (!engine) return failed(console, engine.error());
    const auto prompt = (*engine)->raw_prompt(*text, false);
    if (!prompt) return failed(console, prompt.error());
    if (prompt->tokens.size() < 2 || (*engine)->plan().context < 2)
        return failed(console, {ErrorKind::invalid_input,
                                fmt::format("{} has {} tokens and the context {} positions; "
                                            "perplexity needs at least 2 of both",
                                            file, prompt->tokens.size(), (*engine)->plan().context),
                                {}});
    const auto total = score((*engine)->model(), prompt->tokens, console);
    if (!total) return failed(console, total.error());
    report(*total, file, settings.on(Opt::json), console);
    return kExitOk;
}

}  // namespace colibri

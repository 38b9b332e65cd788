// coli eval kld: how far a model's predictions are from a reference's.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/commands.h"
#include "apps/evaluation_text.h"
#include "apps/interrupt.h"
#include "apps/setup.h"
#include "base/clock.h"
#include "kernels/selection.h"
#include "load/plan.h"
#include "platform/machine.h"

namespace colibri {

namespace {

// Reference logits that are kept until the other model has caught up.
constexpr uint64_t kLogitBytes = 64 << 20;

// ln sum exp, in double.
double log_normalizer(std::span<const float> logits) {
    const double maximum = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float logit : logits) sum += std::exp(double(logit) - maximum);
    return maximum + std::log(sum);
}

struct Divergence {
    std::vector<double> values;  // KL(reference || model) by position, in nats
    uint64_t same_choice = 0;    // positions at which both find the same token most probable
    double reference_nll = 0, model_nll = 0;
    uint64_t predicted = 0;  // positions with a next token
    uint64_t elapsed_us = 0;
};

void compare(std::span<const float> reference, std::span<const float> model, int32_t next,
             Divergence& out) {
    const double reference_log = log_normalizer(reference);
    const double model_log = log_normalizer(model);
    double sum = 0;
    for (size_t i = 0; i < reference.size(); ++i) {
        const double p = double(reference[i]) - reference_log;
        sum += std::exp(p) * (p - (double(model[i]) - model_log));
    }
    out.values.push_back(std::max(sum, 0.0));
    out.same_choice += argmax(reference) == argmax(model) ? 1 : 0;
    if (next < 0) return;
    out.reference_nll += reference_log - double(reference[size_t(next)]);
    out.model_nll += model_log - double(model[size_t(next)]);
    ++out.predicted;
}

Status run_sequence(Model& reference, Model& model, std::span<const int32_t> tokens,
                    const CancelToken& cancel, Divergence& out) {
    const uint32_t vocab = model.spec().vocab;
    const size_t rows = std::max<uint64_t>(1, kLogitBytes / (uint64_t(vocab) * sizeof(float)));
    SequenceState reference_state = reference.new_state();
    SequenceState model_state = model.new_state();
    std::vector<float> kept;
    for (size_t begin = 0; begin < tokens.size(); begin += rows) {
        const auto part = tokens.subspan(begin, std::min(rows, tokens.size() - begin));
        kept.clear();
        ForwardOptions options{.logits = LogitRows::all};
        options.cancel = &cancel;
        options.on_logits = [&](uint32_t, std::span<const float> logits) -> Status {
            kept.insert(kept.end(), logits.begin(), logits.end());
            return {};
        };
        TRY_STATUS(reference.forward(reference_state, part, options));
        options.on_logits = [&](uint32_t row, std::span<const float> logits) -> Status {
            const size_t at = begin + row + 1;
            compare(std::span(kept).subspan(size_t(row) * vocab, vocab), logits,
                    at < tokens.size() ? tokens[at] : -1, out);
            return {};
        };
        TRY_STATUS(model.forward(model_state, part, options));
    }
    return {};
}

Result<Divergence> measure(Model& reference, Model& model,
                           const std::vector<std::vector<int32_t>>& sequences,
                           const Console& console) {
    CancelToken cancel;
    const InterruptScope interrupts(cancel);
    Progress progress(console.err);
    Divergence out;
    const uint64_t begin_us = now_us();
    for (size_t i = 0; i < sequences.size(); ++i) {
        TRY_STATUS(run_sequence(reference, model, sequences[i], cancel, out));
        progress.show(fmt::format("{} of {} sequences, {} positions", i + 1, sequences.size(),
                                  out.values.size()));
    }
    out.elapsed_us = now_us() - begin_us;
    return out;
}

struct Summary {
    double mean = 0, error = 0, median = 0, p99 = 0, largest = 0;
};

Summary summarize(std::vector<double> values) {
    Summary s;
    const auto count = double(values.size());
    for (const double value : values) s.mean += value / count;
    double squares = 0;
    for (const double value : values) squares += (value - s.mean) * (value - s.mean);
    s.error = std::sqrt(squares / count / std::max(1.0, count - 1));
    std::sort(values.begin(), values.end());
    s.median = values[values.size() / 2];
    s.p99 = values[std::min(values.size() - 1, values.size() * 99 / 100)];
    s.largest = values.back();
    return s;
}

void report(const Divergence& found, bool json, const Console& console) {
    const Summary s = summarize(found.values);
    const double same = double(found.same_choice) / double(found.values.size());
    const auto predicted = double(std::max<uint64_t>(found.predicted, 1));
    const double reference_ppl = std::exp(found.reference_nll / predicted);
    const double model_ppl = std::exp(found.model_nll / predicted);
    if (!json) {
        console.out.write(fmt::format(
            "KL divergence {:.6f} +- {:.6f} nats over {} positions (median {:.6f}, 99 % {:.6f}, "
            "largest {:.4f}); same first choice {:.2f} %; perplexity {:.4f}, reference {:.4f}\n",
            s.mean, s.error, found.values.size(), s.median, s.p99, s.largest, 100 * same, model_ppl,
            reference_ppl));
        return;
    }
    const nlohmann::ordered_json line = {{"positions", found.values.size()},
                                         {"kld", s.mean},
                                         {"kld_error", s.error},
                                         {"kld_median", s.median},
                                         {"kld_p99", s.p99},
                                         {"kld_max", s.largest},
                                         {"same_choice", same},
                                         {"ppl", model_ppl},
                                         {"reference_ppl", reference_ppl},
                                         {"seconds", double(found.elapsed_us) / 1e6}};
    console.out.write(line.dump() + "\n");
}

// Two models share what one would have.
uint64_t half_budget(const Settings& settings) {
    if (const auto given = settings.count(Opt::ram)) return *given / 2;
    const MemoryFacts facts = memory_facts();
    if (!facts.available_bytes) return 0;
    return (*facts.available_bytes - automatic_reserve_bytes(*facts.available_bytes)) / 2;
}

}  // namespace

int eval_kld_command(const Invocation& invocation, const Console& console) {
    const Settings& settings = invocation.settings;
    const auto wrong = [&](const std::string& what) {
        return misused(console, Command::eval_kld, {ErrorKind::invalid_input, what, {}});
    };
    if (invocation.arguments.size() != 1)
        return wrong(fmt::format("one FILE is needed, found {}", invocation.arguments.size()));
    if (!settings.given(Opt::reference))
        return wrong("--reference DIR is needed: the model that is right by definition");
    auto options = model_options(settings);
    if (!options) return misused(console, Command::eval_kld, options.error());
    options->ram_budget_bytes = half_budget(settings);
    ModelOptions reference_options = *options;
    reference_options.directory = settings.text(Opt::reference);
    Notices notices;
    const auto model = open_model(*options, console);
    if (!model) return failed(console, model.error());
    const auto reference = open_model(reference_options, console);
    if (!reference) return failed(console, reference.error());
    if ((*model)->spec().vocab != (*reference)->spec().vocab)
        return failed(console, {ErrorKind::invalid_input,
                                fmt::format("{} has a vocabulary of {}, the reference one of {}",
                                            options->directory, (*model)->spec().vocab,
                                            (*reference)->spec().vocab),
                                {}});
    const uint32_t window = std::min((*model)->plan().context, (*reference)->plan().context);
    const auto sequences = read_sequences(options->directory, invocation.arguments.front(), window,
                                          settings.count(Opt::limit).value_or(0), notices);
    console.show(notices);
    if (!sequences) return failed(console, sequences.error());
    const auto found = measure(**reference, **model, *sequences, console);
    if (!found) return failed(console, found.error());
    report(*found, settings.on(Opt::json), console);
    return kExitOk;
}

}  // namespace colibri

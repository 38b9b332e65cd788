// The bundled model with every expert resident: decode and prefill speed, time to the first token,
// memory against the plan.
#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "bench/bench.h"
#include "bench/pairs.h"
#include "kernels/selection.h"
#include "platform/machine.h"
#include "runtime/model.h"

namespace colibri::bench {

namespace {

// A text-like sequence of ids: every token in the vocabulary's ordinary range, no pattern that a
// cache could learn.
std::vector<int32_t> tokens_of(uint32_t count, uint32_t vocab) {
    std::vector<int32_t> tokens;
    uint32_t state = 12345;
    for (uint32_t i = 0; i < count; ++i) {
        state = state * 1664525U + 1013904223U;
        tokens.push_back(int32_t((state >> 8) % (vocab * 9 / 10)));
    }
    return tokens;
}

// Rows per second of whole prompts, each from an empty state, for about `seconds`, at least one.
Result<double> prefill_rate(Model& model, const std::vector<int32_t>& prompt, double seconds) {
    uint64_t rows = 0;
    const uint64_t begin = now_us();
    do {
        SequenceState state = model.new_state();
        ForwardOptions options;
        options.on_logits = [](uint32_t, std::span<const float>) -> Status { return {}; };
        TRY_STATUS(model.forward(state, prompt, options));
        rows += prompt.size();
    } while (double(now_us() - begin) < seconds * 1e6);
    return double(rows) * 1e6 / double(now_us() - begin);
}

// Greedy tokens per second after a short prompt, for about `seconds`.
Result<double> decode_rate(Model& model, const std::vector<int32_t>& prompt, double seconds) {
    SequenceState start = model.new_state();
    int32_t token = 0;
    ForwardOptions options;
    options.on_logits = [&](uint32_t, std::span<const float> logits) -> Status {
        token = int32_t(argmax(logits));
        return {};
    };
    TRY_STATUS(model.forward(start, prompt, options));
    uint64_t steps = 0;
    const uint64_t begin = now_us();
    while (double(now_us() - begin) < seconds * 1e6) {
        SequenceState state = start.snapshot();
        for (int i = 0; i < 200; ++i, ++steps)
            TRY_STATUS(model.forward(state, {&token, 1}, options));
    }
    return double(steps) * 1e6 / double(now_us() - begin);
}

}  // namespace

Status run_nano(Options options) {
    const std::string directory = options.text("model", "models/nano");
    TRY(const uint32_t threads, options.count("threads", usable_cores()));
    TRY(const uint32_t rows, options.count("rows", 512));
    TRY(const uint32_t rounds, options.count("rounds", 9));
    TRY(const double seconds, options.seconds("seconds", 5));
    TRY(const Kernels* kernels, options.kernels());
    TRY_STATUS(options.unknown());

    Notices notices;
    const uint64_t begin = now_us();
    TRY(const auto model, Model::open({.directory = directory,
                                       .ram_budget_bytes = uint64_t(1) << 30,
                                       .context = 2048,
                                       .kernels = kernels,
                                       .threads = threads},
                                      notices));
    const std::vector<int32_t> prompt = tokens_of(rows, model->spec().vocab);
    const std::vector<int32_t> start(prompt.begin(), prompt.begin() + 32);
    TRY(const double cold, prefill_rate(*model, start, 0.0));
    (void)cold;
    const double first_token_s = double(now_us() - begin) * 1e-6;
    TRY(const double warm, prefill_rate(*model, prompt, 1.0));  // brings every expert in
    (void)warm;
    std::vector<double> decode, prefill;
    for (uint32_t i = 0; i < rounds; ++i) {
        TRY(const double decoded, decode_rate(*model, start, seconds));
        TRY(const double filled, prefill_rate(*model, prompt, seconds));
        decode.push_back(decoded);
        prefill.push_back(filled);
    }
    SequenceState full = model->new_state();  // slots and context filled, for the peak
    TRY_STATUS(model->forward(full, tokens_of(model->plan().context, model->spec().vocab),
                              {.logits = LogitRows::none}));
    JsonLine("nano")
        .add("isa", to_string(kernels->isa))
        .add("threads", uint64_t(threads))
        .add("open_to_first_logits_s", first_token_s)
        .add("decode_tokens_per_s", quantile(decode, 0.5))
        .add("decode", decode)
        .add("prefill_rows", uint64_t(rows))
        .add("prefill_tokens_per_s", quantile(prefill, 0.5))
        .add("prefill", prefill)
        .add("resident_experts", model->store_counters().resident)
        .add("plan_bytes", model->plan().total_bytes)
        .add("peak_resident_bytes", peak_resident_bytes())
        .add_machine()
        .print();
    return {};
}

}  // namespace colibri::bench

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/rng.h"
#include "colibri/engine.h"
#include "decode/loop_guard.h"
#include "decode/sampler.h"
#include "decode/stop.h"
#include "engine/answer_stream.h"
#include "engine/engine_impl.h"

namespace colibri {

struct Session::Impl {
    Engine::Impl& engine;
    SequenceState state;
    Sampler sampler;
    std::vector<int32_t> tokens;  // one per accepted position of the state
    std::vector<float> logits;    // of the last position
};

namespace {

uint32_t common_prefix(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
    return uint32_t(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

void tell(Engine::Impl& engine, const GenerateOptions& options) {
    if (!options.on_notice) return;
    for (const std::string& line : engine.take_notices()) options.on_notice(line);
}

// Runs tokens after the state and keeps the last row's logits.
Status advance(Session::Impl& s, std::span<const int32_t> tokens, const GenerateOptions& options,
               uint32_t reused, uint32_t prompt_rows) {
    ForwardOptions forward;
    forward.cancel = options.cancel;
    forward.on_logits = [&](uint32_t, std::span<const float> row) -> Status {
        s.logits.assign(row.begin(), row.end());
        return {};
    };
    forward.between_layers = [&] {
        if (options.memory != nullptr) s.engine.serve(*options.memory);
        tell(s.engine, options);
    };
    if (options.on_prefill && prompt_rows != 0)
        forward.on_progress = [&](uint32_t done, uint32_t) {
            options.on_prefill(reused + done, prompt_rows);
        };
    TRY_STATUS(s.engine.model->forward(s.state, tokens, forward));
    s.tokens.insert(s.tokens.end(), tokens.begin(), tokens.end());
    return {};
}

// Samples until the turn ends.
Status decode(Session::Impl& s, const GenerateOptions& options, AnswerStream& stream,
              Generation& out, uint64_t begin_us) {
    const Tokenizer& tokenizer = *s.engine.files.tokenizer;
    const SamplerOptions sampling{.temperature = options.sampling.temperature,
                                  .top_k = options.sampling.top_k,
                                  .top_p = options.sampling.top_p,
                                  .min_p = options.sampling.min_p};
    const TokenMask mask{.valid_ids =
                             std::min(uint32_t(tokenizer.size()), s.engine.model->spec().vocab)};
    Rng random(options.sampling.seed);
    LoopGuard loop_guard(options.loop_guard);
    while (true) {
        TRY(const int32_t token, s.sampler.sample(s.logits, sampling, mask, random));
        out.tokens.push_back(token);
        if (out.stats.first_token_us == 0) out.stats.first_token_us = now_us() - begin_us;
        ++out.stats.generated_tokens;
        if (s.engine.end_tokens.contains(token)) {
            out.finish = FinishReason::stop;
            return {};
        }
        stream.push(token);
        out.stats.reasoning_tokens += stream.inside_reasoning() ? 1 : 0;
        if (stream.stopped()) {
            out.finish = FinishReason::stop_string;
            return {};
        }
        if (loop_guard.push(token)) {
            out.finish = FinishReason::loop;
            return {};
        }
        if (options.max_tokens != 0 && out.stats.generated_tokens >= options.max_tokens) {
            out.finish = FinishReason::length;
            return {};
        }
        if (s.state.length() == s.state.capacity()) {
            out.finish = FinishReason::context;
            return {};
        }
        if (is_cancelled(options.cancel))
            return fail(ErrorKind::cancelled, "the request was cancelled");
        TRY_STATUS(advance(s, {&token, 1}, options, 0, 0));
    }
}

}  // namespace

Result<Session> Engine::new_session() {
    if (tokenizer() == nullptr)
        return fail(ErrorKind::not_found, "this engine was opened without a tokenizer");
    Model& model = *impl_->model;
    return Session(
        std::make_unique<Session::Impl>(Session::Impl{.engine = *impl_,
                                                      .state = model.new_state(),
                                                      .sampler = Sampler(model.spec().vocab),
                                                      .tokens = {},
                                                      .logits = {}}));
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

uint32_t Session::length() const {
    return impl_->state.length();
}
uint32_t Session::context() const {
    return impl_->state.capacity();
}

void Session::reset() {
    impl_->state = impl_->engine.model->new_state();
    impl_->tokens.clear();
}

Result<Generation> Session::generate(const Prompt& prompt, const GenerateOptions& options) {
    Impl& s = *impl_;
    if (prompt.tokens.empty()) return fail(ErrorKind::invalid_input, "the prompt is empty");
    const auto prompt_rows = uint32_t(prompt.tokens.size());
    if (prompt_rows > s.state.capacity())
        return fail(
            ErrorKind::out_of_budget,
            fmt::format("the prompt has {} tokens and the context {} positions; raise it with "
                        "--ctx (this model has at "
                        "most {}) or shorten the prompt",
                        prompt_rows, s.state.capacity(), s.engine.model->spec().context_max));
    TRY(StopMatcher stops, StopMatcher::create(options.stop_strings));
    TRY_STATUS(s.engine.model->check_files(s.engine.notices));
    const uint64_t begin_us = now_us();
    const StoreCounters before = s.engine.model->store_counters();
    // The last prompt token is run again even when it is in the state: its logits are needed.
    const uint32_t reused = std::min(common_prefix(s.tokens, prompt.tokens), prompt_rows - 1);
    s.state.truncate(reused);
    s.tokens.resize(reused);

    Generation out;
    out.stats.prompt_tokens = prompt_rows;
    out.stats.reused_tokens = reused;
    const ReasoningStart start = prompt.begins_in_reasoning ? ReasoningStart::inside
                                 : prompt.reasoning_closed  ? ReasoningStart::closed
                                                            : ReasoningStart::outside;
    AnswerStream stream(*s.engine.files.tokenizer,
                        prompt.has_thinking_tags ? s.engine.think_tags : std::optional<ThinkTags>(),
                        start, std::move(stops), options.on_text);
    Status status =
        advance(s, std::span(prompt.tokens).subspan(reused), options, reused, prompt_rows);
    out.stats.prefill_us = now_us() - begin_us;
    if (status) status = decode(s, options, stream, out, begin_us);
    stream.finish();
    if (!status) {
        if (status.error().kind != ErrorKind::cancelled)
            return tl::unexpected(std::move(status).error());
        out.finish = FinishReason::cancelled;
    }
    out.text = stream.text();
    out.reasoning = stream.reasoning();
    out.stats.decode_us = now_us() - begin_us - out.stats.prefill_us;
    const StoreCounters after = s.engine.model->store_counters();
    out.stats.expert_hits = after.hits - before.hits;
    out.stats.expert_misses = after.misses - before.misses;
    out.stats.read_bytes = after.read_bytes - before.read_bytes;
    out.stats.wait_us = after.wait_us - before.wait_us;
    out.stats.prefetches = after.guesses - before.guesses;
    out.stats.useful_prefetches = after.useful_guesses - before.useful_guesses;
    out.stats.wasted_prefetches = after.wasted_guesses - before.wasted_guesses;
    out.stats.useful_prefetch_bytes = after.useful_guess_bytes - before.useful_guess_bytes;
    out.stats.wasted_prefetch_bytes = after.wasted_guess_bytes - before.wasted_guess_bytes;
    if (const Status saved = s.engine.model->save_usage(out.stats.generated_tokens); !saved)
        s.engine.notices.add(saved.error().message);
    return out;
}

}  // namespace colibri

// coli trace record: which experts a run uses, written down as a route trace.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "apps/commands.h"
#include "apps/interrupt.h"
#include "apps/setup.h"
#include "apps/token_list.h"
#include "decode/sampler.h"
#include "format/route_trace.h"
#include "load/plan.h"
#include "platform/file.h"
#include "text/chat.h"
#include "text/tokenizer.h"

namespace colibri {

namespace {

// Collects the routes of every pass, with what the store's event log says about them.
class Recorder {
public:
    explicit Recorder(Model& model) : model_(model) {
        model_.store().record_events(true);
        trace_.arch = model.spec().family;
        trace_.layers.resize(model.spec().layers.size());
        for (uint32_t layer = 0; layer < trace_.layers.size(); ++layer)
            trace_.layers[layer].expert_bytes = model_.store().expert_bytes(layer);
        for (const Layer& layer : model.spec().layers)
            for (const Sublayer& sublayer : layer.sublayers)
                if (const auto* moe = std::get_if<MoeFeedForward>(&sublayer.body)) {
                    const auto& router = std::get<Router>(moe->router);
                    trace_.experts = std::max(trace_.experts, router.experts);
                    trace_.experts_used = std::max(trace_.experts_used, router.top_k);
                }
    }
    ~Recorder() { model_.store().record_events(false); }
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;

    void begin(uint32_t turn, bool decode) {
        turn_ = turn;
        decode_ = decode;
    }

    // The log since the last call is that of this layer's stream, and of guesses for the next.
    void add(const RoutedSlice& routes) {
        std::set<uint32_t> read;
        const std::set<uint32_t> resident = residents();
        std::vector<uint32_t> order(routes.top_k);
        for (uint32_t row = 0; row < routes.rows; ++row) {
            const uint32_t* ids = routes.ids + uint64_t(row) * routes.top_k;
            const float* weights = routes.weights + uint64_t(row) * routes.top_k;
            std::iota(order.begin(), order.end(), 0);
            std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
                return weights[a] != weights[b] ? weights[a] > weights[b] : a < b;
            });
            trace_.steps.push_back({.turn = turn_,
                                    .decode = decode_,
                                    .position = routes.first_position + row,
                                    .layer = routes.layer,
                                    .first_choice = uint32_t(trace_.choices.size()),
                                    .choice_count = routes.top_k});
            for (const uint32_t place : order) {
                const bool was_resident = resident.contains(ids[place]);
                const bool first = !was_resident && read.insert(ids[place]).second;
                trace_.choices.push_back(
                    {.expert = ids[place],
                     .weight = weights[place],
                     .resident = was_resident,
                     .read_bytes = first ? trace_.layers[routes.layer].expert_bytes : 0});
            }
        }
    }

    RouteTrace& trace() { return trace_; }

private:
    // What was asked for and in memory; what was read ahead was read for this stream.
    std::set<uint32_t> residents() {
        std::set<uint32_t> found;
        bool guess = false;  // the event before
        for (const StoreEvent& event : model_.store().take_events()) {
            const bool guessed = std::exchange(guess, event.kind == StoreEvent::Kind::guess);
            switch (event.kind) {
                case StoreEvent::Kind::issue:
                    if (guessed)
                        ahead_.insert(event.expert);
                    else
                        ahead_.erase(event.expert);
                    break;
                case StoreEvent::Kind::hit:
                    if (ahead_.erase(event.expert) == 0) found.insert(event.expert.index);
                    break;
                default: break;
            }
        }
        return found;
    }

    Model& model_;
    RouteTrace trace_;
    uint32_t turn_ = 0;
    bool decode_ = false;
    std::set<ExpertId> ahead_;  // guessed, and not asked for since
};

class Recording {
public:
    Recording(Model& model, const Console& console)
        : model_(model),
          recorder_(model),
          interrupts_(cancel_),
          progress_(console.err),
          state_(model.new_state()) {}

    // Runs what the state does not hold yet, then generates; the generated tokens. `stop`: end at
    // the end of turn.
    Result<std::vector<int32_t>> turn(uint32_t number, std::span<const int32_t> prompt,
                                      uint32_t count, bool stop) {
        const auto same = uint64_t(
            std::mismatch(tokens_.begin(), tokens_.end(), prompt.begin(), prompt.end()).first -
            tokens_.begin());
        const auto reused = uint32_t(std::min(same, prompt.size() - 1));
        state_.truncate(reused);
        tokens_.resize(reused);
        recorder_.begin(number, false);
        TRY_STATUS(run(prompt.subspan(reused)));
        recorder_.begin(number, true);
        std::vector<int32_t> generated;
        const std::vector<int32_t>& ends = model_.spec().eos_ids;
        while (generated.size() < count) {
            if (stop && std::count(ends.begin(), ends.end(), next_) > 0) break;
            if (state_.length() == state_.capacity())
                return fail(ErrorKind::out_of_budget,
                            fmt::format("the context of {} positions is full after {} tokens of "
                                        "answer; raise --ctx",
                                        state_.capacity(), generated.size()));
            const int32_t token = next_;
            generated.push_back(token);
            TRY_STATUS(run({&token, 1}));
        }
        return generated;
    }

    RouteTrace& trace() { return recorder_.trace(); }

private:
    Status run(std::span<const int32_t> tokens) {
        ForwardOptions options;
        options.cancel = &cancel_;
        options.on_routes = [this](const RoutedSlice& routes) { recorder_.add(routes); };
        options.on_logits = [this](uint32_t, std::span<const float> logits) -> Status {
            TRY(next_, greedy_token(logits, {}));
            return {};
        };
        TRY_STATUS(model_.forward(state_, tokens, options));
        tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
        progress_.show(fmt::format("{} tokens", tokens_.size()));
        return {};
    }

    Model& model_;
    Recorder recorder_;
    CancelToken cancel_;
    InterruptScope interrupts_;
    Progress progress_;
    SequenceState state_;
    std::vector<int32_t> tokens_;
    int32_t next_ = 0;
};

Status record_conversation(Engine& engine, const std::vector<std::string>& texts, uint32_t count,
                           Recording& recording) {
    std::vector<ChatMessage> messages;
    for (size_t number = 0; number < texts.size(); ++number) {
        messages.push_back({.role = "user", .content = texts[number]});
        TRY(const Prompt prompt, engine.render(messages, {.think = false}));
        TRY(const auto answer, recording.turn(uint32_t(number), prompt.tokens, count, true));
        messages.push_back(
            {.role = "assistant", .content = engine.tokenizer()->decode(answer, false)});
    }
    return {};
}

Status write_trace(RouteTrace& trace, const std::string& directory, const std::string& out) {
    trace.model = directory.substr(directory.find_last_of('/') + 1);
    std::replace(trace.model.begin(), trace.model.end(), ' ', '_');
    const std::string text = format_route_trace(trace);
    return write_file_atomic(out, std::as_bytes(std::span(text)));
}

Status record(const Invocation& invocation, const std::vector<std::string>& texts,
              const std::vector<int32_t>& tokens, const EngineOptions& options,
              const Console& console) {
    const Settings& settings = invocation.settings;
    const auto count = uint32_t(settings.count(Opt::greedy_count).value_or(0));
    TRY(const auto engine, open_engine(options, console));
    Model& model = engine->model();
    TRY_STATUS(check_token_range(tokens, model.spec().vocab));
    Recording recording(model, console);
    if (recording.trace().experts == 0)
        return fail(ErrorKind::unsupported, "this model has no routed experts");
    if (tokens.empty()) {
        TRY_STATUS(record_conversation(*engine, texts, count, recording));
    } else {
        TRY_STATUS(recording.turn(0, tokens, count, false));
    }
    return write_trace(recording.trace(), options.model_directory, settings.text(Opt::out));
}

}  // namespace

int trace_record_command(const Invocation& invocation, const Console& console) {
    const Settings& settings = invocation.settings;
    const auto misuse = [&](std::string message) {
        return misused(console, Command::trace_record,
                       {ErrorKind::invalid_input, std::move(message), {}});
    };
    if (settings.text(Opt::out).empty()) return misuse("--out FILE is needed");
    std::vector<std::string> texts = invocation.arguments;
    if (const std::string prompt = settings.text(Opt::prompt); !prompt.empty())
        texts.insert(texts.begin(), prompt);
    std::vector<int32_t> tokens;
    if (const std::string list = settings.text(Opt::tokens); !list.empty()) {
        auto parsed = parse_token_list(list);
        if (!parsed) return misused(console, Command::trace_record, parsed.error());
        tokens = *std::move(parsed);
    }
    if (texts.empty() == tokens.empty())
        return misuse("what to run is needed: messages, or --tokens LIST, not both");
    auto options = engine_options(settings);
    if (!options) return misused(console, Command::trace_record, options.error());
    options->tokenizer_required = tokens.empty();
    if (!tokens.empty() && !settings.given(Opt::ctx))
        options->context = uint32_t(tokens.size() + settings.count(Opt::greedy_count).value_or(0));
    const Status status = record(invocation, texts, tokens, *options, console);
    return status ? kExitOk : failed(console, status.error());
}

}  // namespace colibri

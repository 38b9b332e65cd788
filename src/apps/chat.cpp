// coli chat: a conversation.

#include <fmt/format.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "apps/answer.h"
#include "apps/commands.h"
#include "apps/interrupt.h"
#include "apps/line_reader.h"
#include "apps/setup.h"
#include "base/units.h"
#include "load/plan.h"
#include "platform/machine.h"
#include "store/storage_health.h"
#include "text/chat.h"

namespace colibri {

namespace {

constexpr std::string_view kHelp =
    "/reset          forget the conversation\n"
    "/system TEXT    set the system prompt and forget the conversation; without TEXT remove it\n"
    "/think on|off   reasoning before answers\n"
    "/stats          memory, context and experts so far\n"
    "/help           this list\n"
    "/quit           leave (as the end of input does)\n"
    "Ctrl-C stops an answer; at the prompt it leaves. A line that ends with \\ goes on.\n";

class Conversation {
public:
    Conversation(Engine& engine, Session session, const Settings& settings, GenerateOptions limits,
                 const Console& console)
        : engine_(engine),
          session_(std::move(session)),
          settings_(settings),
          limits_(std::move(limits)),
          console_(console),
          system_(settings.text(Opt::system)),
          think_(settings.on(Opt::think)),
          seed_(settings.count(Opt::seed).value_or(random_seed())) {}

    enum class Next : uint8_t { go_on, leave };

    Next take(const std::string& line) {
        const size_t begin = line.find_first_not_of(" \t");
        if (begin == std::string::npos) return Next::go_on;
        if (line[begin] == '/') return command(line.substr(begin));
        return answer(line);
    }

private:
    Next command(const std::string& line) {
        const size_t space = line.find_first_of(" \t");
        const std::string name = line.substr(0, space);
        const size_t rest = line.find_first_not_of(" \t", space);
        const std::string argument = rest == std::string::npos ? "" : line.substr(rest);
        if (name == "/quit" || name == "/exit" || name == "/q") return Next::leave;
        if (name == "/reset") {
            reset();
            console_.note("the conversation is forgotten");
        } else if (name == "/system") {
            system_ = argument;
            reset();
            console_.note(system_.empty() ? "no system prompt; the conversation is forgotten"
                                          : "system prompt set; the conversation is forgotten");
        } else if (name == "/think" && (argument == "on" || argument == "off")) {
            think_ = argument == "on";
            console_.note(fmt::format("reasoning is {}", argument));
        } else if (name == "/think") {
            console_.note(fmt::format("reasoning is {}; /think on or /think off changes it",
                                      think_ ? "on" : "off"));
        } else if (name == "/stats") {
            console_.err.write(statistics());
        } else if (name == "/help") {
            console_.err.write(kHelp);
        } else {
            static constexpr std::string_view kNames[] = {"/reset", "/system", "/think",
                                                          "/stats", "/help",   "/quit"};
            const std::string nearest = nearest_name(name, kNames);
            console_.note(fmt::format(
                "{} is no command, and was not sent to the model{}; /help lists the commands", name,
                nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest)));
        }
        return Next::go_on;
    }

    void reset() {
        messages_.clear();
        session_.reset();
    }

    // "ok", or what is wrong where.
    std::string storage() const {
        const StorageReport report = engine_.storage();
        std::string text(to_string(report.state));
        for (const StoragePlace& place : report.places)
            if (place.state != StorageState::ok)
                text += fmt::format(", {} {} ({} errors)", place.directory, to_string(place.state),
                                    place.errors);
        return text;
    }

    std::string statistics() const {
        const StoreCounters counters = engine_.model().store_counters();
        const MemoryPlan& plan = engine_.plan();
        const CacheSize cache = engine_.cache_size();
        const uint64_t asked = counters.hits + counters.misses;
        return fmt::format(
            "context   {} of {} positions, {} turns\n"
            "tokens    {} generated\n"
            "experts   {} of {} in memory, {} of {} slots, hits {:.0f} %, {} read, waited {:.1f} "
            "s\n"
            "storage   {}\n"
            "memory    {} at most so far, {} planned\n",
            session_.length(), session_.context(), turns_, generated_, counters.resident,
            plan.expert_count, cache.slots, cache.planned_slots,
            asked == 0 ? 0.0 : 100.0 * double(counters.hits) / double(asked),
            format_bytes(counters.read_bytes), double(counters.wait_us) / 1e6, storage(),
            format_bytes(peak_resident_bytes()), format_bytes(plan.total_bytes));
    }

    Next answer(const std::string& text) {
        std::vector<ChatMessage> messages;
        if (!system_.empty()) messages.push_back({.role = "system", .content = system_});
        messages.insert(messages.end(), messages_.begin(), messages_.end());
        messages.push_back({.role = "user", .content = text});

        CancelToken cancel;
        const InterruptScope interrupts(cancel);
        GenerateOptions options = limits_;
        // Every turn has its own seed, derived from the first one, so that a conversation can be
        // repeated.
        options.sampling =
            sampling_options(settings_, engine_.recommended_sampling(), seed_ + turns_);
        options.cancel = &cancel;
        AnswerView view(console_, cancel);
        view.attach(options);
        auto generation = [&]() -> Result<Generation> {
            TRY(const auto prompt, engine_.render(messages, {.think = think_}));
            return session_.generate(prompt, options);
        }();
        view.finish();
        for (const std::string& notice : engine_.take_notices()) console_.note(notice);
        if (!generation) {
            report(generation.error());
        } else {
            keep(text, *std::move(generation));
        }
        const bool impatient = InterruptScope::presses() > 1;
        return impatient || !console_.out.good() ? Next::leave : Next::go_on;
    }

    // The message that failed is dropped, so that the next one starts from what worked.
    void report(const Error& error) const {
        console_.error(error.message);
        if (error.kind == ErrorKind::out_of_budget)
            console_.note(
                fmt::format("the conversation holds {} of {} positions; /reset starts "
                            "anew, --ctx N gives more room",
                            session_.length(), session_.context()));
    }

    void keep(const std::string& text, Generation generation) {
        ++turns_;
        generated_ += generation.stats.generated_tokens;
        if (std::string remark = ending_remark(generation, session_.context()); !remark.empty()) {
            if (generation.finish == FinishReason::context) remark += ", /reset starts anew";
            console_.note(remark);
        }
        if (wants_statistics(settings_, console_))
            console_.err.write_dim(statistics_line(generation.stats) + "\n");
        messages_.push_back({.role = "user", .content = text});
        ChatMessage reply{.role = "assistant", .content = std::move(generation.text)};
        if (!generation.reasoning.empty()) reply.reasoning = std::move(generation.reasoning);
        messages_.push_back(std::move(reply));
    }

    Engine& engine_;
    Session session_;
    const Settings& settings_;
    const GenerateOptions limits_;
    const Console& console_;
    std::string system_;
    bool think_;
    uint64_t seed_;
    std::vector<ChatMessage> messages_;
    uint64_t turns_ = 0, generated_ = 0;
};

// A line, or nothing at the end of input and after Ctrl-C.
std::optional<std::string> read_line(LineReader& reader, const Console& console, bool person) {
    if (!person) return reader.next();
    CancelToken left;
    const InterruptScope interrupts(left);
    if (!reader.edits()) console.err.write("> ");
    auto line = reader.next();
    if (!line || left.cancelled()) {
        console.err.write("\n");
        return std::nullopt;
    }
    return line;
}

}  // namespace

int chat_command(const Invocation& invocation, const Console& console) {
    const Settings& settings = invocation.settings;
    auto options = engine_options(settings);
    if (!options) return misused(console, Command::chat, options.error());
    use_history(settings, *options);
    MemoryRequests memory;
    const MemorySignals memory_signals(memory);
    auto limits = answer_limits(settings);
    if (!limits) return misused(console, Command::chat, limits.error());
    limits->memory = &memory;
    const auto engine = open_engine(*std::move(options), console);
    if (!engine) return failed(console, engine.error());
    auto session = (*engine)->new_session();
    if (!session) return failed(console, session.error());

    const bool person = ::isatty(STDIN_FILENO) == 1 && console.err.is_terminal();
    if (person) {
        console.err.write_dim((*engine)->start_line() + "\n");
        console.err.write_dim("/help lists the commands\n");
    }
    for (const std::string& name : lossy_options(settings))
        console.note(fmt::format("--{} is lossy: answers may differ from the model's", name));
    const std::string directory = state_directory();
    LineReader reader(person, directory.empty() ? "" : directory + "/chat-history");
    Conversation conversation(**engine, *std::move(session), settings, *std::move(limits), console);
    while (const auto line = read_line(reader, console, person))
        if (conversation.take(*line) == Conversation::Next::leave) break;
    if (const auto saved = reader.save_history(); !saved)
        console.note("the history of lines is not kept: " + saved.error().message);
    return kExitOk;
}

}  // namespace colibri
